//! What a person should know before a run is resumed: the calls whose result is lost. Reads nothing.

use crate::cli::ui::escape::line;
use crate::kernel::Run;
use crate::view::RunView;

/// The calls of a run whose result is lost if no process drives it, and which a resume does not make again.
#[derive(Debug, Default)]
pub(in crate::cli) struct LostCalls {
    names: Vec<String>,
    why: NotAgain,
}

/// Why a resume does not make them again.
#[derive(Clone, Copy, Debug, Default)]
enum NotAgain {
    #[default]
    NotIdempotent,
    /// The run starts nothing more: it was asked to stop, or a limit is reached.
    Ending,
    /// The resume itself ends the run.
    Spent,
}

impl LostCalls {
    /// Of the run that `view` shows; `run` is its machine after the last entry.
    pub(in crate::cli) fn of(view: &RunView, run: &Run) -> Self {
        let lost = view.lost_calls(run);
        let idempotent = &view.contract().idempotent;
        let why = if run.ends_if_resumed() {
            NotAgain::Spent
        } else if lost.iter().any(|(_, call)| idempotent.contains(&call.name)) {
            NotAgain::Ending
        } else {
            NotAgain::NotIdempotent
        };
        let names = lost.iter().map(|(_, call)| line(&call.name)).collect();
        Self { names, why }
    }

    /// What `resume` does about them; `None` if there are none.
    pub(in crate::cli) fn words(&self) -> Option<String> {
        let several = self.names.len() > 1;
        let names = self.names.join(", ");
        let (results_are, the_calls, their, tools_are, effects_are) = if several {
            ("results", "the calls", "their", "tools are", "effects are")
        } else {
            ("result", "the call", "its", "tool is", "effect is")
        };
        let is_lost = if several { "are lost" } else { "is lost" };
        let begin = format!("the {results_are} of {names} {is_lost}: resume");
        let words = match self.why {
            NotAgain::NotIdempotent => format!(
                "{begin} does not make {the_calls} again, for {their} {tools_are} not in `idempotent`; the model is given that {their} {effects_are} unknown"
            ),
            NotAgain::Ending => format!(
                "{begin} does not make {the_calls} again, for the run comes to its end; {their} {effects_are} unknown"
            ),
            NotAgain::Spent => format!("{begin} ends the run, and {their} {effects_are} unknown"),
        };
        (!self.names.is_empty()).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lost_call_is_named_with_why_it_is_not_made_again() {
        let words = |names: &[&str], why| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            LostCalls { names, why }.words().unwrap_or_default()
        };
        assert_eq!(words(&[], NotAgain::NotIdempotent), "");
        assert_eq!(
            words(&["a"], NotAgain::NotIdempotent),
            "the result of a is lost: resume does not make the call again, for its tool is not in `idempotent`; \
             the model is given that its effect is unknown"
        );
        assert_eq!(
            words(&["a", "b"], NotAgain::NotIdempotent),
            "the results of a, b are lost: resume does not make the calls again, for their tools are not in \
             `idempotent`; the model is given that their effects are unknown"
        );
        assert_eq!(
            words(&["a"], NotAgain::Ending),
            "the result of a is lost: resume does not make the call again, for the run comes to its end; \
             its effect is unknown"
        );
        assert_eq!(
            words(&["a", "b"], NotAgain::Spent),
            "the results of a, b are lost: resume ends the run, and their effects are unknown"
        );
    }
}
