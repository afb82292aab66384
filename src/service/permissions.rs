//! The host's own files that others may read or write.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::error::ServiceError;
use crate::service::Service;
use crate::text::command::{command, typed_word};
use crate::text::escape::line;
use crate::text::numbers::grouped;
use monolith_host::store::Exposure;
use monolith_host::tools::Withheld;

/// The most that are named.
const MOST_NAMED: usize = 5;

/// The files and folders that are not their owner's alone: the first by their names, and how many there are.
#[derive(Debug, Default)]
pub struct Looser {
    first: BTreeMap<PathBuf, Exposure>,
    count: u64,
}

impl Looser {
    /// Looks at each file and folder of the state and the store. However many there are, it holds only the first.
    pub fn of(service: &Service) -> Result<Self, ServiceError> {
        let Withheld { paths, folders, .. } = service.withheld()?;
        let withheld = [paths, folders].concat();
        let keys = service.keys()?;
        let is_store = |path: &Path| {
            let name = path.to_string_lossy();
            [".locks", ".answers", ".files"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        let folders = withheld
            .iter()
            .filter(|path| is_store(path) || *path == keys.path());
        let entries = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
        let entries = entries.flatten().map(|entry| entry.path());
        let mut own = withheld.clone();
        own.push(service.billing_path()?);
        own.sort();
        own.dedup();
        let mut found = Self::default();
        for path in own.into_iter().chain(entries) {
            if let Some(exposure) = Exposure::at(&path) {
                found.take(path, exposure);
            }
        }
        Ok(found)
    }

    fn take(&mut self, path: PathBuf, exposure: Exposure) {
        self.count = self.count.saturating_add(1);
        self.first.insert(path, exposure);
        if self.first.len() > MOST_NAMED {
            self.first.pop_last();
        }
    }

    /// True if nothing is open to others.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns how to restrict them to their owner: a command for the first of them.
    pub fn fix(&self) -> String {
        let words = |is_owned: bool| {
            let one = move |(path, exposure): (&PathBuf, &Exposure)| {
                let is_other = matches!(exposure, Exposure::Owner(_));
                let word = || format!(" {}", typed_word(&path.display().to_string()));
                (is_other != is_owned).then(word)
            };
            self.first.iter().filter_map(one).collect::<String>()
        };
        let (own, others) = (words(true), words(false));
        let close = (!own.is_empty()).then(|| command(&format!("chmod go-rwx{own}")));
        let take = || command(&format!("sudo chown \"$USER\"{others}"));
        let take = (!others.is_empty()).then(take);
        let named = u64::try_from(self.first.len()).unwrap_or(u64::MAX);
        let more = (self.count > named).then(|| "then look again".to_owned());
        let steps = close.into_iter().chain(take).chain(more);
        steps.collect::<Vec<_>>().join("; ")
    }

    /// The first of them in words, and how many more there are.
    pub fn named(&self) -> String {
        let first = self.first.iter().map(|(path, exposure)| {
            let path = line(&path.display().to_string());
            match exposure {
                Exposure::Mode(mode) => format!("{path} ({mode:04o})"),
                Exposure::Owner(uid) => format!("{path} (of user {uid})"),
            }
        });
        let mut text = first.collect::<Vec<_>>().join(", ");
        let named = u64::try_from(self.first.len()).unwrap_or(u64::MAX);
        if let Some(more @ 1..) = self.count.checked_sub(named) {
            // Writing to a String cannot fail.
            let _ = write!(text, " and {} more", grouped(more));
        }
        text
    }
}
