//! The texts that give this machine's secret keys and tokens away, for redaction. Does not sign, and does not search for them.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::{fs, io};

use monolith_core::message::Digest;
use monolith_core::session::{RedactionKey, key_texts};
use monolith_core::transcript::{KeyError, SecretKey};

use super::key_files::{REDACTION, write_beside};
use super::key_text::{read_secret, refuse};
use super::token_files::parsed;
use super::{KeyFileError, KeyFolder};

/// The most of a key file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

impl KeyFolder {
    /// Every text that gives a secret of the folder away, each with its file: the file's own, and the bytes of the key in hex and
    /// base64. What cannot be read now cannot be used now either.
    pub(super) fn secret_texts(&self) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for entry in fs::read_dir(self.path()).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_public = path.extension().is_some_and(|ending| ending == "pub");
            // A key may be a link to where a secret store mounts it.
            if is_public || !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
                continue;
            }
            let place = format!("the key file {}", path.display());
            // The file of the lock is empty.
            let found = read(&path).filter(|text| !text.trim().is_empty());
            let found = found.map(|text| texts_of(text.trim()));
            let found = found.into_iter().flatten();
            texts.extend(found.map(|text| (place.clone(), text)));
        }
        texts
    }
}

fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

fn texts_of(text: &str) -> Vec<String> {
    if let Some(authorization) = parsed(text) {
        return authorization.secrets().map(str::to_owned).collect();
    }
    let mut texts = vec![text.to_owned()];
    if let Ok(key) = text.parse::<SecretKey>() {
        // `PRIVATE+KEY+NAME+ID+BASE64`, of which the last may hold a `+` too.
        let encoded = text.splitn(5, '+').nth(4);
        texts.extend(encoded.map(str::to_owned));
        texts.extend(key_texts(key.seed()));
    } else if let Ok(key) = text.parse::<Digest>() {
        texts.extend(key_texts(key.as_bytes()));
    }
    texts
}

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
    fn a_key_is_given_away_by_its_file_and_by_its_bytes() {
        use base64::Engine as _;
        use base64::engine::general_purpose::STANDARD;

        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        assert_eq!(keys.secret_texts(), []);
        let key = keys.load_or_make("local").unwrap();
        keys.redaction_key().unwrap();
        let texts: Vec<String> = keys.secret_texts().into_iter().map(|(_, t)| t).collect();
        let hex = Digest::from_bytes(*key.seed()).to_string();
        for given_away in [
            key.secret_text(),
            STANDARD.encode(key.seed()),
            hex.to_uppercase(),
            hex,
            fs::read_to_string(keys.path().join("redaction.key")).unwrap(),
        ] {
            let given_away = given_away.trim_end();
            let found = texts.iter().any(|text| given_away.contains(text.as_str()));
            assert!(found, "{given_away}");
        }
        let public = key.public().to_string();
        assert!(!texts.iter().any(|text| public.contains(text.as_str())));
    }

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
