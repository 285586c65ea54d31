//! Coverage by simulation: with the radii of the theory, the intervals of all (context, action) pairs hold rho at once in
//! at least 1 - delta of 200 data sets, for every oracle that has a theory.
//!
//! Theoretical radii are conservative. If their true failure rate is at most delta / 3 = 0.033, more than 20 failures in
//! 200 have probability 4.2e-6 (binomial tail), which is the false-alarm rate of each check. The control shrinks the radii
//! until the check fails.

mod common;

use std::path::Path;

use cbwk_gpu::config::{Document, Study};
use cbwk_gpu::experiment::{Coverage, CoverageSetting, Streams, coverage};

const DELTA: f64 = 0.1;

/// A small study around a conversion truth and an oracle.
fn study(contexts: &str, conversion: &str, oracle: &str) -> Study {
    let text = format!(
        "[study]\nhorizon = 4\n[budget]\nkind = \"constant\"\nvalue = 2\n\
         [application]\nkind = \"pricing\"\nprices = [0.5, 1.0, 1.5]\n\
         [contexts]\n{contexts}\n[conversion]\n{conversion}\n\
         [[policies]]\nkind = \"mimic-opt-dp\"\noracle = {oracle}\n"
    );
    let document = Document::parse(Path::new("small"), &text).unwrap();
    Study::from_document(&document).unwrap()
}

fn looks(study: &Study, most: usize) -> Vec<Coverage> {
    let setting = CoverageSetting {
        delta: DELTA,
        episodes: 100,
        sizes: vec![30, most],
        repetitions: 200,
    };
    let (_, oracle) = study.oracles()[0];
    coverage(&study.world, oracle, &setting, &Streams::new(1), &|| {})
}

/// Name, contexts, truth, oracle at its defaults, and the factor on the radius that breaks the promise.
const CASES: [(&str, &str, &str, &str, f64); 5] = [
    (
        "armed",
        "kind = \"finite\"\nvalues = [[0.0], [1.0]]",
        "kind = \"armed\"\nprobabilities = [0.8, 0.5, 0.2]",
        "{ kind = \"armed\"",
        0.2,
    ),
    (
        "armed-by-step",
        "kind = \"finite\"\nvalues = [[0.0], [1.0]]",
        "kind = \"armed-by-step\"\nprobabilities = \
         [[0.8, 0.5, 0.2], [0.7, 0.4, 0.1], [0.9, 0.6, 0.3], [0.5, 0.5, 0.5]]",
        "{ kind = \"armed-by-step\"",
        0.2,
    ),
    (
        "glm linear",
        "kind = \"grid\"\nlow = [0.0, 1.0]\nhigh = [1.0, 1.0]\npoints = [6, 1]",
        "kind = \"linear\"\nweights = [0.4, 0.5, -0.3]",
        "{ kind = \"glm\", link = \"linear\"",
        0.05,
    ),
    (
        "logistic",
        "kind = \"grid\"\nlow = [0.0, 0.0]\nhigh = [1.0, 1.0]\npoints = [4, 4]",
        "kind = \"logistic\"\nweights = [0.6, 0.5, -0.6]",
        "{ kind = \"logistic\"",
        0.02,
    ),
    (
        "kernel",
        "kind = \"grid\"\nlow = [0.0]\nhigh = [1.0]\npoints = [10]",
        // Norm sqrt(w' K w) = 0.82, below the bound 1; the sum stays inside [0, 1].
        "kind = \"rkhs\"\nkernel = { kind = \"squared-exponential\", length = [0.3, 0.8] }\n\
         centers = [[0.2, 0.5], [0.8, 1.0]]\nweights = [0.6, 0.5]",
        "{ kind = \"kernel\"",
        0.1,
    ),
];

#[test]
fn theoretical_intervals_cover_all_pairs_at_once() {
    for (name, contexts, conversion, oracle, narrow) in CASES {
        let theory = study(contexts, conversion, &format!("{oracle} }}"));
        let most = match name {
            // Its work grows with the cube of the observations.
            "kernel" => 300,
            // Its radius is above 1 for a long time.
            "logistic" => 100_000,
            _ => 3000,
        };
        let found = looks(&theory, most);
        for look in &found {
            common::say(&format!("{name}: {look:?}"));
            assert!(look.all >= 1.0 - DELTA, "{name}: {look:?}");
        }
        let shrunk = study(
            contexts,
            conversion,
            &format!("{oracle}, radius_scale = {narrow} }}"),
        );
        let control = looks(&shrunk, most.min(3000));
        assert!(
            control.iter().any(|look| look.all < 1.0 - DELTA),
            "{name}: {control:?} with {narrow} of the radius"
        );
        // The estimates, which do not depend on the radius, get better.
        assert!(found[1].error < found[0].error, "{name}: {found:?}");
        assert_eq!(found[0].error, control[0].error, "{name}");
    }
}

#[test]
fn the_norm_of_the_kernel_truth_is_below_the_bound() {
    let (_, contexts, conversion, oracle, _) = CASES[4];
    let study = study(contexts, conversion, &format!("{oracle} }}"));
    let norm = study.world.conversion().rkhs_norm().unwrap();
    // w'Kw = 0.36 + 0.25 + 2 * 0.3 * exp(-(0.6/0.3)^2/2 - (0.5/0.8)^2/2) = 0.61 + 0.6 exp(-2.1953125).
    let by_hand = (0.61 + 0.6 * (-2.195_312_5_f64).exp()).sqrt();
    approx::assert_abs_diff_eq!(norm, by_hand, epsilon = 1e-14);
    assert!(norm < 1.0);
}
