//! The common handling of a view that is not the machine's state (002 Invariant D). A command reports that once, and ends with
//! the exit code of a divergence. Does not compare; the view does.

use crate::ui::screen::{Screen, Style};
use monolith_core::view::{Divergence, RunView};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::view::departure::departed;

pub(crate) use monolith_service::view::departure::agreeing;

/// Reports on stderr, which is for people where stdout is for programs, that what is shown departs; the code to end with.
pub(crate) fn warned(screen: Screen, view: &RunView) -> Option<Exit> {
    warn(screen, view.departure()?);
    Some(Exit::DIVERGED)
}

/// The report itself.
pub(crate) fn warn(screen: Screen, departure: &Divergence) {
    let line = screen.paint(Style::Bad, &departed(departure));
    screen.write_err(&format!("{line}\n"));
}

/// The same on stdout, before or among what is shown there.
pub(crate) fn marked(screen: Screen, view: &RunView) -> Result<Option<Exit>, ServiceError> {
    let Some(departure) = view.departure() else {
        return Ok(None);
    };
    mark(screen, departure)?;
    Ok(Some(Exit::DIVERGED))
}

/// The line itself.
pub(crate) fn mark(screen: Screen, departure: &Divergence) -> Result<(), ServiceError> {
    let line = screen.paint_out(Style::Bad, &departed(departure));
    Ok(screen.out(&format!("{line}\n"))?)
}
