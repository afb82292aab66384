//! `monolith show --follow`: rows of a run that another process drives, as they become durable.

use std::sync::Arc;
use std::time::Duration;

use super::render;
use crate::commands::verify;
use crate::context::app::App;
use crate::context::departed::marked;
use crate::ui::entry_row::EntryRow;
use monolith_core::message::RunId;
use monolith_core::view::RunView;
use monolith_host::store::StoreReader;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::source::{Recorded, Source};

/// How long the store is left alone before it is asked again.
const PAUSE: Duration = Duration::from_millis(150);

/// `monolith show --follow`: each entry once it is durable, until the seal. Between two looks nothing is held: no lock,
/// no transaction.
pub(crate) fn follow(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let mut warned = false;
    let view = match app.source(asked)? {
        source @ Source::File(_) => source.each_step(|view, entry, step| {
            let row = EntryRow::of(view, entry.entry(), step);
            app.screen.out(&row.line(app.screen))?;
            warn(app, view, &mut warned)
        })?,
        Source::Run(run_id, mut reader) => {
            let contract = reader.read_run(&run_id)?.contract()?;
            let mut view = RunView::new(Arc::new(contract));
            while !look(app, &run_id, &mut reader, (&mut view, &mut warned))? {
                // Nothing wakes this thread: it is the pause that ends.
                std::thread::park_timeout(PAUSE);
            }
            view.pause();
            view
        }
    };
    // That an entry is missing at the end is known at the end.
    warn(app, &view, &mut warned)?;
    let end = render::end(app.screen, &view, None);
    app.screen.out(&format!("\n{end}"))?;
    let trust = app.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(app.source(asked)?, true, &trust)?;
    match (&report.first_bad, view.outcome()) {
        (Some(bad), _) => {
            let place = verify::place(bad);
            app.screen.out(&format!("NOT VERIFIED: {place}\n"))?;
            Ok(Exit::EVIDENCE)
        }
        (None, Some(outcome)) => {
            let level = &report.level;
            app.screen.out(&format!("verified at level {level}\n"))?;
            Ok(match view.departure() {
                Some(_) => Exit::DIVERGED,
                None => Exit(outcome.exit_code()),
            })
        }
        (None, None) => Ok(match view.departure() {
            Some(_) => Exit::DIVERGED,
            None => Exit::FAILED,
        }),
    }
}

/// Reports once that what is shown is not the machine's state.
fn warn(app: &App, view: &RunView, warned: &mut bool) -> Result<(), ServiceError> {
    if !*warned {
        *warned = marked(app.screen, view)?.is_some();
    }
    Ok(())
}

/// Shows what has come since; returns whether the seal has.
fn look(
    app: &App,
    run_id: &RunId,
    reader: &mut StoreReader,
    (view, warned): (&mut RunView, &mut bool),
) -> Result<bool, ServiceError> {
    for entry in reader.read_run(run_id)?.starting_at(view.entries()) {
        let entry = Recorded::decode(&entry?)?;
        let step = view.take(entry.entry());
        let row = EntryRow::of(view, entry.entry(), step);
        app.screen.out(&row.line(app.screen))?;
        warn(app, view, warned)?;
        if row.is_seal() {
            return Ok(true);
        }
    }
    Ok(false)
}
