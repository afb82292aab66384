//! Collects findings under the path that is being read. Does not render them.

use super::error::Findings;
use super::secrets::is_secret_key;
use super::tree::{Kind, Node};

/// The collector of findings, and the path of the value that is being read.
#[derive(Clone)]
pub(super) struct Reporter<'f> {
    pub(super) findings: &'f Findings<'f>,
    pub(super) path: String,
}

impl Reporter<'_> {
    /// Reports a broken rule of `node`.
    pub(super) fn refuse(&self, node: &Node, rule: impl Into<String>, help: Option<String>) {
        self.findings.add(&node.place, &self.path, rule, help);
    }

    /// Reports that `node` is of another type.
    pub(super) fn expected(&self, node: &Node, what: &str) {
        let rule = format!("expected {what}, got {}", self.kind_of(node));
        self.refuse(node, rule, None);
    }

    /// Describes the value of a node that is of another type than it should be: of what is defined elsewhere, the kind alone (001 §7).
    pub(super) fn kind_of(&self, node: &Node) -> String {
        match &node.kind {
            Kind::Scalar { plain, .. }
                if self.findings.is_outside(&self.path)
                    && !self.findings.is_hidden(&self.path)
                    && !self.path.split('.').any(is_secret_key) =>
            {
                if !plain {
                    "a text".to_owned()
                } else if node.is_null() {
                    node.describe()
                } else {
                    "another value".to_owned()
                }
            }
            _ => self.describe(node),
        }
    }

    /// Describes the value of a node, unless it may be a secret.
    pub(super) fn describe(&self, node: &Node) -> String {
        match node.kind {
            Kind::Scalar { .. } if self.path.split('.').any(is_secret_key) => "text".to_owned(),
            Kind::Scalar { .. } if self.findings.is_hidden(&self.path) => {
                "the value of a variable".to_owned()
            }
            _ => node.describe(),
        }
    }

    /// One level down.
    pub(super) fn below(&self, key: &str) -> Self {
        Self {
            findings: self.findings,
            path: self.join(key),
        }
    }

    pub(super) fn join(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }
}

/// Keys that belong in another place, or that other programs call otherwise: (key, where it belongs).
pub(super) const ELSEWHERE: &[(&str, &str)] = &[
    (
        "api_key",
        "write `api_key_env: NAME`; a key itself never belongs in a contract file",
    ),
    ("buffer", "it belongs under `context_budget`"),
    ("caching", "it belongs under `sampling`"),
    ("command", "it belongs under `tools.mcp.<server>`"),
    (
        "context_window",
        "it belongs under `context_budget` or under one target",
    ),
    ("contract_hash", "it is derived; leave it out"),
    ("contract_id", "it is derived; leave it out"),
    ("cycle_exceptions", "it belongs under `metadata`"),
    (
        "force_synthesis_at_ratio",
        "it belongs under `context_budget`",
    ),
    ("format", "it is derived; leave it out"),
    ("llmTimeout", "write `llm_timeout_ms`"),
    ("maxOutputTokens", "write `sampling.max_output_tokens`"),
    ("maxRetries", "write `max_attempts_per_turn`"),
    ("maxToolTurns", "write `max_turns`"),
    (
        "max_bytes_per_call",
        "it belongs under `tool_output_budget`",
    ),
    ("max_output_tokens", "it belongs under `sampling`"),
    ("mcp", "it belongs under `tools`"),
    ("minimum_loop_margin", "it belongs under `context_budget`"),
    ("model", "write `targets: [{provider: NAME, model: NAME}]`"),
    ("parent_contract_hash", "it is derived; leave it out"),
    ("policy_decision", "it is derived; leave it out"),
    ("reasoning", "it belongs under `sampling`"),
    ("repeat_penalty", "it belongs under `sampling`"),
    ("reserved_synthesis", "it belongs under `context_budget`"),
    ("reserved_system", "it belongs under `context_budget`"),
    ("seed", "it belongs under `sampling`"),
    ("semantics_version", "it is derived; leave it out"),
    ("servers", "write `tools.mcp`"),
    ("stream", "it belongs under `sampling`"),
    ("summarizer_model", "it belongs under `tool_output_budget`"),
    ("temperature", "it belongs under `sampling`"),
    (
        "toolResponseMaxBytes",
        "write `tool_output_budget.max_bytes_per_call`",
    ),
    ("toolTimeout", "write `tool_timeout_ms`"),
    ("top_p", "it belongs under `sampling`"),
    ("truncation_marker", "it belongs under `tool_output_budget`"),
    ("workspace", "it belongs under `tools`"),
];

/// Returns the right place of a key unknown at `path`.
pub(super) fn elsewhere(path: &str, key: &str) -> Option<String> {
    let top = path.is_empty() || key == "api_key";
    let found = ELSEWHERE.iter().find(|(word, _)| top && *word == key);
    found.map(|(_, help)| (*help).to_owned())
}

/// `did you mean …` for a word that is nearly one of `known`.
pub fn suggest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    let bare = fold(word);
    let limit = (bare.chars().count() / 3).max(1);
    known
        .map(|candidate| (strsim::osa_distance(&bare, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// The word without case and separators, so that `maxTurns` is near `max_turns`. Cut, for distance is quadratic.
fn fold(word: &str) -> String {
    let letters = word.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.take(64).flat_map(char::to_lowercase).collect()
}
