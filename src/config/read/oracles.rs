//! The oracle of a policy in a study file.

use super::{Read, kernel, section};
use crate::config::section::Section;
use crate::dp::Link;
use crate::oracle::{
    GlmParameters, GpParameters, KernelMixtureParameters, KernelParameters,
    LinearMixtureParameters, LogisticMixtureParameters, LogisticParameters, NeuralParameters,
    OracleSpec,
};
use crate::task::KernelSpec;
use crate::world::ConversionSpec;

/// Which bounds an oracle has where the file does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Default {
    /// The paper's.
    Paper,
    /// Those that are tight and hold at all times, where there are some.
    Tight,
}

const KINDS: [&str; 8] = [
    "armed",
    "armed-by-step",
    "glm",
    "logistic",
    "kernel",
    "gp",
    "neural",
    "known",
];

/// The oracle; where the file names none, the one made for the truth.
pub(super) fn oracle(
    s: &mut Section,
    truth: &ConversionSpec,
    default: Default,
) -> Read<OracleSpec> {
    let (mut oracle, kind) = if s.has("oracle") {
        let mut oracle = s.section("oracle")?;
        let kind = oracle.kind(&KINDS)?;
        (oracle, kind)
    } else {
        let Some(kind) = made_for(truth) else {
            let accepted = "an oracle, such as { kind = \"armed\" }, because none is made for table conversion";
            return Err(s.missing("oracle", accepted));
        };
        let mut oracle = s.empty_section("oracle");
        oracle.resolve("kind", kind);
        (oracle, kind.to_string())
    };
    let spec = read(&mut oracle, &kind, truth, default)?;
    let resolved = oracle.finish()?;
    s.resolve("oracle", resolved);
    Ok(spec)
}

/// The oracle whose model is that of the truth.
fn made_for(truth: &ConversionSpec) -> Option<&'static str> {
    match truth {
        ConversionSpec::Armed { .. } | ConversionSpec::HighestOtherBid { .. } => Some("armed"),
        ConversionSpec::ArmedByStep { .. } => Some("armed-by-step"),
        ConversionSpec::Logistic { .. } | ConversionSpec::LogisticByAction { .. } => {
            Some("logistic")
        }
        ConversionSpec::Linear { .. } => Some("glm"),
        ConversionSpec::Rkhs { .. } => Some("kernel"),
        ConversionSpec::Table { .. } => None,
    }
}

fn read(s: &mut Section, kind: &str, truth: &ConversionSpec, default: Default) -> Read<OracleSpec> {
    Ok(match kind {
        "armed" => armed(s, false, default)?,
        "armed-by-step" => armed(s, true, default)?,
        "glm" => glm(s, truth, default)?,
        "logistic" => logistic(s, default)?,
        "kernel" => kernel_oracle(s, truth, default)?,
        "gp" => OracleSpec::Gp(GpParameters {
            kernel: oracle_kernel(s, truth)?,
            lambda: s.number_or("lambda", 0.25)?,
            beta: s.optional_number("beta")?,
            radius_scale: s.number_or("radius_scale", 1.0)?,
        }),
        "neural" => OracleSpec::Neural(neural(s)?),
        _ => OracleSpec::Known,
    })
}

fn armed(s: &mut Section, by_step: bool, default: Default) -> Read<OracleSpec> {
    let kinds = ["paper", "beta-binomial"];
    let bounds = s.word_or("bounds", &kinds, kinds[default as usize])?;
    let radius_scale = s.number_or("radius_scale", 1.0)?;
    Ok(match (bounds, by_step) {
        ("paper", false) => OracleSpec::Armed { radius_scale },
        ("paper", true) => OracleSpec::ArmedByStep { radius_scale },
        _ => OracleSpec::BetaBinomial {
            by_step,
            radius_scale,
        },
    })
}

/// Whether the bounds are those of a mixture; the paper's otherwise.
fn mixture(s: &mut Section, default: Default) -> Read<bool> {
    let kinds = ["paper", "mixture"];
    Ok(s.word_or("bounds", &kinds, kinds[default as usize])? == "mixture")
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

fn glm(s: &mut Section, truth: &ConversionSpec, default: Default) -> Read<OracleSpec> {
    let links = ["linear", "logistic"];
    let link = match truth {
        ConversionSpec::Linear { .. } => s.word_or("link", &links, links[0])?.to_string(),
        _ => s.word("link", &links)?,
    };
    let (link, default) = match link.as_str() {
        "linear" => (Link::Linear, default),
        // No tight bounds are made for this one.
        _ => (Link::Logistic, Default::Paper),
    };
    if mixture(s, default)? {
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

fn logistic(s: &mut Section, default: Default) -> Read<OracleSpec> {
    if mixture(s, default)? {
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

fn kernel_oracle(s: &mut Section, truth: &ConversionSpec, default: Default) -> Read<OracleSpec> {
    let kernel = oracle_kernel(s, truth)?;
    if mixture(s, default)? {
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
