//! Customers who take several units, prices relative to a reference, and how amounts are written: from studies and logs to
//! offers.

mod common;

use std::fs;
use std::path::Path;

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::dp::cpu::{Cpu, Dense};
use cbwk_gpu::experiment;
use cbwk_gpu::shop::TaskFolder;
use cbwk_gpu::world::Optimum;
use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A study whose customers are alone or two, with reference prices 1 and 3.
const PARTIES: &str = r#"
[study]
horizon = 3
episodes = 60
replications = 10
[budget]
kind = "constant"
value = 4
[application]
kind = "pricing"
prices = [1.0, 2.0]
quantity = { feature = 1, most = 2 }
rate = { feature = 2, most = 3, mean = 2, deviation = 1 }
[contexts]
kind = "finite"
values = [[1, -1], [2, -1], [2, 1]]
weights = [0.5, 0.3, 0.2]
no_arrival = 0.1
[conversion]
kind = "table"
probabilities = [[0.9, 0.5], [0.7, 0.4], [0.8, 0.3]]
[[policies]]
kind = "clairvoyant"
[[policies]]
kind = "tight-opt-dp"
oracle = { kind = "armed", bounds = "beta-binomial" }
"#;

fn study(text: &str) -> Study {
    let document = Document::parse(Path::new("parties.toml"), text).unwrap();
    Study::from_document(&document).unwrap()
}

#[test]
fn the_optimum_with_quantities_and_reference_prices() {
    // Units, reference price, share, acceptance: the same world, and its Bellman equation written out.
    let customers = [
        (1, 1.0, 0.5, [0.9, 0.5]),
        (2, 1.0, 0.3, [0.7, 0.4]),
        (2, 3.0, 0.2, [0.8, 0.3]),
    ];
    let mut later = [0.0; 5];
    for _ in 0..3 {
        let mut now = later;
        for left in 1..5 {
            for (units, rate, share, accepts) in customers {
                if units > left {
                    continue;
                }
                let gain = |(price, rho): (f64, f64)| {
                    rho * (f64::from(units as u32) * price * rate + later[left - units]
                        - later[left])
                };
                let gains = [1.0, 2.0].into_iter().zip(accepts).map(gain);
                let best = gains.fold(0.0, f64::max);
                now[left] += 0.9 * share * best;
            }
        }
        later = now;
    }
    let study = study(PARTIES);
    for backend in [
        &mut Dense as &mut dyn cbwk_gpu::dp::Backend,
        &mut Cpu::default(),
    ] {
        let optimum = Optimum::exact(&study.world, backend).unwrap().unwrap();
        for (b, opt) in later.iter().enumerate() {
            assert!(
                (optimum.table.start(b as u32) - opt).abs() < 1e-12,
                "{b}: {opt}"
            );
        }
    }
    assert_eq!(
        (
            study.world.task().cost_max(),
            study.world.task().reward_max()
        ),
        (2, 12.0)
    );
    // A sale at a price of the list is the action's, also if it was made without a plan.
    let task = study.world.task();
    for features in [[1.0, -1.0], [2.0, -1.0], [2.0, 1.0]] {
        let context = task.context(0, &features);
        for (action, price) in [(1, 1.0), (2, 2.0)] {
            let sale = (task.reward(&context, action), task.cost(&context, action));
            assert_eq!(task.application().sale_at(&context, price), Some(sale));
        }
    }
    let outcome = experiment::run(&study, &mut Dense, &mut ()).unwrap();
    let expected = |i: usize| outcome.policies[i].regret.expected.unwrap().mean;
    assert!(expected(0).abs() < 1e-9 && expected(1) > 0.0);
    let refused = |from: &str, to: &str| {
        let text = PARTIES.replace(from, to);
        let document = Document::parse(Path::new("parties.toml"), &text).unwrap();
        Study::from_document(&document).unwrap_err().to_string()
    };
    let found = refused("[2, -1]", "[1.5, -1]");
    assert!(
        found.contains("quantity: found 1.5; accepted: a whole number from 1 to 2"),
        "{found}"
    );
    let found = refused("most = 3", "most = 2");
    assert!(
        found.contains("rate: found 3; accepted: a positive number up to 2"),
        "{found}"
    );
    let found = refused("feature = 2", "feature = 3");
    assert!(
        found.contains("application.rate.feature: found 3"),
        "{found}"
    );
}

/// A raw file in a folder of its own.
fn folder(raw: &str) -> TempDir {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("raw.csv"), raw).unwrap();
    folder
}

const IMPORT: [&str; 5] = ["import", "raw.csv", "--out", "t", "--force"];

fn read_text(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

fn imported(folder: &Path, options: &[&str]) -> String {
    cbwk_ok(folder, &[&IMPORT[..], options].concat())
}

fn refused(folder: &Path, options: &[&str]) -> String {
    let output = cbwk(folder, &[&IMPORT[..], options].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Numbers that look random: a linear congruence.
struct Luck(u64);

impl Luck {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// 150 days of 8 steps with parties of one to three, 9 units and prices 5, 8 and 11 of a rate of 1 or 1.5; what each day
/// earned and sold.
fn parties() -> (String, Vec<(f64, u32)>) {
    let (mut luck, mut raw) = (
        Luck(7),
        "day,hour,party,rate,price,bought,stock\n".to_string(),
    );
    let mut days = Vec::new();
    for day in 0..150 {
        let (mut left, mut earned) = (9, 0.0);
        for hour in 1..=8 {
            if luck.below(10) < 2 {
                continue;
            }
            let party = 1 + luck.below(3) as u32;
            let rate = 1.0 + 0.5 * luck.below(2) as f64;
            let place = luck.below(3) as usize;
            let price = [5.0, 8.0, 11.0][place] * rate;
            let bought = luck.below(100) < [80, 55, 25][place];
            if party > left {
                raw += &format!("{day},{hour},{party},{rate},,0,9\n");
                continue;
            }
            if bought {
                left -= party;
                earned += f64::from(party) * price;
            }
            raw += &format!(
                "{day},{hour},{party},{rate},{price},{},9\n",
                u8::from(bought)
            );
        }
        days.push((earned, 9 - left));
    }
    (raw, days)
}

#[test]
fn parties_from_the_log_to_the_offer() {
    let (raw, days) = parties();
    let folder = folder(&raw);
    let folder = folder.path();
    #[rustfmt::skip]
    let options = ["--episode", "day", "--step", "hour", "--action", "price", "--accepted", "bought", "--budget-column", "stock",
        "--quantity", "party", "--relative-to", "rate", "--round", "1"];
    let summary = imported(folder, &options);
    let sold: u32 = days.iter().map(|(_, sold)| sold).sum();
    let wanted = format!("{:.1} spent per episode", f64::from(sold) / 150.0);
    assert!(summary.contains(&wanted), "{wanted} in {summary}");
    assert!(summary.contains("price (times rate)"), "{summary}");
    // The log earns and spends what the raw file says.
    let task = TaskFolder::open(&folder.join("t")).unwrap();
    let log = task.log().unwrap();
    for (episode, (earned, sold)) in log.episodes().iter().zip(&days) {
        let found = log.earned(&task.task, episode);
        assert!(
            (found.0 - earned).abs() < 1e-9 && found.1 == *sold,
            "{found:?} {earned}"
        );
    }
    assert_eq!((task.task.cost_max(), task.task.reward_max()), (3, 49.5));
    cbwk_ok(folder, &["fit", "t"]);
    let planned = cbwk_ok(folder, &["plan", "t"]);
    cbwk_ok(
        folder,
        &["plan", "t", "--optimistic", "--out", "optimistic.csv"],
    );
    // The fitted study is the same world: its optimum is the plan's value.
    let solved = cbwk_ok(folder, &["solve", "t/study.toml", "--format", "json"]);
    let solved: Value = serde_json::from_str(&solved).unwrap();
    let opt = solved["opt"]["9"].as_f64().unwrap();
    let value: f64 = planned
        .split("expected to earn ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((value - opt).abs() < 0.02 * opt, "{value} {opt}");
    let offer = |options: &[&str]| {
        let mut all = vec!["offer", "t", "--format", "json"];
        all.extend_from_slice(options);
        serde_json::from_str::<Value>(&cbwk_ok(folder, &all)).unwrap()
    };
    let two = offer(&["--step", "3", "--budget", "9", "party=2", "rate=1.5"]);
    let price = two["offer"].as_f64().unwrap();
    assert!([5.0, 8.0, 11.0].contains(&price));
    assert!(
        (two["reward"].as_f64().unwrap() - 3.0 * price).abs() < 1e-9,
        "{two}"
    );
    assert_eq!(two["units"], 2);
    let three = offer(&["--step", "3", "--budget", "2", "party=3", "rate=1"]);
    assert!(
        three["offer"].is_null(),
        "three do not fit into two units: {three}"
    );
    for (options, wanted) in [
        (
            ["--step", "3", "party=4", "rate=1"],
            "quantity: found 4; accepted: a whole number from 1 to 3",
        ),
        (
            ["--step", "9", "party=1", "rate=1"],
            "--step: found `9`; accepted: a step from 1 to 8",
        ),
        (
            ["--step", "3", "party=1", "colour=red"],
            "found column `colour`",
        ),
        (
            ["--step", "3", "rate=1", "rate=1"],
            "found column `rate` twice",
        ),
        (["--step", "3", "rate=1", "rate"], "such as age=44"),
    ] {
        let mut all = vec!["offer", "t", "--budget", "3"];
        all.extend_from_slice(&options);
        let output = cbwk(folder, &all);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && message.contains(wanted),
            "{message}"
        );
    }
    let judged = cbwk_ok(
        folder,
        &[
            "evaluate",
            "t",
            "--draws",
            "20",
            "--quiet",
            "--extrapolate",
            "--format",
            "json",
        ],
    );
    let judged: Value = serde_json::from_str(&judged).unwrap();
    let logged = days.iter().map(|(earned, _)| earned).sum::<f64>() / 150.0;
    assert!(
        (judged["against"]["reward"].as_f64().unwrap() - logged).abs() < 0.01 * logged,
        "{judged}"
    );
    let text = cbwk_ok(
        folder,
        &[
            "offer", "t", "--step", "3", "--budget", "9", "party=1", "rate=1",
        ],
    );
    assert!(
        text.starts_with("price (times rate) ") && text.contains("takes 1 of the units"),
        "{text}"
    );
}

#[test]
fn money_in_many_spellings() {
    let raw = "day;hour;price;bought;income\n1;1;€ 2,50;1;1.234,50 €\n1;2;2,5 EUR;0;900 €\n2;1;2.4000000953674316;1;1’000\n2;2;2,4;0;800\n";
    let folder = folder(raw);
    let folder = folder.path();
    let options = [
        "--episode",
        "day",
        "--step",
        "hour",
        "--action",
        "price",
        "--accepted",
        "bought",
    ];
    let summary = imported(folder, &options);
    let wanted = "1 values differ from others only by rounding and were merged, such as 2.4000000953674316 into 2.4";
    assert!(summary.contains(wanted), "{summary}");
    let log = read_text(folder, "t/log.csv");
    let actions: Vec<&str> = log
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(4).unwrap())
        .collect();
    assert_eq!(actions, ["2.5", "2.5", "2.4", "2.4"]);
    assert!(read_text(folder, "t/task.toml").contains("high = 1234.5"));
}

#[test]
fn bids_in_cents() {
    let raw =
        "day,hour,value,bid,won,money\n1,1,2.5,1.25,1,10\n1,2,3.07,1.10,0,10\n2,1,2.5,0.07,0,10\n";
    let folder = folder(raw);
    let folder = folder.path();
    #[rustfmt::skip]
    let options = ["--kind", "auction", "--episode", "day", "--step", "hour", "--action", "bid", "--accepted", "won", "--budget-column", "money"];
    let message = refused(folder, &options);
    let wanted = "column `bid`: found `1.25`; accepted: a whole number from 0 to 1000000; multiplied by 100 they count cents (--units 100 counts in cents; ";
    assert!(
        message.contains("raw.csv:2: ") && message.contains("--units 100 counts in cents"),
        "{wanted}\n{message}"
    );
    let summary = imported(folder, &[&options[..], &["--units", "100"]].concat());
    assert!(
        summary.contains("amounts are counted in 1/100") && summary.contains("up to 1,000 units"),
        "{summary}"
    );
    let task = TaskFolder::open(&folder.join("t")).unwrap();
    assert_eq!(task.task.application().action_values(), [7.0, 110.0, 125.0]);
    let log = task.log().unwrap();
    assert!((log.theta(1)[0] - 307.0).abs() < 1e-9);
    assert!((log.earned(&task.task, &log.episodes()[0]).0 - 125.0).abs() < 1e-9);
    let message = refused(
        folder,
        &[
            "--episode",
            "day",
            "--step",
            "hour",
            "--action",
            "bid",
            "--accepted",
            "won",
            "--units",
            "100",
        ],
    );
    assert!(
        message.contains("--units: found another kind of offers"),
        "{message}"
    );
}
