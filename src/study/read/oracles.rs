//! The oracle of a policy in a study file.

use super::{Read, section};
use crate::dp::Link;
use crate::model::ConversionSpec;
use crate::oracle::{GlmParameters, LogisticParameters, OracleSpec};
use crate::study::section::Section;

/// The oracle; where the file names none, the one made for the truth.
pub(super) fn oracle(s: &mut Section, truth: &ConversionSpec) -> Read<OracleSpec> {
    if s.has("oracle") {
        return section(s, "oracle", |s| {
            let kinds = ["armed", "armed-by-step", "glm", "logistic", "known"];
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
        ConversionSpec::Table { .. } => {
            let accepted = "an oracle, such as { kind = \"armed\" }, because none is made for table conversion";
            return Err(s.missing("oracle", accepted));
        }
    };
    s.resolve("oracle", resolved);
    Ok(spec)
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
