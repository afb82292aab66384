//! The errors in a contract's rules about calls: patterns that match no tool, rules that no call reaches, invalid schemas and
//! keys. Judges no call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::big_count::inexact_integer_at;
use super::offered_tools::not_offered;
use super::tool_pattern::{is_pattern, pattern_covers, pattern_takes};
use super::{TermFault, Terms, Validators};

/// The most rules: each call of a message is compared with all of them.
const MAX_RULES: usize = 256;
/// The most keys of `approvers`.
const MAX_APPROVERS: usize = 64;

/// Rules that contradict each other or themselves. Those about names are not judged while a server is missing: its tools are
/// unknown then.
pub(super) fn approval_faults(terms: &Terms) -> Vec<TermFault> {
    let mut faults = Vec::new();
    for (field, length, most) in [
        ("approval", terms.approval.len(), MAX_RULES),
        ("approvers", terms.approvers.len(), MAX_APPROVERS),
    ] {
        if length > most {
            let text = format!("{field} holds at most {most} entries, got {length}");
            faults.push(TermFault::at(field, text));
        }
    }
    for (n, rule) in terms.approval.iter().enumerate() {
        if let Some(fault) = rule.arguments.as_ref().and_then(Validators::fault_of) {
            let path = format!("approval.{n}.arguments");
            let text = format!("{path} at {:?}: {}", fault.pointer, fault.rule);
            faults.push(TermFault::at(path, text));
        }
        if let Some(at) = rule.arguments.as_ref().and_then(inexact_integer_at) {
            let path = format!("approval.{n}.arguments");
            let text = format!(
                "{path} at {at:?}: an integer of 2^53 or more has no exact canonical form; state a smaller one"
            );
            faults.push(TermFault::at(path, text));
        }
        // Whether a name is offered or not, a rule behind one that takes all it is about decides nothing.
        let before = terms.approval.iter().take(n);
        let covered = before
            .enumerate()
            .find(|(_, one)| one.arguments.is_none() && pattern_covers(&one.tool, &rule.tool));
        if let Some((by, _)) = covered {
            let path = format!("approval.{n}");
            let text = format!("{path} decides nothing: approval.{by} decides all its calls");
            faults.push(TermFault::at(path, text));
        }
    }
    for name in &terms.require_approval {
        let mut rules = terms.approval.iter().enumerate();
        let covered =
            rules.find(|(_, one)| one.arguments.is_none() && pattern_takes(&one.tool, name));
        if let Some((by, _)) = covered {
            let text =
                format!("require_approval names `{name}`, but approval.{by} decides all its calls");
            faults.push(TermFault::at("require_approval", text));
        }
    }
    for (n, key) in terms.approvers.iter().enumerate() {
        if !has_form_of_key(key) {
            let path = format!("approvers.{n}");
            let text = format!(
                "{path} is no public key: it is `NAME+ID+BASE64` of an Ed25519 key, as `monolith key show` prints it"
            );
            faults.push(TermFault::at(path, text));
        }
    }
    if terms.servers.values().all(|server| server.available) {
        faults.extend(unknown_tools(terms));
    }
    faults
}

/// Rules of names that no server offers. A pattern that takes none is only warned of: it may be there for tools to come.
fn unknown_tools(terms: &Terms) -> Vec<TermFault> {
    let rules = terms.approval.iter().enumerate();
    let named = rules.filter(|(_, rule)| !is_pattern(&rule.tool));
    let unknown = named.filter(|(_, rule)| terms.tool(&rule.tool).is_none());
    unknown
        .map(|(n, rule)| {
            let path = format!("approval.{n}.tool");
            let text = format!("{path} names {}", not_offered(terms, &rule.tool));
            TermFault::at(path, text)
        })
        .collect()
}

/// Patterns that take no tool that is offered.
pub(super) fn approval_warnings(terms: &Terms) -> Vec<String> {
    if terms.servers.values().any(|server| !server.available) {
        return Vec::new();
    }
    let takes_none = |pattern: &str| {
        let mut tools = terms.tools.iter();
        is_pattern(pattern) && !tools.any(|tool| pattern_takes(pattern, &tool.name))
    };
    let rules = terms.approval.iter().enumerate();
    let rules = rules.filter(|(_, rule)| takes_none(&rule.tool));
    rules
        .map(|(n, rule)| {
            format!(
                "approval.{n}.tool `{}` takes no tool that a server offers",
                rule.tool
            )
        })
        .collect()
}

/// True if a text has the form of a public key that signs notes. The reader of the key checks that its point and its id are
/// right.
fn has_form_of_key(text: &str) -> bool {
    let mut parts = text.splitn(3, '+');
    let (Some(name), Some(id), Some(bytes)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let named = !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c.is_control());
    let bytes = BASE64.decode(bytes).unwrap_or_default();
    named
        && id.len() == 8
        && id.chars().all(is_hex)
        && bytes.len() == 33
        && bytes.first() == Some(&1)
}
