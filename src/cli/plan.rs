//! `cbwk-gpu plan`.

use std::io::Write;

use super::machine;
use super::progress::Spinner;
use super::task_args::PlanArgs;
use cbwk_gpu::dp::cpu::Cpu;
use cbwk_gpu::error::{InputError, printable};
use cbwk_gpu::history::plan::{
    OfferPlan, PlanError, PlanKind, PlanView, plan_csv, segments as pick,
};
use cbwk_gpu::report::own_data::plan_page;
use cbwk_gpu::results::write_whole;
use cbwk_gpu::shop::TaskFolder;
use cbwk_gpu::statistics::evenly_spaced;

/// Default number of segments, and the most of a page.
const SEGMENTS: usize = 60;

/// Default limit of the rows of a plan.
const ROWS: usize = 500_000;

/// Runs the command.
pub fn plan(args: &PlanArgs) -> anyhow::Result<()> {
    machine::set_threads(args.threads)?;
    let folder = TaskFolder::open(&args.folder)?;
    let mut fitted = folder.fitted()?;
    fitted.extrapolate = args.extrapolate;
    let kind = match args.optimistic {
        true => PlanKind::Optimistic,
        false => PlanKind::Estimates,
    };
    let spinner = Spinner::start(false, "planning");
    let plan = OfferPlan::make(
        &folder.file,
        &fitted,
        kind,
        args.budget,
        &mut Cpu::default(),
    );
    let plan = plan.map_err(|error| match error {
        PlanError::Invalid(invalid) => {
            anyhow::Error::from(InputError::option("--budget", invalid.to_string()))
        }
        PlanError::Backend(error) => error.into(),
    })?;
    let (horizon, budget) = (plan.task.horizon(), plan.task.budget_max());
    let room = (ROWS / (horizon * budget.max(1) as usize)).clamp(1, SEGMENTS);
    let limit = args.segments.map_or(room, |n| n as usize);
    let segments = pick(&folder.file, &fitted, limit);
    let place = args.out.clone().unwrap_or_else(|| folder.place("plan.csv"));
    write_whole(&place, &plan_csv(&folder.file, &fitted, &plan, &segments))?;
    let view = match limit > SEGMENTS {
        true => {
            let fewer = pick(&folder.file, &fitted, SEGMENTS);
            PlanView::new(&folder.file, &fitted, &plan, kind, &fewer)
        }
        false => PlanView::new(&folder.file, &fitted, &plan, kind, &segments),
    };
    let page = place.with_extension("html");
    write_whole(&page, plan_page(&folder.name(), &view).as_bytes())?;

    drop(spinner);
    let mut out = std::io::stdout().lock();
    let typical = &segments[segments.len() / 2];
    let columns = folder.file.encoding.columns.iter().zip(&typical.values);
    let customer: Vec<String> = columns.map(|(c, v)| format!("{} {v}", c.name())).collect();
    let noun = folder.file.application.noun();
    let hoped = if args.optimistic { "hoped" } else { "expected" };
    for (words, table) in plan.groups().iter().zip(&plan.tables) {
        let days = match words.is_empty() {
            true => String::new(),
            false => format!(" on days with {}", printable(words)),
        };
        let value = table.start(budget);
        writeln!(
            out,
            "an episode with {budget} units{days} is {hoped} to earn {value:.4}"
        )?;
    }
    writeln!(out)?;
    let whom = match customer.is_empty() {
        true => String::new(),
        false => format!(" to a customer with {}", printable(&customer.join(", "))),
    };
    writeln!(
        out,
        "{noun} offered{whom}; rows are steps, columns units left"
    )?;
    let budgets: Vec<u32> = evenly_spaced(budget as usize, 8)
        .iter()
        .map(|b| *b as u32 + 1)
        .collect();
    write!(out, "{:>6}", "")?;
    for b in &budgets {
        write!(out, "  {b:>8}")?;
    }
    let customer = plan.customer(&fitted, &typical.features);
    for h in evenly_spaced(horizon, 12) {
        write!(out, "\n{:>6}", h + 1)?;
        for b in &budgets {
            let offer = plan.offer(h, *b, &customer).action;
            write!(out, "  {:>8}", offer.map_or("-".into(), |x| x.to_string()))?;
        }
    }
    writeln!(
        out,
        "\n\n{} segments in {}; page {}",
        segments.len(),
        place.display(),
        page.display()
    )?;
    for warning in &fitted.file.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    Ok(())
}
