//! `monolith work run`: signals, progress, and one result for each item as it ends. Decides nothing about an item.

use std::io;
use std::time::Duration;

use super::args::WorkRunArgs;
use super::shown::{ended_line, left_line, state_line};
use crate::commands::drive::Watched;
use crate::context::app::App;
use crate::context::runtime::runtime_of_many;
use crate::context::signals::{Signal, Signals};
use crate::ui::screen::Screen;
use monolith_service::drive::display::Display;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::work::run::{ItemEnd, WorkRun, WorkSummary, WorkTerms};
use monolith_service::work::surface::{ItemNow, WorkSurface};

/// Time that calls in flight have after a suspension.
const GRACE: Duration = Duration::from_secs(10);

/// A person watches all items, not one of them.
struct Shown(Screen);

impl WorkSurface for Shown {
    fn display(&self) -> Box<dyn Display> {
        Watched::among_many(self.0)
    }

    fn item(&self, now: ItemNow<'_>) {
        self.0.note(&state_line(self.0, now));
    }

    fn warn(&self, text: &str) {
        self.0.remark(&format!("warning: {}", line(text)));
    }
}

/// `monolith work run`.
pub(super) fn run(app: &App, args: &WorkRunArgs) -> Result<Exit, ServiceError> {
    let work = WorkRun::open(
        &args.file,
        WorkTerms {
            again: args.again,
            durability: args.recording.durability.into(),
            grace: GRACE,
            jobs: args.jobs,
            service: app.service.clone(),
            surface: Box::new(Shown(app.screen)),
        },
    )?;
    if let Some(note) = work.recovered() {
        app.screen.remark(&format!("note: {}", line(note)));
    }
    let (levels, items) = work.size();
    let size = format!("{} in {}", counted(items, "item"), counted(levels, "level"));
    app.screen.note(&size);
    let runtime = runtime_of_many()?;
    let mut unwritten = None;
    let summary = runtime.block_on(driven(app, args, &work, &mut unwritten))?;
    app.screen.note(&format!(
        "{} succeeded, {} did not",
        counted(summary.succeeded, "item"),
        items.saturating_sub(summary.succeeded)
    ));
    if let Some(fault) = unwritten {
        return Err(SystemFault::ItemsUnwritten {
            file: args.file.clone(),
            reason: fault.to_string(),
            suspended: summary.exit() == Exit::SUSPENDED,
        }
        .into());
    }
    Ok(summary.exit())
}

async fn driven(
    app: &App,
    args: &WorkRunArgs,
    work: &WorkRun,
    unwritten: &mut Option<io::Error>,
) -> Result<WorkSummary, ServiceError> {
    let mut signals = Signals::listen()?;
    let mut driving = Box::pin(work.drive(async |end| {
        if let Err(fault) = written(app, args, &end) {
            unwritten.get_or_insert(fault);
        }
    }));
    loop {
        let signal = tokio::select! {
            biased;
            summary = &mut driving => return summary,
            signal = signals.next() => signal,
        };
        match signal {
            Signal::Interrupt => {
                app.screen.note("stopping: nothing more is published");
                work.stop();
            }
            Signal::Terminate => {
                app.screen.note("suspending: run the file again to resume");
                work.suspend();
            }
        }
    }
}

/// Writes the end of an item.
fn written(app: &App, args: &WorkRunArgs, end: &ItemEnd) -> io::Result<()> {
    let screen = app.screen;
    match end {
        ItemEnd::Ended(ended) if args.json => screen.answer_json(&ended.result),
        ItemEnd::Ended(ended) => screen.out(&ended_line(screen, ended)),
        ItemEnd::Left(left) => {
            let file = args.file.display().to_string();
            screen.remark(&left_line(app, left, &file));
            Ok(())
        }
        ItemEnd::NotBegun(id) => {
            screen.remark(&format!("note: item {} was not begun", line(id)));
            Ok(())
        }
    }
}
