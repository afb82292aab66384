//! A run as `show` reads it: rows, conversation, answer and view. Does not lay it out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::ui::entry_row::EntryRow;
use monolith_core::kernel::{EventKind, InferenceReturned, Run};
use monolith_core::message::{AgentMessage, InferenceSeq, Role};
use monolith_core::view::RunView;
use monolith_host::store::Lineage;
use monolith_host::telemetry::AgentResult;
use monolith_service::answer_refusal::AnswerRefusal;
use monolith_service::approval::ApprovalStatus;
use monolith_service::error::ServiceError;
use monolith_service::next_resume::NextResume;
use monolith_service::run_status::RunStatus;
use monolith_service::source::Source;

/// The option that cuts nothing.
const UNCUT: &str = "--full";

/// A whole run as `show` lays it out, without the texts of its entries.
pub(crate) struct ShownRun {
    /// The run that it was forked from, where the store has both.
    pub(crate) lineage: Option<Lineage>,
    pub(crate) rows: Vec<EntryRow>,
    /// How it stands, where it is in the store and has no end.
    pub(crate) status: Option<RunStatus>,
    /// What the runs above it have the next process make of it, where none drives it.
    pub(crate) above: NextResume,
    pub(crate) view: RunView,
    /// What the model was sent and what it answered.
    pub(crate) conversation: Vec<Arc<AgentMessage>>,
    /// The messages of the model of which text was held back: by their place in the conversation, the entry that names the text, and
    /// its bytes.
    pub(crate) held_back: BTreeMap<usize, (u64, u64)>,
    /// What the model wrote in attempts that failed, each with the count of messages that were in the conversation then.
    pub(crate) discarded: Vec<(usize, String)>,
    /// What calls returned that is no result, by their ids; see `malformed`.
    pub(crate) malformed: BTreeMap<String, String>,
    /// How many messages the run began with.
    pub(crate) opening: usize,
    /// What is typed to see it uncut.
    pub(crate) uncut: String,
    /// The answer of a run that succeeded.
    pub(crate) answer: Option<String>,
    /// How its call stands that needs an approval, where it is in the store and has no end.
    pub(crate) approval: Option<ApprovalStatus>,
    /// Why no answer to that call is taken; `None` where one is.
    pub(crate) refusal: Option<AnswerRefusal>,
    /// The folder that its tools saw, where that is known.
    pub(crate) workspace: Option<PathBuf>,
}

impl ShownRun {
    /// Reads a run, one page of entries at a time.
    pub(crate) fn read(mut source: Source) -> Result<Self, ServiceError> {
        let lineage = source.lineage()?;
        let status = source.status()?;
        let (mut rows, mut opening) = (Vec::new(), 0);
        let (mut held_back, mut held, mut messages) = (BTreeMap::new(), None, 0);
        let mut written: Vec<Written> = Vec::new();
        let view = source.each_step(|view, entry, step| {
            let entry = entry.entry();
            let row = EntryRow::of(view, entry, step);
            match entry.event.map(|event| &event.event) {
                Some(EventKind::RunStarted(started)) => opening = started.messages.len(),
                Some(EventKind::InferenceReturned(returned)) => {
                    let withheld = returned.result.withheld.filter(|held| !held.blank);
                    held = withheld.map(|held| (row.seq(), held.bytes));
                    written.extend(Written::of(returned, messages));
                }
                _ => {}
            }
            rows.push(row);
            // The message of a response is in the conversation once it has been judged.
            let conversation = view.machine().map(Run::conversation).unwrap_or_default();
            let new = conversation.iter().enumerate().skip(messages);
            let mut of_model = new.filter(|(_, message)| message.role == Role::Assistant);
            if let Some((at, _)) = of_model.next() {
                held_back.extend(held.take().map(|held| (at, held)));
            }
            messages = conversation.len();
            Ok(())
        })?;
        let run = view.machine();
        let result = run.map(|run| AgentResult::of_run(run, &view));
        let result = result.filter(|result| result.success);
        let conversation = run.map_or_else(Vec::new, |run| run.conversation().to_vec());
        let of_failed = |one: &Written| {
            let request = view.request(one.inference);
            request.is_some_and(|request| request.kept == Some(false) && !request.is_beside())
        };
        let discarded = written.into_iter().filter(of_failed);
        let discarded = discarded.map(|one| (one.at, one.text)).collect();
        Ok(Self {
            lineage,
            rows,
            answer: result.map(|result| result.report_text().to_owned()),
            conversation,
            discarded,
            held_back,
            malformed: BTreeMap::new(),
            opening,
            uncut: UNCUT.to_owned(),
            status,
            above: NextResume::default(),
            refusal: None,
            view,
            approval: None,
            workspace: None,
        })
    }
}

/// What the model wrote in an answer.
struct Written {
    /// How many messages were in the conversation then.
    at: usize,
    inference: InferenceSeq,
    text: String,
}

impl Written {
    /// None of an answer without text.
    fn of(returned: &InferenceReturned, at: usize) -> Option<Self> {
        let message = returned.result.canonical_message.as_ref()?;
        (!message.is_blank()).then(|| Self {
            at,
            inference: returned.inference,
            text: message.content.clone(),
        })
    }
}
