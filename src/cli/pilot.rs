//! `cbwk-gpu pilot`.

use std::io::Write;

use super::args::Format;
use super::task_args::PilotArgs;
use cbwk_gpu::shop::TaskFolder;

/// Runs the command.
pub fn pilot(args: &PilotArgs) -> anyhow::Result<()> {
    let pilot = TaskFolder::open(&args.folder)?.pilot()?;
    let mut out = std::io::stdout().lock();
    if args.format == Format::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&pilot)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{} days of a pilot, {} of them the learner's",
        pilot.days, pilot.ours
    )?;
    for (whose, reward) in [
        ("the learner", pilot.reward_ours),
        ("the baseline", pilot.reward_baseline),
    ] {
        if let Some(reward) = reward {
            writeln!(out, "a day of {whose} earned {reward:.2} on average")?;
        }
    }
    match (pilot.difference, pilot.interval) {
        (Some(difference), Some([low, high])) => writeln!(
            out,
            "the learner earns {difference:.2} a day more than the baseline; 95% interval at all times: {low:.2} to {high:.2}"
        )?,
        (Some(_), None) => writeln!(
            out,
            "an interval is shown from 20 days on, ten of each kind"
        )?,
        (None, _) => writeln!(
            out,
            "no days were drawn: a share between 0 and 1 is needed for a comparison"
        )?,
    }
    if let Some(days) = pilot.days_to_decide {
        match days <= pilot.days {
            true => writeln!(out, "the interval excludes 0")?,
            false => writeln!(
                out,
                "if it goes on like this, the interval excludes 0 after {days} days"
            )?,
        }
    }
    Ok(())
}
