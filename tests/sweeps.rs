//! Sweeps as a user runs them: policies that no swept key touches, keys that vary together.

mod common;

use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok};
use serde_json::Value;
use tempfile::tempdir;

/// Both policies that can be random have streams of their own, the second at place 3.
const STUDY: &str = r#"[study]
episodes = 12
horizon = 3
replications = 3
[budget]
kind = "constant"
value = 3
[application]
kind = "auction"
bids = [1, 2]
[contexts]
kind = "finite"
values = [2.0, 3.0]
[conversion]
kind = "armed"
probabilities = [0.3, 0.6]
[[policies]]
kind = "mimic-opt-dp"
[[policies]]
kind = "clairvoyant"
[[policies]]
kind = "random"
"#;

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn simulate(folder: &Path, study: &str, out: &str) -> String {
    fs::write(folder.join("s.toml"), study).unwrap();
    cbwk_ok(folder, &["simulate", "s.toml", "--out", out, "--quiet"])
}

/// The lines of some policies, header aside.
fn lines_of(text: &str, policies: &[&str]) -> Vec<String> {
    let ours = |line: &&str| policies.iter().any(|p| line.starts_with(&format!("{p},")));
    text.lines().filter(ours).map(String::from).collect()
}

#[test]
fn a_policy_that_no_swept_key_touches_runs_once_with_the_same_results() {
    let folder = tempdir().unwrap();
    let sweep = format!("{STUDY}[sweep]\npolicies.mimic-opt-dp.alpha = [0.5, 0.25, 0.1]\n");
    let table = simulate(folder.path(), &sweep, "o");
    simulate(folder.path(), STUDY, "plain");
    let (out, plain) = (folder.path().join("o"), folder.path().join("plain"));
    assert!(table.contains("s: 3 points"), "{table}");
    let shown = |policy: &str| table.lines().filter(|l| l.starts_with(policy)).count();
    assert_eq!((shown("mimic-opt-dp"), shown("random")), (3, 1), "{table}");
    let overview = read(&out, "overview.csv");
    let points: Vec<&str> = overview.lines().skip(1).collect();
    assert_eq!(points.len(), 3 + 2, "{overview}");
    assert!(points[1].starts_with("shared,,clairvoyant,"), "{overview}");
    assert!(points[2].starts_with("shared,,random,"), "{overview}");
    // What runs once is what the study without a sweep finds, random choices included.
    let shared = ["clairvoyant", "random"];
    for name in ["episodes.csv", "summary.csv", "steps.csv", "actions.csv"] {
        let whole = lines_of(&read(&plain, name), &shared);
        assert_eq!(lines_of(&read(&out.join("shared"), name), &shared), whole);
        assert!(!whole.is_empty());
        let point = read(&out.join("alpha=0.5"), name);
        assert_eq!(lines_of(&point, &shared), [""; 0]);
        let (learner, whole) = (["mimic-opt-dp"], read(&plain, name));
        assert_eq!(lines_of(&point, &learner), lines_of(&whole, &learner));
    }
    // Learners are held against the clairvoyant of the other folder, as if it had run beside them.
    let own: Value = serde_json::from_str(&read(&plain, "run.json")).unwrap();
    let wanted = &own["policies"][0];
    let mut lines = csv::Reader::from_reader(overview.as_bytes());
    let header = lines.headers().unwrap().clone();
    let first = lines.records().next().unwrap().unwrap();
    let cell = |name: &str| &first[header.iter().position(|h| h == name).unwrap()];
    assert_eq!(
        (cell("policy"), cell("reference")),
        ("mimic-opt-dp", "clairvoyant")
    );
    for name in ["paired_difference", "paired_standard_error"] {
        let found: f64 = cell(name).parse().unwrap();
        approx::assert_abs_diff_eq!(found, wanted[name].as_f64().unwrap(), epsilon = 1e-9);
    }
    assert!(table.contains("over clairvoyant"), "{table}");
    // Its study gives the same bytes again although it lacks the policy before.
    let again = [
        "simulate",
        "o/shared/study.toml",
        "--out",
        "again",
        "--quiet",
    ];
    cbwk_ok(folder.path(), &again);
    let (first, second) = (out.join("shared"), folder.path().join("again"));
    assert_eq!(read(&first, "episodes.csv"), read(&second, "episodes.csv"));
    assert_eq!(read(&first, "study.toml"), read(&second, "study.toml"));
    // Under another name it draws other offers: the test can fail.
    let named = "kind = \"random\"\nname = \"chance\"";
    let renamed = read(&first, "study.toml").replace("kind = \"random\"", named);
    fs::write(folder.path().join("renamed.toml"), renamed).unwrap();
    let renamed = ["simulate", "renamed.toml", "--out", "renamed", "--quiet"];
    cbwk_ok(folder.path(), &renamed);
    let renamed = read(&folder.path().join("renamed"), "episodes.csv").replace("chance", "random");
    assert_ne!(read(&first, "episodes.csv"), renamed);
    // The picture has a level line for it, and `--force` removes its folder with the others.
    let picture = read(&out, "overview.svg");
    assert_eq!(picture.matches(">random<").count(), 1);
    let force = [
        "simulate",
        "plain/study.toml",
        "--out",
        "o",
        "--force",
        "--quiet",
    ];
    cbwk_ok(folder.path(), &force);
    assert!(!out.join("shared").exists() && !out.join("alpha=0.5").exists());
}

#[test]
fn zipped_keys_vary_together() {
    let folder = tempdir().unwrap();
    let sweep = "[sweep]\napplication.bids = [[1, 2], [1, 2, 3]]\n\
                 conversion.probabilities = [[0.3, 0.6], [0.3, 0.6, 0.9]]\nbudget.value = [2, 4]\n";
    let zip = "zip = [[\"application.bids\", \"conversion.probabilities\"]]\n";
    let table = simulate(folder.path(), &format!("{STUDY}{sweep}{zip}"), "o");
    assert!(table.contains("s: 4 points"), "{table}");
    let overview = read(&folder.path().join("o"), "overview.csv");
    let header = "point,application.bids,conversion.probabilities,budget.value,policy,";
    assert!(overview.starts_with(header), "{overview}");
    assert_eq!(overview.lines().count(), 1 + 4 * 3, "{overview}");
    let line = "\"bids=1-2-3,probabilities=0.3-0.6-0.9,value=4\",[1 2 3],[0.3 0.6 0.9],4,random,";
    assert!(overview.contains(line), "{overview}");
    // A chart for every pair of zipped values, none for others.
    let picture = read(&folder.path().join("o"), "overview.svg");
    let pairs = [("1 2", "0.3 0.6"), ("1 2 3", "0.3 0.6 0.9")];
    for (i, (bids, _)) in pairs.iter().enumerate() {
        for (j, (_, probabilities)) in pairs.iter().enumerate() {
            let chart = format!("bids = [{bids}], probabilities = [{probabilities}]");
            assert_eq!(picture.contains(&chart), i == j, "{chart}");
        }
    }
    // Without zip the combinations do not fit each other; values that do not pair up are named before anything runs.
    for (text, expected) in [
        (sweep.to_string(), "conversion.probabilities: found 3"),
        (
            format!("{sweep}zip = [[\"application.bids\", \"budget.value\", \"x\"]]\n"),
            "s.toml:27: sweep.zip[1]: found `x`; accepted: a swept key",
        ),
        (
            format!("{}{zip}", sweep.replace("[[1, 2], ", "[")),
            "s.toml:27: sweep.zip[1]: found 1 values of `application.bids` and 2 of `conversion.probabilities`",
        ),
    ] {
        fs::write(folder.path().join("s.toml"), format!("{STUDY}{text}")).unwrap();
        let refused = cbwk(folder.path(), &["simulate", "s.toml", "--out", "p"]);
        let message = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(!folder.path().join("p").exists());
    }
}

#[test]
fn a_changed_digit_in_any_file_of_a_sweep_is_seen() {
    let folder = tempdir().unwrap();
    let study = format!("{STUDY}[sweep]\n\"budget.value\" = [1, 2]\n");
    simulate(folder.path(), &study, "o");
    cbwk_ok(folder.path(), &["verify", "o"]);
    for name in ["overview.csv", "overview.svg", "overview.png", "sweep.json"] {
        let path = folder.path().join("o").join(name);
        let good = fs::read(&path).unwrap();
        for place in (0..good.len())
            .filter(|place| good[*place].is_ascii_digit())
            .take(3)
        {
            let mut bytes = good.clone();
            bytes[place] = b'0' + (bytes[place] - b'0' + 1) % 10;
            fs::write(&path, bytes).unwrap();
            let output = cbwk(folder.path(), &["verify", "o"]);
            assert_eq!(output.status.code(), Some(2), "{name}, byte {place}");
        }
        fs::write(&path, good).unwrap();
    }
    cbwk_ok(folder.path(), &["verify", "o"]);
}

#[test]
fn a_sweep_tells_opt_and_the_differences_to_the_reference() {
    let folder = tempdir().unwrap();
    let table = simulate(
        folder.path(),
        &format!("{STUDY}[sweep]\nbudget.value = [1, 3]\n"),
        "o",
    );
    assert!(table.contains("over clairvoyant"), "{table}");
    let overview = read(folder.path(), "o/overview.csv");
    let run: Value = serde_json::from_str(&read(folder.path(), "o/value=1/run.json")).unwrap();
    let opt = run["opt_per_episode"].to_string();
    let first = overview.lines().nth(1).unwrap();
    assert!(first.contains(&format!(",{opt},")), "{opt}: {first}");
    assert!(first.contains(",clairvoyant,"), "{first}");
    cbwk_ok(folder.path(), &["report", "o"]);
    let page = read(folder.path(), "o/report.html");
    assert!(page.contains("\"reference\":\"clairvoyant\""));
}
