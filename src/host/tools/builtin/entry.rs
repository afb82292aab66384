//! An entry of a folder. Plain data.

use std::ffi::OsString;

/// An entry of a folder, as the folder names it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    pub(super) name: OsString,
}

/// The kind of an entry itself; a link is neither a file nor a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Other,
}
