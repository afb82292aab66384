//! The contents of a scanned text: calls, a final report, ignored tags. Does not know how the tags were found.

use super::slot::{FINAL, Nonce, PROGRESS};
use crate::adapter::calls::GatheredCall;
use crate::message::{TagFlaw, TagWarning};

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
    /// True if its closing tag was there.
    pub closed: bool,
    /// The attribute `format`, where the tag has it.
    pub format: Option<String>,
    /// The bytes between the tags.
    pub payload: String,
}

/// A tag that counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlIgnored {
    /// Cause.
    pub flaw: TagFlaw,
    /// The text in place of a slot, cut to 32 characters.
    pub slot: String,
}

/// The contents of a text.
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

    /// Returns the recorded warnings on tags: tags that count for nothing, then a report that counts without its closing tag.
    pub(super) fn warnings(&self) -> Vec<TagWarning> {
        let ignored = self.ignored.iter().map(|tag| TagWarning {
            flaw: tag.flaw,
            slot: Some(tag.slot.clone()).filter(|slot| is_slot(slot)),
        });
        let report = self.final_report.iter().filter(|report| !report.closed);
        let report = report.map(|_| TagWarning {
            flaw: TagFlaw::UnclosedReport,
            slot: Some(FINAL.to_owned()),
        });
        ignored.chain(report).collect()
    }
}

/// True if a text has the form of a slot; besides the raw bytes, nothing else of a tag is recorded.
fn is_slot(text: &str) -> bool {
    let is_number = || (1..=10).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    text == FINAL || text == PROGRESS || is_number()
}
