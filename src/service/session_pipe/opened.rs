//! The contract of a session over a pipe, with the counter and the scrubber for its inputs. Opens no session.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::line::{Make, OfferedTool, Opening, Refusal};
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::adapter::AdapterError;
use monolith_core::contract::{
    ContractFactory, ContractSpec, ExecutionContract, ServerCapability, TargetCapability,
    ToolCapability,
};
use monolith_core::kernel::RunStarted;
use monolith_core::message::{RunId, Scrubber, TokenCounter, TokenCounters};
use monolith_core::session::{Input, Session};
use monolith_core::transcript::{LineReader, Record, TranscriptKind, header_line};
use monolith_host::driver::DriverError;
use monolith_host::inference::BuiltInTokenizers;

/// The contract of a run, with the counter and the scrubber for its texts.
pub(super) struct Opened {
    contract: Arc<ExecutionContract>,
    pub(super) counter: Arc<dyn TokenCounter>,
    pub(super) run_id: RunId,
    pub(super) scrubber: Arc<dyn Scrubber>,
}

/// A contract that was made for a host.
pub(super) struct Made {
    /// First line of the run's transcript.
    pub(super) header: String,
    pub(super) opened: Opened,
    /// The input that begins the run.
    pub(super) start: Input,
}

impl Opened {
    /// Takes the contract and the run's name from the first line of a transcript.
    pub(super) fn of_header(service: &Service, opening: &Opening) -> Result<Self, Refusal> {
        let line = format!("{}\n", opening.header.trim_end());
        let mut reader = LineReader::new();
        let record = reader.read(line.as_bytes());
        let header = match record.map_err(|fault| Refusal::malformed(fault.flaw))? {
            Record::Header(header) if header.kind() == TranscriptKind::Run => header,
            _ => {
                return Err(Refusal::malformed(
                    "`header` does not begin a run's transcript",
                ));
            }
        };
        let contract = ExecutionContract::decode(header.contract).map_err(Refusal::contract)?;
        if contract.contract_hash() != contract.rehash() {
            return Err(Refusal::contract("the contract does not match its hash"));
        }
        let scrubber = scrubber_of(service, &contract, &header.run_id, &opening.secrets)?;
        Self::under(contract, header.run_id, scrubber)
    }

    fn under(
        contract: ExecutionContract,
        run_id: RunId,
        scrubber: Arc<dyn Scrubber>,
    ) -> Result<Self, Refusal> {
        let counters: &dyn TokenCounters = &BuiltInTokenizers;
        let counter = counters.of(contract.tokenizer.as_deref());
        if scrubber.knows(contract.canonical_text().as_bytes()) {
            let why = "the contract contains one of `secrets`, and is recorded: remove the value";
            return Err(Refusal::contract(why));
        }
        Ok(Self {
            contract: Arc::new(contract),
            counter: counter.map_err(Refusal::contract)?,
            run_id,
            scrubber,
        })
    }

    /// Opens a run that is to be driven from its beginning.
    pub(super) fn driven(&self) -> Result<Session, Refusal> {
        let contract = Arc::clone(&self.contract);
        let session = Session::new(contract, self.counter(), Arc::clone(&self.scrubber));
        session.map_err(of_adapter)
    }

    /// Opens a run that is made again from its record.
    pub(super) fn recorded(&self) -> Session {
        Session::recorded(Arc::clone(&self.contract), self.counter())
    }

    /// Continues a recorded run.
    pub(super) fn resumed(&self, recorded: Session) -> Result<Session, Refusal> {
        let session = recorded.resume(self.counter(), Arc::clone(&self.scrubber));
        session.map_err(of_adapter)
    }

    fn counter(&self) -> Arc<dyn TokenCounter> {
        Arc::clone(&self.counter)
    }
}

impl Made {
    /// Makes a contract from a host's line, and the input that begins a run under it.
    pub(super) fn by_host(service: &Service, make: Make) -> Result<Self, Refusal> {
        let (text, servers) = (&make.contract, &make.servers);
        let spec = ContractSpec::parse("contract", text, &[]);
        let mut spec = spec.map_err(|faults| of_service(&faults.into()))?;
        spec.task = make.task.or(spec.task);
        let task = spec.task.clone().filter(|task| !task.trim().is_empty());
        let no_task = "no task given: add `task` to this line or to the contract";
        let task = task.ok_or_else(|| Refusal::contract(no_task))?;
        let (mut contract, mut intent_words) = made(&spec, servers)?;
        let scrubber = scrubber_of(service, &contract, &make.run_id, &make.secrets)?;
        let clean = scrubber.text(&task).into_owned();
        if clean != task {
            // The policy is decided by what is recorded of the task.
            spec.task = Some(clean.clone());
            (contract, intent_words) = made(&spec, servers)?;
        }
        let header = header_line(&contract.canonical_text(), &make.run_id);
        let opened = Opened::under(contract, make.run_id, scrubber)?;
        let (contract, counter) = (&opened.contract, opened.counter.as_ref());
        let messages = RunStarted::opening_counted(&contract.system, &clean, counter);
        let run_id = opened.run_id.clone();
        let started = RunStarted {
            intent_words,
            ..RunStarted::new(contract, run_id, messages, make.unix_ms)
        };
        Ok(Self {
            header,
            start: Input::Start(Box::new(started)),
            opened,
        })
    }
}

/// Returns what takes secrets out of a run: the host's, and whatever looks like one.
fn scrubber_of(
    service: &Service,
    contract: &ExecutionContract,
    run_id: &RunId,
    secrets: &[String],
) -> Result<Arc<dyn Scrubber>, Refusal> {
    let key = service.redaction_key();
    let key = key.map_err(|fault| Refusal::system(fault.summary()))?;
    Ok(key.scrubber(contract, run_id, secrets.iter().map(String::as_str)))
}

/// Returns the contract, and the words of the task that decided its policy.
fn made(
    spec: &ContractSpec,
    servers: &BTreeMap<String, Vec<OfferedTool>>,
) -> Result<(ExecutionContract, Vec<String>), Refusal> {
    let targets = vec![TargetCapability::default(); spec.targets.len()];
    let draft = ContractFactory::draft(spec, &targets);
    let mut draft = draft.map_err(|fault| of_driver(fault.into()))?;
    let words = draft.decide(spec.task.as_deref());
    let words = words.map_err(|fault| of_driver(fault.into()))?;
    if let Some(name) = servers
        .keys()
        .find(|name| !draft.servers.contains_key(*name))
    {
        let why = format!("`servers` has {name:?}, and the contract has no server of that name");
        return Err(Refusal::contract(why));
    }
    let mut offered = BTreeMap::new();
    for (name, terms) in &draft.servers {
        let Some(tools) = servers.get(name) else {
            let why = format!("`servers` lacks {name:?}, a server of the contract");
            return Err(Refusal::contract(why));
        };
        let server = ServerCapability {
            available: true,
            kind: terms.kind,
            tools: tools.iter().map(OfferedTool::capability).collect(),
        };
        offered.insert(name.clone(), server);
    }
    let mut named = spec.tools.host.iter();
    let is_offered = |name: &&String| {
        let mut tools = servers.values().flatten();
        tools.any(|tool| tool.name == **name)
    };
    if let Some(name) = named.find(|name| !is_offered(name)) {
        let why = format!("`servers` lacks the tool {name:?}, which `tools.host` names");
        return Err(Refusal::contract(why));
    }
    let contract = draft.complete(&offered, None, &BuiltInTokenizers);
    let contract = contract.map_err(|fault| of_driver(fault.into()))?;
    Ok((contract, words))
}

impl OfferedTool {
    fn capability(&self) -> ToolCapability {
        ToolCapability::offered(
            self.name.clone(),
            self.description.clone(),
            self.input_schema.clone(),
            self.annotations.clone(),
        )
    }
}

fn of_adapter(fault: AdapterError) -> Refusal {
    of_driver(fault.into())
}

fn of_driver(fault: DriverError) -> Refusal {
    of_service(&fault.into())
}

fn of_service(fault: &ServiceError) -> Refusal {
    Refusal::contract(fault.summary())
}
