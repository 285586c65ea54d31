//! `cbwk-gpu import`.

use std::io::Write;

use super::args::{Format, ImportArgs, OfferChoice};
use cbwk_gpu::config::TaskFolder;
use cbwk_gpu::error::InputError;
use cbwk_gpu::history::{
    BudgetSource, Clock, Import, ImportError, ImportSpec, OfferKind, StepSource,
};

/// Runs the command.
pub fn import(args: &ImportArgs) -> anyhow::Result<()> {
    let import = Import::survey(&args.raw, &spec(args)).map_err(explain)?;
    let summary = TaskFolder::create(&args.out, import, args.force).map_err(explain)?;
    let mut out = std::io::stdout().lock();
    match args.format {
        Format::Json => writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?,
        Format::Table => {
            write!(out, "{}", summary.text())?;
            writeln!(out, "\ntask in {}", args.out.display())?;
        }
    }
    Ok(())
}

fn spec(args: &ImportArgs) -> ImportSpec {
    let steps = args.steps.map(|steps| steps as usize);
    let step = match (&args.time, &args.step) {
        (Some(name), _) => StepSource::Time {
            name: name.clone(),
            steps: steps.unwrap_or(1),
            clock: args
                .open
                .zip(args.close)
                .map(|(open, close)| Clock { open, close }),
        },
        (None, name) => StepSource::Column {
            name: name.clone().unwrap_or_default(),
            steps,
        },
    };
    ImportSpec {
        episode: args.episode.clone(),
        step,
        action: args.action.clone(),
        accepted: args.accepted.clone(),
        features: args.features.clone().map(|mut names| {
            names.retain(|name| !name.is_empty());
            names
        }),
        categories: args.categories.clone(),
        budget: match (&args.budget_column, args.budget) {
            (Some(column), _) => BudgetSource::Column(column.clone()),
            (None, Some(units)) => BudgetSource::Constant(units),
            (None, None) => BudgetSource::Unknown,
        },
        probability: args.probability.clone(),
        kind: match args.kind {
            OfferChoice::Pricing => OfferKind::Pricing,
            OfferChoice::Procurement => OfferKind::Procurement,
            OfferChoice::Auction => OfferKind::Auction,
        },
        round: args.round,
        drop_wrong: args.drop_wrong,
    }
}

/// Wrong rows are wrong input, and there is an option for them.
fn explain(error: ImportError) -> anyhow::Error {
    match error {
        ImportError::WrongRows { first, rows } => {
            let hint = match rows {
                1 => "--drop-wrong leaves it out".to_string(),
                _ => format!("the first of {rows} wrong rows; --drop-wrong leaves them out"),
            };
            match first {
                InputError::At {
                    file,
                    line,
                    message,
                } => InputError::At {
                    file,
                    line,
                    message: format!("{message} ({hint})"),
                }
                .into(),
                other => other.into(),
            }
        }
        ImportError::Input(error) => error.into(),
        ImportError::Output(error) => error.into(),
    }
}
