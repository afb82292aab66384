//! What the call of an agent holds while its message is dealt with. Decides nothing.

use std::collections::BTreeSet;

use crate::contract::{DelegationGrant, Label};

/// What the call of an agent holds while its message is dealt with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Delegated {
    /// What its run was given; `None` if none was begun.
    pub(super) grant: Option<DelegationGrant>,
    /// The labels of its report, once it has returned.
    pub(super) labels: BTreeSet<Label>,
    /// Ok results of tools that are no agents, in its run and below.
    pub(super) tools_ok: u64,
}

/// What each call of an agent gets of one message, where its file states nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) cost_micro_usd: Option<u64>,
    pub(super) tokens: u64,
}
