//! `monolith show --follow`: rows of a run that another process drives, as they become durable.

use super::render;
use crate::commands::verify::place;
use crate::context::app::App;
use crate::context::departed::{mark, marked};
use crate::context::runtime::runtime;
use crate::ui::entry_row::row_line;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::view::follow;

/// `monolith show --follow`: each entry once it is durable, until the seal.
pub(crate) fn follow(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let mut follower = follow::follow(app, asked)?;
    let mut warned = false;
    runtime()?.block_on(async {
        while let Some(entry) = follower.next().await? {
            app.screen.out(&row_line(app.screen, &entry.row))?;
            if let Some(departure) = entry.departure.filter(|_| !warned) {
                mark(app.screen, &departure)?;
                warned = true;
            }
        }
        Ok::<(), ServiceError>(())
    })?;
    let Some(run) = follower.finish(app)? else {
        return Ok(Exit::FAILED);
    };
    if !warned {
        // A missing last entry shows only at the end.
        marked(app.screen, &run.view)?;
    }
    let end = render::end(app.screen, &run.view, None);
    app.screen.out(&format!("\n{end}"))?;
    if let Some(bad) = &run.report.first_bad {
        app.screen.out(&format!("NOT VERIFIED: {}\n", place(bad)))?;
    } else if run.view.outcome().is_some() {
        let level = &run.report.level;
        app.screen.out(&format!("verified at level {level}\n"))?;
    }
    Ok(run.exit())
}
