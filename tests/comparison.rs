//! Sweeps, the rerun of the paper's comparison, and the study of the estimate of opt, as a user runs them.

mod common;

use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::tempdir;

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

const SWEEP: &str = r#"[study]
episodes = 8
horizon = 3
replications = 3
[budget]
kind = "constant"
value = 3
[application]
kind = "procurement"
wages = [1, 2]
[contexts]
kind = "finite"
values = [[0.0], [1.0]]
[conversion]
kind = "armed"
probabilities = [0.3, 0.6]
[[policies]]
kind = "mimic-opt-dp"
[[policies]]
kind = "random"
[sweep]
budget.value = [1, 3]
"policies.mimic-opt-dp.alpha" = [0.5, 0.25]
"#;

#[test]
fn a_sweep_has_a_folder_per_point_and_an_overview() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("s.toml"), SWEEP).unwrap();
    let table = cbwk_ok(
        folder.path(),
        &["simulate", "s.toml", "--out", "o", "--quiet"],
    );
    assert!(
        table.contains("s: 4 points") && table.contains("budget.value"),
        "{table}"
    );
    let out = folder.path().join("o");
    let overview = read(&out, "overview.csv");
    let header = "point,budget.value,policies.mimic-opt-dp.alpha,policy,final_regret,standard_error,expected_regret";
    assert!(overview.starts_with(header), "{overview}");
    // `random` runs once for each budget: alpha is none of its settings.
    assert_eq!(overview.lines().count(), 1 + 4 + 2);
    // A point is a study like any other, and its figures are those of the overview.
    for (value, alpha) in [(1, 0.5), (1, 0.25), (3, 0.5), (3, 0.25)] {
        let point = out.join(format!("value={value},alpha={alpha}"));
        let study = read(&point, "study.toml");
        assert!(
            study.contains(&format!("value = {value}"))
                && study.contains(&format!("alpha = {alpha}"))
        );
        let run: Value = serde_json::from_str(&read(&point, "run.json")).unwrap();
        let regret = run["policies"][0]["final_regret"].as_f64().unwrap();
        let line =
            format!("\"value={value},alpha={alpha}\",{value},{alpha},mimic-opt-dp,{regret},");
        assert!(overview.contains(&line), "{line} is not in\n{overview}");
    }
    let svg = read(&out, "overview.svg");
    for word in ["final regret", "budget.value", "alpha = 0.25", "</svg>"] {
        assert!(svg.contains(word), "{word}");
    }
    // The resolved study of a point gives the same bytes again.
    let again = [
        "simulate",
        "o/value=3,alpha=0.25/study.toml",
        "--out",
        "again",
        "--quiet",
    ];
    cbwk_ok(folder.path(), &again);
    let first = read(&out.join("value=3,alpha=0.25"), "episodes.csv");
    assert_eq!(first, read(&folder.path().join("again"), "episodes.csv"));
    // Nothing is overwritten unasked; solve does not mind a sweep.
    let refused = cbwk(
        folder.path(),
        &["simulate", "s.toml", "--out", "o", "--quiet"],
    );
    assert_eq!(refused.status.code(), Some(2));
    cbwk_ok(folder.path(), &["solve", "s.toml"]);
}

/// Values written alike get folders of their own; an occupied point is found before the first runs; an option for a
/// swept key is refused.
#[test]
fn points_of_a_sweep_never_share_a_folder() {
    let folder = tempdir().unwrap();
    let (study, _) = SWEEP.split_once("[sweep]").unwrap();
    let oracles = "[sweep]\n\"policies.mimic-opt-dp.oracle\" = [{ kind = \"armed\" }, { kind = \"known\" }]\n";
    fs::write(folder.path().join("t.toml"), format!("{study}{oracles}")).unwrap();
    let seeds = format!("{study}[sweep]\nstudy.seed = [1, 1, 2]\n");
    fs::write(folder.path().join("s.toml"), seeds).unwrap();
    for (file, points) in [
        ("t", vec!["oracle=table-1", "oracle=table-2"]),
        ("s", vec!["seed=1", "seed=1-2", "seed=2"]),
    ] {
        cbwk_ok(
            folder.path(),
            &[
                "simulate",
                &format!("{file}.toml"),
                "--out",
                file,
                "--quiet",
            ],
        );
        for point in points {
            assert!(
                folder
                    .path()
                    .join(file)
                    .join(point)
                    .join("run.json")
                    .is_file(),
                "{point}"
            );
        }
    }
    let episodes = |point: &str| read(&folder.path().join("t").join(point), "episodes.csv");
    assert_ne!(episodes("oracle=table-1"), episodes("oracle=table-2"));
    fs::create_dir_all(folder.path().join("u/seed=2")).unwrap();
    fs::write(folder.path().join("u/seed=2/run.json"), "").unwrap();
    let refused = cbwk(
        folder.path(),
        &["simulate", "s.toml", "--out", "u", "--quiet"],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(!folder.path().join("u/seed=1/run.json").exists());
    let both = cbwk(
        folder.path(),
        &["simulate", "s.toml", "--out", "v", "--seed", "7"],
    );
    assert_eq!(both.status.code(), Some(2));
    let message = String::from_utf8(both.stderr).unwrap();
    assert!(
        message.contains("--seed") && message.contains("study.seed"),
        "{message}"
    );
}

#[test]
fn mistakes_in_a_sweep_are_found_before_anything_runs() {
    let folder = tempdir().unwrap();
    let keys = "budget.value = [1, 3]\n\"policies.mimic-opt-dp.alpha\" = [0.5, 0.25]\n";
    for (sweep, expected) in [
        (
            "budgt.value = [1]\n",
            "s.toml:22: sweep.budgt: found no such part of the study; nearest: `budget`",
        ),
        (
            "budget.valu = [1]\n",
            "s.toml:22: budget: found unknown key `valu`; nearest known key: `value`",
        ),
        (
            "budget.value = [1, -1]\n",
            "s.toml:22: budget.value: found -1",
        ),
        (
            "budget.value = 7\n",
            "s.toml:22: sweep.budget.value: found 7; accepted: a list",
        ),
        (
            "policies.mimic.alpha = [0.5]\n",
            "s.toml:22: sweep.policies.mimic: found no such part of the study; nearest: `mimic-opt-dp`",
        ),
        (
            "policies.random.oracle.kappa = [1, 8]\n",
            "s.toml:22: sweep.policies.random.oracle: found no such part of the study; write the policy's oracle out",
        ),
        (
            "policies.random.alpha = [0.5]\n",
            "s.toml:22: policies[2]: found unknown key `alpha`",
        ),
    ] {
        fs::write(folder.path().join("s.toml"), SWEEP.replace(keys, sweep)).unwrap();
        let output = cbwk(folder.path(), &["simulate", "s.toml", "--out", "o"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
        assert!(!folder.path().join("o").exists());
    }
}

#[test]
fn mistakes_in_the_new_policies() {
    let folder = tempdir().unwrap();
    let learner = "[[policies]]\nkind = \"mimic-opt-dp\"\n";
    let text = SWEEP.split("[sweep]").next().unwrap();
    for (policy, expected) in [
        (
            "kind = \"square-cbwk\"\neta = 0.0\n",
            "s.toml:19: policies[1].eta: found 0; accepted: a positive number",
        ),
        (
            "kind = \"square-cbwk\"\ngamma = -1\n",
            "s.toml:19: policies[1].gamma: found -1; accepted: a positive number",
        ),
        (
            "kind = \"square-cbwk\"\nreset_dual = 1\n",
            "s.toml:19: policies[1].reset_dual: found 1; accepted: true or false",
        ),
        (
            "kind = \"logistic-ucb1\"\nbudget_correction = -2\n",
            "s.toml:19: policies[1].budget_correction: found -2; accepted: a number from 0",
        ),
        ("kind = \"logistic-ucb\"\n", "(nearest: `logistic-ucb1`)"),
        (
            "kind = \"fluid\"\nresolve = \"yes\"\n",
            "s.toml:19: policies[1].resolve: found `yes`; accepted: true or false",
        ),
        (
            "kind = \"fluid\"\noracle = { kind = \"armed\" }\n",
            "s.toml:19: policies[1]: found unknown key `oracle`",
        ),
    ] {
        let text = text.replace(learner, &format!("[[policies]]\n{policy}"));
        fs::write(folder.path().join("s.toml"), text).unwrap();
        let output = cbwk(folder.path(), &["simulate", "s.toml", "--out", "o"]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
    }
}

#[test]
fn reproduce_runs_both_panels_and_judges_them() {
    let folder = tempdir().unwrap();
    let args = "reproduce --out o --actions 3,2 --episodes 12 --replications 3 --quiet";
    let page = cbwk_ok(folder.path(), &args.split(' ').collect::<Vec<_>>());
    let out = folder.path().join("o");
    assert!(
        page.starts_with(&read(&out, "verdict.md")),
        "the page is printed as it is written"
    );
    for word in [
        "What the paper claims",
        "### auction, K = 2",
        "### pricing, K = 3",
        "square-cbwk",
        "minus the learner's, paired",
    ] {
        assert!(page.contains(word), "{word} is missing from\n{page}");
    }
    for k in [2, 3] {
        let figure = read(&out, &format!("figure-K{k}.svg"));
        assert!(figure.contains("paper-auction, K =") && figure.contains("paper-pricing, K ="));
        // The paper's names in the paper's figure.
        for name in [
            "Mimic-Opt-DP",
            "SquareCBwK",
            "SquareCBwK, dual kept",
            "Logistic-UCB1",
        ] {
            assert!(figure.contains(name), "{name}");
        }
        assert!(out.join(format!("figure-K{k}.png")).is_file());
        let study = read(&out.join(format!("auction-K{k}")), "study.toml");
        assert!(study.contains("episodes = 12") && study.contains("logistic-ucb1"));
        let run: Value =
            serde_json::from_str(&read(&out.join(format!("pricing-K{k}")), "run.json")).unwrap();
        // The paper's three, SquareCBwK with its dual kept, and the learner with tight bounds.
        assert_eq!(run["policies"].as_array().unwrap().len(), 5);
        let improved = read(&out, &format!("improved-K{k}.svg"));
        assert!(improved.contains("tight-opt-dp") && !figure.contains("tight-opt-dp"));
        // The figures of the page are those of the files.
        for policy in run["policies"].as_array().unwrap() {
            let regret = policy["final_regret"].as_f64().unwrap();
            let cell = format!("| {} | {regret:.1} |", policy["name"].as_str().unwrap());
            assert!(page.contains(&cell), "{cell} is missing from\n{page}");
        }
    }
    // K = 3: theta on {1..4}, rho = a / 4.
    let study = read(&out.join("auction-K3"), "study.toml");
    assert!(study.contains("0.25") && study.contains("0.75"), "{study}");
    for args in [
        "reproduce --actions 0",
        "reproduce --episodes 3",
        "reproduce --actions 4;8",
    ] {
        let output = cbwk(folder.path(), &args.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{args}");
    }
}

/// Every policy on both panels; then the policies of one folder compared, and a table with columns by choice.
#[test]
fn the_long_comparison_and_its_tables() {
    let folder = tempdir().unwrap();
    let args = "reproduce --all --out o --actions 2 --episodes 6 --replications 3 --quiet";
    let table = cbwk_ok(folder.path(), &args.split(' ').collect::<Vec<_>>());
    let out = folder.path().join("o");
    let page = read(&out, "comparison.md");
    let run: Value = serde_json::from_str(&read(&out.join("pricing-K2"), "run.json")).unwrap();
    let policies = run["policies"].as_array().unwrap();
    assert!(policies.len() >= 17, "{}", policies.len());
    for policy in policies {
        let name = policy["name"].as_str().unwrap();
        assert!(table.contains(name) && page.contains(name), "{name}");
        let times = &policy["decision_seconds"];
        let [p50, p99] = ["p50", "p99"].map(|key| times[key].as_f64().unwrap());
        assert!(0.0 < p50 && p50 <= p99 && p99 < 10.0, "{name}: {times}");
    }
    assert!(page.contains("## pricing, K = 2") && page.contains("over clairvoyant, paired"));
    let args = "compare o/auction-K2 --band bootstrap --format json";
    let found = cbwk_ok(folder.path(), &args.split(' ').collect::<Vec<_>>());
    let found: Value = serde_json::from_str(&found).unwrap();
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), policies.len() * (policies.len() - 1) / 2);
    for pair in pairs {
        let number = |key: &str| pair[key].as_f64().unwrap();
        let inside = number("lower") <= number("difference") + 1e-9
            && number("difference") <= number("upper") + 1e-9;
        let p_values = 0.0 <= number("p") && number("p") <= number("p_holm");
        assert!(inside && p_values && number("p_holm") <= 1.0, "{pair}");
        assert!(number("difference") >= 0.0, "{pair}");
    }
    let args = "compare o/auction-K2 --policy clairvoyant --policy ts-update --band normal";
    let text = cbwk_ok(folder.path(), &args.split(' ').collect::<Vec<_>>());
    assert!(
        text.contains("lower 95%") && text.contains("p (Holm)"),
        "{text}"
    );
    assert_eq!(text.matches("clairvoyant").count(), 2, "{text}");
    let args =
        "simulate --out o/auction-K2 --resume --quiet --format latex --columns slope,final-regret";
    let text = cbwk_ok(folder.path(), &args.split(' ').collect::<Vec<_>>());
    assert!(
        text.contains("policy & slope $\\pm$ 3 s.e. & final regret & $\\pm$ 3 s.e. \\\\"),
        "{text}"
    );
    for (args, expected) in [
        (
            "compare o/auction-K2 --policy nobody",
            "--policy: found `nobody`; accepted: a policy of the study: mimic-opt-dp",
        ),
        (
            "simulate --out o/auction-K2 --resume --quiet --columns regret",
            "--columns: found `regret`; accepted: some of mean-reward, of-opt",
        ),
        ("compare o", "run.json is missing"),
    ] {
        let output = cbwk(folder.path(), &args.split(' ').collect::<Vec<_>>());
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
    }
}

/// The error of the estimate of opt falls as 1 / sqrt(M): the slope over M = 20 to 500, 60 estimates each, is -1/2 within 4
/// of its standard errors (false alarm 6e-5) and that error is small enough to tell it from -1/4.
#[test]
fn the_estimate_of_opt_sharpens_with_the_root_of_the_rows() {
    let folder = tempdir().unwrap();
    let args = "solve --preset paper-auction --sample-sizes 500,20,100 --repeats 60 --format json --out e.csv --plot e.svg";
    let json = cbwk_ok(folder.path(), &args.split(' ').collect::<Vec<_>>());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert!((json["opt"].as_f64().unwrap() - 9.214368).abs() < 1e-6);
    let (slope, error) = (
        json["slope"].as_f64().unwrap(),
        json["slope_standard_error"].as_f64().unwrap(),
    );
    assert!(
        (slope + 0.5).abs() < 4.0 * error && error < 0.06,
        "{slope} +- {error}"
    );
    let csv = read(folder.path(), "e.csv");
    assert_eq!(csv.lines().count(), 4);
    assert!(csv.lines().nth(1).unwrap().starts_with("20,"));
    assert!(read(folder.path(), "e.svg").contains("unlabeled rows M"));
    for args in [
        "solve --preset paper-auction --sample-sizes 1",
        "solve --preset paper-auction --plot e.svg",
        "solve --preset paper-auction --sample-sizes 10 --contexts e.csv",
    ] {
        let output = cbwk(folder.path(), &args.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{args}");
    }
}
