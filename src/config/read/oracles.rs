//! The oracle of a policy in a study file.

use super::{Read, kernel, section};
use crate::config::section::Section;
use crate::dp::Link;
use crate::model::{ConversionSpec, KernelSpec};
use crate::oracle::{
    GlmParameters, GpParameters, KernelMixtureParameters, KernelParameters,
    LinearMixtureParameters, LogisticMixtureParameters, LogisticParameters, NeuralParameters,
    OracleSpec,
};

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
                "armed" => armed(s, false)?,
                "armed-by-step" => armed(s, true)?,
                "glm" => glm(s)?,
                "logistic" => logistic(s)?,
                "kernel" => kernel_oracle(s, truth)?,
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

fn armed(s: &mut Section, by_step: bool) -> Read<OracleSpec> {
    let bounds = s.word_or("bounds", &["paper", "beta-binomial"], "paper")?;
    let radius_scale = s.number_or("radius_scale", 1.0)?;
    Ok(match (bounds.as_str(), by_step) {
        ("paper", false) => OracleSpec::Armed { radius_scale },
        ("paper", true) => OracleSpec::ArmedByStep { radius_scale },
        _ => OracleSpec::BetaBinomial {
            by_step,
            radius_scale,
        },
    })
}

/// Whether the bounds are those of a mixture; the paper's otherwise.
fn mixture(s: &mut Section) -> Read<bool> {
    Ok(s.word_or("bounds", &["paper", "mixture"], "paper")? == "mixture")
}

/// Keys that belong to the paper's radius alone.
fn refuse_with_mixture(s: &mut Section, keys: &[&'static str]) -> Read<()> {
    for key in keys {
        if s.has(key) {
            let accepted = format!("`{key}` with bounds = \"paper\" only");
            return Err(s.conflict(key, &accepted));
        }
    }
    Ok(())
}

fn glm(s: &mut Section) -> Read<OracleSpec> {
    let link = match s.word("link", &["linear", "logistic"])?.as_str() {
        "linear" => Link::Linear,
        _ => Link::Logistic,
    };
    if mixture(s)? {
        if link == Link::Logistic {
            let accepted =
                "bounds = \"paper\" for this link (kind = \"logistic\" has mixture bounds)";
            return Err(s.conflict("bounds", accepted));
        }
        refuse_with_mixture(s, &["gamma", "kappa"])?;
        let default = LinearMixtureParameters::default();
        return Ok(OracleSpec::LinearMixture(LinearMixtureParameters {
            norm_bound: s.number_or("norm_bound", default.norm_bound)?,
            lambda: s.number_or("lambda", default.lambda)?,
            radius_scale: s.number_or("radius_scale", default.radius_scale)?,
        }));
    }
    refuse_with_paper(s)?;
    Ok(OracleSpec::Glm(GlmParameters {
        link,
        lambda: s.optional_number("lambda")?,
        gamma: s.optional_number("gamma")?,
        kappa: s.optional_number("kappa")?,
        radius_scale: s.number_or("radius_scale", 1.0)?,
    }))
}

/// The paper's regressions have their norm bound built in.
fn refuse_with_paper(s: &mut Section) -> Read<()> {
    if s.has("norm_bound") {
        let accepted =
            "`norm_bound` with bounds = \"mixture\" only (the paper's bounds take |mu| <= 1)";
        return Err(s.conflict("norm_bound", accepted));
    }
    Ok(())
}

fn logistic(s: &mut Section) -> Read<OracleSpec> {
    if mixture(s)? {
        refuse_with_mixture(s, &["lambda", "gamma", "kappa"])?;
        let default = LogisticMixtureParameters::default();
        return Ok(OracleSpec::LogisticMixture(LogisticMixtureParameters {
            norm_bound: s.number_or("norm_bound", default.norm_bound)?,
            radius_scale: s.number_or("radius_scale", default.radius_scale)?,
        }));
    }
    refuse_with_paper(s)?;
    Ok(OracleSpec::Logistic(LogisticParameters {
        lambda: s.number_or("lambda", 1.0)?,
        gamma: s.optional_number("gamma")?,
        kappa: s.optional_number("kappa")?,
        radius_scale: s.number_or("radius_scale", 1.0)?,
    }))
}

fn kernel_oracle(s: &mut Section, truth: &ConversionSpec) -> Read<OracleSpec> {
    let kernel = oracle_kernel(s, truth)?;
    if mixture(s)? {
        refuse_with_mixture(s, &["beta"])?;
        return Ok(OracleSpec::KernelMixture(KernelMixtureParameters {
            kernel,
            lambda: s.number_or("lambda", KernelMixtureParameters::LAMBDA)?,
            norm_bound: s.number_or("norm_bound", 1.0)?,
            radius_scale: s.number_or("radius_scale", 1.0)?,
        }));
    }
    Ok(OracleSpec::Kernel(KernelParameters {
        kernel,
        lambda: s.optional_number("lambda")?,
        norm_bound: s.number_or("norm_bound", 1.0)?,
        beta: s.optional_number("beta")?,
        radius_scale: s.number_or("radius_scale", 1.0)?,
    }))
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
    table.insert("bounds".into(), "paper".into());
    table.extend(
        more.iter()
            .map(|(key, value)| ((*key).to_string(), value.clone())),
    );
    table.insert("radius_scale".into(), 1.0.into());
    table
}
