//! What a decoder holds to beside its protocol.

use super::repair::Repairs;

/// Whether the contract lets a decoder repair, and whether the output was cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// Whether the output is known to have been cut: then its last call is validated as it came.
    pub is_cut: bool,
    pub repairs: Repairs,
}

impl Rules {
    /// The same for an output that was cut, where it was.
    pub(super) fn cut_where(self, is_cut: bool) -> Self {
        Self {
            is_cut: self.is_cut || is_cut,
            ..self
        }
    }

    /// Whether a call whose arguments cannot be read is answered alone, so that the calls beside it can run.
    pub(super) fn drop_calls(self) -> bool {
        self.repairs == Repairs::Allowed
    }
}
