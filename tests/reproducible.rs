//! The same seed gives the same bytes.

mod common;

use std::fs;
use std::path::Path;

use cbwk_gpu::results::RESULT_FILES;
use common::cbwk_ok;
use tempfile::tempdir;

fn read(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

/// The resolved study file reproduces the run. Threads and repetition do not change a byte.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    for preset in ["paper-pricing", "rush-hour-pricing", "ad-auction-budgets"] {
        let folder = tempdir().unwrap();
        let size = [
            "--replications",
            "5",
            "--episodes",
            "24",
            "--quiet",
            "--seed",
            "7",
        ];
        for threads in ["1", "2", "4"] {
            let mut args = vec![
                "simulate",
                "--preset",
                preset,
                "--out",
                threads,
                "--threads",
                threads,
            ];
            args.extend(size);
            cbwk_ok(folder.path(), &args);
        }
        cbwk_ok(
            folder.path(),
            &["simulate", "1/study.toml", "--out", "again", "--quiet"],
        );
        for name in RESULT_FILES {
            if name == "run.json" {
                continue;
            }
            let first = read(&folder.path().join("1"), name);
            for other in ["2", "4", "again"] {
                assert_eq!(
                    first,
                    read(&folder.path().join(other), name),
                    "{preset} {name} {other}"
                );
            }
        }
        // A different seed gives different results.
        cbwk_ok(
            folder.path(),
            &[
                "simulate",
                "1/study.toml",
                "--out",
                "other",
                "--quiet",
                "--seed",
                "8",
            ],
        );
        let of = |name: &str| read(&folder.path().join(name), "episodes.csv");
        assert_ne!(of("1"), of("other"));
    }
}
