//! A file or a pipe that can be read twice. What its lines say is for `transcript`.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::store::import_error::ImportError;
use crate::store::regular_file::open_given;

/// The most that is taken from a pipe: a file of any length need not be copied, so it has no such limit.
const MAX_SPOOLED_BYTES: u64 = 4 << 30;
/// How a transcript begins.
const BEGINNING: &[u8] = b"{\"contract\":";

/// A transcript that can be read more than once: a file, or the copy of what came through a pipe.
pub(super) struct Intake {
    file: File,
    path: PathBuf,
    /// The copy, where its name could not be removed while it is open.
    copy: Option<PathBuf>,
}

impl Intake {
    /// Opens what is to be imported into the store at `store`, in whose folder a copy is made of what can be read only once.
    pub(super) fn open(path: &Path, store: &Path) -> Result<Self, ImportError> {
        let unreadable = |fault: io::Error| refuse(path, fault.to_string());
        let mut given = open_given(path).map_err(unreadable)?;
        if given.metadata().map_err(unreadable)?.is_file() {
            return Ok(Self {
                file: given,
                path: path.to_owned(),
                copy: None,
            });
        }
        // Looked at first, so that what never ends is not copied for long.
        let mut beginning = Vec::new();
        let most = u64::try_from(BEGINNING.len()).unwrap_or(0);
        Read::by_ref(&mut given)
            .take(most)
            .read_to_end(&mut beginning)
            .map_err(unreadable)?;
        if beginning != BEGINNING {
            return Err(refuse(
                path,
                "it does not begin as a transcript does".to_owned(),
            ));
        }
        let mut intake = Self::copy_beside(path, store)?;
        let copy = |fault: io::Error| refuse(path, format!("copying it beside the store: {fault}"));
        intake.file.write_all(&beginning).map_err(copy)?;
        let mut bounded = given.take(MAX_SPOOLED_BYTES);
        let length = io::copy(&mut bounded, &mut intake.file).map_err(copy)?;
        if length >= MAX_SPOOLED_BYTES {
            let gibibytes = MAX_SPOOLED_BYTES >> 30;
            let reason =
                format!("more than {gibibytes} GiB came through a pipe; import it from a file");
            return Err(refuse(path, reason));
        }
        Ok(intake)
    }

    /// An empty file in the folder of the store, for this process alone, that is gone with it however it ends.
    fn copy_beside(path: &Path, store: &Path) -> Result<Self, ImportError> {
        let mut name = OsString::from(store);
        name.push(format!(".import-{}", std::process::id()));
        let copy = PathBuf::from(name);
        let refuse = |fault: io::Error| {
            let reason = format!("it can be read only once, and {}: {fault}", copy.display());
            refuse(path, reason)
        };
        // Left by a process of the same number that was killed between the two lines below.
        drop(fs::remove_file(&copy));
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&copy).map_err(refuse)?;
        let removed = fs::remove_file(&copy).is_ok();
        Ok(Self {
            file,
            path: path.to_owned(),
            copy: (!removed).then_some(copy),
        })
    }

    /// Reads it from its beginning.
    pub(super) fn rewind(&mut self) -> Result<&mut File, ImportError> {
        match self.file.seek(SeekFrom::Start(0)) {
            Ok(_) => Ok(&mut self.file),
            Err(fault) => Err(refuse(&self.path, fault.to_string())),
        }
    }

    /// What was given.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            // Where it is still open it cannot be removed; the next import of this process takes the name.
            drop(fs::remove_file(copy));
        }
    }
}

fn refuse(path: &Path, reason: String) -> ImportError {
    ImportError::Unreadable {
        path: path.to_owned(),
        reason,
    }
}
