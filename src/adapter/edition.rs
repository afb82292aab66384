//! The editions of the adapters: the number in a version says which rules an answer was judged by (docs/versions.md).
//!
//! A contract that names an older one keeps it, so its transcripts are judged again as they were.

use super::repair::Repairs;
use crate::contract::WireVersions;

/// Which rules of reading an adapter holds to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edition {
    /// One call whose arguments cannot be read rejects its message in every mode; a null in their place is no JSON; what
    /// stands between tags of the XML transport is judged as it came; a report of `xml-final` counts in the provider's own form, too;
    /// Qwen's form of functions is text.
    First,
    /// What `docs/adapters.md` says.
    #[default]
    Second,
}

impl Edition {
    pub(super) const ALL: [Self; 2] = [Self::First, Self::Second];

    /// What the edition of a protocol is called.
    pub(super) const fn of(self, versions: WireVersions) -> &'static str {
        match self {
            Self::First => versions.first,
            Self::Second => versions.second,
        }
    }
}

/// What a decoder holds to: an edition, and whether the contract lets it repair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    pub edition: Edition,
    /// Whether the output is known to have been cut: then its last call is judged as it came.
    pub is_cut: bool,
    pub repairs: Repairs,
}

impl Rules {
    /// The same for an output that was cut, where it was; the first edition did not ask.
    pub(super) fn cut_where(self, is_cut: bool) -> Self {
        Self {
            is_cut: self.is_cut || (is_cut && self.edition >= Edition::Second),
            ..self
        }
    }

    /// The same where the first edition repaired nothing.
    pub(super) fn since_the_second(self) -> Self {
        match self.edition {
            Edition::First => Self {
                repairs: Repairs::Never,
                ..self
            },
            Edition::Second => self,
        }
    }

    /// Whether a call whose arguments cannot be read is answered alone, so that the calls beside it can run.
    pub(super) fn drop_calls(self) -> bool {
        self.edition >= Edition::Second && self.repairs == Repairs::Allowed
    }
}
