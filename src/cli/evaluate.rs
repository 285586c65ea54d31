//! `cbwk-gpu evaluate`.

use std::io::Write;

use super::args::TableFormat;
use super::task_args::EvaluateArgs;
use super::{machine, progress};
use cbwk_gpu::error::InputError;
use cbwk_gpu::history::evaluate::{Question, Resampling, evaluate as run};
use cbwk_gpu::report::own_data::evaluation_tables;
use cbwk_gpu::shop::TaskFolder;

/// Runs the command.
pub fn evaluate(args: &EvaluateArgs) -> anyhow::Result<()> {
    if args.policy == args.against {
        let message = format!("found `{}` twice; accepted: two policies", args.policy);
        return Err(InputError::option("--against", message).into());
    }
    machine::set_threads(args.threads)?;
    let folder = TaskFolder::open(&args.folder)?;
    let mut fitted = folder.fitted()?;
    fitted.extrapolate = args.extrapolate;
    let question = Question {
        policy: args.policy,
        against: args.against,
        resampling: Resampling {
            splits: args.splits as usize,
            draws: args.draws as usize,
            seed: args.seed,
        },
        extrapolate: args.extrapolate,
    };
    let bar = progress::bar(args.quiet, u64::from(args.draws) + 1, "draws");
    let evaluation = run(&folder.file, &fitted, &question, &|| bar.inc(1));
    bar.finish_and_clear();
    let evaluation = evaluation.map_err(|invalid| match invalid.field.as_str() {
        "policy" | "against" => {
            let hint = match args.extrapolate
                || invalid.found.starts_with("fixed:") && !invalid.found.contains(',')
            {
                true => "",
                false => " (--extrapolate answers all the same)",
            };
            let (found, accepted) = (&invalid.found, &invalid.accepted);
            let message = format!("found {found}; accepted: {accepted}{hint}");
            InputError::option(&format!("--{}", invalid.field), message)
        }
        _ => InputError::in_file(&folder.place("log.csv"), invalid.to_string()),
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
