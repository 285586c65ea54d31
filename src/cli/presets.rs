//! `cbwk-gpu presets`: the list, one of the study files, or a log drawn from its truth.

use std::io::Write;

use super::args::PresetsArgs;
use super::{machine, terminal};
use cbwk_gpu::config::{PRESETS, Study, preset};
use cbwk_gpu::error::InputError;
use cbwk_gpu::experiment::sample_log;
use cbwk_gpu::report::style;

/// Runs the command.
pub fn presets(args: &PresetsArgs) -> anyhow::Result<()> {
    let Some(name) = &args.name else {
        return list();
    };
    let Some(preset) = preset(name) else {
        return Err(machine::no_preset("presets", name).into());
    };
    if args.log {
        let document = machine::open_study(None, Some(name))?;
        return log(args, &Study::from_document(&document)?);
    }
    Ok(std::io::stdout().write_all(preset.text.as_bytes())?)
}

fn list() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let width = PRESETS.iter().map(|p| p.name.len()).max().unwrap_or(0);
    for preset in PRESETS {
        let study = Study::from_document(&machine::open_study(None, Some(preset.name))?)?;
        let mut oracles: Vec<String> = Vec::new();
        for (oracle, _) in study.oracles() {
            // The name of one of several settings ends with its policy.
            let kind = oracle.split(" of ").next().unwrap_or_default();
            if oracles.iter().all(|known| known != kind) {
                oracles.push(kind.into());
            }
        }
        let (name, title) = (preset.name, preset.title());
        let line = format!("{name:<width$}  {:<13}  {title}", oracles.join(", "));
        let folded = style::folded(&line, terminal::width(), width + 17);
        writeln!(out, "{folded}")?;
    }
    Ok(())
}

/// A raw file as a shop might keep it: `day,step,<feature>,...,offer,accepted,stock`.
fn log(args: &PresetsArgs, study: &Study) -> anyhow::Result<()> {
    let task = study.world.task();
    if task.application().table_types().is_some() {
        let message = "found a preset whose rewards are a table; accepted: prices, wages or bids";
        return Err(InputError::option("--log", message).into());
    }
    let mut out = csv::Writer::from_writer(std::io::stdout().lock());
    let unnamed = || {
        (1..=task.dimension())
            .map(|i| format!("theta{i}"))
            .collect()
    };
    let mut header = vec!["day".to_string(), "step".into()];
    header.extend(
        task.feature_names()
            .map_or_else(unnamed, <[String]>::to_vec),
    );
    header.extend(["offer", "accepted", "stock"].map(String::from));
    out.write_record(&header)?;
    for arrival in sample_log(&study.world, args.episodes as usize, args.seed) {
        let mut line = vec![arrival.episode.to_string(), arrival.step.to_string()];
        line.extend(arrival.features.iter().map(ToString::to_string));
        line.push(match arrival.action {
            0 => String::new(),
            a => task.application().action_value(a).to_string(),
        });
        line.push(u8::from(arrival.accepted).to_string());
        line.push(arrival.budget.to_string());
        out.write_record(&line)?;
    }
    out.flush()?;
    Ok(())
}
