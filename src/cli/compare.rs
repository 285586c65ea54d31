//! `cbwk-gpu compare`.

use super::args::{BandChoice, CompareArgs, TableFormat};
use super::show::print;
use cbwk_gpu::error::InputError;
use cbwk_gpu::report::comparison::Comparison;
use cbwk_gpu::results::Results;
use cbwk_gpu::statistics::Band;

/// Runs the command.
pub fn compare(args: &CompareArgs) -> anyhow::Result<()> {
    let results = Results::read(&args.folder)?;
    let band = match args.band {
        BandChoice::ThreeSe => Band::ThreeErrors,
        BandChoice::Normal => Band::Normal,
        BandChoice::Bootstrap => Band::Bootstrap,
    };
    let found = Comparison::new(&results.run, &args.policies, band);
    let found = found.map_err(|invalid| match invalid.field.as_str() {
        "policy" => {
            let message = format!("found {}; accepted: {}", invalid.found, invalid.accepted);
            InputError::option("--policy", message)
        }
        _ => InputError::in_file(&args.folder.join("run.json"), invalid.to_string()),
    })?;
    match args.format {
        TableFormat::Json => print(&(serde_json::to_string_pretty(&found)? + "\n")),
        format => print(&found.text(format.style())),
    }
}
