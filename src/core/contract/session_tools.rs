//! The tools of the session itself: final report, progress, and several calls in one.
//!
//! They are no tools in the sense of 002: nothing is started for them, and they prove nothing (semantics §2).

use serde_json::{Map, Value, json};

use super::execution_contract::{canonical, settled};
use super::final_report::FINAL_REPORT;
use super::spec::FINAL_REPORT as FINAL_REPORT_KEYS;
use super::{
    Completion, FinalReportSpec, FinalReportTerms, ReportFormat, Terms, ToolCapability, ToolPin,
    ToolPolicy, ToolTerms, ToolTransport,
};
use crate::message::TokenCounter;

/// The tool of progress reports.
pub(crate) const PROGRESS_REPORT: &str = "agent__progress_report";
/// The tool that makes several calls in one.
pub(crate) const BATCH: &str = "agent__batch";

/// The server name of session tools.
const ORIGIN: &str = "session";

impl ToolTransport {
    /// True if tags carry the calls of the tool with that name.
    #[must_use]
    pub fn carries(self, name: &str) -> bool {
        match self {
            Self::Native => false,
            Self::XmlFinal => name == FINAL_REPORT,
            Self::Xml => true,
        }
    }
}

/// One of the session's own tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionTool {
    /// [`BATCH`].
    Batch,
    /// [`FINAL_REPORT`].
    FinalReport,
    /// [`PROGRESS_REPORT`].
    ProgressReport,
}

impl SessionTool {
    fn by_name(name: &str) -> Option<Self> {
        match name {
            BATCH => Some(Self::Batch),
            FINAL_REPORT => Some(Self::FinalReport),
            PROGRESS_REPORT => Some(Self::ProgressReport),
            _ => None,
        }
    }
}

impl ToolTerms {
    /// True for the session's own tools: they do no work and prove nothing.
    #[must_use]
    pub fn is_of_session(&self) -> bool {
        self.origin == ORIGIN
    }
}

impl Terms {
    /// Returns the session's own tool with that name under this contract; `None` for any other name.
    #[must_use]
    pub fn session_tool(&self, name: &str) -> Option<SessionTool> {
        let offered = self.session_tools.iter().any(|tool| tool.name == name);
        SessionTool::by_name(name).filter(|_| offered)
    }

    /// Everything that a request offers, over any transport: exposed tools, then the session's own. In the closing turn
    /// nothing but the final report.
    pub fn offered_tools(&self, closing: bool) -> impl Iterator<Item = &ToolTerms> {
        self.offers(closing, |_| true)
    }

    /// The part of [`Self::offered_tools`] that the target at `target` is offered.
    pub fn offered_to(&self, target: usize, closing: bool) -> impl Iterator<Item = &ToolTerms> {
        self.offers(closing, move |tool| self.offers_to(target, tool))
    }

    fn offers<'t>(
        &'t self,
        closing: bool,
        passes: impl Fn(&ToolTerms) -> bool + 't,
    ) -> impl Iterator<Item = &'t ToolTerms> {
        let calls = self.exposed_tools().any(&passes);
        let exposed = self.exposed_tools();
        let exposed = exposed.filter(move |tool| !closing && passes(tool));
        let own =
            self.session_tools
                .iter()
                .filter(move |tool| match SessionTool::by_name(&tool.name) {
                    Some(SessionTool::FinalReport) => true,
                    Some(SessionTool::ProgressReport) => !closing,
                    Some(SessionTool::Batch) => !closing && calls,
                    None => false,
                });
        exposed.chain(own)
    }

    /// Returns the part of [`Self::offered_tools`] that the provider gets as tools of its native protocol.
    pub fn native_tools(&self, closing: bool) -> impl Iterator<Item = &ToolTerms> {
        self.offered_tools(closing)
            .filter(|tool| self.is_native(tool))
    }

    /// Returns the part of [`Self::offered_to`] that the provider gets as tools of its native protocol.
    pub fn native_to(&self, target: usize, closing: bool) -> impl Iterator<Item = &ToolTerms> {
        let offered = self.offered_to(target, closing);
        offered.filter(|tool| self.is_native(tool))
    }

    fn is_native(&self, tool: &ToolTerms) -> bool {
        !self.tool_transport.carries(&tool.name)
    }

    /// These terms as the encoder of one kind of request is to see them: its tools are all that there are.
    #[must_use]
    pub fn offering(&self, closing: bool) -> Self {
        let tools = self.native_tools(closing).cloned().collect();
        Self {
            allowed_tools: None,
            session_tools: Vec::new(),
            tool_policy: match self.tool_policy {
                ToolPolicy::Forbidden => ToolPolicy::Optional,
                policy @ (ToolPolicy::Required | ToolPolicy::Optional) => policy,
            },
            tools,
            ..self.clone()
        }
    }
}

/// Returns the report's terms as written, with Markdown as the default, else the form of the message that ends the run. Other forms
/// under that completion are kept as a report's, and PRECHECK refuses them.
pub(super) fn report_terms(
    given: &FinalReportSpec,
    completion: Completion,
) -> (Option<FinalReportTerms>, Option<FinalReportTerms>) {
    let stated = given.format.is_some() || given.schema.is_some();
    let terms = (completion == Completion::FinalReport || stated).then(|| FinalReportTerms {
        format: given
            .format
            .unwrap_or(FINAL_REPORT_KEYS.format.default_value),
        schema: given.schema.as_ref().map(settled),
    });
    let of_message = completion == Completion::Message && given.format == Some(ReportFormat::Json);
    if of_message {
        (None, terms)
    } else {
        (terms, None)
    }
}

/// The definitions of the session's own tools.
pub(crate) fn session_tools(
    report: Option<&FinalReportTerms>,
    progress: bool,
    batch: bool,
    counter: &dyn TokenCounter,
) -> Vec<ToolTerms> {
    let define = |name: &str, description: &str, schema: &Value| {
        define((name, description, schema), counter)
    };
    let report = report.map(|terms| {
        let schema = report_schema(terms);
        let description = format!(
            "Give your final report, once, when the task is done. Format: {}.",
            terms.format
        );
        define(FINAL_REPORT, &description, &schema)
    });
    let progress = progress.then(|| {
        let schema = json!({
            "type": "object",
            "properties": {"progress": {"type": "string", "description": "One sentence."}},
            "required": ["progress"],
            "additionalProperties": false,
        });
        define(
            PROGRESS_REPORT,
            "Tell how far you are, beside other calls.",
            &schema,
        )
    });
    let batch = batch.then(|| {
        let schema = json!({
            "type": "object",
            "properties": {"calls": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "tool": {"type": "string"},
                        "arguments": {"type": "object"},
                    },
                    "required": ["tool", "arguments"],
                    "additionalProperties": false,
                },
            }},
            "required": ["calls"],
            "additionalProperties": false,
        });
        define(BATCH, "Call several tools at once.", &schema)
    });
    // Sorted by name, as the others are.
    batch.into_iter().chain(report).chain(progress).collect()
}

fn define(
    (name, description, input_schema): (&str, &str, &Value),
    counter: &dyn TokenCounter,
) -> ToolTerms {
    let schema = canonical(input_schema);
    let tokens = weight_of_session_tool(name, description, &schema, counter);
    let described = ToolCapability {
        annotations: Value::Null,
        description: description.to_owned(),
        input_schema: settled(input_schema),
        name: name.to_owned(),
        schema_tokens: tokens,
    };
    ToolTerms {
        pin: ToolPin::of(ORIGIN, &described).0,
        annotations: described.annotations,
        description: described.description,
        input_schema: described.input_schema,
        name: described.name,
        origin: ORIGIN.to_owned(),
        schema_tokens: tokens,
    }
}

/// Counts the tokens of a session tool's definition, with the schema as canonical text.
pub(super) fn weight_of_session_tool(
    name: &str,
    description: &str,
    schema: &str,
    counter: &dyn TokenCounter,
) -> u64 {
    let parts = [name, description, schema];
    parts.iter().map(|part| counter.count(part)).sum()
}

/// The schema of the arguments of a final report: the content by format, the format by `const`.
fn report_schema(terms: &FinalReportTerms) -> Value {
    let mut definitions = Map::new();
    let (content, schema) = match terms.format {
        ReportFormat::Json => {
            let mut schema = terms
                .schema
                .clone()
                .unwrap_or_else(|| json!({"type": "object"}));
            // References in the schema are to the root of the whole, so its definitions are there.
            if let Some(map) = schema.as_object_mut() {
                for key in ["$defs", "definitions"] {
                    if let Some(held) = map.shift_remove(key) {
                        definitions.insert(key.to_owned(), held);
                    }
                }
                map.shift_remove("$schema");
            }
            ("content_json", schema)
        }
        ReportFormat::SlackBlockKit => (
            "messages",
            json!({"type": "array", "minItems": 1, "items": {"type": "object"}}),
        ),
        ReportFormat::Markdown
        | ReportFormat::MarkdownMermaid
        | ReportFormat::Pipe
        | ReportFormat::SubAgent
        | ReportFormat::Text
        | ReportFormat::Tty => ("report_content", json!({"type": "string", "minLength": 1})),
    };
    let mut properties = json!({
        "format": {"const": terms.format.as_str()},
        content: schema,
        "metadata": {"type": "object"},
    });
    if content == "report_content"
        && let Some(map) = properties.as_object_mut()
    {
        map.insert("encoding".to_owned(), json!({"enum": ["raw", "base64"]}));
    }
    let mut whole = json!({
        "type": "object",
        "properties": properties,
        "required": ["format", content],
        "additionalProperties": false,
    });
    if let Some(map) = whole.as_object_mut() {
        map.extend(definitions);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::BytesPerToken;

    fn report(format: ReportFormat, schema: Option<Value>) -> ToolTerms {
        let terms = FinalReportTerms { format, schema };
        let mut tools = session_tools(Some(&terms), false, false, &BytesPerToken);
        assert_eq!(tools.len(), 1);
        tools.remove(0)
    }

    #[test]
    fn the_schema_enforces_the_format_by_const() {
        for format in ReportFormat::ALL {
            let tool = report(format, None);
            let at = "/properties/format/const";
            assert_eq!(tool.input_schema.pointer(at), Some(&json!(format.as_str())));
        }
    }

    #[test]
    fn references_of_the_authors_schema_still_find_their_definitions() {
        let schema =
            json!({"$defs": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/x"}}});
        let tool = report(ReportFormat::Json, Some(schema));
        assert_eq!(
            tool.input_schema.pointer("/$defs/x/type"),
            Some(&json!("string"))
        );
        assert_eq!(
            tool.input_schema.pointer("/properties/content_json/$defs"),
            None
        );
    }

    #[test]
    fn what_is_not_asked_for_is_not_offered() {
        assert!(session_tools(None, false, false, &BytesPerToken).is_empty());
        let names = |tools: Vec<ToolTerms>| -> Vec<String> {
            tools.into_iter().map(|tool| tool.name).collect()
        };
        assert_eq!(
            names(session_tools(None, true, true, &BytesPerToken)),
            [BATCH, PROGRESS_REPORT]
        );
    }
}
