//! An answer between its forming and its leaving.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::answer::{NoAnswer, given};
use crate::approval::verdict;
use crate::changes::Changes;
use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::list::found::waiting_runs;
use crate::run_status::is_driven;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
use crate::waiting_call::WaitingCall;
use monolith_core::kernel::CallOrder;
use monolith_core::message::{CallSeq, RunId};
use monolith_host::store::{Answer, StoreError, StoreReader};

pub use super::answer::AnswerRequest;

/// Fewest digits of a hash that name a call.
const LEAST_DIGITS: usize = 8;

/// A request after its check.
pub enum Prepared {
    /// The same answer was left before.
    Given(AnswerGiven),
    /// The answer can be left.
    Ready(Box<PendingAnswer>),
}

/// An answer that was left for the process that drives the run.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerGiven {
    /// True if it allows the call.
    pub approved: bool,
    /// Number of the call.
    pub call: CallSeq,
    /// True if it replaced an earlier answer.
    pub replaced: bool,
    /// Run to resume, so that the answer is taken; `None` if a process drives it.
    pub resume: Option<RunId>,
    /// Run that waits.
    pub run_id: RunId,
}

/// An answer that can be left.
pub struct PendingAnswer {
    /// The answer.
    pub answer: Answer,
    /// The call that waits.
    pub call: WaitingCall,
    /// Run that waits.
    pub run_id: RunId,
    /// The answer that the store has now.
    found: Option<Answer>,
    path: PathBuf,
    reader: StoreReader,
}

/// Answers the call that a run waits with, without asking anybody first.
///
/// # Errors
///
/// The errors of [`prepare`] and [`PendingAnswer::leave`].
pub fn give(service: &Service, request: &AnswerRequest) -> Result<AnswerGiven, ServiceError> {
    match prepare(service, request)? {
        Prepared::Given(given) => Ok(given),
        Prepared::Ready(pending) => pending.leave(service),
    }
}

/// Finds the call that a run waits with, and forms the answer.
///
/// # Errors
///
/// [`InputFault::NotAnswered`] with the reason, if no answer is taken or this one is not. The store or a key cannot be read.
pub fn prepare(service: &Service, request: &AnswerRequest) -> Result<Prepared, ServiceError> {
    let Source::Run(run_id, reader) = service.run(&request.run)? else {
        let asked = request.run.clone();
        return Err(StoreError::NoSuchRun { asked }.into());
    };
    let path = service.store_path()?;
    let call = if reader.has_steps(&run_id)? {
        drop(reader);
        None
    } else {
        WaitingCall::of(&run_id, reader)?
    };
    let Some(call) = call else {
        return Err(no_call(service, request.verb(), &run_id));
    };
    taken(service, &call, &run_id)?;
    let refuse = |why: &str, help: String| refused(&run_id, why, Some(help));
    let again = || service.hint(&call.answering(request.verb(), run_id.as_str()));
    if let Some(meant) = &request.arguments
        && let Some(why) = is_another(meant, &call.order)
    {
        return Err(refuse(why, again()));
    }
    let answer = match given(service, &call, request) {
        Ok(answer) => answer,
        Err(NoAnswer::Fault(fault)) => return Err(fault),
        Err(NoAnswer::Refused(why)) => return Err(refuse(&why, again())),
    };
    let reader = StoreReader::open(&path)?;
    let found = reader.left_answer(&run_id)?;
    match found.as_ref().filter(|given| given.is_to_the_same(&answer)) {
        Some(given) if *given == answer => {
            let resume = to_resume(&reader, &run_id)?;
            return Ok(Prepared::Given(AnswerGiven {
                approved: answer.approved,
                call: call.order.call,
                replaced: false,
                resume,
                run_id,
            }));
        }
        // It may have it already, though it is not recorded yet.
        Some(given) if is_driven(&reader, &run_id)? => {
            let why = format!(
                "its call was already {}, and the process that drives the run is taking that answer",
                verdict(given.approved)
            );
            return Err(refuse(&why, service.hint(&format!("show {run_id}"))));
        }
        Some(given) if !request.replace => {
            let why = format!(
                "its call was already {}, but the run has not taken that answer yet",
                verdict(given.approved)
            );
            let resume = service.hint(&service.resume_words(&run_id));
            let help = format!("`{resume}` continues with that answer; --replace replaces it");
            return Err(refuse(&why, help));
        }
        Some(_) | None => {}
    }
    Ok(Prepared::Ready(Box::new(PendingAnswer {
        answer,
        call,
        run_id,
        found,
        path,
        reader,
    })))
}

impl PendingAnswer {
    /// Returns the place where the file changes of the call are looked up; `None` if the run's workspace is gone.
    #[must_use]
    pub fn changes(&self, service: &Service) -> Option<Changes> {
        self.call.changes(service, &self.run_id, &self.reader)
    }

    /// Returns the error of an answer that is not left for that reason.
    #[must_use]
    pub fn refused(&self, why: &str, help: Option<String>) -> ServiceError {
        refused(&self.run_id, why, help)
    }

    /// Leaves the answer for the process that drives the run, or the next one.
    ///
    /// # Errors
    ///
    /// [`InputFault::NotAnswered`], if no answer is taken any more or somebody else answered. The store cannot be written.
    pub fn leave(self, service: &Service) -> Result<AnswerGiven, ServiceError> {
        let Self {
            answer,
            call,
            found,
            path,
            reader,
            run_id,
        } = self;
        // Its process may have ended since.
        taken(service, &call, &run_id)?;
        if !left_for(&reader, &path, (&run_id, &call), (&answer, found.as_ref()))? {
            let help = service.hint(&format!("show {run_id}"));
            let why = "somebody else answered in the meantime, or the run continued";
            return Err(refused(&run_id, why, Some(help)));
        }
        let resume = to_resume(&reader, &run_id)?;
        Ok(AnswerGiven {
            approved: answer.approved,
            call: call.order.call,
            replaced: found.is_some_and(|given| given.is_to_the_same(&answer)),
            resume,
            run_id,
        })
    }
}

/// The error of a run none of whose own calls waits. A caller who names the first run of a tree may mean a run below it.
fn no_call(service: &Service, verb: &str, run_id: &RunId) -> ServiceError {
    let look = || {
        let (mut below, mut not_taken) = (Vec::new(), None);
        for (waiting, call) in WaitingCall::below(service, run_id)? {
            match call.refusal(service, &waiting)? {
                None => below.push((waiting, call)),
                Some(why) => not_taken = not_taken.or(Some((waiting, call.order.call, why))),
            }
        }
        let commands = below.iter().map(|(run_id, call)| {
            let name = service.brief_name(run_id.as_str());
            service.hint(&call.answering(verb, &name))
        });
        let commands: Vec<String> = commands.collect();
        Ok(match (below.first(), not_taken) {
            (Some((waiting, call)), _) => {
                let why = format!(
                    "none of its own calls waits for an approval; call {} of {} in child run {waiting} does",
                    call.order.call.0,
                    line(&call.order.invocation.name)
                );
                (why, Some(commands.join(", ")))
            }
            (None, Some((waiting, call, why))) => {
                let said = why.said(&format!("call {call} of run {waiting}"));
                (said, why.help(service, &waiting))
            }
            (None, None) => {
                let why = "none of its calls waits for an approval".to_owned();
                (why, Some(elsewhere(service, verb)))
            }
        })
    };
    let found: Result<_, ServiceError> = look();
    match found {
        Ok((why, help)) => refused(run_id, &why, help),
        Err(fault) => fault,
    }
}

/// Refuses an answer that no process takes.
fn taken(service: &Service, call: &WaitingCall, run_id: &RunId) -> Result<(), ServiceError> {
    match call.refusal(service, run_id)? {
        Some(why) => Err(refused(
            run_id,
            &why.said("its call"),
            why.help(service, run_id),
        )),
        None => Ok(()),
    }
}

fn refused(run_id: &RunId, why: &str, help: Option<String>) -> ServiceError {
    InputFault::NotAnswered {
        help,
        run: run_id.to_string(),
        why: why.to_owned(),
    }
    .into()
}

/// Returns the run to resume; `None` if a process drives it.
fn to_resume(reader: &StoreReader, run_id: &RunId) -> Result<Option<RunId>, ServiceError> {
    if is_driven(reader, run_id)? {
        return Ok(None);
    }
    Ok(Some(reader.goes_on_with(run_id)?))
}

/// Returns the command that answers the only call of the store that waits, or the one that lists them.
fn elsewhere(service: &Service, verb: &str) -> String {
    let waiting =
        waiting_runs(service).and_then(|(runs, _)| WaitingCall::unanswered(service, runs));
    match waiting.as_deref() {
        Ok([(run_id, call)]) => {
            let name = service.brief_name(run_id.as_str());
            let command = service.hint(&call.answering(verb, &name));
            format!("{name} waits: {command}")
        }
        Ok(_) | Err(_) => service.hint("approvals"),
    }
}

/// Leaves the answer in place of the one that was found, as long as the run waits with that call. The run may have been suspended and resumed
/// since the call was shown. False if it waits with another call, or another answer was given.
fn left_for(
    reader: &StoreReader,
    path: &Path,
    (run_id, call): (&RunId, &WaitingCall),
    (answer, found): (&Answer, Option<&Answer>),
) -> Result<bool, ServiceError> {
    let waits_with = |now: &WaitingCall| {
        let of = |call: &WaitingCall| {
            let order = &call.order;
            (
                call.question,
                order.call,
                order.arguments_hash,
                call.first_entry,
            )
        };
        of(now) == of(call)
    };
    // A process may have begun to take the other one since.
    if found.is_some_and(|given| given.is_to_the_same(answer)) && is_driven(reader, run_id)? {
        return Ok(false);
    }
    let mut entries = call.entries;
    while !reader.leave_answer(run_id, answer, (found, entries))? {
        let now = WaitingCall::of(run_id, StoreReader::open(path)?)?;
        match now.filter(waits_with) {
            Some(now) if now.entries != entries => entries = now.entries,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Returns the reason why a hash is not that of the call that waits.
fn is_another(meant: &str, order: &CallOrder) -> Option<&'static str> {
    let hash = order.arguments_hash.to_string();
    if meant.len() < LEAST_DIGITS {
        return Some("--arguments needs at least 8 digits of the hash");
    }
    let same = hash.starts_with(&meant.to_ascii_lowercase());
    (!same).then_some("the arguments of the waiting call have another hash")
}
