//! The workflow's record of a step, compared with the step's run: its input and its result. Verifies no transcript.

use crate::error::ServiceError;
use crate::verify::difference::{Difference, SHOWN_BYTES, texts_differ};
use crate::verify::recorded_call::label_words;
use crate::workflow::step_result::step_run;
use crate::workflow::tool_result::ERASED;
use monolith_core::agent::{StepFailure, StepInput, StepRun};
use monolith_core::contract::Work;
use monolith_core::kernel::EventKind;
use monolith_core::message::{Digest, RunId, char_prefix};
use monolith_core::session::{is_marked, is_scrubbed_form, is_scrubbed_json};
use monolith_host::store::StoreReader;

/// The record of a step's own run.
pub(super) struct StepRunSays<'a> {
    pub(super) reader: &'a StoreReader,
    pub(super) run_id: &'a RunId,
    /// The work of the step.
    pub(super) work: &'a Work,
}

impl StepRunSays<'_> {
    /// Returns the difference if its input is not the recorded one. An input that has lost a secret has another hash: it is
    /// compared with the input from the workflow's machine, and differs if that is unknown.
    pub(super) fn input_differs(
        &self,
        recorded: Digest,
        gave: impl FnOnce() -> Result<Option<StepInput>, ServiceError>,
    ) -> Result<Difference, ServiceError> {
        let Some((field, given)) = self.given()? else {
            return Ok(None);
        };
        if given.hash() == recorded {
            return Ok(None);
        }
        if is_marked(given.text())
            && let Some(whole) = gave()?
        {
            let is_text = given.tool().is_none();
            let is_whole = if is_text {
                is_scrubbed_form
            } else {
                is_scrubbed_json
            };
            let is_it = given.tool() == whole.tool() && is_whole(given.text(), whole.text());
            return Ok((!is_it).then(|| texts_differ(field, whole.text(), given.text())));
        }
        let expected = format!("what has the hash {recorded}");
        let actual = char_prefix(given.text(), SHOWN_BYTES).to_owned();
        Ok(Some((field.to_owned(), expected, actual)))
    }

    /// Returns the difference if its result is another one. An erased result is not compared.
    pub(super) fn output_differs(&self, recorded: &StepRun) -> Result<Difference, ServiceError> {
        let is_call = matches!(self.work, Work::Tool(_));
        let made = step_run(self.reader, is_call, self.run_id)?;
        let is_erased = |reason: &String| reason.ends_with(ERASED);
        if made.reason.as_ref().is_some_and(is_erased) {
            return Ok(None);
        }
        let failed = |run: &StepRun| match run.failure {
            None => "completed",
            Some(StepFailure::Outcome) => "failed by its outcome",
            Some(StepFailure::Tool) => "failed by its tool",
            Some(StepFailure::OutputSize) => "failed by the size of its output",
        };
        let (expected, actual) = (failed(recorded), failed(&made));
        if expected != actual {
            return Ok(Some((
                "step".to_owned(),
                expected.to_owned(),
                actual.to_owned(),
            )));
        }
        let [expected, actual] = [recorded, &made].map(|run| label_words(run.labels.as_ref()));
        if expected != actual {
            return Ok(Some(("labels".to_owned(), expected, actual)));
        }
        let is_same = recorded.output == made.output;
        Ok((!is_same).then(|| texts_differ("output", &recorded.output, &made.output)))
    }

    /// Returns its input and the field that has it: its task, or its call.
    fn given(&self) -> Result<Option<(&'static str, StepInput)>, ServiceError> {
        let mut reader = self.reader.again()?;
        let Some(first) = reader.read_run(self.run_id)?.next().transpose()? else {
            return Ok(None);
        };
        let event = first.decode_event().ok().flatten();
        let Some(EventKind::RunStarted(started)) = event.map(|event| event.event) else {
            return Ok(None);
        };
        if let Work::Tool(_) = self.work {
            let call = started
                .given_call()
                .and_then(|call| call.tool_calls.first());
            return Ok(call.map(|call| {
                let (arguments, tool) = (call.arguments.to_string(), call.name.clone());
                ("event.messages", StepInput::Tool { arguments, tool })
            }));
        }
        let task = started.messages.last().map(|task| task.content.clone());
        Ok(task.and_then(|task| {
            let given = match self.work {
                Work::Prompt(_) => StepInput::Prompt(task),
                Work::Delegate(delegate) => StepInput::Delegate {
                    agent: delegate.agent.clone(),
                    agent_digest: delegate.agent_digest,
                    task,
                },
                _ => return None,
            };
            Some(("event.messages", given))
        }))
    }
}
