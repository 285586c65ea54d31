//! `steps.csv` and `actions.csv`: how budgets are spent, and what plans offer beside the optimal policy.

mod common;

use std::fs;
use std::path::Path;

use approx::assert_relative_eq;
use common::cbwk_ok;
use tempfile::tempdir;

/// The lines of a results file, split into cells, without the header.
fn lines(folder: &Path, name: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(folder.join(name)).unwrap();
    let records = reader.records().map(Result::unwrap);
    records
        .map(|record| record.iter().map(String::from).collect())
        .collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

/// Runs a study text with two replications and returns its results folder.
fn run(folder: &Path, study: &str) -> std::path::PathBuf {
    fs::write(folder.join("study.toml"), study).unwrap();
    cbwk_ok(folder, &["simulate", "study.toml", "--out", "o", "--quiet"]);
    folder.join("o")
}

/// With a unit left, the higher price is right while there is another step to come, the cheap one at the last step. Of two
/// private values only one is worth a bid.
#[test]
fn offers_of_instances_solved_by_hand() {
    let head = "[study]\nepisodes = 4\nreplications = 2\n";
    let pricing = format!(
        "{head}horizon = 2\n[budget]\nkind = \"constant\"\nvalue = 1\n[application]\nkind = \"pricing\"\n\
         prices = [1, 2]\n[contexts]\nkind = \"finite\"\nvalues = [[0.0]]\nno_arrival = [0.5, 0.0]\n\
         [conversion]\nkind = \"armed\"\nprobabilities = [0.9, 0.4]\n\
         [[policies]]\nkind = \"clairvoyant\"\n[[policies]]\nkind = \"random\"\n"
    );
    let folder = tempdir().unwrap();
    let out = run(folder.path(), &pricing);
    let expected = [
        ["clairvoyant", "1", "1", "2", "1", "2", "1"],
        ["clairvoyant", "2", "1", "1", "1", "1", "1"],
    ];
    assert_eq!(lines(&out, "actions.csv"), expected);

    let auction = format!(
        "{head}horizon = 1\n[budget]\nkind = \"constant\"\nvalue = 2\n[application]\nkind = \"auction\"\n\
         bids = [1, 2]\n[contexts]\nkind = \"finite\"\nvalues = [[1.0], [2.0]]\nweights = [0.75, 0.25]\n\
         [conversion]\nkind = \"armed\"\nprobabilities = [0.5, 0.6]\n[[policies]]\nkind = \"clairvoyant\"\n"
    );
    let folder = tempdir().unwrap();
    let out = run(folder.path(), &auction);
    let expected = ["1", "2"].map(|b| ["clairvoyant", "1", b, "0.25", "0.25", "0.25", "0.25"]);
    assert_eq!(lines(&out, "actions.csv"), expected);
}

/// Large laws are sampled: at the last step the optimal price maximises price times probability, whose mean over the
/// 10,000 contexts the sample must meet within 4 standard errors (false alarms: 6e-5 over seeds).
#[test]
fn sampled_offers_estimate_those_of_the_law() {
    let folder = tempdir().unwrap();
    let args = [
        "simulate",
        "--preset",
        "paper-pricing",
        "--out",
        "o",
        "--episodes",
        "2",
        "--replications",
        "2",
        "--policy",
        "clairvoyant",
        "--quiet",
    ];
    cbwk_ok(folder.path(), &args);
    let cells = lines(&folder.path().join("o"), "actions.csv");
    assert_eq!(cells.len(), 24 * 5);
    let best_price = |x: f64| {
        let worth = |a: f64| a / (1.0 + (-(x - a) / 3f64.sqrt()).exp());
        [1.0, 2.0, 3.0, 4.0]
            .into_iter()
            .max_by(|a, b| worth(*a).total_cmp(&worth(*b)))
            .unwrap()
    };
    let grid = |i: usize| i as f64 / 99.0;
    let prices: Vec<f64> = (0..10_000)
        .map(|i| best_price(grid(i / 100) + grid(i % 100)))
        .collect();
    let mean = prices.iter().sum::<f64>() / 1e4;
    let variance = prices.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 1e4;
    let error = (variance / 100.0).sqrt();
    for cell in cells.iter().filter(|cell| cell[1] == "24") {
        let found = number(&cell[3]);
        assert!((found - mean).abs() < 4.0 * error, "{found} {mean} {error}");
        // The clairvoyant is the optimal policy.
        assert_relative_eq!(found, number(&cell[5]), epsilon = 1e-12);
    }
    // Neither too sharp a test nor too blunt.
    assert!(error > 0.01 && error < 0.06, "{error}");
}

/// The first step has the starting budget, the end has what `episodes.csv` says was not spent, over the last quarter.
#[test]
fn budget_use_agrees_with_the_episodes() {
    let folder = tempdir().unwrap();
    let study = "[study]\nepisodes = 10\nreplications = 4\nhorizon = 6\n[budget]\nkind = \"cycle\"\nvalues = [1, 2, 4]\n\
         [application]\nkind = \"procurement\"\nwages = [1, 2]\n[contexts]\nkind = \"box\"\nlow = [0.0]\nhigh = [1.0]\n\
         no_arrival = 0.3\n[conversion]\nkind = \"armed\"\nprobabilities = [0.3, 0.6]\n\
         [[policies]]\nkind = \"mimic-opt-dp\"\n[[policies]]\nkind = \"fixed:0\"\n";
    let out = run(folder.path(), study);
    let (steps, episodes) = (lines(&out, "steps.csv"), lines(&out, "episodes.csv"));
    assert_eq!(steps.len(), 2 * 7);
    // Episodes 8, 9, 10 start with 2, 4, 1.
    for policy in ["mimic-opt-dp", "fixed:0"] {
        let of: Vec<&Vec<String>> = steps.iter().filter(|line| line[0] == policy).collect();
        assert_relative_eq!(number(&of[0][2]), 7.0 / 3.0, epsilon = 1e-12);
        assert_eq!(number(&of[0][3]), 0.0);
        let left: Vec<f64> = (1..=4)
            .map(|replication| {
                let counted = episodes.iter().filter(|line| {
                    line[0] == policy
                        && number(&line[1]) == f64::from(replication)
                        && number(&line[2]) > 7.0
                });
                counted
                    .map(|line| number(&line[3]) - number(&line[8]))
                    .sum::<f64>()
                    / 3.0
            })
            .collect();
        let mean = left.iter().sum::<f64>() / 4.0;
        let variance = left.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 3.0;
        assert_relative_eq!(number(&of[6][2]), mean, epsilon = 1e-12);
        assert_relative_eq!(number(&of[6][3]), (variance / 4.0).sqrt(), epsilon = 1e-12);
        let falling = of.windows(2).all(|w| number(&w[0][2]) >= number(&w[1][2]));
        assert!(falling, "{of:?}");
        assert_eq!(mean < 7.0 / 3.0, policy != "fixed:0");
    }
}
