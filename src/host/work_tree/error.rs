//! The errors of the file layer: the path, the problem, and the fix. Touches no file.

use std::io;
use std::path::PathBuf;

use monolith_core::work::WorkPath;

/// Paths that a message names; the others are counted.
const MOST_NAMED: usize = 10;

/// An error of the file layer. Unless it says otherwise, the work tree is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// Another process has locked the work tree.
    #[error("{} is locked by {}; try again when it has ended", .path.display(), holder_words(.holder.unwrap_or(0)))]
    Busy {
        /// Its process id, where it is known.
        holder: Option<u32>,
        /// The work tree.
        path: PathBuf,
    },
    /// The work tree differs from the snapshot at paths that the item changes.
    #[error("the work tree changed since the snapshot: {}", named(.paths))]
    Conflict {
        /// The paths that differ.
        paths: Vec<WorkPath>,
    },
    /// The system refuses a file operation.
    #[error("{path}: {fault}")]
    Io {
        /// The path, as a person reads it.
        path: String,
        /// The system's error.
        #[source]
        fault: io::Error,
    },
    /// A name of an item that is no file name.
    #[error(
        "{id:?} is not an id for a scratch tree: use letters, digits, `-` and `_`, at most 64 of them"
    )]
    InvalidId {
        /// The id.
        id: String,
    },
    /// The journal or a record in the state folder cannot be read.
    #[error("{}: {reason}", .path.display())]
    Record {
        /// Its file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A file changes while it is read.
    #[error("{path} changed while it was read; run the item again when nothing writes it")]
    Moved {
        /// The path.
        path: WorkPath,
    },
    /// The store lacks a content.
    #[error("the content of {path} is not in the snapshot store, or is damaged there")]
    NoContent {
        /// The path that has the content.
        path: WorkPath,
    },
    /// Publishing or thawing failed part of the way, and every step was taken back.
    #[error("nothing was changed: {reason}")]
    RolledBack {
        /// The error that stopped it.
        reason: String,
    },
    /// Steps could not be taken back. The journal stays, and the next process that locks the work tree tries again.
    #[error("the work tree could not be restored, and stays locked until it is: {reason}")]
    RollBackFailed {
        /// The error of the roll-back.
        reason: String,
    },
    /// A path that cannot be kept as it is.
    #[error("{path}: {reason}")]
    Refused {
        /// The path.
        path: WorkPath,
        /// The reason, and the fix.
        reason: String,
    },
    /// The caller asked to stop.
    #[error("stopped")]
    Stopped,
    /// A scratch tree would copy more than is allowed.
    #[error(
        "a scratch tree would copy {bytes} bytes, and max_copy_bytes is {limit}; raise it or exclude folders"
    )]
    TooLarge {
        /// Bytes of the tree and its ignored files.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A path that is no folder, or one that items must not change. Nothing was made.
    #[error("{} cannot be a work tree: {reason}", .path.display())]
    Unfit {
        /// The path.
        path: PathBuf,
        /// The reason, and the fix.
        reason: String,
    },
    /// A process of another state folder left work in the tree. Nothing was changed.
    #[error(
        "{} has unfinished work of the state folder {}; run `monolith work run` with that one (`--store` or MONOLITH_HOME) to finish it. If it is gone, move {} away: that folder holds the files that were replaced",
        .path.display(),
        .state.display(),
        .scratch.display()
    )]
    Unfinished {
        /// The work tree.
        path: PathBuf,
        /// The folder with the work.
        scratch: PathBuf,
        /// The state folder that has its journal and its records.
        state: PathBuf,
    },
    /// The system has no atomic renames below an open folder.
    #[error("work items are not supported on this system: they need a Unix file system")]
    Unsupported,
}

fn holder_words(pid: u32) -> String {
    if pid == 0 {
        return "another process".to_owned();
    }
    format!("process {pid}")
}

fn named(paths: &[WorkPath]) -> String {
    let mut words: Vec<_> = paths
        .iter()
        .take(MOST_NAMED)
        .map(ToString::to_string)
        .collect();
    let more = paths.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_names_its_first_paths_and_counts_the_others() {
        let path = |number| format!("f{number}").parse().expect("a path");
        let text = |count| {
            let paths = (0..count).map(path).collect();
            WorkTreeError::Conflict { paths }.to_string()
        };
        assert!(text(2).ends_with("snapshot: f0, f1"));
        assert!(text(13).ends_with("f9, and 3 more"));
    }
}
