//! What the machine has: studies that cannot fit are refused before they start, with the numbers.

use std::path::Path;

use thiserror::Error;

use cbwk_gpu::experiment::Study;
use cbwk_gpu::results::disk_needed;

/// The machine has too little of something.
#[derive(Debug, Error)]
#[error(
    "{name}: needs about {} of {what}, of which {} are free; accepted: {accepted}",
    size(*.needed), size(*.free)
)]
pub struct TooLittle {
    name: String,
    what: &'static str,
    needed: u64,
    free: u64,
    accepted: &'static str,
}

/// Refuses studies that run one after another into a folder, where one needs more memory than there is or all of them
/// more disk.
pub fn check_studies<'s>(
    studies: impl Iterator<Item = &'s Study> + Clone,
    folder: &Path,
) -> Result<(), TooLittle> {
    for study in studies.clone() {
        let accepted = "fewer episodes, replications, policies or rows";
        check_memory(&study.name, study.memory(), accepted)?;
    }
    let needed = studies.clone().map(disk_needed);
    let needed = needed.fold(0, u64::saturating_add);
    let name = studies.map(|study| study.name.clone()).next();
    match free_space(folder) {
        Some(free) if needed > free => Err(TooLittle {
            name: name.unwrap_or_default(),
            what: "disk space",
            needed,
            free,
            accepted: "fewer episodes, replications or policies, or a folder on another disk",
        }),
        _ => Ok(()),
    }
}

/// Refuses what needs more memory than there is.
pub fn check_memory(name: &str, needed: u64, accepted: &'static str) -> Result<(), TooLittle> {
    match free_memory() {
        Some(free) if needed > free => Err(TooLittle {
            name: name.into(),
            what: "memory",
            needed,
            free,
            accepted,
        }),
        _ => Ok(()),
    }
}

/// Bytes of memory that a process can still get, where the system tells: what the machine has, or what the process's
/// control group may have.
fn free_memory() -> Option<u64> {
    let machine = field_of("/proc/meminfo", "MemAvailable:")?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"));
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(group.unwrap_or("").trim_start_matches('/'));
    let groups = own.ancestors().take_while(|path| path.starts_with(root));
    let limit = |group: &Path| {
        let text = std::fs::read_to_string(group.join("memory.max")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(groups.filter_map(limit).fold(machine, u64::min))
}

/// The largest resident size of this process so far, where the system tells.
pub fn peak_memory() -> Option<u64> {
    field_of("/proc/self/status", "VmHWM:")
}

/// A field of a file of the system that counts in kB.
fn field_of(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Bytes free on the disk of a folder, or of the first folder above it that is there.
fn free_space(folder: &Path) -> Option<u64> {
    let folder = std::path::absolute(folder).ok()?;
    let mut above = folder.ancestors();
    above.find_map(|path| fs4::available_space(path).ok())
}

/// Bytes in a unit that people read.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}
