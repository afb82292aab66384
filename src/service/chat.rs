//! A conversation: a line of runs, each of which continues the one before. The store keeps them; this keeps their names.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::agent::Placeholders;
use crate::contract_file::ContractFile;
use crate::drive::ended::Ended;
use crate::drive::fork::{Next, fork_point};
use crate::drive::run::Start;
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::Source;
use crate::text::command::typed_word;
use monolith_core::contract::ExecutionContract;
use monolith_core::message::{Digest, Role, RunId};
use monolith_core::replay::Fork;
use monolith_host::store::{Durability, Invocation, StoreError};
use monolith_host::telemetry::AgentResult;

/// A conversation.
#[derive(Debug)]
pub struct Conversation {
    /// Start of the run that it continues, if there is one.
    begun: Option<Invocation>,
    contract: Option<PathBuf>,
    durability: Durability,
    /// Exit code of the last message, where that failed.
    pub failed: Option<Exit>,
    /// The run that was driven last, part of the conversation or not, and whether text of it was held back.
    pub last: Option<(RunId, bool)>,
    /// True if the next run may have another contract than the one before: the file was named for a run to go on from.
    other_contract: bool,
    /// The time that a prompt says: one that another message changed would be another contract.
    placeholders: Placeholders,
    sets: Vec<String>,
    /// Exit code once a run is suspended: the conversation has ended.
    pub suspended: Option<Exit>,
    /// Runs whose file changes were not reverted, forgotten and failed ones too; the newest last.
    to_undo: Vec<RunId>,
    /// The runs that the next one continues, the newest last.
    turns: Vec<Turn>,
    /// Use of all runs, forgotten ones too.
    pub used: Used,
}

/// A run that the next one may go on from.
#[derive(Debug)]
pub struct Turn {
    /// True if it executed a call.
    pub executed: bool,
    /// Its last entry: other processes may do anything between two messages.
    head: Digest,
    /// Its name.
    pub run_id: RunId,
}

/// The run of the next message.
pub enum NextRun {
    /// The first run.
    Start(Box<Start>),
    /// A run that continues the one before.
    Next(Box<Next>),
}

impl Conversation {
    /// Begins under a contract file, else under that of the folder.
    #[must_use]
    pub fn new(contract: Option<PathBuf>, sets: Vec<String>, durability: Durability) -> Self {
        Self {
            begun: None,
            contract,
            durability,
            failed: None,
            last: None,
            other_contract: false,
            placeholders: Placeholders::now(),
            sets,
            suspended: None,
            to_undo: Vec::new(),
            turns: Vec::new(),
            used: Used::default(),
        }
    }

    /// Continues a run of the store, under the file that it was begun with unless this one was begun under another.
    ///
    /// # Errors
    /// There is no such run, it has not ended, or it has no file.
    pub fn from_run(self, service: &Service, asked: &str) -> Result<Self, ServiceError> {
        let run = service.settled(asked)?;
        let (_, point, first) = fork_point(service, &run, Fork::at_end)?;
        let Source::Run(run_id, reader) = service.run(&run)? else {
            return Err(StoreError::NoSuchRun { asked: run }.into());
        };
        let begun = reader.invocation(&run_id)?;
        if begun.is_none() && self.contract.is_none() {
            let asked = run_id.to_string();
            return Err(ContractFault::NoFileOfRun { asked }.into());
        }
        let (_, view) = Source::Run(run_id.clone(), reader).fold(first)?;
        Ok(Self {
            begun,
            last: Some((run_id.clone(), view.held_back_bytes() > 0)),
            other_contract: self.contract.is_some(),
            to_undo: vec![run_id.clone()],
            turns: vec![Turn {
                executed: view.counters().executed > 0,
                head: point.head,
                run_id,
            }],
            ..self
        })
    }

    /// The contract file as this process was given it: a conversation needs no record of that.
    #[must_use]
    pub fn file(&self, service: &Service) -> ContractFile {
        let (begun, named) = (self.begun.clone(), self.contract.clone());
        if begun.is_some()
            && let Some(file) = ContractFile::of_run(service, begun, named, self.sets.clone())
        {
            return file;
        }
        ContractFile::given_or_found(service, self.contract.clone(), self.sets.clone())
            .saying_as(&self.placeholders)
    }

    /// The file of the run that is continued, without the changes of this conversation.
    fn file_without_changes(&self, service: &Service) -> Option<ContractFile> {
        let begun = self.begun.clone()?;
        if self.sets.is_empty() || self.contract.is_some() {
            return None;
        }
        ContractFile::of_run(service, Some(begun), None, Vec::new())
    }

    /// The run that the next one continues.
    #[must_use]
    pub fn turn(&self) -> Option<&Turn> {
        self.turns.last()
    }

    /// Forgets the last message and its answer.
    pub fn forget(&mut self) -> Option<Turn> {
        self.turns.pop()
    }

    /// Returns the run whose file changes the next `/undo` reverts.
    #[must_use]
    pub fn to_undo(&self) -> Option<&RunId> {
        self.to_undo.last()
    }

    /// Returns how many times `/undo` has to be typed until the file changes of a run are reverted; `None` if they were.
    #[must_use]
    pub fn undos_to(&self, run_id: &RunId) -> Option<usize> {
        let at = self.to_undo.iter().rposition(|other| other == run_id)?;
        Some(self.to_undo.len() - at)
    }

    /// The file changes of that run were reverted.
    pub fn undone(&mut self) {
        self.to_undo.pop();
    }

    /// Returns the run of a message.
    ///
    /// # Errors
    /// The contract file cannot be read, or needs trust.
    pub fn next(&self, service: &Service, message: String) -> Result<NextRun, ServiceError> {
        let file = self.file(service);
        if let Some(last) = self.turns.last() {
            let again = service.hint(&self.words_again(service));
            return Ok(NextRun::Next(Box::new(Next {
                durability: self.durability,
                file,
                head: Some(last.head),
                message,
                run: last.run_id.to_string(),
                run_id: None,
                same_contract: !self.other_contract,
                states_proof: false,
                without_changes: self.file_without_changes(service),
                way_on: format!(
                    "to continue under the file as it is now, type /exit and run {again}"
                ),
            })));
        }
        let mut spec = file.read(service)?;
        spec.task = Some(message);
        Ok(NextRun::Start(Box::new(Start {
            durability: self.durability,
            file,
            run_id: None,
            saved: Vec::new(),
            spec,
        })))
    }

    /// Takes in the run of a message. Returns true if the conversation continues from it: where the model said nothing, there is nothing to go
    /// on from.
    pub fn take(&mut self, ended: &Ended) -> bool {
        let result = &ended.result;
        let exit = Exit(result.exit_code);
        self.used.add(result);
        self.failed = (!result.success).then_some(exit);
        self.suspended = result.is_suspended().then_some(exit);
        let Some(run_id) = &result.run_id else {
            return false;
        };
        self.last = Some((run_id.clone(), ended.view.held_back_bytes() > 0));
        self.to_undo.push(run_id.clone());
        let said = result.conversation.last();
        let answered = said.is_some_and(|last| last.role != Role::User);
        let Some(head) = result.head.filter(|_| answered && !result.is_suspended()) else {
            return false;
        };
        self.other_contract = false;
        self.turns.push(Turn {
            executed: result.counters.tools_executed > 0,
            head,
            run_id: run_id.clone(),
        });
        true
    }

    /// Returns the command words that continue the conversation in another chat.
    #[must_use]
    pub fn words_again(&self, service: &Service) -> String {
        let mut words = format!("chat {}", self.file(service).word(service));
        if let Some(last) = self.turns.last() {
            // Writing to a String cannot fail.
            let _ = write!(words, " --run {}", last.run_id);
        }
        for set in &self.sets {
            let _ = write!(words, " --set {}", typed_word(set));
        }
        words
    }

    /// The contract of the last run; `None` before the first one.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn contract(&self, service: &Service) -> Result<Option<ExecutionContract>, ServiceError> {
        if let Some(last) = self.turns.last()
            && let Source::Run(run_id, mut reader) = service.run(last.run_id.as_str())?
        {
            return Ok(Some(reader.read_run(&run_id)?.contract()?));
        }
        Ok(None)
    }
}

/// The use of a conversation, summed over its runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Cost.
    pub cost_micro_usd: u64,
    /// Time for which its runs were driven.
    pub elapsed_ms: u64,
    /// Number of runs.
    pub runs: usize,
    /// Tokens of requests.
    pub tokens_in: u64,
    /// Tokens of answers.
    pub tokens_out: u64,
    /// True if a part of it has no known price.
    pub unpriced: bool,
}

impl Used {
    /// Adds the use of a run.
    pub fn add(&mut self, result: &AgentResult) {
        let counters = &result.counters;
        self.unpriced |= result.is_partly_unpriced();
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.cost_micro_usd, counters.cost_micro_usd);
        add(&mut self.elapsed_ms, counters.elapsed_ms);
        add(&mut self.tokens_in, counters.tokens_in);
        add(&mut self.tokens_out, counters.tokens_out);
        self.runs = self.runs.saturating_add(1);
    }
}
