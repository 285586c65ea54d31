//! Memory and disk: studies that do not fit are refused before they start.

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

/// Refuses studies if one needs more memory, or all together more disk space, than is free.
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

/// Refuses a study that needs more memory than is free.
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

/// Free memory in bytes, if the system reports it: of the machine, or the limit of the process's control group.
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

/// The peak resident memory of this process, if the system reports it.
pub fn peak_memory() -> Option<u64> {
    field_of("/proc/self/status", "VmHWM:")
}

/// A field in kB of a file under /proc.
fn field_of(file: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Free bytes on the disk of a folder, or of its nearest existing parent.
fn free_space(folder: &Path) -> Option<u64> {
    let folder = std::path::absolute(folder).ok()?;
    let mut above = folder.ancestors();
    above.find_map(|path| fs4::available_space(path).ok())
}

/// A size in KiB, MiB or GiB.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{} MiB", bytes >> 20),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}
