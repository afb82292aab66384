//! The place where a person types next after a run: the remedy for a failed run depends on it. Knows no remedy.

/// The place where a person types next.
#[derive(Clone, Copy, Debug)]
pub enum TypedAt<'w> {
    /// A shell.
    Shell,
    /// A conversation; the words with which another one continues from it.
    Chat(&'w str),
}
