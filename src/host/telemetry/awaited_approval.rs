//! The call that a suspended run waits with, as its result names it. Asks no one.

use serde::Serialize;

use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_core::view::RunView;

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AwaitedApproval {
    /// The number of the call in its run.
    pub call: CallSeq,
    /// The tool.
    pub name: String,
    /// What an answer is bound to: BLAKE3 over the text of the arguments.
    pub arguments_hash: Digest,
    /// The run below that asks; `None` if the run itself does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// How many other calls below the run wait, too.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl AwaitedApproval {
    pub(super) fn of(view: &RunView) -> Option<Self> {
        let (call, arguments_hash) = view.approvals().awaited()?;
        let name = view.call(call).map(|call| call.name.clone());
        Some(Self {
            call,
            name: name.unwrap_or_default(),
            arguments_hash,
            run_id: None,
            more: 0,
        })
    }
}
