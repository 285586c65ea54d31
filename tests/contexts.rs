//! Contexts from outside: columns by name, steps at which nobody comes, numbers too large to compute with.

mod common;

use std::fs;
use std::path::Path;

use common::{cbwk, cbwk_ok};
use tempfile::tempdir;

/// Two named features with different weights, prices, and rows from a file.
fn study(contexts: &str, more: &str) -> String {
    format!(
        "[study]\nhorizon = 2\nepisodes = 4\nreplications = 2\n[budget]\nkind = \"constant\"\nvalue = 1\n\
         [application]\nkind = \"pricing\"\nprices = [2, 4]\n[contexts]\n{contexts}\n\
         [conversion]\nkind = \"logistic\"\nweights = [3.0, -2.0, -0.5]\n\
         [[policies]]\nkind = \"mimic-opt-dp\"\n{more}\n"
    )
}

const ROWS: &str = "episode,step,age,income\n1,1,1,0\n1,2,0.5,0.25\n2,1,0,1\n2,2,,\n";
const SWAPPED: &str = "income,age,step,episode\n,,2,2\n0.25,0.5,2,1\n1,0,1,2\n0,1,1,1\n";

fn solved(folder: &Path, study: &str) -> String {
    fs::write(folder.join("s.toml"), study).unwrap();
    cbwk_ok(
        folder,
        &[
            "solve",
            "s.toml",
            "--contexts",
            "rows.csv",
            "--format",
            "json",
        ],
    )
}

/// The same named columns in another order are the same contexts, or refused, but never other contexts.
#[test]
fn columns_of_rows_are_matched_by_name() {
    let folder = tempdir().unwrap();
    let boxed = "kind = \"box\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]";
    let named = format!("{boxed}\nfeatures = [\"age\", \"income\"]");
    fs::write(folder.path().join("rows.csv"), ROWS).unwrap();
    let expected = solved(folder.path(), &study(&named, ""));
    assert_eq!(solved(folder.path(), &study(boxed, "")), expected);
    fs::write(folder.path().join("rows.csv"), SWAPPED).unwrap();
    assert_eq!(solved(folder.path(), &study(&named, "")), expected);
    // Without names columns count by position, and that gives other contexts.
    assert_ne!(solved(folder.path(), &study(boxed, "")), expected);
    // A second file with other names is refused, whichever file is read second.
    fs::write(folder.path().join("law.csv"), ROWS).unwrap();
    let law = "kind = \"file\"\npath = \"law.csv\"";
    fs::write(folder.path().join("s.toml"), study(law, "")).unwrap();
    let output = cbwk(
        folder.path(),
        &["solve", "s.toml", "--contexts", "rows.csv"],
    );
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    let refusal = "rows.csv:1: found features `income,age`; accepted: `age,income` as in law.csv";
    assert!(message.contains(refusal), "{message}");
    let more = "initial_file = \"rows.csv\"";
    fs::write(folder.path().join("s.toml"), study(law, more)).unwrap();
    let output = cbwk(folder.path(), &["simulate", "s.toml", "--out", "o"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains(refusal));
}

#[test]
fn a_step_at_which_nobody_ever_arrives_is_no_obstacle() {
    let folder = tempdir().unwrap();
    let mut rows = "episode,step,age,income\n".to_string();
    for t in 1..=40 {
        for h in 1..=24 {
            let x = f64::from(t * 24 + h) * 0.618_033_988_749_894_9;
            match h {
                7 => rows += &format!("{t},{h},,\n"),
                _ => rows += &format!("{t},{h},{},{}\n", x.fract(), (3.0 * x).fract()),
            }
        }
    }
    fs::write(folder.path().join("law.csv"), rows).unwrap();
    let law = study("kind = \"file\"\npath = \"law.csv\"", "");
    let law = law.replace("horizon = 2", "horizon = 24");
    fs::write(folder.path().join("s.toml"), law).unwrap();
    cbwk_ok(folder.path(), &["simulate", "s.toml", "--out", "o"]);
    let actions = fs::read_to_string(folder.path().join("o/actions.csv")).unwrap();
    assert!(actions.contains("mimic-opt-dp,7,1,0,0,0,0"), "{actions}");
}

/// A type that never arrives says nothing about rewards: the learner earns as if it were not there.
#[test]
fn context_types_that_never_arrive_do_not_set_the_scale() {
    let folder = tempdir().unwrap();
    let auction = |types: &str| {
        format!(
            "[study]\nhorizon = 6\nepisodes = 20\nreplications = 2\n[budget]\nkind = \"constant\"\nvalue = 4\n\
             [application]\nkind = \"auction\"\nbids = [1, 2]\n[contexts]\nkind = \"finite\"\nvalues = [2, 3, 4]\n{types}\n\
             [conversion]\nkind = \"armed\"\nprobabilities = [0.3, 0.6]\n[[policies]]\nkind = \"mimic-opt-dp\"\n"
        )
    };
    let episodes = |types: &str, out: &str| {
        fs::write(folder.path().join("s.toml"), auction(types)).unwrap();
        cbwk_ok(folder.path(), &["simulate", "s.toml", "--out", out]);
        fs::read_to_string(folder.path().join(out).join("episodes.csv")).unwrap()
    };
    let plain = episodes("", "plain");
    assert_eq!(episodes("types = [2, 3, 4, 9e14]", "far"), plain);
    fs::write(
        folder.path().join("s.toml"),
        auction("types = [2, 3, 4, 1e300]"),
    )
    .unwrap();
    let output = cbwk(folder.path(), &["simulate", "s.toml", "--out", "o"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message
            .contains("contexts.types[4][1]: found 1e300; accepted: a number of size up to 1e15"),
        "{message}"
    );
}

/// Rewards above r_max would lie above the cap of every value: rows that bring them are refused.
#[test]
fn rows_beyond_the_largest_reward_are_refused() {
    let folder = tempdir().unwrap();
    fs::write(
        folder.path().join("rows.csv"),
        "episode,step,theta\n1,1,400\n1,2,3\n",
    )
    .unwrap();
    let text = "[study]\nhorizon = 2\nepisodes = 2\nreplications = 1\n[budget]\nkind = \"constant\"\nvalue = 2\n\
        [application]\nkind = \"auction\"\nbids = [1, 2]\n[contexts]\nkind = \"finite\"\nvalues = [2, 3]\n\
        [conversion]\nkind = \"armed\"\nprobabilities = [0.3, 0.6]\n[[policies]]\nkind = \"mimic-opt-dp\"\n\
        initial_file = \"rows.csv\"\n";
    fs::write(folder.path().join("s.toml"), text).unwrap();
    let output = cbwk(folder.path(), &["simulate", "s.toml", "--out", "o"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains(
            "initial_file: found a reward of 399 at [400.0]; accepted: rewards up to r_max = 2"
        ),
        "{message}"
    );
    // With room for it the rows are welcome.
    let text = text.replace("bids = [1, 2]", "bids = [1, 2]\nreward_max = 399");
    fs::write(folder.path().join("s.toml"), text).unwrap();
    cbwk_ok(folder.path(), &["simulate", "s.toml", "--out", "o"]);
}

#[test]
fn oracle_parameters_that_switch_learning_off_are_refused() {
    let folder = tempdir().unwrap();
    for (key, found) in [("kappa = 1e-200", "1e-200"), ("lambda = 1e300", "1e300")] {
        let more = format!("oracle = {{ kind = \"logistic\", {key} }}");
        let boxed = "kind = \"box\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]";
        fs::write(folder.path().join("s.toml"), study(boxed, &more)).unwrap();
        let output = cbwk(folder.path(), &["simulate", "s.toml", "--out", "o"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(
            message.contains(&format!("found {found}; accepted: a positive number")),
            "{message}"
        );
    }
}
