//! Where a person types what comes next after a run: the remedy for a failed run depends on it. Knows no remedy.

/// Where a person types what comes next.
#[derive(Clone, Copy, Debug)]
pub enum TypedAt<'w> {
    /// A shell.
    Shell,
    /// In a conversation; the words with which another one goes on from it.
    Chat(&'w str),
}
