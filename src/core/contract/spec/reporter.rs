//! Collects findings under the path that is being read. Does not render them.

use super::error::Findings;
use super::secrets::is_secret_key;
use super::tree::{Kind, Node};

/// Where findings go, and the path of the value that is being read.
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
