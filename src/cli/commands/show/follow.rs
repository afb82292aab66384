//! `monolith show --follow`: the entries of a run that another process drives, as they become durable: rows for people, lines of
//! JSON for programs.

use std::io;

use super::render;
use crate::commands::verify::place;
use crate::context::app::App;
use crate::context::departed::{mark, marked, warned};
use crate::context::runtime::runtime;
use crate::ui::entry_row::row_line;
use crate::ui::stdout::unread;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::view::follow;

/// `monolith show --follow --json`: each entry with its event as one line, as `--raw` prints it. Everything else goes to stderr.
pub(crate) fn follow_json(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let mut follower = follow::follow(app, asked)?.until_left();
    let is_read = runtime()?.block_on(async {
        while let Some(entry) = tokio::select! {
            biased;
            entry = follower.next() => entry?,
            () = unread() => return Ok(false),
        } {
            let mut row = serde_json::to_string(&entry.stored()?).map_err(io::Error::from)?;
            row.push('\n');
            match app.screen.out_json_read(&row) {
                // A reader that has gone away has what it wanted.
                Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => return Ok(false),
                written => written?,
            }
        }
        Ok::<bool, ServiceError>(true)
    })?;
    if !is_read {
        return Ok(Exit::OK);
    }
    let Some(run) = follower.finish(app)? else {
        return Ok(Exit::FAILED);
    };
    let _ = warned(app.screen, &run.view);
    if let Some(bad) = &run.report.first_bad {
        let bad = format!("NOT VERIFIED: {}\n", place(bad));
        app.screen.write_err(&bad);
    } else if run.is_left {
        let left = line(asked);
        app.screen.write_err(&format!(
            "run {left} has not ended, and no process drives it; `monolith resume {left}` continues it\n"
        ));
    }
    Ok(run.exit())
}

/// `monolith show --follow`: each entry once it is durable, until the seal.
pub(crate) fn follow(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let mut follower = follow::follow(app, asked)?;
    let mut is_marked = false;
    let is_read = runtime()?.block_on(async {
        while let Some(entry) = tokio::select! {
            biased;
            entry = follower.next() => entry?,
            () = unread() => return Ok(false),
        } {
            app.screen.out(&row_line(app.screen, &entry.row))?;
            if let Some(departure) = entry.departure.filter(|_| !is_marked) {
                mark(app.screen, &departure)?;
                is_marked = true;
            }
        }
        Ok::<bool, ServiceError>(true)
    })?;
    if !is_read {
        return Ok(Exit::OK);
    }
    let Some(run) = follower.finish(app)? else {
        return Ok(Exit::FAILED);
    };
    if !is_marked {
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
