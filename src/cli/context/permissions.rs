//! What of the host's own files others may read or write.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::ui::escape::line;
use crate::store::Exposure;

/// The most files of one folder that are looked at.
const MOST_FILES: usize = 10_000;
/// The most that are named.
const MOST_NAMED: usize = 5;

/// Each file and folder of the state and the store that is not its owner's alone, with what lets others at it.
pub(in crate::cli) fn looser(app: &App) -> Result<Vec<(PathBuf, Exposure)>, CliError> {
    let withheld = app.withheld()?.paths;
    let keys = app.keys()?;
    let store = app.store_path()?;
    let mut paths = withheld.clone();
    paths.extend(store.parent().map(|folder| folder.join("accounting.jsonl")));
    let is_store = |path: &Path| {
        let name = path.to_string_lossy();
        name.ends_with(".locks") || name.ends_with(".answers")
    };
    for folder in withheld
        .iter()
        .filter(|path| is_store(path) || *path == keys.path())
    {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        paths.extend(entries.take(MOST_FILES).flatten().map(|entry| entry.path()));
    }
    paths.sort();
    paths.dedup();
    let found = paths.into_iter();
    Ok(found
        .filter_map(|path| Exposure::at(&path).map(|exposure| (path, exposure)))
        .collect())
}

/// The first of them in words, and how many more there are.
pub(in crate::cli) fn named(found: &[(PathBuf, Exposure)]) -> String {
    let first = found.iter().take(MOST_NAMED);
    let first = first.map(|(path, exposure)| {
        let path = line(&path.display().to_string());
        match exposure {
            Exposure::Mode(mode) => format!("{path} ({mode:04o})"),
            Exposure::Owner(uid) => format!("{path} (of user {uid})"),
        }
    });
    let mut text = first.collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = found.len().checked_sub(MOST_NAMED) {
        // Writing to a String cannot fail.
        let _ = write!(text, " and {more} more");
    }
    text
}
