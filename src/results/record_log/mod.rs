//! `records.jsonl`: the checkpoint of an unfinished study, or of a shard. It is only appended to; every file of a finished study
//! is derived from it, by the same code after a run, a resumed run and a merge.
//!
//! ```text
//! file   = line*                     the first is the origin; each wave then has its records and its work
//! line   = checksum SPACE json LF    16 hexadecimal digits: the first half of the SHA-256 of the JSON text
//! json   = [synced, entry]           synced: bytes of the file that were on disk when the line was written
//! entry  = {"origin": {format, version, study, backend, adapter, precision, strategy, shard, command, threads}}
//!        | {"record": {policy, replication, episodes: [[reward, spent, expected], ..], left, knowledge, offers}}
//!        | {"work": {policy, elapsed, phases, report}}
//! ```
//!
//! A wave is one append with one sync, and counts when its work is there. Damage after the last known sync is cut off; damage
//! before it is an error that names the line.
//!
//! `wave.json` beside it is one such line with the state of the current wave, replaced as a whole.

mod line;
mod origin;
mod read;
mod state;
mod write;

use serde::{Deserialize, Serialize};

/// The content of a line, written from references.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Entry<O, R, W> {
    Origin(O),
    Record(R),
    Work(W),
}

pub use origin::Origin;
pub use read::{RECORDS, RecordLog, RecordReader};
pub use state::{WAVE, read_wave, remove_wave, write_wave};
pub use write::RecordWriter;
