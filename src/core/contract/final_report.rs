//! The form of a final report (000 §5). Does not read reports.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The tool of the final report.
pub const FINAL_REPORT: &str = "agent__final_report";

/// The form that a final report must have (000 §5).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum ReportFormat {
    /// One JSON value, judged by a schema where the contract has one.
    #[serde(rename = "json")]
    Json,
    /// Markdown.
    #[serde(rename = "markdown")]
    Markdown,
    /// Markdown with diagrams in Mermaid.
    #[serde(rename = "markdown+mermaid")]
    MarkdownMermaid,
    /// Plain text for a pipe.
    #[serde(rename = "pipe")]
    Pipe,
    /// A list of Slack messages of Block Kit.
    #[serde(rename = "slack-block-kit")]
    SlackBlockKit,
    /// Whatever the agent that asked expects: never looked into.
    #[serde(rename = "sub-agent")]
    SubAgent,
    /// Plain text.
    #[serde(rename = "text")]
    Text,
    /// Text for a terminal, colours included.
    #[serde(rename = "tty")]
    Tty,
}

impl ReportFormat {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::Json,
        Self::Markdown,
        Self::MarkdownMermaid,
        Self::Pipe,
        Self::SlackBlockKit,
        Self::SubAgent,
        Self::Text,
        Self::Tty,
    ];
}

impl fmt::Display for ReportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The form that a run's final report must have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalReportTerms {
    /// Its form.
    pub format: ReportFormat,
    /// JSON Schema of the report; only with format `json`, null where any object will do.
    pub schema: Option<Value>,
}

/// A final report that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalReport {
    /// Its content.
    pub content: ReportContent,
    /// The form that the contract asks for, whatever the model called it.
    pub format: ReportFormat,
    /// The model's additional data: the text of one JSON object.
    pub metadata: Option<String>,
    /// Flaws that monolith changed or overlooked, one sentence each: a format of another name, fields that were text.
    pub warnings: Vec<String>,
}

/// The content of a final report, by its form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportContent {
    /// Format `json`: the text of one JSON value.
    Json(String),
    /// Format `slack-block-kit`: the text of one JSON array.
    Messages(String),
    /// Every other format.
    Text(String),
}

impl FinalReport {
    /// The content as text: what its digest is taken of.
    #[must_use]
    pub fn text(&self) -> &str {
        match &self.content {
            ReportContent::Json(text)
            | ReportContent::Messages(text)
            | ReportContent::Text(text) => text,
        }
    }
}
