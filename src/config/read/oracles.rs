//! The oracle of a policy in a study file.

use super::kernel;
use crate::config::own::own;
use crate::config::{Read, Section};
use crate::dp::Link;
use crate::oracle::{
    Arms, GlmParameters, GpParameters, KernelMixtureParameters, KernelParameters,
    LinearMixtureParameters, LogisticMixtureParameters, LogisticParameters, NeuralParameters,
    OracleSpec,
};
use crate::task::KernelSpec;
use crate::world::ConversionSpec;

/// The default bounds of an oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefaultBounds {
    /// The paper's.
    Paper,
    /// Tight bounds that hold at all times, for oracles that have them.
    Tight,
}

const KINDS: [&str; 10] = [
    "armed",
    "armed-by-step",
    "tabular",
    "glm",
    "logistic",
    "kernel",
    "gp",
    "neural",
    "known",
    "own",
];

/// The oracle; by default the one made for the true conversion model.
pub(super) fn oracle(
    s: &mut Section,
    truth: &ConversionSpec,
    default: DefaultBounds,
) -> Read<OracleSpec> {
    if s.has("oracle") {
        return s.table("oracle", |s| {
            let kind = s.kind(&KINDS)?;
            read(s, &kind, truth, default)
        });
    }
    let Some(kind) = made_for(truth) else {
        let accepted =
            "an oracle, such as { kind = \"logistic\" }, because none is made for own conversion";
        return Err(s.missing("oracle", accepted));
    };
    s.missing_table("oracle", |s| {
        s.record("kind", kind);
        read(s, kind, truth, default)
    })
}

/// The oracle whose model is the true one.
fn made_for(truth: &ConversionSpec) -> Option<&'static str> {
    match truth {
        ConversionSpec::Armed { .. } | ConversionSpec::HighestOtherBid { .. } => Some("armed"),
        ConversionSpec::ArmedByStep { .. } => Some("armed-by-step"),
        ConversionSpec::Logistic { .. } | ConversionSpec::LogisticByAction { .. } => {
            Some("logistic")
        }
        ConversionSpec::Linear { .. } => Some("glm"),
        ConversionSpec::Rkhs { .. } => Some("kernel"),
        ConversionSpec::Table { .. } => Some("tabular"),
        ConversionSpec::Own { .. } => None,
    }
}

fn read(
    s: &mut Section,
    kind: &str,
    truth: &ConversionSpec,
    default: DefaultBounds,
) -> Read<OracleSpec> {
    Ok(match kind {
        "armed" => armed(s, Arms::Single, default)?,
        "armed-by-step" => armed(s, Arms::ByStep, default)?,
        "tabular" => armed(s, Arms::ByType, default)?,
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
        "own" => OracleSpec::Own(own(s, |finder, code, object| finder.oracle(code, object))?),
        _ => OracleSpec::Known,
    })
}

fn armed(s: &mut Section, arms: Arms, default: DefaultBounds) -> Read<OracleSpec> {
    let kinds = ["paper", "beta-binomial"];
    // The paper has no oracle with an arm for every context type.
    let (kinds, default) = match arms {
        Arms::ByType => (&kinds[1..], kinds[1]),
        _ => (&kinds[..], kinds[default as usize]),
    };
    let bounds = s.word_or("bounds", kinds, default)?;
    let radius_scale = s.number_or("radius_scale", 1.0)?;
    Ok(match (bounds, arms) {
        ("paper", Arms::Single) => OracleSpec::Armed { radius_scale },
        ("paper", Arms::ByStep) => OracleSpec::ArmedByStep { radius_scale },
        _ => OracleSpec::BetaBinomial { arms, radius_scale },
    })
}

/// Whether the bounds are mixture bounds, not the paper's.
fn mixture(s: &mut Section, default: DefaultBounds) -> Read<bool> {
    let kinds = ["paper", "mixture"];
    Ok(s.word_or("bounds", &kinds, kinds[default as usize])? == "mixture")
}

/// Refuses keys that only the paper's radius has.
fn refuse_with_mixture(s: &mut Section, keys: &[&'static str]) -> Read<()> {
    for key in keys {
        if s.has(key) {
            let accepted = format!("`{key}` with bounds = \"paper\" only");
            return Err(s.conflict(key, &accepted));
        }
    }
    Ok(())
}

fn glm(s: &mut Section, truth: &ConversionSpec, default: DefaultBounds) -> Read<OracleSpec> {
    let links = ["linear", "logistic"];
    let link = match truth {
        ConversionSpec::Linear { .. } => s.word_or("link", &links, links[0])?.to_string(),
        _ => s.word("link", &links)?,
    };
    let (link, default) = match link.as_str() {
        "linear" => (Link::Linear, default),
        // This link has no tight bounds.
        _ => (Link::Logistic, DefaultBounds::Paper),
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

/// The norm bound of the paper's regressions is fixed.
fn refuse_with_paper(s: &mut Section) -> Read<()> {
    if s.has("norm_bound") {
        let accepted =
            "`norm_bound` with bounds = \"mixture\" only (the paper's bounds take |mu| <= 1)";
        return Err(s.conflict("norm_bound", accepted));
    }
    Ok(())
}

fn logistic(s: &mut Section, default: DefaultBounds) -> Read<OracleSpec> {
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

fn kernel_oracle(
    s: &mut Section,
    truth: &ConversionSpec,
    default: DefaultBounds,
) -> Read<OracleSpec> {
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

/// The kernel of an oracle; by default that of the true model.
fn oracle_kernel(s: &mut Section, truth: &ConversionSpec) -> Read<KernelSpec> {
    match truth {
        ConversionSpec::Rkhs { kernel, .. } if !s.has("kernel") => {
            s.record("kernel", resolved_kernel(kernel));
            Ok(kernel.clone())
        }
        _ => s.table("kernel", kernel),
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
