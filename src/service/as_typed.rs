//! The form in which the caller typed a contract change: as `--set`, or as a separate option. Reads no file.

use std::sync::{Mutex, PoisonError};

use monolith_core::contract::AGENT_SET;

/// Changes made by separate options, and how each was typed.
static TYPED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// From now on, messages name that change as it was typed.
pub fn remember(set: &str, typed: String) {
    let mut known = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|(known, _)| known != set);
    known.push((set.to_owned(), typed));
}

/// The change as it was typed: `--max-turns 3`, `--override maxTurns=3`, `--set max_turns=3`.
pub fn as_typed(set: &str) -> String {
    let known = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, typed)) = known.iter().find(|(known, _)| known == set) {
        return typed.clone();
    }
    let of_agent = set.strip_prefix(AGENT_SET);
    match of_agent.map(|own| (own, own.split_once('='))) {
        Some((_, Some((key @ ("models" | "tools"), value)))) => {
            let names: Result<Vec<String>, _> = serde_json::from_str(value);
            match names {
                Ok(names) => format!("--{key} {}", names.join(",")),
                Err(_) => format!("--override {key}={value}"),
            }
        }
        Some((own, _)) => format!("--override {own}"),
        None => format!("--set {set}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_named_as_it_was_typed() {
        remember("max_turns=4711", "--max-turns 4711".to_owned());
        let check = |set: &str, expect: &str| assert_eq!(as_typed(set), expect);
        check("max_turns=4711", "--max-turns 4711");
        check("max_turns=4712", "--set max_turns=4712");
        check("agent.maxTurns=3", "--override maxTurns=3");
        check("agent.models=[\"a/b\",\"c/d\"]", "--models a/b,c/d");
        check("agent.tools=[fs]", "--override tools=[fs]");
    }
}
