//! The files of tokens that logins at tool servers left, beside the keys: for each server one, readable by its owner alone. Does not
//! get tokens.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::KeyFolder;
use super::key_file_error::KeyFileError;
use super::key_files::{replace, write_beside};
use super::key_leftovers::is_beside;
use super::key_lock::KeyLock;
use super::key_text::{read_secret, refuse};
use super::old_secret::{OLD, OldSecret};
use crate::tools::{OAuthFault, StoredAuthorization, TokenStore};
use monolith_core::message::Digest;

/// The suffix of every such file, and that of its lock.
pub(super) const TOKEN: &str = "token";
const LOCK: &str = "token-lock";
/// Digits of the address's hash in a name.
const DIGITS: usize = 32;

impl KeyFolder {
    /// Returns the results of logins, by server; leaves out unreadable ones.
    ///
    /// # Errors
    /// [`KeyFileError`], where the folder cannot be read.
    pub fn authorizations(&self) -> Result<Vec<StoredAuthorization>, KeyFileError> {
        self.own()?;
        let entries = match fs::read_dir(self.path()) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(fault) => return Err(refuse(self.path(), &fault)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(|fault| refuse(self.path(), &fault))?.path();
            if path.extension().is_some_and(|ending| ending == TOKEN) {
                found.extend(read_secret(&path).ok().and_then(|text| parsed(&text)));
            }
        }
        found.sort_by(|one, other| one.server.cmp(&other.server));
        Ok(found)
    }

    /// Forgets what a login at a server left; whether there was anything.
    ///
    /// # Errors
    /// [`KeyFileError`], where it cannot be taken away.
    pub fn forget_authorization(&self, server: &str) -> Result<bool, KeyFileError> {
        self.own()?;
        let path = self.token_path(server, TOKEN);
        if path.symlink_metadata().is_err() {
            return Ok(false);
        }
        let _lock = KeyLock::of_token(&self.token_path(server, LOCK))?;
        let forgotten = OldSecret::of(&path).and_then(|old| {
            fs::remove_file(&path)?;
            old.map_or(Ok(()), OldSecret::erase)
        });
        forgotten.map_err(|fault| refuse(&path, &fault))?;
        self.settle_token(&path)?;
        Ok(true)
    }

    /// The file of a server. Two servers of one address share it: a token is good for an address.
    fn token_path(&self, server: &str, ending: &str) -> PathBuf {
        let digest = Digest::of(server.as_bytes()).to_string();
        let digits = digest.get(..DIGITS).unwrap_or(&digest);
        self.path().join(format!("mcp-{digits}.{ending}"))
    }

    fn read_token(&self, server: &str) -> Result<Option<StoredAuthorization>, KeyFileError> {
        self.own()?;
        match read_secret(&self.token_path(server, TOKEN)) {
            Ok(text) => Ok(parsed(&text)),
            Err(KeyFileError::None { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    fn write_token(&self, authorization: &StoredAuthorization) -> Result<(), KeyFileError> {
        let path = self.token_path(&authorization.server, TOKEN);
        let failed = |fault: io::Error| refuse(&path, &fault);
        self.make()?;
        self.settle_token(&path)?;
        let text = serde_json::to_string(authorization);
        let text = text.map_err(|fault| failed(fault.into()))?;
        let mut new = write_beside(&path, &format!("{text}\n"))?;
        if path.symlink_metadata().is_err() {
            return new.replace().map_err(failed);
        }
        let old = replace(&path, || new.replace()).map_err(failed)?;
        old.map_or(Ok(()), OldSecret::erase).map_err(failed)
    }

    /// Takes away what a killed process left beside the file. Called under its lock.
    fn settle_token(&self, path: &Path) -> Result<(), KeyFileError> {
        for entry in fs::read_dir(self.path()).into_iter().flatten().flatten() {
            let left = entry.path();
            if !is_beside(&left, path) {
                continue;
            }
            let name = left.as_os_str().as_encoded_bytes();
            // It may be a second name of the file itself, which is not written over.
            let is_old = name.ends_with(OLD.as_bytes()) && !is_same(&left, path);
            let settled = if is_old {
                OldSecret::left_at(left.clone()).and_then(OldSecret::erase)
            } else {
                fs::remove_file(&left)
            };
            settled.map_err(|fault| refuse(&left, &fault))?;
        }
        Ok(())
    }
}

/// Returns true if two names lead to the same contents.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Parses a file of this version.
pub(super) fn parsed(text: &str) -> Option<StoredAuthorization> {
    serde_json::from_str(text).ok()
}

impl TokenStore for KeyFolder {
    fn place(&self) -> &Path {
        self.path()
    }

    fn load(&self, server: &str) -> Result<Option<StoredAuthorization>, OAuthFault> {
        self.read_token(server).map_err(|fault| kept(&fault))
    }

    fn save(&self, authorization: &StoredAuthorization) -> Result<(), OAuthFault> {
        self.write_token(authorization)
            .map_err(|fault| kept(&fault))
    }

    fn lock(&self, server: &str) -> Result<Box<dyn Send>, OAuthFault> {
        self.make().map_err(|fault| kept(&fault))?;
        let lock = KeyLock::of_token(&self.token_path(server, LOCK));
        Ok(Box::new(lock.map_err(|fault| kept(&fault))?))
    }
}

fn kept(fault: &KeyFileError) -> OAuthFault {
    OAuthFault::Store(fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"version":1,"server":"https://h/mcp","resource":"https://h/mcp","issuer":"https://a","token_endpoint":"https://a/token","client":{"id":"c","method":"none"},"access_token":"access-0001","refresh_token":"refresh-0001","scopes":["s"]}"#;

    fn folder() -> (tempfile::TempDir, KeyFolder) {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        (folder, keys)
    }

    #[test]
    fn a_token_is_kept_for_its_server_alone_and_the_old_one_is_written_over() {
        let (folder, keys) = folder();
        assert_eq!(keys.load("https://h/mcp"), Ok(None));
        assert_eq!(keys.forget_authorization("https://h/mcp"), Ok(false));
        let first = parsed(TEXT).unwrap();
        keys.save(&first).unwrap();
        let path = keys.token_path("https://h/mcp", TOKEN);
        let second_name = folder.path().join("second");
        fs::hard_link(&path, &second_name).unwrap();
        let next = StoredAuthorization {
            access_token: "access-0002".to_owned(),
            ..first
        };
        keys.save(&next).unwrap();
        assert_eq!(keys.load("https://h/mcp"), Ok(Some(next.clone())));
        assert_eq!(keys.load("https://h/other"), Ok(None));
        assert_eq!(keys.authorizations(), Ok(vec![next]));
        assert_eq!(fs::read_to_string(&second_name).unwrap().trim(), "");
        assert_eq!(keys.forget_authorization("https://h/mcp"), Ok(true));
        assert_eq!(keys.load("https://h/mcp"), Ok(None));
    }

    #[test]
    fn what_a_killed_process_left_is_taken_away() {
        let (_folder, keys) = folder();
        let first = parsed(TEXT).unwrap();
        keys.save(&first).unwrap();
        let path = keys.token_path("https://h/mcp", TOKEN);
        let beside = |end: &str| PathBuf::from(format!("{}.7-0.{end}", path.display()));
        fs::write(beside("new~"), TEXT).unwrap();
        fs::hard_link(&path, beside("old~")).unwrap();
        keys.save(&first).unwrap();
        assert_eq!(keys.load("https://h/mcp"), Ok(Some(first)));
        assert_eq!(fs::read_dir(keys.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_token_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, keys) = folder();
        keys.save(&parsed(TEXT).unwrap()).unwrap();
        let path = keys.token_path("https://h/mcp", TOKEN);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let fault = keys.load("https://h/mcp").unwrap_err().to_string();
        assert!(fault.contains("its mode is 0644"), "{fault}");
    }

    #[test]
    fn one_process_at_a_time_refreshes() {
        let (_folder, keys) = folder();
        let lock = keys.lock("https://h/mcp").unwrap();
        let other = keys.lock("https://h/other");
        assert!(other.is_ok(), "another server has a lock of its own");
        let path = keys.token_path("https://h/mcp", LOCK);
        let file = fs::File::open(&path).unwrap();
        assert!(file.try_lock().is_err());
        drop(lock);
        assert!(file.try_lock().is_ok());
    }
}
