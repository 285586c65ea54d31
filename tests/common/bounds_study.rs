//! A study of four prices with an oracle and a truth of choice.
#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;

use cbwk_gpu::config::{Document, Study, StudyFile};
use cbwk_gpu::oracle::{LabeledData, Oracle, OracleConfig};
use cbwk_gpu::task::Context;
use cbwk_gpu::world::World;
use rand::RngExt;

/// Prices on a grid of contexts whose second feature goes up to 50, with an oracle.
pub fn study(oracle: &str, conversion: &str) -> Result<Study, String> {
    study_file(oracle, conversion).map(|file| file.study)
}

pub fn study_file(oracle: &str, conversion: &str) -> Result<StudyFile, String> {
    let text = format!(
        "[study]\nhorizon = 3\n[budget]\nkind = \"constant\"\nvalue = 2\n\
         [application]\nkind = \"pricing\"\nprices = [20.0, 50.0, 100.0, 200.0]\n\
         [contexts]\nkind = \"grid\"\nlow = [0.0, 10.0]\nhigh = [1.0, 50.0]\npoints = [5, 5]\n\
         [conversion]\n{conversion}\n\
         [[policies]]\nkind = \"mimic-opt-dp\"\noracle = {{ {oracle} }}\n"
    );
    let document = Document::parse(Path::new("small"), &text).map_err(|e| e.to_string())?;
    StudyFile::from_document(&document).map_err(|e| e.to_string())
}

pub const LOGISTIC: &str = "kind = \"logistic\"\nweights = [1.0, 0.04, -0.015]";
pub const ARMED: &str = "kind = \"armed\"\nprobabilities = [0.9, 0.6, 0.3, 0.1]";

pub fn context(step: usize, features: &[f64]) -> Context<'_> {
    Context {
        step,
        features,
        point: None,
    }
}

pub fn oracle_of(study: &Study) -> OracleConfig {
    study.oracles()[0].1.clone()
}

pub fn build(study: &Study) -> Box<dyn Oracle> {
    crate::common::build(&oracle_of(study), &study.world, 200, crate::common::rng(1))
}

/// Observations at random pairs of the grid.
pub fn data(instance: &World, count: usize, seed: u64) -> LabeledData {
    let mut rng = crate::common::rng(seed);
    let mut data = LabeledData::new(2);
    for _ in 0..count {
        let theta = [
            f64::from(rng.random_range(0..5)) * 0.25,
            10.0 + 10.0 * f64::from(rng.random_range(0..5)),
        ];
        let action = rng.random_range(1..=4usize);
        let context = context(rng.random_range(0..3), &theta);
        let converted = rng.random::<f64>() < instance.rho(&context, action);
        data.push(&context, action, converted);
    }
    data
}
