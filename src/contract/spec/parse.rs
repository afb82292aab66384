//! From the text of a contract file to its spec. Opens no file.

use super::contract_spec::ContractSpec;
use super::error::{Findings, Origin, SourceRange, SpecErrors};
use super::file::read_file;
use super::fill::{Definitions, NoDefinitions, fill};
use super::reporter::Reporter;
use super::tree::Node;
use super::{overrides, secrets, tree};

/// The largest contract file in bytes.
const MAX_BYTES: usize = 1 << 20;

impl ContractSpec {
    /// Reads the author's file. `file` is its name for messages; `sets` are `--set` arguments, each `a.b=value`.
    ///
    /// # Errors
    /// Every fault of the file at once, except that a fault of syntax hides everything after it.
    pub fn parse(file: &str, text: &str, sets: &[String]) -> Result<Self, SpecErrors> {
        Self::parse_with(file, text, sets, &NoDefinitions)
    }

    /// As [`Self::parse`], where `known` has the definitions of what the file names and does not define.
    ///
    /// # Errors
    /// As [`Self::parse`]; a fault of a definition is reported where the file names it.
    pub(crate) fn parse_with(
        file: &str,
        text: &str,
        sets: &[String],
        known: &dyn Definitions,
    ) -> Result<Self, SpecErrors> {
        // A byte-order mark is no part of the first line.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let findings = Findings::new(text, sets);
        let longest = sets.iter().map(String::len).chain([text.len()]).max();
        if longest.unwrap_or_default() > MAX_BYTES {
            let rule = format!("a contract file holds at most {MAX_BYTES} bytes");
            findings.add(&Origin::File.place(0, 0), "", rule, None);
            return Err(findings.into_errors(file, text, sets));
        }
        let (mut root, secret) = settled(text, sets, &findings);
        let origins = root.as_mut().map(|root| fill(root, known, &findings));
        let origins = origins.unwrap_or_default();
        let spec = root.as_ref().and_then(|root| {
            let reporter = Reporter {
                findings: &findings,
                path: String::new(),
            };
            read_file(root, &reporter)
        });
        match spec {
            Some(spec) if findings.is_empty() => Ok(Self {
                clamped: findings.take_clamped(),
                origins,
                ..spec
            }),
            _ => {
                let (mut text, sets) = secrets::masked(&secret, text, sets);
                if root.is_none() {
                    text = secrets::masked_blindly(&text);
                }
                Err(findings.into_errors(file, &text, &sets))
            }
        }
    }

    /// A fault of the value that the file, with `sets`, has at a dotted path; none if it has no such value.
    #[must_use]
    pub(crate) fn fault_at(
        (file, text): (&str, &str),
        sets: &[String],
        path: &str,
        (rule, help): (String, Option<String>),
    ) -> Option<SpecErrors> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let findings = Findings::new(text, sets);
        let (root, secret) = settled(text, sets, &findings);
        let node = path.split('.').try_fold(root.as_ref()?, Node::below)?;
        findings.add(&node.place, path, rule, help);
        let (text, sets) = secrets::masked(&secret, text, sets);
        Some(findings.into_errors(file, &text, &sets))
    }
}

/// The tree of a file under its overrides, none where its syntax is broken, and where it holds secrets.
fn settled(
    text: &str,
    sets: &[String],
    findings: &Findings<'_>,
) -> (Option<Node>, Vec<SourceRange>) {
    let mut root = tree::parse(text, Origin::File, findings);
    let mut secret = root.as_ref().map(secrets::places).unwrap_or_default();
    if let Some(root) = &mut root {
        overrides::apply(root, sets, findings);
        // The file still holds what an override replaced.
        secret.extend(secrets::places(root));
    }
    (root, secret)
}
