//! The decoder of a response as any protocol has it. Knows no wire shape.

use super::Decoded;
use super::parameter_types::ParameterTypes;
use crate::message::ToolInvocation;

/// A decoder that takes a response's bytes, whatever its protocol.
pub(super) trait PushDecoder: std::fmt::Debug + Send {
    /// Takes the next bytes of the body.
    fn push(&mut self, bytes: &[u8]);
    /// Returns true if no later bytes can change the message.
    fn is_settled(&self) -> bool;
    /// The text of the message as far as it has arrived, where that is known.
    fn text(&self) -> Option<&str>;
    /// The reasoning as far as it has arrived, where that is known.
    fn reasoning(&self) -> Option<&str>;
    /// The call at that place of the message, if it is whole in what has arrived.
    fn call(&mut self, at: usize) -> Option<ToolInvocation>;
    /// Receives what the offered tools take.
    fn know(&mut self, types: ParameterTypes);
    /// The verdict over all bytes that were pushed.
    fn finish(self: Box<Self>) -> Decoded;
}
