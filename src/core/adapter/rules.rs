//! What a decoder holds to beside its protocol.

use super::repair::Repairs;
use crate::contract::FINAL_REPORT;

/// Whether the contract lets a decoder repair, whether the output was cut, and when the text of a message may be an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    pub beside_calls: BesideCalls,
    /// Whether the output is known to have been cut: then its last call is validated as it came.
    pub is_cut: bool,
    pub repairs: Repairs,
}

/// Whether text beside calls may be an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BesideCalls {
    /// The calls are what the message is for.
    #[default]
    NoAnswer,
    /// The tools are withheld, so no call is executed and the text counts; beside a final report it does not.
    MayAnswer,
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

    /// Whether the text of a message with calls of these names may be an answer.
    pub(super) fn may_answer<'n>(self, mut calls: impl Iterator<Item = &'n str>) -> bool {
        match self.beside_calls {
            BesideCalls::NoAnswer => calls.next().is_none(),
            BesideCalls::MayAnswer => !calls.any(|name| name == FINAL_REPORT),
        }
    }
}
