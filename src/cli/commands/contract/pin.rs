//! `monolith contract pin`: writes the current offer of a contract's tool servers into its file, and into a file next to it.
//! Begins no run.

use std::fmt::Write as _;

use super::args::ContractPinArgs;
use super::preview::{report_gaps, report_warnings};
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::ui::screen::Style;
use monolith_core::contract::tool_warnings;
use monolith_service::check::pin;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;

/// `monolith contract pin`.
pub(super) fn pin(app: &App, args: &ContractPinArgs) -> Result<Exit, ServiceError> {
    let pinned = runtime()?.block_on(pin::pin(app, args.file.clone()))?;
    let Some(pins) = &pinned.pins else {
        report_gaps(app, &pinned.preview);
        app.screen
            .note("Nothing was written: pins are taken of servers that are up.");
        return Ok(Exit::SETUP);
    };
    let mut out = String::new();
    for (name, server) in pins {
        let what = match server.before {
            None => "new",
            Some(before) if before == server.pin => "unchanged",
            Some(_) => "changed",
        };
        let heading = app.screen.paint_out(Style::Bold, &line(name));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{heading}  pin {}  {what}", server.pin);
    }
    if pins.is_empty() {
        out.push_str("this contract has no tool servers to pin\n");
    }
    app.screen.out(&out)?;
    report_warnings(app, &tool_warnings(&pinned.preview.contract));
    // What has changed since the pins of before is among it.
    report_gaps(app, &pinned.preview);
    Ok(Exit::OK)
}
