//! The words of the XML tool transport (000 §11), and their tokens: what a turn's request says about its tags, and how results
//! are shown. Reads no tag.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::Range;

use super::XmlOffer;
use crate::contract::{
    FINAL_REPORT, PROGRESS_REPORT, SessionTool, Terms, ToolTerms, ToolTransport,
};
use crate::message::{ToolInvocation, estimate_tokens, exact_sum};

/// The slot of the final report.
pub(crate) const FINAL: &str = "FINAL";
/// The slot of progress.
pub(crate) const PROGRESS: &str = "PROGRESS";

/// A slot's number as tags have it: four digits, more where it needs them.
pub(crate) fn numbered(number: u32) -> String {
    format!("{number:04}")
}

/// The placeholder for the report in the notice.
pub(crate) fn placeholder(format: &str) -> String {
    format!("the report as {format}")
}

/// True if a progress report has a tag.
pub(crate) fn has_progress(terms: &Terms) -> bool {
    terms.tool_transport == ToolTransport::Xml
        && terms.session_tool(PROGRESS_REPORT) == Some(SessionTool::ProgressReport)
}

/// XML-NEXT: the tags of one turn; sent with its request, never kept.
#[derive(Clone, Debug)]
pub(crate) struct TagNotice<'a> {
    /// The format that the final report must have, if there is to be one.
    pub format: Option<&'a str>,
    /// The first digits of the tags.
    pub nonce: &'a str,
    /// True if progress has a tag.
    pub progress: bool,
    /// The JSON Schema that the report must fit, as text.
    pub schema: Option<&'a str>,
    /// The numbers of the slots for calls. Without any the tools are left out, so a closing turn shows the report alone.
    pub slots: Range<u32>,
}

/// A tool in the notice: its name, its description and the schema of its arguments.
pub(crate) type Described<'a> = [Cow<'a, str>; 3];

impl TagNotice<'_> {
    /// The notice, with these tools.
    pub(crate) fn text(&self, tools: &[Described<'_>]) -> String {
        let nonce = self.nonce;
        let mut out = "System Notice: how to act in this turn\n".to_owned();
        if !self.slots.is_empty() && !tools.is_empty() {
            self.calls(tools, &mut out);
        }
        if self.progress {
            let _ = write!(
                out,
                "\nTo tell how far you are:\n\n\
                 <ai-agent-{nonce}-{PROGRESS} tool=\"{PROGRESS_REPORT}\">\none sentence\n</ai-agent-{nonce}-{PROGRESS}>\n"
            );
        }
        let Some(format) = self.format else {
            return out;
        };
        let report = placeholder(format);
        let _ = write!(
            out,
            "\nTo give your final report, once, when the task is done:\n\n\
             <ai-agent-{nonce}-{FINAL} tool=\"{FINAL_REPORT}\" format=\"{format}\">\n{report}\n\
             </ai-agent-{nonce}-{FINAL}>\n"
        );
        if let Some(schema) = self.schema {
            let _ = write!(out, "\nThe report must fit: {schema}\n");
        }
        out
    }

    fn calls(&self, tools: &[Described<'_>], out: &mut String) {
        let nonce = self.nonce;
        let slots: Vec<String> = self.slots.clone().map(numbered).collect();
        let first = slots.first().map_or("", String::as_str);
        let _ = write!(
            out,
            "\nTo call a tool, write one tag per call with a free slot and a JSON object of arguments:\n\n\
             <ai-agent-{nonce}-{first} tool=\"TOOL\">\n{{\"name\": \"value\"}}\n</ai-agent-{nonce}-{first}>\n\n\
             Free slots: {}\n\nTools:\n",
            slots.join(", ")
        );
        for [name, description, schema] in tools {
            let _ = write!(out, "\n{name}: {description}\narguments: {schema}\n");
        }
    }
}

impl XmlOffer {
    /// The numbers of its slots.
    pub(crate) const fn slot_numbers(&self) -> Range<u32> {
        self.first_slot..self.first_slot.saturating_add(self.slots)
    }
}

/// XML-PAST: the result of one call, as the model sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagResult<'a> {
    /// Its duration in milliseconds.
    pub duration_ms: u64,
    /// The arguments, as the model wrote them.
    pub request: &'a str,
    /// The part of the result that the model sees.
    pub response: &'a str,
    /// The id of its slot, such as `0a1b2c3d-0001`.
    pub slot: &'a str,
    /// `ok` or `failed`.
    pub status: &'a str,
    /// The tool.
    pub tool: &'a str,
}

impl TagResult<'_> {
    /// Its text. The caller escapes the quotations.
    pub(crate) fn text(&self) -> String {
        let Self {
            duration_ms,
            request,
            response,
            slot,
            status,
            tool,
        } = self;
        format!(
            "System Notice: tool response for {slot} ({tool})\n{status}, {duration_ms} ms\n\
             <request>\n{request}\n</request>\n<response>\n{response}\n</response>"
        )
    }
}

/// Tokens of the definitions in a request that describes tags: those of the tools as the contract counts them, and the words
/// around them.
pub(crate) fn offer_tokens<'t>(
    terms: &Terms,
    offered: impl Iterator<Item = &'t ToolTerms>,
    offer: &XmlOffer,
) -> u64 {
    let in_a_slot = |tool: &ToolTerms| {
        let own_slot = [FINAL_REPORT, PROGRESS_REPORT].contains(&tool.name.as_str());
        terms
            .tool_transport
            .carries(&tool.name)
            .then_some(!own_slot)
    };
    let (mut tokens, mut tools) = (0, Vec::new());
    for tool in offered {
        match in_a_slot(tool) {
            // Its definition is the tag that the notice shows.
            Some(false) => continue,
            Some(true) if offer.slots == 0 => continue,
            Some(true) => tools.push(Described::default()),
            None => {}
        }
        tokens = exact_sum(tokens, tool.schema_tokens);
    }
    let report = terms.final_report.as_ref();
    let schema = report.and_then(|report| Some(report.schema.as_ref()?.to_string()));
    let notice = TagNotice {
        format: report.map(|report| report.format.as_str()),
        nonce: &offer.genesis.short(8),
        progress: has_progress(terms) && !offer.closing,
        schema: schema.as_deref(),
        slots: offer.slot_numbers(),
    };
    exact_sum(tokens, estimate_tokens(&notice.text(&tools)))
}

/// Tokens of what surrounds the result of a call that tags carry: its arguments are quoted there once more.
pub(crate) fn quotation_tokens(call: &ToolInvocation) -> u64 {
    let around = TagResult {
        duration_ms: 0,
        request: call.arguments.as_str(),
        response: "",
        slot: &call.id,
        status: "failed",
        tool: &call.name,
    };
    estimate_tokens(&around.text())
}
