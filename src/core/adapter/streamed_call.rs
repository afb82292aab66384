//! A call of a message that is still arriving. Does not know the message's other calls.

use crate::message::{ObjectText, ToolInvocation};

/// The most bytes of arguments that are read before the message is complete: each later piece reads them again.
const MAX_BYTES: usize = 64 * 1024;

/// The parts of a call whose arguments seem to be whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamedCall<'a> {
    pub arguments: &'a str,
    pub id: &'a str,
    pub name: &'a str,
}

impl StreamedCall<'_> {
    /// The call as a message by `model` would hold it; `None` if it lacks an id or a name, or its arguments are not one JSON
    /// object.
    pub(super) fn whole(&self, model: &str) -> Option<ToolInvocation> {
        let Self {
            arguments,
            id,
            name,
        } = *self;
        if id.is_empty() || name.is_empty() || arguments.len() > MAX_BYTES {
            return None;
        }
        Some(ToolInvocation {
            arguments: ObjectText::parse(arguments).ok()?,
            fault: None,
            id: id.to_owned(),
            name: name.to_owned(),
            raw_payload: None,
            source_model: model.to_owned(),
        })
    }
}
