use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{overview, verify};
use crate::cli::args::ShowArgs;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::{Recorded, Source};
use crate::cli::screen::Style;
use crate::kernel::State;
use crate::message::Digest;
use crate::telemetry::AgentResult;
use crate::transcript::SealedEntry;

/// An entry with everything that is stored of it.
#[derive(Serialize)]
struct Step<'e> {
    seq: u64,
    state: State,
    hash: Digest,
    action: &'e RawValue,
    event: &'e RawValue,
}

/// `monolith show`.
pub(in crate::cli) fn show(home: &Home, args: &ShowArgs) -> Result<Exit, CliError> {
    let trust = home.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(home.source(&args.run)?, true, &trust)?;
    if let Some(bad) = &report.first_bad {
        tell_unverified(home, args, &verify::place(bad))?;
        return Ok(Exit::EVIDENCE);
    }
    told(home, args)?;
    Ok(Exit::OK)
}

/// What does not verify is shown below the flaw, as far as it can be read; no result is made of it.
fn tell_unverified(home: &Home, args: &ShowArgs, place: &str) -> Result<(), CliError> {
    if args.form.json {
        return Err(CliError::NotVerified {
            asked: args.run.clone(),
            place: place.to_owned(),
        });
    }
    let line = format!("NOT VERIFIED: {place}");
    if args.form.raw || args.form.step.is_some() {
        // Stdout is for programs here.
        home.screen.write_err(&format!("{line}\n"));
    } else {
        home.screen
            .out(&format!("{}\n", home.screen.paint_out(Style::Bad, &line)))?;
    }
    if let Err(fault) = told(home, args) {
        home.screen.error(&fault);
    }
    Ok(())
}

fn told(home: &Home, args: &ShowArgs) -> Result<(), CliError> {
    let source = home.source(&args.run)?;
    let stored = matches!(source, Source::Run(..));
    let recorded = source.load()?;
    let form = &args.form;
    if form.raw {
        for entry in &recorded.entries {
            let step = Step::of(entry)?;
            home.screen.out_json(&step)?;
        }
    } else if let Some(seq) = form.step {
        let text = step(&recorded, seq)?;
        home.screen.out_foreign(&text)?;
    } else {
        let (run, ledger) = recorded.fold()?;
        if form.json {
            home.screen.out_json(&AgentResult::of_run(&run, &ledger))?;
        } else if form.why {
            home.screen
                .out(&overview::why(home.screen, &recorded, &ledger)?)?;
        } else {
            home.screen
                .out(&overview::overview(home.screen, &recorded, &ledger)?)?;
        }
        if stored && !form.json && ledger.outcome().is_none() {
            let name = home.brief_name(recorded.run_id.as_str());
            let resume = home.hint(&format!("resume {name}"));
            home.screen.out(&format!("Go on with it: {resume}\n"))?;
        }
    }
    Ok(())
}

impl<'e> Step<'e> {
    fn of(entry: &'e SealedEntry) -> Result<Self, CliError> {
        // What does not read back as an action or an event is refused with its place, before it is shown as one.
        Recorded::decode(entry)?;
        Ok(Self {
            seq: entry.seq,
            state: entry.state,
            hash: entry.hash,
            action: serde_json::from_str(&entry.action).map_err(std::io::Error::from)?,
            event: serde_json::from_str(&entry.event).map_err(std::io::Error::from)?,
        })
    }
}

fn step(recorded: &Recorded, asked: u64) -> Result<String, CliError> {
    let entry = recorded.entries.iter().find(|entry| entry.seq == asked);
    let entry = entry.ok_or_else(|| CliError::NoSuchEntry {
        asked,
        last: recorded.entries.last().map_or(0, |entry| entry.seq),
    })?;
    let step = serde_json::to_string(&Step::of(entry)?).map_err(std::io::Error::from)?;
    let step: Value = serde_json::from_str(&step).map_err(std::io::Error::from)?;
    Ok(format!("{step:#}\n"))
}
