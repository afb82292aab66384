//! A file or a pipe that can be read twice. What its lines say is for `transcript`.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use monolith_core::message::RunId;
use monolith_core::transcript::Chain;
use rusqlite::{Connection, params};

use super::column::{Columns, stored};
use super::reader::SqliteReader;
use crate::store::import_error::ImportError;
use crate::store::new_run::NewRun;
use crate::store::regular_file::open_given;
use crate::store::run::{RunHandle, this_process};
use crate::store::{Invocation, StoreError};

/// The most that is taken from a pipe: a file of any length need not be copied, so it has no such limit.
const MAX_SPOOLED_BYTES: u64 = 4 << 30;
/// The first bytes of a transcript.
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

    /// Returns the given path.
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

/// Writes the row of a run without entries, inside the open transaction.
pub(super) fn insert_run(
    new: NewRun,
    conn: &Connection,
    path: &Path,
) -> Result<RunHandle, StoreError> {
    let sql = |fault: rusqlite::Error| StoreError::from_sql(path, &fault);
    let run_id = new.run_id;
    let contract_hash = new.binding.hash();
    let kind = new.binding.kind().as_str();
    let head = Chain::genesis(contract_hash, &run_id).head();
    let mut insert = conn
        .prepare_cached(
            "INSERT INTO runs(run_id, contract_hash, created_unix_ms, epoch, owner, head_seq, head_hash, kind) \
             VALUES(?1, ?2, ?3, 1, ?4, -1, ?5, ?6) ON CONFLICT(run_id) DO NOTHING",
        )
        .map_err(sql)?;
    let made = insert
        .execute(params![
            run_id.as_str(),
            contract_hash.as_bytes(),
            stored(new.created_unix_ms),
            this_process(),
            head.as_bytes(),
            kind,
        ])
        .map_err(sql)?;
    if made == 0 {
        return Err(StoreError::RunExists { run_id });
    }
    let key = conn.last_insert_rowid();
    insert_contract(conn, key, &new.binding.document()).map_err(sql)?;
    if let Some(invocation) = new.invocation {
        insert_invocation(&invocation, conn, key).map_err(sql)?;
    }
    Ok(RunHandle {
        contract_hash,
        epoch: 1,
        head,
        key,
        length: 0,
        run_id,
    })
}

/// Keeps the document of a run's contract.
pub(super) fn insert_contract(conn: &Connection, key: i64, document: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO contracts(run, document) VALUES(?1, ?2)")?
        .execute(params![key, document])?;
    Ok(())
}

/// Writes the row. If a path is not UTF-8, nothing is written: the resume must then be given the file again.
pub(super) fn insert_invocation(
    invocation: &Invocation,
    conn: &Connection,
    key: i64,
) -> rusqlite::Result<()> {
    let paths = invocation
        .base_dir
        .to_str()
        .zip(invocation.contract_file.to_str());
    let Some((base_dir, contract_file)) = paths else {
        return Ok(());
    };
    let config = match invocation.config.as_ref().map(|path| path.to_str()) {
        Some(None) => return Ok(()),
        found => found.flatten(),
    };
    // What has no JSON text is a path that is not UTF-8: a resume asks then.
    let files = invocation.files.as_ref();
    let files = files.and_then(|files| serde_json::to_string(files).ok());
    // A list of strings always has a JSON text.
    let sets = serde_json::to_string(&invocation.sets).unwrap_or_default();
    conn.prepare_cached(
        "INSERT INTO invocations(run, base_dir, contract_file, config, sets, files) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![key, base_dir, contract_file, config, sets, files])?;
    Ok(())
}

impl SqliteReader {
    /// Returns the recorded invocation of that run.
    pub(super) fn invocation(&self, run_id: &RunId) -> Result<Option<Invocation>, StoreError> {
        let read = |columns: &Columns<'_>| {
            let sets = columns.text(3, "sets")?;
            let sets = serde_json::from_str(&sets)
                .map_err(|fault| columns.refuse("sets", "a list of texts", fault))?;
            let files = columns.text_or_null(4, "files")?;
            let files = files.map(|files| serde_json::from_str(&files)).transpose();
            let files =
                files.map_err(|fault| columns.refuse("files", "a list of trusted files", fault))?;
            Ok(Invocation {
                config: columns.text_or_null(2, "config")?.map(PathBuf::from),
                base_dir: columns.text(0, "base_dir")?.into(),
                contract_file: columns.text(1, "contract_file")?.into(),
                files,
                sets,
            })
        };
        let names = "base_dir, contract_file, config, sets, files";
        self.row_of(run_id, "invocations", names, read)
    }
}
