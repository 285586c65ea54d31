//! The oracle of a policy in a study file.

use super::{Read, kernel, section};
use crate::config::section::Section;
use crate::dp::Link;
use crate::oracle::{
    GlmParameters, GpParameters, KernelParameters, LogisticParameters, NeuralParameters, OracleSpec,
};
use crate::task::KernelSpec;
use crate::world::ConversionSpec;

/// The oracle; where the file names none, the one made for the truth.
pub(super) fn oracle(s: &mut Section, truth: &ConversionSpec) -> Read<OracleSpec> {
    if s.has("oracle") {
        return section(s, "oracle", |s| {
            let kinds = [
                "armed",
                "armed-by-step",
                "glm",
                "logistic",
                "kernel",
                "gp",
                "neural",
                "known",
            ];
            Ok(match s.kind(&kinds)?.as_str() {
                "armed" => OracleSpec::Armed {
                    radius_scale: s.number_or("radius_scale", 1.0)?,
                },
                "armed-by-step" => OracleSpec::ArmedByStep {
                    radius_scale: s.number_or("radius_scale", 1.0)?,
                },
                "glm" => OracleSpec::Glm(GlmParameters {
                    link: match s.word("link", &["linear", "logistic"])?.as_str() {
                        "linear" => Link::Linear,
                        _ => Link::Logistic,
                    },
                    lambda: s.optional_number("lambda")?,
                    gamma: s.optional_number("gamma")?,
                    kappa: s.optional_number("kappa")?,
                    radius_scale: s.number_or("radius_scale", 1.0)?,
                }),
                "logistic" => OracleSpec::Logistic(LogisticParameters {
                    lambda: s.number_or("lambda", 1.0)?,
                    gamma: s.optional_number("gamma")?,
                    kappa: s.optional_number("kappa")?,
                    radius_scale: s.number_or("radius_scale", 1.0)?,
                }),
                "kernel" => OracleSpec::Kernel(KernelParameters {
                    kernel: oracle_kernel(s, truth)?,
                    lambda: s.optional_number("lambda")?,
                    norm_bound: s.number_or("norm_bound", 1.0)?,
                    beta: s.optional_number("beta")?,
                    radius_scale: s.number_or("radius_scale", 1.0)?,
                }),
                "gp" => OracleSpec::Gp(GpParameters {
                    kernel: oracle_kernel(s, truth)?,
                    lambda: s.number_or("lambda", 0.25)?,
                    beta: s.optional_number("beta")?,
                    radius_scale: s.number_or("radius_scale", 1.0)?,
                }),
                "neural" => OracleSpec::Neural(neural(s)?),
                _ => OracleSpec::Known,
            })
        });
    }
    let radius_scale = 1.0;
    let (spec, resolved) = match truth {
        ConversionSpec::Armed { .. } | ConversionSpec::HighestOtherBid { .. } => {
            (OracleSpec::Armed { radius_scale }, named("armed", &[]))
        }
        ConversionSpec::ArmedByStep { .. } => (
            OracleSpec::ArmedByStep { radius_scale },
            named("armed-by-step", &[]),
        ),
        ConversionSpec::Logistic { .. } => {
            let parameters = LogisticParameters::default();
            let lambda = ("lambda", parameters.lambda.into());
            (
                OracleSpec::Logistic(parameters),
                named("logistic", &[lambda]),
            )
        }
        ConversionSpec::Linear { .. } => {
            let parameters = GlmParameters {
                link: Link::Linear,
                lambda: None,
                gamma: None,
                kappa: None,
                radius_scale,
            };
            (
                OracleSpec::Glm(parameters),
                named("glm", &[("link", "linear".into())]),
            )
        }
        ConversionSpec::Rkhs { kernel, .. } => {
            let parameters = KernelParameters {
                kernel: kernel.clone(),
                lambda: None,
                norm_bound: 1.0,
                beta: None,
                radius_scale,
            };
            let kernel = ("kernel", resolved_kernel(kernel).into());
            let norm_bound = ("norm_bound", 1.0.into());
            (
                OracleSpec::Kernel(parameters),
                named("kernel", &[kernel, norm_bound]),
            )
        }
        ConversionSpec::Table { .. } => {
            let accepted = "an oracle, such as { kind = \"armed\" }, because none is made for table conversion";
            return Err(s.missing("oracle", accepted));
        }
    };
    s.resolve("oracle", resolved);
    Ok(spec)
}

/// The kernel of an oracle; where the file names none, that of the truth.
fn oracle_kernel(s: &mut Section, truth: &ConversionSpec) -> Read<KernelSpec> {
    match truth {
        ConversionSpec::Rkhs { kernel, .. } if !s.has("kernel") => {
            s.resolve("kernel", resolved_kernel(kernel));
            Ok(kernel.clone())
        }
        _ => section(s, "kernel", kernel),
    }
}

fn resolved_kernel(kernel: &KernelSpec) -> toml::Table {
    let mut table = toml::Table::new();
    match kernel.nu {
        None => table.insert("kind".into(), "squared-exponential".into()),
        Some(nu) => {
            table.insert("kind".into(), "matern".into());
            table.insert("nu".into(), nu.into())
        }
    };
    table.insert("length".into(), kernel.length.clone().into());
    table
}

fn neural(s: &mut Section) -> Read<NeuralParameters> {
    let default = NeuralParameters::default();
    Ok(NeuralParameters {
        width: s.whole_or("width", 2..=1024, default.width as u64)? as usize,
        depth: s.whole_or("depth", 2..=8, default.depth as u64)? as usize,
        lambda: s.number_or("lambda", default.lambda)?,
        gamma: s.number_or("gamma", default.gamma)?,
        steps: s.whole_or("steps", 1..=100_000, default.steps as u64)? as usize,
        step_size: s.number_or("step_size", default.step_size)?,
        full: s.flag_or("full", default.full)?,
        radius_scale: s.number_or("radius_scale", default.radius_scale)?,
    })
}

/// The resolved form of an oracle that was chosen for the user.
fn named(kind: &str, more: &[(&str, toml::Value)]) -> toml::Table {
    let mut table = toml::Table::new();
    table.insert("kind".into(), kind.into());
    table.extend(
        more.iter()
            .map(|(key, value)| ((*key).to_string(), value.clone())),
    );
    table.insert("radius_scale".into(), 1.0.into());
    table
}
