//! The XML-NEXT text: slots, tools and budgets of one turn, without marks in what it quotes. Does not decide the turn's terms.

use super::slot::XmlTerms;
use crate::adapter::marks::XML;
use crate::contract::ToolTerms;
use crate::kernel::tags::{Described, TagNotice};

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

impl XmlNext<'_> {
    /// The message.
    #[must_use]
    pub(crate) fn message(&self) -> String {
        let described = |tool: &&ToolTerms| -> Described<'_> {
            let schema = XML.in_json(&tool.input_schema.to_string());
            let name = tool.name.clone();
            [
                name.into(),
                XML.escape(&tool.description).into_owned().into(),
                schema.into(),
            ]
        };
        let tools: Vec<Described<'_>> = self.tools.iter().map(described).collect();
        let schema = self.schema.map(|schema| XML.in_json(schema));
        let notice = TagNotice {
            format: self.format,
            nonce: &self.terms.nonce.to_string(),
            progress: self.terms.progress,
            schema: schema.as_deref(),
            slots: self.terms.slots.numbers(),
        };
        notice.text(&tools)
    }
}
