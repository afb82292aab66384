//! Secrets that a process left beside a key's file, killed while it made or replaced the key: the one of a published key takes its
//! place, the others go. Does not make keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::KeyFileError;
use super::key_files::{Files, KeyFolder, replace};
use super::key_lock::KeyLock;
use super::key_text::{read_secret, refuse};
use super::old_secret::{OLD, OldSecret};
use monolith_core::transcript::SecretKey;

impl KeyFolder {
    /// [`Self::settle`], where there is anything to settle: a process that makes or replaces the key now is waited for.
    pub(super) fn settle_left(&self, files: &Files) -> Result<(), KeyFileError> {
        if self.left(files)?.is_empty() {
            return Ok(());
        }
        let _lock = KeyLock::of(self.path())?;
        self.settle(files)
    }

    /// Puts in order what a killed process left of this key. Called under the lock of the folder: who has it is alone at it.
    pub(super) fn settle(&self, files: &Files) -> Result<(), KeyFileError> {
        let left = self.left(files)?;
        if left.is_empty() {
            return Ok(());
        }
        let published = self.ring()?.trusted();
        let current = self.read(files)?.map(|key| key.public());
        let mut is_replaced = false;
        for path in left {
            let text = read_secret(&path).unwrap_or_default();
            let key = text.trim_end().parse().ok();
            let key = key.map(|key: SecretKey| key.public());
            let is_current = key.is_some() && key == current;
            let is_next =
                key.is_some_and(|key| !is_current && current.is_some() && published.contains(&key));
            let is_old = path
                .as_os_str()
                .as_encoded_bytes()
                .ends_with(OLD.as_bytes());
            let settled = if is_old && !is_current {
                // Replaced, and not yet written over.
                OldSecret::left_at(path.clone()).and_then(OldSecret::erase)
            } else if is_next && !is_old && !is_replaced {
                is_replaced = true;
                let old = replace(&files.secret, || fs::rename(&path, &files.secret));
                old.and_then(|old| old.map_or(Ok(()), OldSecret::erase))
            } else {
                // A second name of the secret that is used, or the secret of a key that never signs.
                fs::remove_file(&path)
            };
            settled.map_err(|fault| refuse(&path, &fault))?;
        }
        Ok(())
    }

    /// The unfinished files beside the secret of this key.
    fn left(&self, files: &Files) -> Result<Vec<PathBuf>, KeyFileError> {
        let entries = match fs::read_dir(self.path()) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(refuse(self.path(), &fault)),
        };
        let mut left = Vec::new();
        for entry in entries {
            let path = entry.map_err(|fault| refuse(self.path(), &fault))?.path();
            if is_beside(&path, &files.secret) {
                left.push(path);
            }
        }
        left.sort();
        Ok(left)
    }
}

/// Returns true for the name of an unfinished file of that secret: `local.key.17-0.new~` or `local.key.17-0.old~` next to
/// `local.key`.
pub(super) fn is_beside(path: &Path, secret: &Path) -> bool {
    let names = path.file_name().zip(secret.file_name());
    let Some((name, of)) = names.and_then(|(name, of)| name.to_str().zip(of.to_str())) else {
        return false;
    };
    let rest = name
        .strip_prefix(of)
        .and_then(|rest| rest.strip_prefix('.'));
    let numbers = rest.and_then(|rest| {
        rest.strip_suffix(".new~")
            .or_else(|| rest.strip_suffix(OLD))
    });
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    numbers
        .and_then(|numbers| numbers.split_once('-'))
        .is_some_and(|(process, number)| is_number(process) && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::super::key_files::{append, random_key, write_beside};
    use super::*;

    fn secrets(keys: &KeyFolder) -> Vec<String> {
        let entries = fs::read_dir(keys.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .filter(|name| name.contains(".key") && !name.contains(".pub"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn what_a_killed_process_left_of_a_key_is_finished_or_taken_away() {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        let old = keys.generate("local").unwrap();
        let other = keys.generate("local.key").unwrap().public();
        let files = keys.files("local").unwrap();
        // Killed after its record was published, and before its secret took the old one's place.
        let new = random_key("local").unwrap();
        write_beside(&files.secret, &format!("{}\n", new.secret_text()))
            .unwrap()
            .keep();
        append(&files.public, &old.rotated_to(&new).to_string()).unwrap();
        // Killed before it published anything.
        let unused = random_key("local").unwrap();
        write_beside(&files.secret, &format!("{}\n", unused.secret_text()))
            .unwrap()
            .keep();
        // Killed between taking the name and giving up the other; and in the middle of writing.
        fs::hard_link(&files.secret, keys.path().join("local.key.7-0.new~")).unwrap();
        fs::write(keys.path().join("local.key.7-1.new~"), "PRIV").unwrap();
        assert_eq!(secrets(&keys).len(), 6);

        assert_eq!(keys.show("local").unwrap().public(), new.public());
        assert_eq!(secrets(&keys), ["local.key", "local.key.key"]);
        assert_eq!(keys.show("local.key").unwrap().public(), other);
        let (third, _) = keys.rotate("local").unwrap();
        assert_eq!(keys.show("local").unwrap().public(), third);
        let trusted = keys.ring().unwrap().trusted();
        assert_eq!(trusted.len(), 4, "{trusted:?}");
        assert!(!trusted.contains(&unused.public()));
    }
    /// Under a second name of its file an old secret could be read for ever.
    #[cfg(unix)]
    #[test]
    fn a_secret_whose_replacement_was_cut_off_is_written_over_by_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        let old = keys.generate("local").unwrap();
        let files = keys.files("local").unwrap();
        let (second, left) = (
            folder.path().join("second"),
            keys.path().join("local.key.7-0.old~"),
        );
        fs::hard_link(&files.secret, &second).unwrap();
        // Killed before the new secret took the name: the old one is still that of the key.
        fs::hard_link(&files.secret, &left).unwrap();
        assert_eq!(keys.show("local").unwrap().public(), old.public());
        assert_eq!(secrets(&keys), ["local.key"]);
        // Killed behind that.
        let new = random_key("local").unwrap();
        append(&files.public, &old.rotated_to(&new).to_string()).unwrap();
        fs::rename(&files.secret, &left).unwrap();
        write_beside(&files.secret, &format!("{}\n", new.secret_text()))
            .unwrap()
            .replace()
            .unwrap();
        assert_eq!(
            fs::read_to_string(&second).unwrap().trim(),
            old.secret_text().as_str()
        );
        assert_eq!(keys.show("local").unwrap().public(), new.public());
        assert_eq!(fs::read_to_string(&second).unwrap().trim(), "");
        assert_eq!(secrets(&keys), ["local.key"]);
    }
}
