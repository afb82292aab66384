//! The XML-NEXT text: slots, tools and budgets of one turn. Knows the layout; does not decide the turn's terms.

use std::fmt::Write as _;

use super::slot::{FINAL, PROGRESS, XmlTerms, numbered};
use crate::adapter::marks::XML;
use crate::contract::{FINAL_REPORT, PROGRESS_REPORT, ToolTerms};

/// The XML-NEXT text of one turn; sent with the request, never kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct XmlNext<'a> {
    /// The format that the final report must have, where there is to be one.
    pub format: Option<&'a str>,
    /// The JSON Schema that the report must fit, as text, where there is one.
    pub schema: Option<&'a str>,
    /// The tags of the turn. Without slots for calls the tools are left out, so a closing turn shows the report alone.
    pub terms: &'a XmlTerms,
    /// The tools on offer.
    pub tools: &'a [&'a ToolTerms],
}

/// The placeholder for the report in the notice.
pub(super) fn placeholder(format: &str) -> String {
    format!("the report as {format}")
}

impl XmlNext<'_> {
    /// The message.
    #[must_use]
    pub(crate) fn message(&self) -> String {
        let nonce = &self.terms.nonce;
        let mut out = "System Notice: how to act in this turn\n".to_owned();
        if self.terms.slots.count > 0 && !self.tools.is_empty() {
            self.calls(&mut out);
        }
        if self.terms.progress {
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
            let _ = write!(out, "\nThe report must fit: {}\n", XML.in_json(schema));
        }
        out
    }

    fn calls(&self, out: &mut String) {
        let nonce = &self.terms.nonce;
        let slots: Vec<String> = self.terms.slots.numbers().map(numbered).collect();
        let first = slots.first().map_or("", String::as_str);
        let _ = write!(
            out,
            "\nTo call a tool, write one tag per call with a free slot and a JSON object of arguments:\n\n\
             <ai-agent-{nonce}-{first} tool=\"TOOL\">\n{{\"name\": \"value\"}}\n</ai-agent-{nonce}-{first}>\n\n\
             Free slots: {}\n\nTools:\n",
            slots.join(", ")
        );
        for tool in self.tools {
            let schema = XML.in_json(&tool.input_schema.to_string());
            let description = XML.escape(&tool.description);
            let _ = write!(out, "\n{}: {description}\narguments: {schema}\n", tool.name);
        }
    }
}
