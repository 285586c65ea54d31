//! Notices of a service on standard error. They name shops and files, never tokens, ids or contexts.

use std::io::Write;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::serve_args::LogChoice;
use super::{colour, say};
use cbwk_gpu::error::printable;
use cbwk_gpu::learner::live::{Level, Notices};

/// Writes notices; of a single shop without its name.
pub fn notices(choice: LogChoice, single: bool) -> Notices {
    Arc::new(move |level, shop, text| match choice {
        LogChoice::Json => {
            let since = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            let line = json!({
                "time_ms": since.as_millis() as u64,
                "level": word(level),
                "shop": shop,
                "message": text,
            });
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        LogChoice::Text => {
            let shop = match single || shop.is_empty() {
                true => String::new(),
                false => format!("{shop}: "),
            };
            let word = match level {
                Level::Info => "note",
                other => word(other),
            };
            say(&format!(
                "{} {}",
                colour::word(word),
                printable(&format!("{shop}{text}"))
            ));
        }
    })
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}
