//! Values that several commands take as arguments, read from their texts.

use clap::ValueEnum;
use monolith_core::message::RunId;
use monolith_host::store::Durability;
use monolith_service::list::outcome_names::{FAMILIES, is_outcome, names};
use monolith_service::source::new_run_id;
use monolith_service::text::numbers::counted;

/// The durability of an entry.
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

/// The words that `list` shows instead of an outcome for a run without one.
const OPEN: [&str; 4] = ["open", "running", "suspended", "waiting"];

/// The class or the code of an outcome, or a family of classes, in any case.
pub(crate) fn outcome(text: &str) -> Result<String, String> {
    if is_outcome(text) {
        return Ok(text.to_owned());
    }
    let typed = text.to_ascii_lowercase();
    if OPEN.contains(&typed.as_str()) {
        return Err("that is a run without an end: `monolith list --open` lists them".to_owned());
    }
    let distance = |name: &String| match name.to_ascii_lowercase() {
        name if name.starts_with(&typed) => 0,
        name => strsim::osa_distance(&typed, &name),
    };
    let nearest = names().min_by_key(distance);
    let nearest = nearest.filter(|name| distance(name) <= typed.chars().count() / 3);
    let nearest = nearest.map(|name| format!("; `{name}` may be meant"));
    Err(format!(
        "no run ends so{}. It takes {}, or a class and the code behind it as `list` shows them",
        nearest.unwrap_or_default(),
        FAMILIES.join(", ")
    ))
}

/// Maximum number to show.
pub(crate) fn limit(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| "expected a number, such as 20; 0 shows all".to_owned())
}

/// The name of a run that is to be made.
pub(crate) fn run_id(text: &str) -> Result<RunId, String> {
    new_run_id(text)
}

/// Parses the reason for erasing or deleting.
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
    use monolith_service::list::outcome_names::families_of;

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
