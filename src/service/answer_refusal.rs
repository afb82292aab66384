//! The reasons to refuse an answer to a call that waits for a person. Answers nothing.

use crate::error::ServiceError;
use crate::next_resume::NextResume;
use crate::run_status::is_driven;
use crate::service::Service;
use monolith_core::kernel::CallOrder;
use monolith_core::message::RunId;

/// The reason why an answer to a call that waits for a person has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerRefusal {
    /// The run came as a file, and is driven elsewhere.
    Imported,
    /// Its server asked within the call, and the call ended with its process.
    QuestionGone,
    /// The next process ends the run.
    Ends,
    /// The next process brings the run to its end.
    Stopping,
}

impl AnswerRefusal {
    /// Of a call that a run waits with; `next` is what the next process makes of that run. `None` where an answer is taken: by another process
    /// that drives the run or its tree now, or by the next one.
    pub fn of(
        service: &Service,
        run_id: &RunId,
        order: &CallOrder,
        next: impl FnOnce() -> NextResume,
    ) -> Result<Option<Self>, ServiceError> {
        let Some(mut reader) = service.reader()? else {
            return Ok(None);
        };
        if reader.read_run(run_id)?.row().is_imported() {
            return Ok(Some(Self::Imported));
        }
        if is_driven(&reader, run_id)? {
            return Ok(None);
        }
        if order.asks_within_the_call() {
            return Ok(Some(Self::QuestionGone));
        }
        let next = next();
        Ok(if next.ends {
            Some(Self::Ends)
        } else {
            next.stops.then_some(Self::Stopping)
        })
    }

    /// Returns a message that no answer to that call is taken, and why.
    pub fn said(self, call: &str) -> String {
        let why = match self {
            Self::Imported => "the run was imported; it continues where it was started",
            Self::QuestionGone => "the process that asked the question has ended",
            Self::Ends => "resume ends the run",
            Self::Stopping => "the run is stopping",
        };
        format!("no answer to {call} is accepted: {why}")
    }

    /// Returns advice on what to do instead; `None` if nothing can be done.
    pub fn help(self, service: &Service, run_id: &RunId) -> Option<String> {
        let does = match self {
            Self::Imported => return None,
            Self::QuestionGone => "continues without one",
            Self::Ends | Self::Stopping => "ends it",
        };
        let resume = service.hint(&service.resume_words(run_id));
        Some(format!("`{resume}` {does}"))
    }
}
