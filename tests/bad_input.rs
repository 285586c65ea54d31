//! Wrong inputs: one line that names the file, the place, what was found and what is accepted; exit code 2; no file
//! half written.

mod common;
#[path = "common/refusals.rs"]
mod refusals;

use std::fs;

use refusals::{GOOD, complaint, refused};
use tempfile::tempdir;

#[test]
fn the_good_study_is_good() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), GOOD).unwrap();
    common::cbwk_ok(folder.path(), &["simulate", "study.toml", "--out", "o"]);
}

#[test]
fn mistakes_in_a_study_file() {
    // (what stands in the good file, what replaces it, what the message says)
    #[rustfmt::skip]
    let cases = [
        ("[study]", "[study", "study.toml:1: "),
        ("episodes = 4", "episode = 4", "study.toml:2: study: found unknown key `episode`; nearest known key: `episodes`"),
        ("episodes = 4", "episodes = \"many\"", "study.toml:2: study.episodes: found `many`; accepted: a whole number from 1"),
        ("episodes = 4", "episodes = 0", "study.toml:2: study.episodes: found 0; accepted: a whole number from 1"),
        ("episodes = 4", "episodes = -4", "study.toml:2: study.episodes: found -4"),
        ("episodes = 4", "episodes = 2.5", "study.toml:2: study.episodes: found 2.5"),
        ("horizon = 2\n", "", "study.toml:1: study.horizon: found nothing; accepted: a whole number from 1"),
        ("replications = 2", "replications = 2\ndelta = 1.5", "study.toml:5: study.delta: found 1.5; accepted: a number between 0 and 1"),
        ("replications = 2", "replications = 2\nseed = -1", "study.toml:5: study.seed: found -1"),
        ("[budget]\nkind = \"constant\"\nvalue = 3\n", "", "budget: found nothing; accepted: a table [budget]"),
        ("kind = \"constant\"", "kind = \"constnt\"", "study.toml:7: budget.kind: found `constnt`; accepted: one of constant, cycle, uniform, file (nearest: `constant`)"),
        ("value = 3", "value = -3", "study.toml:8: budget.value: found -3; accepted: a whole number from 0"),
        ("value = 3", "value = 3\ncolour = 1", "study.toml:9: budget: found unknown key `colour`"),
        ("kind = \"constant\"\nvalue = 3", "kind = \"uniform\"\nlow = 5\nhigh = 2", "study.toml:9: budget.high: found 2; accepted: a whole number from low = 5"),
        ("kind = \"constant\"\nvalue = 3", "kind = \"cycle\"\nvalues = []", "study.toml:8: budget.values: found an empty list"),
        ("kind = \"constant\"\nvalue = 3", "kind = \"file\"\npath = \"nowhere.csv\"", "nowhere.csv: cannot be read"),
        ("wages = [1, 2]", "wages = [1, 2.5]", "study.toml:12: application.wages[2]: found 2.5; accepted: a whole number from 1"),
        ("wages = [1, 2]", "wages = [-1, 2]", "study.toml:12: application.wages[1]: found -1"),
        ("wages = [1, 2]", "wages = [0, 2]", "study.toml:12: application.wages[1]: found 0"),
        ("wages = [1, 2]", "wages = []", "study.toml:12: application.wages: found an empty list"),
        ("wages = [1, 2]", "wages = 3", "study.toml:12: application.wages: found 3; accepted: a list"),
        ("kind = \"procurement\"\nwages = [1, 2]", "kind = \"pricing\"\nprices = [1.0, nan]", "study.toml:12: application.prices[2]: found NaN"),
        ("kind = \"procurement\"\nwages = [1, 2]", "kind = \"pricing\"\nprices = [1.0, 0.0]", "study.toml:12: application.prices[2]: found 0; accepted: a positive number"),
        ("wages = [1, 2]", "wages = [1, 2]\nreward_max = 0.5", "study.toml:13: application.reward_max: found 0.5; accepted: a number from 1"),
        ("kind = \"procurement\"\nwages = [1, 2]", "kind = \"table\"\nrewards = [[1.0, 2.0]]\ncosts = [[1, 1]]", "study.toml:12: application.rewards: found 1 rows; accepted: 2 rows"),
        ("kind = \"procurement\"\nwages = [1, 2]", "kind = \"table\"\nrewards = [[1.0, 2.0], [1.0, 2.0]]\ncosts = [[1, 0], [1, 1]]", "study.toml:13: application.costs[1][2]: found 0"),
        ("weights = [0.5, 0.5]", "weights = [0.5, 0.6]", "study.toml:17: contexts.weights: found weights that sum to 1.1; accepted: weights that sum to 1"),
        ("weights = [0.5, 0.5]", "weights = [1.5, -0.5]", "study.toml:17: contexts.weights[1]: found 1.5; accepted: a probability from 0 to 1"),
        ("weights = [0.5, 0.5]", "weights = [1.0]", "study.toml:17: contexts.weights: found 1 entries; accepted: 2 entries"),
        ("values = [[0.0], [1.0]]", "values = []", "study.toml:16: contexts.values: found an empty list"),
        ("values = [[0.0], [1.0]]", "values = [[0.0], [1.0, 2.0]]", "study.toml:16: contexts.values[2]: found 2 entries; accepted: 1 entries"),
        ("values = [[0.0], [1.0]]", "values = [[0.0], [inf]]", "study.toml:16: contexts.values[2][1]: found inf"),
        ("weights = [0.5, 0.5]", "no_arrival = 1.5", "study.toml:17: contexts.no_arrival: found 1.5"),
        ("weights = [0.5, 0.5]", "no_arrival = [0.5, 0.5, 0.5]", "study.toml:17: contexts.no_arrival: found 3 numbers; accepted: one number, or 2 (one per step)"),
        ("kind = \"finite\"\nvalues = [[0.0], [1.0]]\nweights = [0.5, 0.5]", "kind = \"by-step\"\n[[contexts.segments]]\nfirst = 1\nlast = 1\nkind = \"box\"\nlow = [0]\nhigh = [1]", "contexts.segments: found no segment for step 2"),
        ("kind = \"finite\"\nvalues = [[0.0], [1.0]]\nweights = [0.5, 0.5]", "kind = \"box\"\nlow = [1.0]\nhigh = [0.0]", "study.toml:17: contexts.high[1]: found 0"),
        ("kind = \"finite\"\nvalues = [[0.0], [1.0]]\nweights = [0.5, 0.5]", "kind = \"grid\"\nlow = [0.0]\nhigh = [1.0]\npoints = [0]", "study.toml:18: contexts.points[1]: found 0"),
        ("kind = \"finite\"\nvalues = [[0.0], [1.0]]\nweights = [0.5, 0.5]", "kind = \"file\"\npath = \"rows.csv\"", "rows.csv: cannot be read"),
        ("probabilities = [0.3, 0.6]", "probabilities = [0.3, 1.6]", "study.toml:21: conversion.probabilities[2]: found 1.6; accepted: a probability from 0 to 1"),
        ("probabilities = [0.3, 0.6]", "probabilities = [0.3]", "study.toml:21: conversion.probabilities: found 1 entries; accepted: 2 entries"),
        ("kind = \"armed\"\nprobabilities = [0.3, 0.6]", "kind = \"armed-by-step\"\nprobabilities = [[0.3, 0.6]]", "study.toml:21: conversion.probabilities: found 1 rows; accepted: 2 rows (one per step)"),
        ("kind = \"armed\"\nprobabilities = [0.3, 0.6]", "kind = \"linear\"\nweights = [1.0, 0.5]", "study.toml:21: conversion.weights: found mu.phi = 1.5"),
        ("kind = \"armed\"\nprobabilities = [0.3, 0.6]", "kind = \"logistic\"\nweights = [1.0]", "study.toml:21: conversion.weights: found 1 entries; accepted: 2 entries"),
        ("horizon = 2", "horizn = 2", "study.toml:3: study: found unknown key `horizn`; nearest known key: `horizon`"),
        ("wages = [1, 2]", "wagess = [1, 2]", "study.toml:12: application: found unknown key `wagess`; nearest known key: `wages`"),
        ("[budget]", "[budgets]", "study.toml:6: found unknown key `budgets`; nearest known key: `budget`"),
        ("weights = [0.5, 0.5]", "no_arrival = []", "study.toml:17: contexts.no_arrival: found a list of 0; accepted: a number, or one per step"),
        ("values = [[0.0], [1.0]]", "values = [[0.0], [1e200]]", "study.toml:16: contexts.values[2][1]: found"),
        ("horizon = 2\nreplications = 2\n\n[budget]\nkind = \"constant\"\nvalue = 3\n\n[application]\nkind = \"procurement\"\nwages = [1, 2]", "horizon = 90000\nreplications = 2\n\n[budget]\nkind = \"constant\"\nvalue = 90000\n\n[application]\nkind = \"procurement\"\nwages = [1, 2]", "study.toml:6: budget: found 90000 units over 90000 steps"),
        ("kind = \"armed\"\nprobabilities = [0.3, 0.6]", "kind = \"armed\"\nhighest_other_bid = { values = [1], weights = [1.0] }", "study.toml:21: conversion.highest_other_bid: found an application without bids; accepted: an auction"),
        ("kind = \"finite\"\nvalues = [[0.0], [1.0]]\nweights = [0.5, 0.5]\n\n[conversion]\nkind = \"armed\"\nprobabilities = [0.3, 0.6]", "kind = \"box\"\nlow = [0.0]\nhigh = [1.0]\n\n[conversion]\nkind = \"table\"\nprobabilities = [[0.3, 0.6]]", "conversion.kind: found table with a continuous context law"),
        ("alpha = 0.5", "alpha = 0.5\ninitial_rows = 1\ninitial_file = \"r.csv\"", "study.toml:26: policies[1].initial_rows: found beside another key; accepted: initial_rows or initial_file, not both"),
        ("alpha = 0.5", "alpha = 0.7", "study.toml:25: policies[1].alpha: found 0.7; accepted: a number between 0 and 1 with a whole number n in [1/alpha, 2/alpha - 1), to reserve every n-th episode for contexts"),
        ("alpha = 0.5", "alpha = 0.5\ninitial_rows = -1", "study.toml:26: policies[1].initial_rows: found -1"),
        ("alpha = 0.5", "alpha = 0.5\ninitial_file = \"rows.csv\"", "rows.csv: cannot be read"),
        ("oracle = { kind = \"armed\" }", "oracle = { kind = \"logistic\", gamma = 0.0 }", "study.toml:26: policies[1].oracle.gamma: found 0; accepted: a positive number"),
        ("oracle = { kind = \"armed\" }", "oracle = { kind = \"armed\", gama = 0.5 }", "study.toml:26: policies[1].oracle: found unknown key `gama`"),
        ("kind = \"mimic-opt-dp\"\nalpha = 0.5\noracle = { kind = \"armed\" }", "kind = \"fixed:7\"", "study.toml:24: policies[1].kind: found fixed:7; accepted: fixed:<a> with an action index from 0 to 2"),
        ("kind = \"mimic-opt-dp\"\nalpha = 0.5\noracle = { kind = \"armed\" }", "kind = \"random\"\n[[policies]]\nkind = \"random\"", "policies[2].name: found a second policy called `random`"),
        ("[[policies]]\nkind = \"mimic-opt-dp\"\nalpha = 0.5\noracle = { kind = \"armed\" }", "", "policies: found nothing; accepted: at least one policy"),
    ];
    let folder = tempdir().unwrap();
    for (find, replace, expected) in cases {
        let message = complaint(folder.path(), find, replace);
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
    }
}

#[test]
fn mistakes_in_context_rows() {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), GOOD).unwrap();
    let cases = [
        (
            "episode,stp,x\n1,1,0\n",
            "rows.csv:1: found no column `step` in `episode,stp,x`; accepted: header episode,step,",
        ),
        (
            "episode,step,x\n1,1,0\n",
            "rows.csv: step 2 of episode 1 is missing",
        ),
        (
            "episode,step,x\n1,1,0\n1,2,NaN\n",
            "rows.csv:3: column `x`: found `NaN`",
        ),
        (
            "episode,step,x,y\n1,1,0,0\n1,2,1,1\n",
            "rows.csv: context rows: found 2 feature columns; accepted: 1",
        ),
    ];
    for (rows, expected) in cases {
        fs::write(folder.path().join("rows.csv"), rows).unwrap();
        let message = refused(
            folder.path(),
            &["solve", "study.toml", "--contexts", "rows.csv"],
        );
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
    }
    // Contexts that a table does not know.
    let table = GOOD.replacen(
        "kind = \"procurement\"\nwages = [1, 2]",
        "kind = \"table\"\nrewards = [[1.0, 2.0], [1.0, 2.0]]\ncosts = [[1, 1], [1, 1]]",
        1,
    );
    fs::write(folder.path().join("table.toml"), table).unwrap();
    fs::write(
        folder.path().join("rows.csv"),
        "episode,step,x\n1,1,0\n1,2,0.5\n",
    )
    .unwrap();
    let message = refused(
        folder.path(),
        &["solve", "table.toml", "--contexts", "rows.csv"],
    );
    assert!(
        message.contains("[0.5]; accepted: one of the context values"),
        "{message}"
    );
}

#[test]
fn mistakes_in_a_budget_file() {
    let folder = tempdir().unwrap();
    let text = GOOD.replacen(
        "kind = \"constant\"\nvalue = 3",
        "kind = \"file\"\npath = \"b.csv\"",
        1,
    );
    fs::write(folder.path().join("study.toml"), text).unwrap();
    let cases = [
        (
            "budget\n3\n",
            "b.csv:1: found `budget`; accepted: a header with a column `b_t`",
        ),
        ("b_t\n3\nfour\n", "b.csv:3: column `b_t`: found `four`"),
        (
            "episode,b_t\n1,3\n3,2\n",
            "b.csv:3: column `episode`: found `3`; accepted: 2",
        ),
        (
            "b_t\n3\n2\n1\n",
            "budget.path: found budgets for 3 episodes; accepted: budgets for 4 episodes",
        ),
    ];
    for (budgets, expected) in cases {
        fs::write(folder.path().join("b.csv"), budgets).unwrap();
        let message = refused(folder.path(), &["simulate", "study.toml", "--out", "o"]);
        assert!(
            message.contains(expected),
            "expected {expected:?}, got {message:?}"
        );
    }
    // A byte-order mark is no mistake.
    let good = "\u{feff}episode,b_t\n1,3\n2,0\n3,4\n4,1\n";
    fs::write(folder.path().join("b.csv"), good).unwrap();
    common::cbwk_ok(folder.path(), &["simulate", "study.toml", "--out", "o"]);
}
