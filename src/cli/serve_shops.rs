//! The shops of `serve`: finding them, and opening them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use cbwk_gpu::error::InputError;
use cbwk_gpu::learner::live::{Level, Live, LiveSettings, Notices};
use cbwk_gpu::shop::{ServeError, TaskFolder};

/// The shops to serve.
pub struct Found {
    /// Names and folders.
    pub shops: Vec<(String, PathBuf)>,
    /// Whether one task folder was given: then its name may be left out.
    pub single: bool,
}

/// The task folders among those given, and in those that are folders of task folders.
pub fn folders_of(given: &[PathBuf]) -> Result<Found, InputError> {
    let mut shops = Vec::new();
    let single = matches!(given, [only] if TaskFolder::is_one(only) || !has_shops(only)?);
    for folder in given {
        if single || TaskFolder::is_one(folder) {
            shops.push((name_of(folder), folder.clone()));
            continue;
        }
        let mut inner = children(folder)?;
        inner.retain(|path| TaskFolder::is_one(path));
        shops.extend(inner.into_iter().map(|path| (name_of(&path), path)));
    }
    shops.sort();
    let mut names = BTreeSet::new();
    for (name, folder) in &shops {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_plain = name.chars().all(plain) && !name.starts_with('.');
        if !single && !is_plain {
            let message = format!(
                "found the shop `{name}`; accepted: a folder named with letters, digits, `.`, `_` and `-`, as its name is part of addresses"
            );
            return Err(InputError::in_file(folder, message));
        }
        if !names.insert(name) {
            let message =
                format!("found a second shop `{name}`; accepted: folders with different names");
            return Err(InputError::in_file(folder, message));
        }
    }
    Ok(Found { shops, single })
}

fn has_shops(folder: &Path) -> Result<bool, InputError> {
    Ok(children(folder)?
        .iter()
        .any(|path| TaskFolder::is_one(path)))
}

fn children(folder: &Path) -> Result<Vec<PathBuf>, InputError> {
    let unreadable = |error| InputError::unreadable(folder, &error);
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| Ok(entry.map_err(unreadable)?.path()));
    paths.collect()
}

fn name_of(folder: &Path) -> String {
    let full = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let name = full
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "shop".into())
}

/// Opens shops.
#[derive(Clone)]
pub struct Opener {
    pub settings: LiveSettings,
    pub notices: Notices,
}

/// Name and folder of a shop that started from a snapshot.
pub type ToCheck = (String, PathBuf);

impl Opener {
    /// The live learner of a folder, and whether its journal is still to be checked.
    pub fn live(&self, name: &str, folder: &Path) -> Result<(Live, Option<ToCheck>), ServeError> {
        let (live, notes) = TaskFolder::open(folder)?.live(self.settings)?;
        for text in notes {
            (self.notices)(Level::Warning, name, &text);
        }
        let check = live
            .is_from_snapshot()
            .then(|| (name.to_string(), folder.to_path_buf()));
        Ok((live, check))
    }

    /// Opens shops on several threads: most of the time is spent waiting for the disk. `each` gets every result.
    pub fn open_all(
        &self,
        shops: &[(String, PathBuf)],
        each: impl Fn(&str, Result<(Live, Option<ToCheck>), ServeError>) + Sync,
    ) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((name, folder)) = shops.get(next.fetch_add(1, Ordering::Relaxed)) {
                each(name, self.live(name, folder));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..shops.len().min(4) {
                // Without more threads this one does all.
                let _ = Builder::new().stack_size(8 << 20).spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// A snapshot hides what happened to the journal before it: reads such journals from the start, one after the other, in
    /// the background, and says what it finds.
    pub fn check_journals(&self, shops: Vec<ToCheck>) {
        if shops.is_empty() {
            return;
        }
        let notices = Notices::clone(&self.notices);
        let check = move || {
            let (all, mut whole) = (shops.len(), 0);
            for (name, folder) in shops {
                let checked = TaskFolder::open(&folder).map_err(ServeError::from);
                match checked.and_then(|folder| folder.check_journal()) {
                    Ok(_) => whole += 1,
                    Err(error) => {
                        let text = format!(
                            "{error}; the snapshot hides this: see cbwk-gpu verify and repair"
                        );
                        notices(Level::Error, &name, &text);
                    }
                }
            }
            let text = format!(
                "{whole} of {all} journals read from the first line: they lead to the states of their snapshots"
            );
            notices(Level::Info, "", &text);
        };
        let thread = Builder::new().name("check".into()).stack_size(8 << 20);
        if thread.spawn(check).is_err() {
            (self.notices)(Level::Warning, "", "no thread to check journals with");
        }
    }
}
