//! Reads or makes the redaction key. Does not know what it marks.

use std::io;

use super::KeyFileError;
use super::key_files::{KeyFolder, REDACTION, write_beside};
use super::key_text::{read_secret, refuse};
use monolith_core::message::Digest;
use monolith_core::session::RedactionKey;
use monolith_core::transcript::KeyError;

impl KeyFolder {
    /// The secret that commitments are made with, in `redaction.key`; it is made where there is none.
    ///
    /// # Errors
    /// [`KeyFileError`], also where others may read it.
    pub fn redaction_key(&self) -> Result<RedactionKey, KeyFileError> {
        match self.existing_redaction_key() {
            Err(KeyFileError::None { .. }) => {}
            found => return found,
        }
        let path = self.redaction_path();
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(|fault| KeyFileError::Randomness(fault.to_string()))?;
        self.make()?;
        let text = format!("{}\n", Digest::from_bytes(bytes));
        // What is there is not replaced, so of two processes one makes the key.
        match write_beside(&path, &text)?.take_name() {
            Ok(()) => Ok(RedactionKey::new(bytes)),
            Err(fault) if fault.kind() == io::ErrorKind::AlreadyExists => {
                self.existing_redaction_key()
            }
            Err(fault) => Err(refuse(&path, &fault)),
        }
    }

    /// The secret that commitments were made with.
    ///
    /// # Errors
    /// [`KeyFileError::None`] where nothing was ever recorded with this folder.
    pub fn existing_redaction_key(&self) -> Result<RedactionKey, KeyFileError> {
        let path = self.redaction_path();
        self.own()?;
        let text = match read_secret(&path) {
            Err(KeyFileError::None { .. }) => {
                let name = REDACTION.to_owned();
                return Err(KeyFileError::None { name });
            }
            read => read?,
        };
        let digest: Digest = text.trim_end().parse().map_err(|_| KeyFileError::Broken {
            path,
            fault: KeyError {
                rule: "it is 64 lower-case hex digits",
            },
        })?;
        Ok(RedactionKey::new(*digest.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_key_is_made_once_for_its_owner_alone_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        let none = keys.existing_redaction_key();
        assert!(matches!(none, Err(KeyFileError::None { .. })), "{none:?}");
        let made = keys.redaction_key().unwrap();
        assert_eq!(keys.redaction_key().unwrap(), made);
        assert_eq!(keys.existing_redaction_key().unwrap(), made);
        let path = folder.path().join("keys/redaction.key");
        assert_eq!(fs::read_dir(folder.path().join("keys")).unwrap().count(), 1);
        let taken = keys.generate(REDACTION).map(|_| ());
        assert!(matches!(taken, Err(KeyFileError::Name { .. })), "{taken:?}");
        fs::write(&path, "x").unwrap();
        let broken = keys.redaction_key();
        assert!(
            matches!(broken, Err(KeyFileError::Broken { .. })),
            "{broken:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        keys.redaction_key().unwrap();
        let path = folder.path().join("keys/redaction.key");
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let fault = keys.redaction_key();
        assert_eq!(fault, Err(KeyFileError::Permissions { path, mode: 0o644 }));
    }
}
