//! `monolith replay --set` and `--contract`: the recorded events under another contract. Asks no model.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::args::ReplayArgs;
use super::recorded;
use super::render::what_if_text;
use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_core::contract::{AuthorForm, ExecutionContract};
use monolith_core::kernel::{EventKind, RunStarted};
use monolith_core::message::TokenCounters;
use monolith_core::replay::{BlobSource, ReplayReport, WhatIf, WhatIfReport};
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::{self, ServersToStart};
use monolith_host::inference::BuiltInTokenizers;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, line};

/// What a recorded run is decided under instead.
struct Other {
    contract: ExecutionContract,
    /// What is said of servers of which nothing is known.
    notes: Vec<String>,
    tokenizers: Box<dyn TokenCounters>,
}

/// A what-if in the making: the other contract needs the task, which the first entry holds.
struct Asking<'a> {
    args: &'a ReplayArgs,
    begun: Option<Result<(WhatIf, Vec<String>), ServiceError>>,
    file: Option<ContractFile>,
    app: &'a App,
    recorded: ExecutionContract,
}

/// `monolith replay` under another contract.
pub(crate) fn replay(app: &App, args: &ReplayArgs) -> Result<Exit, ServiceError> {
    if let Some(flaw) = recorded::evidence_flaw(app, &args.run)? {
        let report = ReplayReport::default().with_flaw(&flaw);
        return recorded::print(app, &report, args.json);
    }
    let source = app.source(&args.run)?;
    let file = match args.contract {
        Some(_) => Some(recorded::contract_file(app, args, &source, false)?),
        None => None,
    };
    let asking = source.each_entry_with_blobs(
        |recorded, _| Asking {
            args,
            begun: None,
            file,
            app,
            recorded,
        },
        Asking::take,
    )?;
    let recorded = recorded_values(&asking.recorded, &args.sets);
    let report = asking.finish().inspect_err(|_| {
        // Beside a change that no contract may have, what it was to change.
        for value in &recorded {
            app.screen.write_err(&format!("note: {value}\n"));
        }
    })?;
    if args.json {
        app.screen.out_json(&report)?;
    } else {
        app.screen
            .out(&what_if_text(app.screen, &report, &recorded))?;
    }
    Ok(Exit::of_what_if(&report))
}

impl Asking<'_> {
    fn take(&mut self, entry: &SealedEntry, blobs: &dyn BlobSource) {
        if self.begun.is_none() {
            self.begun = Some(self.begin(task_of(entry, &self.recorded).as_deref()));
        }
        if let Some(Ok((what_if, _))) = &mut self.begun {
            what_if.take(entry, blobs);
        }
    }

    fn finish(mut self) -> Result<WhatIfReport, ServiceError> {
        let begun = match self.begun.take() {
            Some(begun) => begun,
            None => self.begin(None),
        };
        let (what_if, notes) = begun?;
        let mut report = what_if.finish();
        report.not_compared.extend(notes);
        Ok(report)
    }

    /// The other contract's policy is decided by what the recorded run was to do.
    fn begin(&self, task: Option<&str>) -> Result<(WhatIf, Vec<String>), ServiceError> {
        let other = match &self.file {
            Some(file) => self.of_file(file, task)?,
            None => self.of_changes(task)?,
        };
        let what_if = WhatIf::new(self.recorded.clone(), other.contract);
        Ok((what_if.counting_with(&*other.tokenizers), other.notes))
    }

    /// The recorded contract with the changes. Nothing but the transcript is read, and nothing is started.
    fn of_changes(&self, task: Option<&str>) -> Result<Other, ServiceError> {
        let name = format!("the contract of {}", self.args.run);
        let form = AuthorForm::of(&self.recorded, &name, task)?;
        let changed = form.changed(&self.args.sets, &BuiltInTokenizers)?;
        let unknown = changed.unknown_servers.iter();
        Ok(Other {
            contract: changed.contract,
            notes: unknown.map(|server| not_started(server)).collect(),
            tokenizers: Box::new(BuiltInTokenizers),
        })
    }

    /// The contract that a file gives.
    fn of_file(&self, file: &ContractFile, task: Option<&str>) -> Result<Other, ServiceError> {
        let app = self.app;
        let mut request = file.request(app, app.read_contract(file)?, app.redaction_key()?);
        request.spec.task = task.map(str::to_owned);
        let cancel = CancellationToken::new();
        let runtime = runtime()?;
        let made = if self.args.start_servers {
            let all = ServersToStart::All;
            let made = runtime.block_on(driver::preview(&request, all, &cancel))?;
            made.counted_as(&self.recorded)
        } else {
            let made = driver::preview_recorded(&request, &self.recorded, &cancel);
            runtime.block_on(made)?
        };
        let faults = made.faults.iter();
        let faults = faults.map(|fault| format!("tools of {}: {}", fault.server, fault.detail));
        let unknown = made.not_started.iter().map(|server| not_started(server));
        Ok(Other {
            notes: unknown.chain(faults).collect(),
            contract: made.contract,
            tokenizers: Box::new(made.tokenizers),
        })
    }
}

fn not_started(server: &str) -> String {
    format!(
        "tools of {server}: the recorded contract does not have this server so, and it was not started (--contract FILE --start-servers)"
    )
}

/// What the run was to do, by its first entry.
fn task_of(entry: &SealedEntry, contract: &ExecutionContract) -> Option<String> {
    match entry.decode_event().ok()??.event {
        EventKind::RunStarted(started) => RunStarted::intent(started.judged_messages(contract)),
        _ => None,
    }
}

/// What the recorded contract has in the place of each change.
fn recorded_values(recorded: &ExecutionContract, sets: &[String]) -> Vec<String> {
    let document = serde_json::from_str(&recorded.canonical_text()).unwrap_or(Value::Null);
    let keys = sets.iter().filter_map(|set| set.split_once('='));
    keys.map(|(key, _)| {
        let key = key.trim();
        let pointer = format!("/{}", key.replace('.', "/"));
        match document.pointer(&pointer) {
            Some(value) => format!("{key}: recorded {}", brief(&value.to_string(), 200)),
            None => format!("{}: the recorded contract has no such value", line(key)),
        }
    })
    .collect()
}
