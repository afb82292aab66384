use crate::adapter::edition::{Edition, Rules};
use crate::adapter::parameter_types::ParameterTypes;
use crate::contract::TextProfile;

/// How a text is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    pub profile: TextProfile,
    pub rules: Rules,
    /// What the offered tools take, for values that are bare text.
    pub types: &'a ParameterTypes,
}

impl<'a> Manner<'a> {
    /// What types the values of calls that are written as functions; none where no call is.
    pub(super) fn functions(&self) -> Option<&'a ParameterTypes> {
        let are_read = self.profile == TextProfile::Qwen && self.rules.edition >= Edition::Second;
        are_read.then_some(self.types)
    }
}
