//! Reads the terms of tools inside monolith. Does not know what the tools do.

use serde_json::{Value, json};

use super::form::{Read, Schemas};
use super::keys::{HTTP_GET, SANDBOX, TOOLS};
use super::reporter::Reporter;
use super::section::{Judge, Keyed, Section};
use super::tree::{Kind, Node};
use crate::contract::{HttpGetTerms, MOST_HOSTS, SandboxSpec, WebScheme};

impl Judge for HttpGetTerms {
    type Output = Self;

    fn judge(mut self, section: &Section<'_, '_>) -> Option<Self> {
        if self.hosts.is_empty() || self.hosts.len() > MOST_HOSTS {
            let rule = format!("expected 1 to {MOST_HOSTS} hosts");
            section.refuse_key(HTTP_GET.hosts.name, rule, None);
        }
        let schemes = section.peek(HTTP_GET.schemes.name).map(|node| &node.kind);
        if matches!(schemes, Some(Kind::List(schemes)) if schemes.is_empty()) {
            section.refuse_key(HTTP_GET.schemes.name, "expected at least one scheme", None);
        }
        if self.schemes.is_empty() {
            self.schemes = vec![WebScheme::Https];
        }
        Some(self)
    }
}

/// A tool that needs terms has them, and no terms stand there without their tool.
pub(super) fn refuse_unused_terms(section: &Section<'_, '_>, names: &[String]) {
    let key = TOOLS.http_get.name;
    let is_tool = names.iter().any(|name| name == key);
    let has_terms = section.peek(key).is_some_and(|node| !node.is_null());
    if is_tool && !has_terms {
        let rule = "the tool `http_get` needs the key `http_get` with the hosts that it may ask";
        let help = "http_get: {hosts: [docs.rs]}".to_owned();
        section.refuse_key(TOOLS.builtin.name, rule, Some(help));
    } else if has_terms && !is_tool {
        let rule = "`http_get` belongs to the tool of that name, which is not in `builtin`";
        section.refuse_key(key, rule, None);
    }
}

/// The word that replaces the mapping to disable confinement.
const OFF: &str = "off";
/// The most that a limit may be: what is counted in bytes still fits.
const MOST: u64 = 1 << 32;

impl Read for SandboxSpec {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if let Kind::Scalar { text, .. } = &node.kind {
            if text == OFF {
                return Some(Self {
                    off: true,
                    ..Self::default()
                });
            }
            reporter.expected(node, "`off` or a mapping");
            return None;
        }
        Section::read(node, reporter, &SANDBOX, |section| {
            let read = Self::from_section(section)?;
            let limits = [
                (SANDBOX.cpu_s.name, read.cpu_s),
                (SANDBOX.file_mb.name, read.file_mb),
                (SANDBOX.memory_mb.name, read.memory_mb),
                (SANDBOX.open_files.name, read.open_files),
                (SANDBOX.processes.name, read.processes),
            ];
            for (key, limit) in limits {
                if limit.is_some_and(|limit| !(1..=MOST).contains(&limit)) {
                    let rule = format!("`{key}` is between 1 and {MOST}");
                    section.refuse_key(key, rule, None);
                }
            }
            Some(read)
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [{"const": OFF}, definitions.form(&SANDBOX)]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::spec::tests::{parse, small};

    fn terms(tools: &str) -> Result<Option<HttpGetTerms>, String> {
        let spec = parse(&small(&format!("tools: {{{tools}}}")));
        let spec = spec.map_err(|errors| errors.errors[0].rule.clone())?;
        Ok(spec.tools.http_get)
    }

    #[test]
    fn http_get_has_hosts_and_defaults() {
        let read = terms("builtin: [http_get], http_get: {hosts: [docs.rs]}").unwrap();
        let read = read.unwrap();
        assert_eq!(read.hosts_in_words(), "docs.rs");
        assert_eq!(read.schemes, [WebScheme::Https]);
        assert!(!read.loopback);
        assert_eq!((read.max_bytes, read.max_redirects), (1_048_576, 5));
        assert_eq!(terms("builtin: [echo]"), Ok(None));
    }

    #[test]
    fn http_get_without_hosts_and_terms_without_the_tool_are_refused() {
        let with = |terms: &str| format!("builtin: [http_get], http_get: {{{terms}}}");
        for (tools, expect) in [
            ("builtin: [http_get]".to_owned(), "needs the key `http_get`"),
            (
                "http_get: {hosts: [docs.rs]}".to_owned(),
                "belongs to the tool",
            ),
            (with(""), "`hosts` is missing"),
            (with("hosts: []"), "1 to 64 hosts"),
            (with("hosts: [DOCS.rs]"), "is written \"docs.rs\""),
            (with("hosts: [docs.rs], schemes: []"), "at least one scheme"),
            (
                with("hosts: [docs.rs], schemes: [ftp]"),
                "expected one of http, https",
            ),
            (with("hosts: [docs.rs], max_bytes: 0"), "out of range"),
            (
                with("hosts: [docs.rs], max_bytes: 16777217"),
                "out of range",
            ),
            (with("hosts: [docs.rs], max_redirects: 21"), "out of range"),
        ] {
            let fault = terms(&tools).unwrap_err();
            assert!(fault.contains(expect), "{tools}: {fault}");
        }
    }
}
