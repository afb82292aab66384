//! The beginning of an agent's system prompt: its abilities within their budget, and the course of its work (INV-AGT-ABL-001 to
//! 003).

use super::ability::Ability;
use super::registry::AbilityFault;
use crate::contract::{AbilityTerms, AgentProfile};
use crate::message::{char_prefix, estimate_tokens};

/// Bytes of a token of the budget.
const TOKEN: u64 = 4;
/// The mark behind a text that was cut.
const CUT: &str = "\n[cut]";

/// A system prompt with abilities before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Injected {
    /// The whole prompt.
    pub system: String,
    /// The abilities in it, in their order.
    pub terms: Vec<AbilityTerms>,
    /// The cuts and omissions, in words.
    pub warnings: Vec<String>,
}

/// Puts abilities before a system prompt: the core ones first, then those that the task matched, the most relevant first. Core abilities
/// that do not fit share the budget, so each keeps its beginning; others that do not fit are cut, and left out where nothing is left.
///
/// # Errors
/// [`AbilityFault::Budget`] where a core ability would not even have a beginning.
pub fn injected(
    profile: &AgentProfile,
    core: &[Ability],
    matched: &[Ability],
    system: &str,
) -> Result<Injected, AbilityFault> {
    let budget = profile.ability_tokens;
    let least = core.iter().map(least_of).sum();
    if least > budget {
        let core = core.len();
        return Err(AbilityFault::Budget {
            budget,
            core,
            least,
        });
    }
    let mut whole = Injected {
        system: String::new(),
        terms: Vec::new(),
        warnings: Vec::new(),
    };
    let mut left = budget;
    for (at, ability) in core.iter().enumerate() {
        // What the others need at least is theirs; of the rest each has an equal share, and what it does not take is the next one's.
        let others = core.get(at + 1..).unwrap_or_default();
        let reserved: u64 = others.iter().map(least_of).sum();
        let free = left.saturating_sub(reserved + least_of(ability));
        let sharing = u64::try_from(others.len() + 1).unwrap_or(u64::MAX);
        let wanted: u64 = others.iter().map(tokens).sum();
        let most = if tokens(ability) + wanted <= left {
            left
        } else {
            least_of(ability) + free / sharing
        };
        left = left.saturating_sub(whole.put(ability, most, true));
    }
    for ability in matched {
        if least_of(ability) > left {
            whole.warnings.push(format!(
                "ability `{}` is left out: {left} of {budget} tokens are left",
                ability.name
            ));
            continue;
        }
        left = left.saturating_sub(whole.put(ability, left, false));
    }
    if let Some(workflow) = &profile.workflow {
        for part in ["# Workflow\n\n", workflow.trim(), "\n\n"] {
            whole.system.push_str(part);
        }
    }
    whole.system.push_str(system);
    let end = whole.system.trim_end().len();
    whole.system.truncate(end);
    Ok(whole)
}

impl Injected {
    /// Puts an ability at the end, with so many tokens at most; how many it took.
    fn put(&mut self, ability: &Ability, most: u64, core: bool) -> u64 {
        let full = rendered(ability, &ability.text);
        let name = &ability.name;
        let (text, kept_bytes) = if estimate_tokens(&full) <= most {
            (full, None)
        } else {
            let bytes = usize::try_from(most.saturating_mul(TOKEN)).unwrap_or(usize::MAX);
            let room = bytes.saturating_sub(rendered(ability, CUT).len());
            let kept = char_prefix(&ability.text, room);
            self.warnings.push(format!(
                "ability `{name}` is cut: {} of {} bytes fit into {most} tokens",
                kept.len(),
                ability.text.len()
            ));
            let kept_bytes = u64::try_from(kept.len()).unwrap_or(u64::MAX);
            (rendered(ability, &format!("{kept}{CUT}")), Some(kept_bytes))
        };
        let tokens = estimate_tokens(&text);
        self.system.push_str(&text);
        self.terms.push(AbilityTerms {
            core,
            digest: ability.digest,
            kept_bytes,
            name: name.clone(),
            tokens,
        });
        tokens
    }
}

fn rendered(ability: &Ability, text: &str) -> String {
    format!("# Ability: {}\n\n{text}\n\n", ability.name)
}

/// Returns the tokens of an uncut ability.
fn tokens(ability: &Ability) -> u64 {
    estimate_tokens(&rendered(ability, &ability.text))
}

/// Returns the tokens of an ability cut to its beginning: eight tokens of its text.
fn least_of(ability: &Ability) -> u64 {
    let cut = estimate_tokens(&rendered(ability, CUT)) + 8;
    cut.min(tokens(ability))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::AgentId;
    use crate::message::Digest;

    fn profile(budget: u64) -> AgentProfile {
        let mut profile =
            AgentProfile::bare(AgentId::sanitized("a"), "1".to_owned(), Digest::of(b""));
        profile.ability_tokens = budget;
        profile
    }

    fn ability(name: &str, text: &str) -> Ability {
        Ability::read(AgentId::sanitized(name), text).unwrap()
    }

    fn order(injected: &Injected) -> Vec<(&str, bool)> {
        let terms = injected.terms.iter();
        terms.map(|term| (term.name.as_str(), term.core)).collect()
    }

    /// 003/INV-AGT-ABL-001: abilities stand before the system prompt.
    #[test]
    fn abilities_are_prepended_to_the_system_prompt() {
        let core = [ability("sql", "Bind values.")];
        let mut profile = profile(1_000);
        profile.workflow = Some("First look.".to_owned());
        let injected = injected(&profile, &core, &[], "You work.").unwrap();
        let expect = "# Ability: sql\n\nBind values.\n\n# Workflow\n\nFirst look.\n\nYou work.";
        assert_eq!(injected.system, expect);
        assert_eq!(injected.terms[0].digest, Digest::of(b"Bind values."));
        assert_eq!(injected.terms[0].kept_bytes, None);
        assert!(injected.warnings.is_empty());
    }

    /// 003/INV-AGT-ABL-002: core abilities come first, in the order of the profile, whatever the task matched.
    #[test]
    fn core_abilities_come_first_and_are_always_there() {
        let core = [ability("z", "Z"), ability("b", "B")];
        let matched = [ability("a", "A"), ability("c", "C")];
        let injected = injected(&profile(1_000), &core, &matched, "").unwrap();
        assert_eq!(
            order(&injected),
            [("z", true), ("b", true), ("a", false), ("c", false)]
        );
    }

    /// 003/INV-AGT-ABL-003: what does not fit is cut with a warning, and what has no room at all is left out with one.
    #[test]
    fn what_the_budget_has_no_room_for_is_cut_with_a_warning() {
        let core = [ability("core", &"x".repeat(80))];
        let matched = [
            ability("long", &"é".repeat(500)),
            ability("late", &"y".repeat(400)),
        ];
        let injected = injected(&profile(100), &core, &matched, "S").unwrap();
        assert_eq!(order(&injected), [("core", true), ("long", false)]);
        assert_eq!(injected.terms[0].kept_bytes, None);
        let kept = injected.terms[1].kept_bytes.unwrap();
        assert!(kept > 100 && kept < 400, "{kept}");
        let taken: u64 = injected.terms.iter().map(|term| term.tokens).sum();
        assert!((98..=100).contains(&taken), "{taken}");
        assert!(
            injected.system.contains("é\n[cut]\n\nS"),
            "{}",
            injected.system
        );
        let [cut, left_out] = injected.warnings.as_slice() else {
            panic!("{:?}", injected.warnings)
        };
        assert!(cut.starts_with("ability `long` is cut:"), "{cut}");
        assert!(
            left_out.starts_with("ability `late` is left out:"),
            "{left_out}"
        );
    }

    /// 003/INV-AGT-ABL-002, 003/INV-AGT-ABL-003: core abilities that do not fit share the budget.
    #[test]
    fn core_abilities_that_do_not_fit_keep_their_beginnings() {
        let core = [
            ability("a", &"a".repeat(4_000)),
            ability("b", &"b".repeat(4_000)),
        ];
        let injected = injected(&profile(200), &core, &[], "").unwrap();
        assert_eq!(order(&injected), [("a", true), ("b", true)]);
        let kept = injected.terms.iter().map(|term| term.kept_bytes.unwrap());
        assert!(
            kept.clone().all(|kept| kept > 300),
            "{:?}",
            kept.collect::<Vec<_>>()
        );
        let refused = super::injected(&profile(10), &core, &[], "");
        assert!(matches!(
            refused,
            Err(AbilityFault::Budget {
                budget: 10,
                core: 2,
                ..
            })
        ));
    }

    fn some_abilities(prefix: &'static str) -> impl Strategy<Value = Vec<Ability>> {
        prop::collection::vec("[aé ]{1,300}x", 0..5).prop_map(move |texts| {
            let named = texts.iter().enumerate();
            named
                .map(|(at, text)| ability(&format!("{prefix}{at}"), text))
                .collect()
        })
    }

    proptest! {
        /// 003/INV-AGT-ABL-002, 003/INV-AGT-ABL-003: for any abilities and budget.
        #[test]
        fn no_budget_is_exceeded_and_no_core_ability_is_missing(
            core in some_abilities("c"),
            matched in some_abilities("m"),
            budget in 0_u64..400,
        ) {
            let Ok(injected) = injected(&profile(budget), &core, &matched, "S") else {
                let least: u64 = core.iter().map(least_of).sum();
                prop_assert!(least > budget);
                return Ok(());
            };
            let taken: u64 = injected.terms.iter().map(|term| term.tokens).sum();
            prop_assert!(taken <= budget, "{} of {}", taken, budget);
            let is_core = |term: &AbilityTerms| term.core;
            prop_assert_eq!(injected.terms.iter().filter(|term| term.core).count(), core.len());
            prop_assert!(injected.terms.iter().take(core.len()).all(is_core));
            let cut = injected.terms.iter().filter(|term| term.kept_bytes.is_some()).count();
            let left_out = core.len() + matched.len() - injected.terms.len();
            prop_assert_eq!(injected.warnings.len(), cut + left_out);
            prop_assert!(injected.system.ends_with('S'));
        }
    }
}
