//! What a run found before its first request. Plain data; the view fills it in.

use crate::kernel::{BringUpFault, Check, ProbedTarget};

/// What was found before the first request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preflight {
    /// Tool servers that did not come up.
    pub bring_up: Vec<BringUpFault>,
    /// The results of PRECHECK, in its order; empty before it was left.
    pub checks: Vec<Check>,
    /// What the last probe found of each target, in the contract's order.
    pub probed: Vec<ProbedTarget>,
}

impl Preflight {
    /// The check that failed, where one did.
    pub fn failed(&self) -> Option<&Check> {
        self.checks.iter().find(|check| !check.ok)
    }
}
