//! This machine's keys, and the evidence for transcripts.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::clock::unix_ms;
use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::error::trust::TrustFault;
use crate::service::Service;
use crate::source::Source;
use monolith_core::session::RedactionKey;
use monolith_core::transcript::{KeyRing, Pin, PublicKey, SecretKey, Trust};
use monolith_host::driver::KeyFolder;
use monolith_host::store::{Exposure, open_given, replaceable};

/// The name of the key that signs where none is named.
pub const LOCAL_KEY: &str = "local";
/// The most of a file of keys or pins that is read.
const MAX_TRUST_BYTES: u64 = 16 << 20;

impl Service {
    /// This machine's keys: in the state folder, wherever the store is.
    pub fn keys(&self) -> Result<KeyFolder, ServiceError> {
        Ok(KeyFolder::new(self.state_folder()?.join("keys")))
    }

    /// This machine's keys, to be used: no one else can have put others in their place.
    pub fn own_keys(&self) -> Result<KeyFolder, ServiceError> {
        self.own_state()?;
        self.keys()
    }

    /// The key that signs here; it is made at its first use.
    pub fn signer(&self) -> Result<SecretKey, ServiceError> {
        let key = self.own_keys()?.load_or_make(LOCAL_KEY);
        key.map_err(|fault| self.or_unwritable(fault))
    }

    /// Returns the key for the salts of runs; creates it at its first use.
    pub fn redaction_key(&self) -> Result<RedactionKey, ServiceError> {
        let key = self.own_keys()?.redaction_key();
        key.map_err(|fault| self.or_unwritable(fault))
    }

    /// Returns the trust to check a transcript with. Named keys must have signed; without one, this machine's own count.
    pub fn trust(
        &self,
        keys: &[String],
        pins: &[PathBuf],
        witnesses: &[String],
    ) -> Result<Arc<Trust>, ServiceError> {
        let ring = if keys.is_empty() {
            self.own_keys()?.ring()?.trusted()
        } else {
            self.named_keys(keys)?
        };
        Ok(Arc::new(Trust {
            keys: ring,
            signature_required: !keys.is_empty(),
            pins: self.pins(pins)?,
            witnesses: self.named_keys(witnesses)?,
            now_unix_ms: Some(unix_ms()),
        }))
    }

    /// The heads in these files.
    pub fn pins(&self, files: &[PathBuf]) -> Result<Vec<Pin>, ServiceError> {
        let mut pins = Vec::new();
        for file in files {
            let text = self.read_trusted(file)?;
            let broken = |fault| TrustFault::Broken {
                path: file.clone(),
                fault,
            };
            pins.extend(Pin::read_all(&text).map_err(broken)?);
        }
        Ok(pins)
    }

    /// Keys that are given as such, and those in files.
    fn named_keys(&self, given: &[String]) -> Result<Vec<PublicKey>, ServiceError> {
        let mut ring = KeyRing::default();
        for asked in given {
            let file = Path::new(asked);
            let text = if self.cwd.join(file).is_file() || !asked.contains('+') {
                self.read_trusted(file)?
            } else {
                asked.clone()
            };
            ring.read(&text).map_err(|fault| TrustFault::Broken {
                path: file.to_owned(),
                fault,
            })?;
        }
        Ok(ring.trusted())
    }

    /// Refuses a file of keys or pins that others could replace.
    pub fn judge_place(&self, file: &Path) -> Result<(), ServiceError> {
        let found = replaceable(&self.cwd.join(file)).map_err(|fault| unreadable(file, &fault))?;
        found.map_or(Ok(()), |(place, exposure)| {
            Err(exposed(file, place, exposure).into())
        })
    }

    /// Reads a file of keys or pins. One that others could have written decides nothing.
    pub(crate) fn read_trusted(&self, file: &Path) -> Result<String, ServiceError> {
        let refuse = |fault: io::Error| unreadable(file, &fault);
        let path = self.cwd.join(file);
        let open = open_given(&path).map_err(refuse)?;
        if let Some(exposure) = Exposure::of_trusted_file(&open).map_err(refuse)? {
            return Err(exposed(file, file.to_owned(), exposure).into());
        }
        self.judge_place(file)?;
        read_whole(file, open)
    }

    /// Reads a file that is evidence and not trusted, such as a proof.
    pub fn read_evidence(&self, file: &Path) -> Result<String, ServiceError> {
        let open = open_given(&self.cwd.join(file));
        read_whole(file, open.map_err(|fault| unreadable(file, &fault))?)
    }
}

fn unreadable(file: &Path, fault: &io::Error) -> TrustFault {
    TrustFault::Unreadable {
        path: file.to_owned(),
        reason: fault.to_string(),
    }
}

fn exposed(file: &Path, place: PathBuf, exposure: Exposure) -> TrustFault {
    TrustFault::Exposed {
        path: file.to_owned(),
        place,
        exposure,
    }
}

fn read_whole(file: &Path, open: File) -> Result<String, ServiceError> {
    let mut text = String::new();
    let read = open.take(MAX_TRUST_BYTES + 1).read_to_string(&mut text);
    let read = read.map_err(|fault| unreadable(file, &fault))?;
    // A part of it would be taken for the whole.
    if u64::try_from(read).is_ok_and(|read| read > MAX_TRUST_BYTES) {
        let rule = io::Error::new(io::ErrorKind::InvalidData, "it is longer than 16 MiB");
        return Err(unreadable(file, &rule).into());
    }
    Ok(text)
}

/// Returns the marker that a run records for a secret value. A line feed at the end of the value is not part of it.
///
/// # Errors
///
/// There is no such run or no redaction key, or `value` fails.
pub fn commitment(
    service: &Service,
    asked: &str,
    value: impl FnOnce() -> Result<Vec<u8>, ServiceError>,
) -> Result<String, ServiceError> {
    let Source::Run(run_id, _) = service.run(asked)? else {
        let path = asked.into();
        return Err(TranscriptFault::FileInsteadOfRun { path }.into());
    };
    let key = service.own_keys()?.existing_redaction_key()?;
    let value = value()?;
    let value = value.strip_suffix(b"\n").unwrap_or(&value);
    let value = value.strip_suffix(b"\r").unwrap_or(value);
    Ok(key.salt(&run_id).marker(value))
}
