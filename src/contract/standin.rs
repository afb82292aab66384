//! STAND-IN
use super::*;
use crate::message::ObjectText;
pub(crate) fn ungranted(_: &ExecutionContract) -> Vec<String> { Vec::new() }
impl ContractSpec {
    pub(crate) fn delegated(self, _: &ExecutionContract, _: (&str, &ObjectText), _: crate::kernel::DelegationGrant) -> Self { self }
}
