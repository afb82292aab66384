//! The facts to know before a run is resumed: the calls whose result is lost, in the run and its child runs, and the child runs
//! that it ends. Changes nothing.

use crate::error::ServiceError;
use crate::next_resume::NextResume;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
use monolith_core::kernel::Run;
use monolith_core::message::RunId;
use monolith_core::view::RunView;

/// The calls of a run whose result is lost if no process drives it, and which a resume does not make again.
#[derive(Debug, Default)]
pub struct LostCalls {
    names: Vec<String>,
    why: NotAgain,
}

/// The reason why a resume does not repeat them.
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
    /// Of the run that `view` shows; `run` is its machine after the last entry. A resume `ends` it where a run above it ends.
    pub fn of(view: &RunView, run: &Run, ends: bool) -> Self {
        let lost = view.lost_calls(run, ends);
        let idempotent = &view.contract().idempotent;
        let why = if ends || run.ends_if_resumed() {
            NotAgain::Spent
        } else if lost.iter().any(|(_, call)| idempotent.contains(&call.name)) {
            NotAgain::Ending
        } else {
            NotAgain::NotIdempotent
        };
        let names = lost.iter().map(|(_, call)| line(&call.name)).collect();
        Self { names, why }
    }

    /// Describes how `resume` handles them; `None` if there are none.
    pub(crate) fn words(&self) -> Option<String> {
        let [calls, tools, effects] = match self.names.len() {
            0 => return None,
            1 => ["the call", "its tool is", "its effect"],
            _ => ["the calls", "their tools are", "their effects"],
        };
        let results = match self.names.as_slice() {
            [name] => format!("the result of {name} is lost"),
            names => format!("the results of {} are lost", names.join(", ")),
        };
        let not_again = format!("resume does not make {calls} again");
        Some(match self.why {
            NotAgain::NotIdempotent => format!(
                "{results}: {not_again} because {tools} not in `idempotent`, and records {effects} as unknown"
            ),
            NotAgain::Ending => format!(
                "{results}: {not_again} because the run is ending, and records {effects} as unknown"
            ),
            NotAgain::Spent => {
                format!("{results}: resume ends the run, and records {effects} as unknown")
            }
        })
    }

    /// Describes how `resume` handles them and those of the run's open child runs, a sentence for each run. `verify` names runs
    /// that cannot be read.
    pub fn with_below(&self, service: &Service, view: &RunView, run_id: &RunId) -> Vec<String> {
        let mut said = Vec::from_iter(self.words());
        if !view.contract().agents.is_empty() {
            said.extend(resume_notes_below(service, run_id).unwrap_or_default());
        }
        said
    }
}

/// Describes how `resume` handles the lost calls of that run's open child runs, and which of those have used up their
/// `max_resumes`, a sentence for each.
pub fn resume_notes_below(service: &Service, run_id: &RunId) -> Result<Vec<String>, ServiceError> {
    let Some(mut reader) = service.reader()? else {
        return Ok(Vec::new());
    };
    let mut said = Vec::new();
    for below in reader.runs_below(run_id)? {
        if !reader.is_open(&below)? || reader.has_steps(&below)? {
            continue;
        }
        let Some(own) = service.reader()? else {
            continue;
        };
        let view = Source::Run(below.clone(), own).each_step(|_, _, _| Ok(()))?;
        let ends = NextResume::above(service, &below)?.ends;
        let Some(run) = view.machine() else { continue };
        let lost = LostCalls::of(&view, run, ends).words();
        let lost = lost.map(|lost| format!("run {below}: {lost}"));
        let resumes = run.contract().max_resumes;
        let spent = || format!("run {below} has used up `max_resumes: {resumes}`: resume ends it");
        said.extend(lost.or_else(|| run.ends_if_resumed().then(spent)));
    }
    Ok(said)
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
            "the result of a is lost: resume does not make the call again because its tool is not in `idempotent`, \
             and records its effect as unknown"
        );
        assert_eq!(
            words(&["a", "b"], NotAgain::NotIdempotent),
            "the results of a, b are lost: resume does not make the calls again because their tools are not in \
             `idempotent`, and records their effects as unknown"
        );
        assert_eq!(
            words(&["a"], NotAgain::Ending),
            "the result of a is lost: resume does not make the call again because the run is ending, \
             and records its effect as unknown"
        );
        assert_eq!(
            words(&["a", "b"], NotAgain::Spent),
            "the results of a, b are lost: resume ends the run, and records their effects as unknown"
        );
    }
}
