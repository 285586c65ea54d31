//! `cbwk-gpu evaluate`.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::args::TableFormat;
use super::machine;
use super::task_args::EvaluateArgs;
use cbwk_gpu::config::TaskFolder;
use cbwk_gpu::error::InputError;
use cbwk_gpu::history::evaluate::{PolicyName, Question, Resampling, evaluate as run};
use cbwk_gpu::report::own_data::evaluation_tables;

/// Runs the command.
pub fn evaluate(args: &EvaluateArgs) -> anyhow::Result<()> {
    let wrong = |option: &str, message: String| InputError::Option {
        option: option.into(),
        message,
    };
    if args.policy == PolicyName::Logged {
        let message = "found `logged`; accepted: plan or fixed:<price> (logged is for --against)";
        return Err(wrong("--policy", message.into()).into());
    }
    if args.policy == args.against {
        let message = format!("found `{}` twice; accepted: two policies", args.policy);
        return Err(wrong("--against", message).into());
    }
    machine::set_threads(args.threads)?;
    let folder = TaskFolder::open(&args.folder)?;
    let fitted = folder.fitted()?;
    let question = Question {
        policy: args.policy,
        against: args.against,
        resampling: Resampling {
            splits: args.splits as usize,
            draws: args.draws as usize,
            seed: args.seed,
        },
        unsupported: args.unsupported,
    };
    let bar = progress_bar(args);
    let evaluation = run(&folder.file, &fitted, &question, &|| bar.inc(1));
    bar.finish_and_clear();
    let evaluation = evaluation.map_err(|invalid| match invalid.field.as_str() {
        "policy" | "against" => {
            let hint = match args.unsupported
                || invalid.found.starts_with("fixed:") && !invalid.found.contains(',')
            {
                true => "",
                false => " (--unsupported answers all the same)",
            };
            let message = format!(
                "found {}; accepted: {}{hint}",
                invalid.found, invalid.accepted
            );
            wrong(&format!("--{}", invalid.field), message)
        }
        _ => InputError::File {
            file: folder.place("log.csv"),
            message: invalid.to_string(),
        },
    })?;
    let mut out = std::io::stdout().lock();
    if args.format == TableFormat::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&evaluation)?)?;
        return Ok(());
    }
    let noun = folder.file.application.noun();
    let text = evaluation_tables(&evaluation, noun, args.format.style());
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// A bar on a terminal, nothing elsewhere.
fn progress_bar(args: &EvaluateArgs) -> ProgressBar {
    if args.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::from(args.draws) + 1);
    let style = ProgressStyle::with_template("{bar:28} {percent}% of {len} draws, {eta} left");
    bar.set_style(style.expect("the template is valid"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
