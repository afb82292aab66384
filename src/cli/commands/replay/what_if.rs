use std::fmt::Write as _;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::args::ReplayArgs;
use super::recorded;
use crate::cli::context::app::App;
use crate::cli::context::contract_file::ContractFile;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::runtime::runtime;
use crate::cli::ui::escape::{brief, line};
use crate::cli::ui::numbers::{counted, grouped};
use crate::cli::ui::screen::Style;
use crate::contract::{AuthorForm, ExecutionContract};
use crate::driver::{self, ServersToStart};
use crate::inference::BuiltInTokenizers;
use crate::kernel::{EventKind, Outcome, RunStarted};
use crate::message::TokenCounters;
use crate::replay::{BlobSource, ReplayReport, WhatIf, WhatIfReport};
use crate::transcript::SealedEntry;

/// How many differing fields of the contracts are written out for people.
const MOST: usize = 20;

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
    begun: Option<Result<(WhatIf, Vec<String>), CliError>>,
    file: Option<ContractFile>,
    app: &'a App,
    recorded: ExecutionContract,
}

/// `monolith replay` under another contract.
pub(in crate::cli) fn replay(app: &App, args: &ReplayArgs) -> Result<Exit, CliError> {
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
        app.screen.out(&report_text(app, &report, &recorded))?;
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

    fn finish(mut self) -> Result<WhatIfReport, CliError> {
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
    fn begin(&self, task: Option<&str>) -> Result<(WhatIf, Vec<String>), CliError> {
        let other = match &self.file {
            Some(file) => self.of_file(file, task)?,
            None => self.of_changes(task)?,
        };
        let what_if = WhatIf::new(self.recorded.clone(), other.contract);
        Ok((what_if.counting_with(&*other.tokenizers), other.notes))
    }

    /// The recorded contract with the changes. Nothing but the transcript is read, and nothing is started.
    fn of_changes(&self, task: Option<&str>) -> Result<Other, CliError> {
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
    fn of_file(&self, file: &ContractFile, task: Option<&str>) -> Result<Other, CliError> {
        let app = self.app;
        let mut request = file.request(app, file.read(app)?, app.redaction_key()?);
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

fn report_text(app: &App, report: &WhatIfReport, recorded_values: &[String]) -> String {
    let mut out = String::new();
    let terms = &report.contract_differences;
    let count = match terms.len() {
        0 => "The contracts are the same".to_owned(),
        count => format!("The contracts differ in {}", counted(count, "field")),
    };
    let _ = writeln!(out, "{count}.");
    for differs in terms.iter().take(MOST) {
        let (recorded, other) = (brief(&differs.recorded, 200), brief(&differs.other, 200));
        let _ = writeln!(
            out,
            "  {}: recorded {recorded}, other {other}",
            line(&differs.pointer)
        );
    }
    if terms.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
    if let Some(why) = &report.refused {
        let why = line(why);
        let _ = writeln!(
            out,
            "The other contract is refused before the first request: {why}."
        );
        for value in recorded_values {
            let _ = writeln!(out, "  {value}");
        }
    }
    let same = grouped(report.same_decisions);
    let all = counted(report.entries, "entry");
    let verb = if report.entries == 1 {
        "decides"
    } else {
        "decide"
    };
    let _ = writeln!(out, "{same} of {all} {verb} the same.");
    if let Some(first) = &report.first_other_decision {
        let _ = writeln!(
            out,
            "The first that decides otherwise is entry {}:",
            first.seq
        );
        let _ = writeln!(out, "  recorded  {}", line(&first.recorded));
        let _ = writeln!(out, "  other     {}", line(&first.other));
    }
    if let Some(end) = &report.no_longer_fits {
        let _ = writeln!(
            out,
            "From entry {} on the recording no longer fits: {}.",
            end.seq,
            line(&end.why)
        );
        let _ = writeln!(out, "  recorded  {}", line(&end.recorded));
        let _ = writeln!(out, "  other     {}", line(&end.other));
    }
    for note in &report.not_compared {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
    let end = |outcome: Option<Outcome>, none: &str| {
        outcome.map_or_else(|| none.to_owned(), |outcome| outcome.to_string())
    };
    let recorded = end(report.recorded_outcome, "no end");
    let so_far = report.recorded_outcome.is_none() && report.same_decisions == report.entries;
    let verdict = if so_far {
        let same = app.screen.paint_out(Style::Good, "same so far");
        format!("{same}: the recorded run has no end yet\n")
    } else if report.same_outcome {
        let same = app.screen.paint_out(Style::Good, "same end");
        format!("{same}: {recorded}\n")
    } else {
        let other = app.screen.paint_out(Style::Bad, "not the same end");
        let would = end(report.outcome, "unknown, for the recording does not say");
        format!("{other}: recorded {recorded}, other {would}\n")
    };
    out.push_str(&verdict);
    out
}
