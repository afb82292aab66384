//! Values that several commands take as arguments, read from their texts.

use clap::ValueEnum;
use serde::Deserialize as _;
use serde::de::value::{self, StrDeserializer};

use monolith_core::kernel::{AgentOutcome, OutcomeCode};
use monolith_core::message::RunId;
use monolith_host::store::{Durability, NEWEST};
use monolith_service::source::is_named_as_transcript;
use monolith_service::text::numbers::counted;

/// What an entry must survive.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum DurabilityArg {
    #[default]
    Full,
    Normal,
}

impl From<DurabilityArg> for Durability {
    fn from(arg: DurabilityArg) -> Self {
        match arg {
            DurabilityArg::Full => Self::Full,
            DurabilityArg::Normal => Self::Normal,
        }
    }
}

/// One name of a list.
pub(crate) fn list_item(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a name is missing; leave the option out to change nothing".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// The number of an entry.
pub(crate) fn entry_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of an entry, such as 3; `show RUN` lists them".to_owned())
}

/// What every class of an outcome begins with that is a success, or none; and what is failed of a class that is.
pub(crate) const FAMILIES: [&str; 9] = [
    "completed",
    "failed",
    "preflight",
    "protocol",
    "validation",
    "budget",
    "timeout",
    "contract",
    "interrupted",
];
/// What `list` shows in the place of an outcome where a run has none.
const OPEN: [&str; 4] = ["open", "running", "suspended", "waiting"];

/// The families of a class: `failed` and `budget` of FAILED_BUDGET_EXHAUSTED.
pub(crate) fn families_of(class: &str) -> impl Iterator<Item = &str> {
    let mut words = class.split('_');
    let first = words.next();
    let second = words.next().filter(|_| first == Some("FAILED"));
    first.into_iter().chain(second)
}

/// The class or the code of an outcome, or a family of classes, in any case.
pub(crate) fn outcome(text: &str) -> Result<String, String> {
    if is_outcome(text) {
        return Ok(text.to_owned());
    }
    let typed = text.to_ascii_lowercase();
    if OPEN.contains(&typed.as_str()) {
        return Err("that is a run without an end: `monolith list --open` lists them".to_owned());
    }
    let classes = AgentOutcome::ALL.map(|class| class.as_str().to_owned());
    let known = FAMILIES.map(str::to_owned).into_iter();
    let known = known.chain(codes()).chain(classes);
    let distance = |name: &String| match name.to_ascii_lowercase() {
        name if name.starts_with(&typed) => 0,
        name => strsim::osa_distance(&typed, &name),
    };
    let nearest = known.min_by_key(distance);
    let nearest = nearest.filter(|name| distance(name) <= typed.chars().count() / 3);
    let nearest = nearest.map(|name| format!("; `{name}` may be meant"));
    Err(format!(
        "no run ends so{}. It takes {}, or a class and the code behind it as `list` shows them",
        nearest.unwrap_or_default(),
        FAMILIES.join(", ")
    ))
}

/// Whether a run that ended so is one of those that [`outcome`] names.
pub(crate) fn is_of_outcome((class, code): (&str, &str), asked: &str) -> bool {
    let mut names = [class, code].into_iter().chain(families_of(class));
    names.any(|name| asked.eq_ignore_ascii_case(name))
}

/// Whether a text names a class or a code of an outcome, or a family of classes.
pub(crate) fn is_outcome(text: &str) -> bool {
    let classes = AgentOutcome::ALL.map(AgentOutcome::as_str);
    let names = FAMILIES.into_iter().chain(classes);
    let mut names = names.map(str::to_owned).chain(codes());
    names.any(|name| name.eq_ignore_ascii_case(text))
}

/// Every code.
fn codes() -> Vec<String> {
    let none = OutcomeCode::deserialize(StrDeserializer::<value::Error>::new(""));
    let fault = none.err().map(|fault| fault.to_string());
    let fault = fault.unwrap_or_default();
    let (_, codes) = fault.split_once("expected one of ").unwrap_or_default();
    let codes = codes.split(", ").map(|code| code.trim_matches('`'));
    codes.map(str::to_owned).collect()
}

/// How many are shown.
pub(crate) fn limit(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "expected a number, such as 20; 0 shows all".to_owned())
}

/// The name of a run that is to be made. Wherever a run is asked for, `last` is the newest, and what ends in `.jsonl` is a file.
pub(crate) fn run_id(text: &str) -> Result<RunId, String> {
    if text == NEWEST || is_named_as_transcript(text) {
        return Err(format!(
            "`{text}` means something else: `{NEWEST}` is the newest run, and what ends in .jsonl is a file"
        ));
    }
    RunId::try_from(text.to_owned()).map_err(|fault| fault.to_string())
}

/// Why something is erased or deleted.
pub(crate) fn reason(text: &str) -> Result<String, String> {
    let most = monolith_core::transcript::MAX_REASON_BYTES;
    if text.len() > most {
        return Err(format!("a reason has at most {}", counted(most, "byte")));
    }
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        let code = u32::from(control);
        return Err(format!(
            "a reason is one line, and this one holds the control character U+{code:04X}"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_run_ends_with_is_refused_with_what_may_be_meant() {
        let check = |typed: &str, nearest: Option<&str>| {
            let text = outcome(typed).unwrap_err();
            let nearest = nearest.map(|name| format!("; `{name}` may be meant"));
            let begin = format!(
                "no run ends so{}. It takes completed, failed, ",
                nearest.unwrap_or_default()
            );
            assert!(text.starts_with(&begin), "{text}");
        };
        check("max_turns", Some("max_turns_exhausted"));
        check("timeuot", Some("timeout"));
        check("FAILED_TIMEOUTS", Some("FAILED_TIMEOUT"));
        check("foo", None);
        let open = outcome("Suspended").unwrap_err();
        assert!(open.contains("monolith list --open"), "{open}");
        assert!(is_outcome("interrupted"));
        for known in [
            "timeout",
            "Budget",
            "step_timeout",
            "failed_timeout",
            "failed",
        ] {
            assert_eq!(outcome(known).as_deref(), Ok(known));
        }
        let of = |class| families_of(class).collect::<Vec<_>>();
        assert_eq!(of("FAILED_BUDGET_EXHAUSTED"), ["FAILED", "BUDGET"]);
        assert_eq!(of("COMPLETED_CHAT_ONLY"), ["COMPLETED"]);
    }
}
