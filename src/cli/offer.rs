//! `cbwk-gpu offer`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::args::Format;
use super::machine;
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::error::{InputError, printable};
use cbwk_gpu::history::plan::{OfferPlan, PlanKind};
use cbwk_gpu::history::{Raw, TaskFile, parse_time};
use cbwk_gpu::shop::TaskFolder;

/// Arguments of `offer`.
#[derive(Debug, Args)]
pub struct OfferArgs {
    /// Task folder whose log has been fitted.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The step, from 1; or the time as HH:MM, or the days before the end, if the task's steps are made of them.
    #[arg(long, value_name = "STEP")]
    pub step: String,
    /// Units left.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub budget: u32,
    /// The customer, in the columns of the raw file. A column that is left out is a missing value.
    #[arg(value_name = "COLUMN=VALUE", value_parser = column_value)]
    pub customer: Vec<(String, String)>,
    /// Worker threads. Default: one per core.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What standard output gets.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

fn column_value(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=');
    let (name, value) = parts.ok_or("accepted: a column and its value, such as age=44")?;
    Ok((name.trim().into(), value.trim().into()))
}

/// Runs the command.
pub fn offer(args: &OfferArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    let folder = TaskFolder::open(&args.folder)?;
    let fitted = folder.fitted()?;
    let step = step_of(&folder.file, &args.step)?;
    let mut customer = BTreeMap::new();
    for (name, value) in &args.customer {
        if customer.insert(name.clone(), Raw::cell(value)).is_some() {
            let message = format!("found column `{name}` twice; accepted: once");
            return Err(InputError::option("COLUMN=VALUE", message).into());
        }
    }
    let refused =
        |invalid: cbwk_gpu::error::Invalid| InputError::option("COLUMN=VALUE", invalid.to_string());
    let (features, notes) = folder.file.encoding.encode(&customer).map_err(refused)?;
    let budget = args.budget.max(folder.task.budget_max());
    let estimates = PlanKind::Estimates;
    let plan = OfferPlan::make(
        &folder.file,
        &fitted,
        estimates,
        Some(budget),
        &mut Cpu::default(),
    );
    let plan = plan.map_err(|error| InputError::option("--budget", error.to_string()))?;
    plan.task.check_context(&features).map_err(refused)?;
    let customer = plan.customer(&fitted, &features);
    let cell = plan.offer(step - 1, args.budget.min(plan.task.budget_max()), &customer);
    let context = plan.task.context(step - 1, &features);
    let actions = plan.task.application().action_values();
    let action = actions.iter().position(|a| Some(*a) == cell.action);
    let (reward, units) = action.map_or((0.0, 0), |a| {
        (
            plan.task.reward(&context, a + 1),
            plan.task.cost(&context, a + 1),
        )
    });
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        let answer = json!({
            "step": step,
            "budget": args.budget,
            "offer": cell.action,
            "reward": reward,
            "units": units,
            "probability": cell.probability,
            "lower": cell.lower,
            "upper": cell.upper,
            "opportunity_cost": cell.opportunity_cost,
            "value": cell.value,
            "notes": notes,
        });
        writeln!(out, "{answer:#}")?;
        return Ok(());
    }
    let noun = folder.file.noun();
    match cell.action {
        None => writeln!(out, "no offer")?,
        Some(value) => {
            writeln!(out, "{noun} {value}")?;
            let [p, low, high] = [cell.probability, cell.lower, cell.upper].map(|p| 100.0 * p);
            writeln!(
                out,
                "accepted with probability {p:.1}% ({low:.1}% to {high:.1}%); it then earns {reward} and takes {units} of the units left"
            )?;
        }
    }
    writeln!(
        out,
        "these units are worth {:.4} later; {:.4} is expected from here on",
        cell.opportunity_cost, cell.value
    )?;
    for note in notes {
        writeln!(out, "note: {}", printable(&note))?;
    }
    Ok(())
}

/// The step (from 1) that a text names.
fn step_of(task: &TaskFile, text: &str) -> Result<usize, InputError> {
    let horizon = task.task.horizon;
    let (step, accepted) = match (&task.clock, &task.columns.lead) {
        (Some(clock), _) if text.contains(':') => {
            let time = parse_time(text).and_then(|second| clock.step(second, horizon));
            (time, format!("a time from {clock}"))
        }
        (None, Some(_)) => {
            let days = text.parse().ok().filter(|days: &usize| *days < horizon);
            let accepted = format!("a number of days before the end, from 0 to {}", horizon - 1);
            (days.map(|days| horizon - days), accepted)
        }
        _ => {
            let step = text
                .parse()
                .ok()
                .filter(|step| (1..=horizon).contains(step));
            (step, format!("a step from 1 to {horizon}"))
        }
    };
    step.ok_or_else(|| {
        InputError::option("--step", format!("found `{text}`; accepted: {accepted}"))
    })
}
