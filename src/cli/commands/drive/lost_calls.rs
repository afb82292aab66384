//! What a person should know before a run is resumed: the calls whose result is lost. Reads nothing.

use crate::cli::ui::escape::line;
use crate::kernel::Run;
use crate::view::RunView;

/// The names of the calls whose result is lost if no process drives the run, and which are not made again; `run` is its machine.
pub(in crate::cli) fn lost_calls(view: &RunView, run: &Run) -> Vec<String> {
    let lost = view.lost_calls(run).into_iter();
    lost.map(|(_, call)| line(&call.name)).collect()
}

/// What `resume` does about these calls; `None` if there are none.
pub(in crate::cli) fn lost_words(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [name] => Some(format!(
            "the result of {name} is lost: resume does not make the call again, for its tool is not in `idempotent`; the model is given that its effect is unknown"
        )),
        several => Some(format!(
            "the results of {} are lost: resume does not make the calls again, for their tools are not in `idempotent`; the model is given that their effects are unknown",
            several.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lost_call_is_named() {
        let words = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            lost_words(&names).unwrap_or_default()
        };
        assert_eq!(words(&[]), "");
        assert!(words(&["a"]).starts_with("the result of a is lost: "));
        assert!(words(&["a", "b"]).starts_with("the results of a, b are lost: "));
    }
}
