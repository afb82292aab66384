//! The gate that every change to a disk by publishing, thawing and recovery passes, so that a test can fail or stop at any of them.

use std::fmt;
use std::io;

/// A kind of operation on the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Copies a content into a new file.
    Copy,
    /// Makes a file, a folder or a link.
    Create,
    /// Sets mode, owner or time.
    Mark,
    /// Removes a file, a link or an empty folder.
    Remove,
    /// Renames, or exchanges two names.
    Rename,
    /// Waits until the disk has a file or a folder's names.
    Sync,
    /// Writes bytes of a record.
    Write,
}

/// A gate before each operation.
pub trait Gate: fmt::Debug + Send + Sync {
    /// Lets an operation pass.
    ///
    /// # Errors
    /// The error with which the operation ends instead.
    fn pass(&self, op: Op) -> io::Result<()>;

    /// False if two names cannot be exchanged at once: a test of file systems that cannot.
    fn exchanges(&self) -> bool {
        true
    }

    /// False if nothing has to reach the disk: a test that loses no power.
    fn syncs(&self) -> bool {
        true
    }
}

/// A gate that is always open.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenGate;

impl Gate for OpenGate {
    fn pass(&self, _op: Op) -> io::Result<()> {
        Ok(())
    }
}
