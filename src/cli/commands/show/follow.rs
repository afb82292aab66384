use std::sync::Arc;
use std::time::Duration;

use super::overview;
use crate::cli::commands::verify;
use crate::cli::context::app::Home;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::context::source::{Recorded, Source};
use crate::cli::ui::entry_row::EntryRow;
use crate::message::RunId;
use crate::store::StoreReader;
use crate::view::RunView;

/// How long the store is left alone before it is asked again.
const PAUSE: Duration = Duration::from_millis(150);

/// `monolith show --follow`: each entry once it is durable, until the seal. Between two looks nothing is held: no lock,
/// no transaction.
pub(in crate::cli) fn follow(home: &Home, asked: &str) -> Result<Exit, CliError> {
    let view = match home.source(asked)? {
        source @ Source::File(_) => source.each_step(|view, entry, step| {
            let row = EntryRow::of(view, entry.entry(), step);
            home.screen.out(&row.line(home.screen))?;
            Ok(())
        })?,
        Source::Run(run_id, mut reader) => {
            let contract = reader.read_run(&run_id)?.contract()?;
            let mut view = RunView::new(Arc::new(contract));
            while !look(home, &run_id, &mut reader, &mut view)? {
                // Nothing wakes this thread: it is the pause that ends.
                std::thread::park_timeout(PAUSE);
            }
            view
        }
    };
    let end = overview::end(home.screen, &view, None);
    home.screen.out(&format!("\n{end}"))?;
    let trust = home.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(home.source(asked)?, true, &trust)?;
    match (&report.first_bad, view.outcome()) {
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

/// Shows what has come since; returns whether the seal has.
fn look(
    home: &Home,
    run_id: &RunId,
    reader: &mut StoreReader,
    view: &mut RunView,
) -> Result<bool, CliError> {
    for entry in reader.read_run(run_id)?.starting_at(view.entries()) {
        let entry = Recorded::decode(&entry?)?;
        let step = view.take(entry.entry());
        let row = EntryRow::of(view, entry.entry(), step);
        home.screen.out(&row.line(home.screen))?;
        if row.is_seal() {
            return Ok(true);
        }
    }
    Ok(false)
}
