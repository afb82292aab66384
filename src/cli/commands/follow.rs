use std::time::Duration;

use super::overview;
use super::story::{Row, Teller};
use super::verify;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::Source;
use crate::kernel::EntryKind;
use crate::message::RunId;
use crate::store::StoreReader;

/// How long the store is left alone before it is asked again.
const PAUSE: Duration = Duration::from_millis(150);

/// `monolith show --follow`: each entry once it is durable, until the seal. Between two looks nothing is held: no lock,
/// no transaction.
pub(super) fn follow(home: &Home, asked: &str) -> Result<Exit, CliError> {
    let mut rows = Vec::new();
    let mut teller = Teller::default();
    match home.source(asked)? {
        source @ Source::File(_) => {
            source.each_entry(|contract, _, entry| {
                let row = teller.take(contract, entry)?;
                home.screen.out(&row.line(home.screen))?;
                keep(&mut rows, row);
                Ok(())
            })?;
        }
        Source::Run(run_id, mut reader) => {
            let mut next = 0;
            loop {
                let sealed = look(
                    home,
                    &run_id,
                    &mut reader,
                    &mut teller,
                    &mut next,
                    &mut rows,
                )?;
                if sealed {
                    break;
                }
                // Nobody wakes this thread: it is the pause that ends.
                std::thread::park_timeout(PAUSE);
            }
        }
    }
    let end = overview::end(home.screen, teller.ledger(), &rows, None);
    home.screen.out(&format!("\n{end}"))?;
    let trust = home.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(home.source(asked)?, true, &trust)?;
    match (&report.first_bad, teller.ledger().outcome()) {
        (Some(bad), _) => {
            let place = verify::place(bad);
            home.screen.out(&format!("NOT VERIFIED: {place}\n"))?;
            Ok(Exit::EVIDENCE)
        }
        (None, Some(outcome)) => {
            let level = &report.level;
            home.screen.out(&format!("verified at level {level}\n"))?;
            Ok(Exit(outcome.exit_code()))
        }
        (None, None) => Ok(Exit::FAILED),
    }
}

/// Tells what has come since; whether the seal has.
fn look(
    home: &Home,
    run_id: &RunId,
    reader: &mut StoreReader,
    teller: &mut Teller,
    next: &mut u64,
    rows: &mut Vec<Row>,
) -> Result<bool, CliError> {
    let run = reader.read_run(run_id)?.starting_at(*next);
    let contract = run.contract()?;
    for entry in run {
        let entry = entry?;
        *next = entry.seq.saturating_add(1);
        let row = teller.take(&contract, &entry)?;
        home.screen.out(&row.line(home.screen))?;
        let sealed = row.action.kind == EntryKind::Seal;
        keep(rows, row);
        if sealed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Only the last rule that fired is told again at the end.
fn keep(rows: &mut Vec<Row>, row: Row) {
    if row.action.predicate.is_some() {
        rows.clear();
        rows.push(row);
    }
}
