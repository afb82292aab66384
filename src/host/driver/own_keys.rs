//! The texts that give this machine's secret keys and tokens away, for redaction. Does not sign, and does not search for them.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use super::KeyFolder;
use super::token_files::parsed;
use monolith_core::message::Digest;
use monolith_core::session::key_texts;
use monolith_core::transcript::SecretKey;

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

#[cfg(test)]
mod tests {
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
}
