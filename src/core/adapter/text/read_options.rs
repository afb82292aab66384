//! The rules and parameter types under which a text is read. Plain data; does not read anything.

use crate::adapter::fold::Rules;
use crate::adapter::parameter_types::ParameterTypes;
use crate::contract::TextProfile;

/// How a text is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadOptions<'a> {
    pub profile: TextProfile,
    pub rules: Rules,
    /// What the offered tools take, for values that are bare text.
    pub types: &'a ParameterTypes,
}

impl<'a> ReadOptions<'a> {
    /// What types the values of calls that are written as functions; none if no call is.
    pub(super) fn functions(&self) -> Option<&'a ParameterTypes> {
        (self.profile == TextProfile::Qwen).then_some(self.types)
    }
}
