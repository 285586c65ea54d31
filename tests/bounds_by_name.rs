//! How study files name bounds, and what does not belong together.

#[path = "common/bounds_study.rs"]
mod bounds_study;
mod common;

use std::path::Path;

use cbwk_gpu::config::{Document, Study};

use bounds_study::*;

#[test]
fn study_files_name_the_bounds_and_the_resolved_study_records_them() {
    for (oracle, conversion, bounds, recorded) in [
        ("kind = \"armed\"", ARMED, "paper", "bounds = \"paper\""),
        (
            "kind = \"armed\", bounds = \"beta-binomial\"",
            ARMED,
            "beta-binomial",
            "bounds = \"beta-binomial\"",
        ),
        (
            "kind = \"logistic\"",
            LOGISTIC,
            "paper",
            "bounds = \"paper\"",
        ),
        (
            "kind = \"logistic\", bounds = \"mixture\"",
            LOGISTIC,
            "mixture",
            "norm_bound = 10.0",
        ),
        (
            "kind = \"logistic\", bounds = \"mixture\", norm_bound = 3.0",
            LOGISTIC,
            "mixture",
            "norm_bound = 3.0",
        ),
        (
            "kind = \"glm\", link = \"linear\", bounds = \"mixture\"",
            ARMED,
            "mixture",
            "lambda = 1.0",
        ),
        (
            "kind = \"kernel\", bounds = \"mixture\", \
             kernel = { kind = \"squared-exponential\", length = [1.0, 20.0, 80.0] }",
            ARMED,
            "mixture",
            "lambda = 8.0",
        ),
    ] {
        let file = study_file(oracle, conversion).unwrap();
        let resolved = file.resolved_text();
        let study = file.study;
        assert_eq!(oracle_of(&study).bounds(), bounds, "{oracle}");
        assert_eq!(build(&study).facts().anytime, bounds != "paper", "{oracle}");
        assert!(resolved.contains(recorded), "{oracle}: {resolved}");
        let again = Document::parse(Path::new("resolved"), &resolved).unwrap();
        let again = Study::from_document(&again).unwrap();
        assert_eq!(oracle_of(&again), oracle_of(&study));
    }
}

#[test]
fn what_does_not_belong_together_is_refused_by_name() {
    for (oracle, named, hint) in [
        (
            "kind = \"armed\", bounds = \"mixture\"",
            "bounds",
            "beta-binomial",
        ),
        (
            "kind = \"logistic\", bounds = \"beta-binomial\"",
            "bounds",
            "mixture",
        ),
        (
            "kind = \"tabular\", bounds = \"paper\"",
            "bounds",
            "beta-binomial",
        ),
        (
            "kind = \"logistic\", bounds = \"mixture\", gamma = 0.5",
            "gamma",
            "paper",
        ),
        (
            "kind = \"logistic\", bounds = \"mixture\", kappa = 8.0",
            "kappa",
            "paper",
        ),
        (
            "kind = \"logistic\", bounds = \"mixture\", lambda = 1.0",
            "lambda",
            "paper",
        ),
        (
            "kind = \"logistic\", norm_bound = 3.0",
            "norm_bound",
            "mixture",
        ),
        (
            "kind = \"glm\", link = \"linear\", norm_bound = 3.0",
            "norm_bound",
            "mixture",
        ),
        (
            "kind = \"glm\", link = \"logistic\", bounds = \"mixture\"",
            "bounds",
            "logistic",
        ),
        (
            "kind = \"glm\", link = \"linear\", bounds = \"mixture\", gamma = 1.0",
            "gamma",
            "paper",
        ),
        (
            "kind = \"kernel\", bounds = \"mixture\", beta = 1.0, \
             kernel = { kind = \"squared-exponential\", length = [1.0] }",
            "beta",
            "paper",
        ),
        (
            "kind = \"gp\", bounds = \"mixture\", \
             kernel = { kind = \"squared-exponential\", length = [1.0] }",
            "bounds",
            "unknown key",
        ),
        (
            "kind = \"logistic\", bounds = \"mixture\", norm_bound = 0.0",
            "norm_bound",
            "positive",
        ),
    ] {
        let error = study(oracle, LOGISTIC).unwrap_err();
        assert!(
            error.contains(named) && error.contains(hint),
            "{oracle}: {error}"
        );
    }
}

/// What is said of an oracle's bounds before it is built is what the oracle says.
#[test]
fn oracles_keep_their_word_about_their_bounds() {
    const KERNEL: &str = ", kernel = { kind = \"squared-exponential\", length = 0.5 }";
    for (kind, more) in [
        ("armed", ""),
        ("armed", ", bounds = \"beta-binomial\""),
        ("armed-by-step", ""),
        ("armed-by-step", ", bounds = \"beta-binomial\""),
        ("tabular", ""),
        ("logistic", ""),
        ("logistic", ", bounds = \"mixture\""),
        ("glm", ", link = \"linear\""),
        ("glm", ", link = \"linear\", bounds = \"mixture\""),
        ("kernel", KERNEL),
        (
            "kernel",
            ", bounds = \"mixture\", kernel = { kind = \"squared-exponential\", length = 0.5 }",
        ),
        ("gp", KERNEL),
        ("neural", ""),
    ] {
        let study = study(&format!("kind = \"{kind}\"{more}"), LOGISTIC).unwrap();
        let facts = oracle_of(&study).facts();
        assert_eq!(facts, build(&study).facts(), "{kind}{more}");
        assert_eq!(facts.by_step, kind == "armed-by-step", "{kind}{more}");
    }
}
