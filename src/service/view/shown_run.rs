//! A run for display: rows, conversation, answer and view. Does not lay it out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::entry_row::EntryRow;
use super::malformed::malformed;
use crate::answer_refusal::AnswerRefusal;
use crate::approval::ApprovalStatus;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::next_resume::NextResume;
use crate::run_status::RunStatus;
use crate::service::Service;
use crate::source::Source;
use monolith_core::kernel::{EventKind, InferenceReturned, Run};
use monolith_core::message::{AgentMessage, InferenceSeq, Role};
use monolith_core::view::RunView;
use monolith_host::driver::committed_workspace;
use monolith_host::store::{Invocation, Lineage};
use monolith_host::telemetry::AgentResult;

/// A whole run, without the texts of its entries.
pub struct ShownRun {
    /// Run that it was forked from, if the store has both.
    pub lineage: Option<Lineage>,
    /// A row for each entry.
    pub rows: Vec<EntryRow>,
    /// Status of a stored run without an end.
    pub status: Option<RunStatus>,
    /// The part of its parents in what the next process makes of it, if no process drives it.
    pub above: NextResume,
    /// The run after its last entry.
    pub view: RunView,
    /// Messages to the model and its answers.
    pub conversation: Vec<Arc<AgentMessage>>,
    /// The messages of the model of which text was held back: by their place in the conversation, the entry that names the text, and
    /// its bytes.
    pub held_back: BTreeMap<usize, (u64, u64)>,
    /// Texts of the model in attempts that failed, each with the count of messages in the conversation then.
    pub discarded: Vec<(usize, String)>,
    /// Returned values that are no result, by the ids of their calls.
    pub malformed: BTreeMap<String, String>,
    /// Count of messages that the run began with.
    pub opening: usize,
    /// The answer of a run that succeeded.
    pub answer: Option<String>,
    /// Status of its call that needs an approval, for a stored run without an end.
    pub approval: Option<ApprovalStatus>,
    /// Reason why no answer to that call is taken; `None` if one is.
    pub refusal: Option<AnswerRefusal>,
    /// Folder that its tools saw, if it is known.
    pub workspace: Option<PathBuf>,
}

impl ShownRun {
    /// Reads a run, one page of entries at a time.
    pub fn read(mut source: Source) -> Result<Self, ServiceError> {
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
                    held = withheld.map(|held| (row.seq, held.bytes));
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
            status,
            above: NextResume::default(),
            refusal: None,
            view,
            approval: None,
            workspace: None,
        })
    }
}

/// Reads a run or a file with everything that a display needs.
///
/// # Errors
///
/// The run cannot be read.
pub fn view(service: &Service, asked: &str) -> Result<ShownRun, ServiceError> {
    let source = service.source(asked)?;
    let begun = match &source {
        Source::Run(run_id, reader) => reader.invocation(run_id)?,
        Source::File(_) => None,
    };
    let mut run = ShownRun::read(source)?;
    run.workspace = workspace(service, begun, &run);
    if let (Some(RunStatus::Died), Some(run_id)) = (&run.status, run.view.run_id()) {
        // A flaw is named by the verification.
        run.above = NextResume::above(service, run_id).unwrap_or_default();
    }
    (run.approval, run.refusal) = approval(service, asked, &run)?;
    run.malformed = malformed(&run.view, || service.source(asked))?;
    Ok(run)
}

/// The folder that the tools of the run saw. A transcript commits to its hash alone: it is named where the contract file still
/// leads there.
fn workspace(service: &Service, begun: Option<Invocation>, run: &ShownRun) -> Option<PathBuf> {
    let committed = run.view.start()?.workspace?;
    let file = ContractFile::of_run(service, begun, None, Vec::new())?;
    committed_workspace(&file.read_to_look(service).ok()?, file.folder(), committed)
}

/// Returns the status of the call that needs an approval, or the reason why no answer to it is taken. Neither for a run of another store.
fn approval(
    service: &Service,
    asked: &str,
    run: &ShownRun,
) -> Result<(Option<ApprovalStatus>, Option<AnswerRefusal>), ServiceError> {
    let is_here = matches!(
        run.status,
        Some(RunStatus::Running { .. } | RunStatus::Died)
    );
    let Some(awaited) = run.view.approvals().awaited().filter(|_| is_here) else {
        return Ok((None, None));
    };
    let Source::Run(run_id, reader) = service.source(asked)? else {
        return Ok((None, None));
    };
    let machine = run.view.machine();
    let refusal = match machine.and_then(Run::awaited) {
        Some(order) => {
            let own = machine.map(NextResume::by).unwrap_or_default();
            AnswerRefusal::of(service, &run_id, &order, || own.and(run.above))?
        }
        None => None,
    };
    let status = || ApprovalStatus::of(&reader, &run_id, awaited);
    Ok((refusal.is_none().then(status), refusal))
}

/// A text that the model wrote in an answer.
struct Written {
    /// Count of messages in the conversation then.
    at: usize,
    inference: InferenceSeq,
    text: String,
}

impl Written {
    /// Returns `None` for an answer without text.
    fn of(returned: &InferenceReturned, at: usize) -> Option<Self> {
        let message = returned.result.canonical_message.as_ref()?;
        (!message.is_blank()).then(|| Self {
            at,
            inference: returned.inference,
            text: message.content.clone(),
        })
    }
}
