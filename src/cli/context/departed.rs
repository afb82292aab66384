//! What every command does where what it shows is not the machine's state (002 Invariant D): it reports that once, and ends with
//! the code of a divergence. Does not compare; the view does.

use crate::ui::departed::departed;
use crate::ui::screen::{Screen, Style};
use monolith_core::view::RunView;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// Reports on stderr, which is for people where stdout is for programs, that what is shown departs; the code to end with.
pub(crate) fn warned(screen: Screen, view: &RunView) -> Option<Exit> {
    let departure = view.departure()?;
    let line = screen.paint(Style::Bad, &departed(departure));
    screen.write_err(&format!("{line}\n"));
    Some(Exit::DIVERGED)
}

/// The same on stdout, before or among what is shown there.
pub(crate) fn marked(screen: Screen, view: &RunView) -> Result<Option<Exit>, ServiceError> {
    let Some(departure) = view.departure() else {
        return Ok(None);
    };
    let line = screen.paint_out(Style::Bad, &departed(departure));
    screen.out(&format!("{line}\n"))?;
    Ok(Some(Exit::DIVERGED))
}
