//! Exit codes and help for the faults of `store`.

use crate::error::advice::{Advice, KNOWN_VERSIONS};
use crate::exit::Exit;
use crate::text::command::shell_word;
use monolith_core::transcript::TranscriptKind;
use monolith_host::store::{
    EraseError, ExportError, ImportError, MigrateError, RemoveError, StoreError,
};

impl Advice for StoreError {
    fn exit(&self) -> Exit {
        match self {
            Self::RunExists { .. }
            | Self::Imported { .. }
            | Self::OtherKind { .. }
            | Self::Erased { .. }
            | Self::InReach { .. }
            | Self::NoSuchRun { .. }
            | Self::Ambiguous { .. } => Exit::USAGE,
            Self::Lacking { .. } | Self::Corrupt { .. } => Exit::EVIDENCE,
            Self::CannotOpen { .. }
            | Self::Folder { .. }
            | Self::CutOff { .. }
            | Self::WithoutLog { .. }
            | Self::Journal { .. }
            | Self::Exposed { .. }
            | Self::Linked { .. }
            | Self::ReadOnly { .. }
            | Self::Locked { .. }
            | Self::DiskFull { .. }
            | Self::NotADatabase { .. }
            | Self::Foreign { .. }
            | Self::Empty { .. }
            | Self::NewerFormat { .. }
            | Self::OlderFormat { .. }
            | Self::UnknownFormat { .. }
            | Self::InUse { .. }
            | Self::Io { .. }
            | Self::Poisoned { .. }
            | Self::Closed
            | Self::RunLocked { .. }
            | Self::Lock { .. }
            | Self::Fenced { .. }
            | Self::OutOfOrder { .. }
            | Self::BadEntry { .. }
            | Self::NoReceipt { .. }
            | Self::ReceiptBehind { .. }
            | Self::Statement { .. } => Exit::FAILED,
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NoSuchRun { .. } => "monolith list shows the runs of this store",
            Self::Ambiguous { .. } => "give more characters of the name",
            Self::RunExists { .. } => "choose another name, or leave it out",
            Self::OtherKind {
                kind: TranscriptKind::Work,
                ..
            } => {
                "monolith work show, list and receipt show a work item, monolith work run FILE continues it; verify, replay, list, export and delete take it too"
            }
            Self::OtherKind { .. } => {
                "show (except --conversation, --follow and --withheld), verify, replay, resume, list, export and delete take a workflow; each of its steps is a separate run"
            }
            Self::NotADatabase { .. } | Self::Foreign { .. } => {
                "name another file with --store; this one was left as it is"
            }
            Self::Empty { .. } => {
                "name another file with --store, or put this one back from a copy; it was left as it is"
            }
            Self::CannotOpen { .. } => {
                "the folder must exist and be yours to write; to read a store elsewhere, it must be yours to read"
            }
            Self::Folder { path } => {
                let file = path.join("runs.db");
                return Some(format!(
                    "name a file in it: --store {}",
                    shell_word(&file.display().to_string())
                ));
            }
            Self::ReadOnly { .. } => {
                "make the file and its folder writable, or name another with --store"
            }
            Self::Exposed { .. } => {
                "make it yours alone (chmod go-w, chown), or name a store in a folder of your own with --store or MONOLITH_HOME"
            }
            Self::Linked { .. } => {
                "remove the other name, or copy the file (sqlite3 runs.db \".backup copy.db\"); a link (ln -s) is followed"
            }
            Self::CutOff { .. } => {
                "monolith list by somebody who may write there does it; or copy both files to a folder of your own"
            }
            Self::WithoutLog { log, .. } => {
                let log = log.display();
                return Some(format!(
                    "copy {log} from the folder of the original too, or export the runs there (monolith export RUN) and import them; a file that is not a copy never held a run: remove it"
                ));
            }
            Self::InReach { .. } => {
                "keep the store elsewhere with --store or MONOLITH_HOME, or grant a narrower folder"
            }
            Self::Journal { path, journal } => {
                let (path, journal) = (path.display(), journal.display());
                return Some(format!(
                    "find out what made {journal}: if a tool of a run did, move it away and check the runs with monolith verify; if you changed \
                     the store with another SQLite program that was cut off, open {path} with that program once"
                ));
            }
            Self::DiskFull { .. } => {
                "make room: acknowledged data is kept; monolith resume RUN continues a run that had started, monolith work run FILE work items"
            }
            Self::Io { .. } => {
                "check the disk: acknowledged data is kept; monolith resume RUN continues a run that had started, monolith work run FILE work items"
            }
            Self::Locked { .. } => "wait for the other process, or name another file with --store",
            Self::RunLocked { .. } => "wait for it, or end it: a run has one driver at a time",
            Self::OlderFormat { .. } => {
                "monolith migrate upgrades it, and keeps a copy of it as it is"
            }
            Self::InUse { .. } => "wait for it to end",
            Self::NewerFormat { .. } => "use the build of monolith that wrote it, or a newer one",
            Self::Lacking { path, .. } => {
                let path = path.display();
                return Some(format!(
                    "list and export still read it: export each run (monolith export RUN --output FILE), move {path} and the files next to it with that name \
                     aside, and import the exported files into a new store; a run without an end continues only with the build that wrote it"
                ));
            }
            Self::Corrupt { .. } => "monolith verify RUN says what still holds",
            _ => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for EraseError {
    fn exit(&self) -> Exit {
        match self {
            Self::NotNamed { .. }
            | Self::Ambiguous { .. }
            | Self::NotHere { .. }
            | Self::Shared { .. } => Exit::USAGE,
            Self::Entry { .. } => Exit::EVIDENCE,
            Self::Unfinished { .. } => Exit::FAILED,
            Self::Store(fault) => fault.exit(),
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::Shared { .. } => "--all-runs erases them from those runs too",
            Self::Ambiguous { .. } => "give more of the hash",
            Self::NotNamed { .. } | Self::NotHere { .. } => {
                "monolith show RUN --raw names them: raw_hash, full, blob, request_hash"
            }
            Self::Unfinished { .. } => {
                "end the processes that read the store, and run the same command again"
            }
            Self::Store(fault) => return fault.help(),
            Self::Entry { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for RemoveError {
    fn exit(&self) -> Exit {
        match self {
            Self::Open { .. }
            | Self::Below { .. }
            | Self::Forked { .. }
            | Self::ForkedFrom { .. } => Exit::USAGE,
            Self::Store(fault) => fault.exit(),
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::Open { .. } => {
                Some("monolith resume continues it; --force deletes it as it is".to_owned())
            }
            Self::Below { root, .. } => Some(format!(
                "monolith resume {root} brings the tree to its end, monolith delete {root} --force deletes all of it; --force here deletes \
                 this run alone, and then {root} cannot continue"
            )),
            Self::Forked { fork, .. } | Self::ForkedFrom { fork, .. } => Some(format!(
                "delete that one first: monolith delete {fork}; --force deletes this one anyway, but then monolith verify {fork} --tree \
                 fails"
            )),
            Self::Store(fault) => fault.help(),
        }
    }
}

impl Advice for ImportError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unreadable { .. }
            | Self::OtherHistory { .. }
            | Self::OtherContract { .. }
            | Self::Deleted { .. }
            | Self::OwnRun { .. } => Exit::USAGE,
            Self::NotVerified { .. } | Self::Tombstone { .. } => Exit::EVIDENCE,
            Self::Store(fault) => fault.exit(),
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::OtherHistory { .. } | Self::OtherContract { .. } => {
                "name another store with --store, and compare the two"
            }
            Self::OwnRun { .. } => {
                "name another store with --store for the file; here, monolith resume RUN continues the run"
            }
            Self::Deleted { .. } => {
                "--deleted imports it anyway and keeps the note of its deletion; or name another store with --store"
            }
            Self::Tombstone { .. } => {
                "--key takes the key that signed the erasure, if you trust it: monolith key show on its machine"
            }
            Self::Store(fault) => return fault.help(),
            Self::Unreadable { .. } | Self::NotVerified { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for MigrateError {
    fn exit(&self) -> Exit {
        match self {
            Self::Downgrade { .. } | Self::UnknownTarget { .. } | Self::Empty { .. } => Exit::USAGE,
            Self::NoRoom { .. } | Self::Copy { .. } | Self::Changed { .. } => Exit::FAILED,
            Self::Store(fault) => fault.exit(),
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NoRoom { .. } => "nothing was changed; make room",
            Self::Downgrade { .. } | Self::UnknownTarget { .. } => KNOWN_VERSIONS,
            Self::Store(fault) => return fault.help(),
            Self::Empty { .. } | Self::Copy { .. } | Self::Changed { .. } => return None,
        };
        Some(text.to_owned())
    }
}

impl Advice for ExportError {
    fn exit(&self) -> Exit {
        match self {
            Self::Entry { .. } => Exit::EVIDENCE,
            Self::Store(fault) => fault.exit(),
            Self::Io(_) => Exit::FAILED,
        }
    }
}
