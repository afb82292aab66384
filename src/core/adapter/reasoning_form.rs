//! The two forms in which Anthropic's models take reasoning: a budget of tokens, or an effort. Rewrites a request in the first
//! form to the second one; does not decide when.

use serde::Deserialize;

use super::json::put;
use crate::message::Members;

/// The object of requests that holds the effort.
const OUTPUT_CONFIG: &str = "output_config";
const THINKING: &str = "thinking";

#[derive(Deserialize)]
struct Budget {
    budget_tokens: u64,
}

/// The body with an effort in place of its budget; `None` of a body without one.
pub(super) fn with_effort(text: &str) -> Option<String> {
    let Members(members) = serde_json::from_str(text).ok()?;
    let value = |name: &str| {
        let found = members.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.get())
    };
    let budget: Budget = serde_json::from_str(value(THINKING)?).ok()?;
    let most: u64 = serde_json::from_str(value("max_tokens")?).ok()?;
    let effort = effort_of(budget.budget_tokens, most);
    let config = match value(OUTPUT_CONFIG).and_then(|config| config.strip_prefix('{')) {
        Some(rest) if rest != "}" => format!("{{\"effort\":\"{effort}\",{rest}"),
        Some(_) | None => format!("{{\"effort\":\"{effort}\"}}"),
    };
    let others = members.iter().filter(|(key, _)| key != OUTPUT_CONFIG);
    let others = others.map(|(key, value)| match key.as_str() {
        THINKING => (key.as_str(), r#"{"type":"adaptive"}"#),
        key => (key, value.get()),
    });
    let mut out = b"{".to_vec();
    for (key, value) in others.chain([(OUTPUT_CONFIG, config.as_str())]) {
        if out.len() > 1 {
            out.push(b',');
        }
        put(&mut out, &key);
        out.push(b':');
        out.extend_from_slice(value.as_bytes());
    }
    out.push(b'}');
    String::from_utf8(out).ok()
}

/// The level whose share of the answer's tokens that budget is: up to a quarter, a half, or more.
fn effort_of(budget: u64, most: u64) -> &'static str {
    match budget.saturating_mul(8) / most.max(1) {
        0..=2 => "low",
        3..=4 => "medium",
        _ => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_becomes_the_effort_of_its_level() {
        for (budget, effort) in [(1024, "low"), (2048, "medium"), (3072, "high")] {
            let body = format!(
                r#"{{"model":"m","max_tokens":4096,"thinking":{{"type":"enabled","budget_tokens":{budget}}},"stream":true}}"#
            );
            let expect = format!(
                r#"{{"model":"m","max_tokens":4096,"thinking":{{"type":"adaptive"}},"stream":true,"output_config":{{"effort":"{effort}"}}}}"#
            );
            assert_eq!(with_effort(&body), Some(expect));
        }
        let body = r#"{"max_tokens":4096,"output_config":{"format":{}},"thinking":{"type":"enabled","budget_tokens":3072}}"#;
        let expect = r#"{"max_tokens":4096,"thinking":{"type":"adaptive"},"output_config":{"effort":"high","format":{}}}"#;
        assert_eq!(with_effort(body).as_deref(), Some(expect));
    }

    #[test]
    fn a_body_without_a_budget_has_no_other_form() {
        for body in [
            "[]",
            r#"{"max_tokens":4096}"#,
            r#"{"max_tokens":4096,"thinking":{"type":"adaptive"}}"#,
        ] {
            assert_eq!(with_effort(body), None, "{body}");
        }
    }
}
