//! What entry 0 states of a run. Does not know later entries.

use crate::kernel::{Event, EventKind, ParentRun, RunStarted};
use crate::message::{Digest, Role, RunId};

/// What entry 0 states of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStart {
    /// The words of the task that the intent rules matched, in order of appearance.
    pub intent_words: Vec<String>,
    /// The run that this one was forked from.
    pub parent: Option<ParentRun>,
    /// The name of the run.
    pub run_id: RunId,
    /// Milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// What the user said last before the run.
    pub task: Option<String>,
    /// What the run committed to of the folder that its tools see.
    pub workspace: Option<Digest>,
}

impl RunStart {
    /// What the event states, where it is the first of a run.
    pub fn of(event: &Event) -> Option<Self> {
        match &event.event {
            EventKind::RunStarted(started) => Some(Self::from(&**started)),
            _ => None,
        }
    }
}

impl From<&RunStarted> for RunStart {
    fn from(started: &RunStarted) -> Self {
        let mut messages = started.messages.iter().rev();
        let task = messages.find(|message| message.role == Role::User);
        Self {
            intent_words: started.intent_words.clone(),
            parent: started.parent.clone(),
            run_id: started.run_id.clone(),
            started_unix_ms: started.started_unix_ms,
            task: task.map(|task| task.content.clone()),
            workspace: started.workspace,
        }
    }
}
