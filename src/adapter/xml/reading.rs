//! What a scanned text holds: calls, a final report, ignored tags. Does not know how the tags were found.

use super::slot::Nonce;
use crate::adapter::calls::GatheredCall;

/// A complete call: both of its tags were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlCall {
    /// The bytes between the tags.
    pub payload: String,
    /// The number of its slot.
    pub slot: u32,
    /// The tool that its tag names.
    pub tool: String,
}

/// A final report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlFinalReport {
    /// Whether its closing tag was there.
    pub closed: bool,
    /// The attribute `format`, where the tag has it.
    pub format: Option<String>,
    /// The bytes between the tags.
    pub payload: String,
}

/// Why a tag of this session counts for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum XmlFlaw {
    /// The attributes after the slot are not `name="value"`, or one occurs twice.
    Attributes,
    /// It has no attribute `tool`, or an empty one.
    NoTool,
    /// The slot is used by an earlier tag of the message.
    SlotUsed,
    /// The message has more tags than are read.
    TooMany,
    /// Its closing tag is missing.
    Unclosed,
    /// No such slot is offered.
    UnknownSlot,
    /// The slot belongs to another tool.
    WrongTool,
}

/// A tag that counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlIgnored {
    /// Why.
    pub flaw: XmlFlaw,
    /// The text in place of a slot, cut to 32 characters.
    pub slot: String,
}

/// What became of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct XmlReading {
    /// Calls in the order of their tags.
    pub calls: Vec<XmlCall>,
    /// The last valid final report.
    pub final_report: Option<XmlFinalReport>,
    /// Tags that count for nothing, in order.
    pub ignored: Vec<XmlIgnored>,
    /// The last progress report.
    pub progress: Option<String>,
    /// The text outside of tags.
    pub text: String,
}

impl XmlReading {
    /// The calls, not validated yet: the slot is the id, the payload the arguments.
    pub(super) fn gathered(&self, nonce: &Nonce) -> Vec<GatheredCall> {
        let gathered = self.calls.iter().map(|call| GatheredCall {
            arguments: call.payload.clone(),
            flaw: None,
            id: nonce.slot(call.slot),
            name: call.tool.clone(),
            pointer: nonce.slot(call.slot),
        });
        gathered.collect()
    }
}
