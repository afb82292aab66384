use std::fmt::Write as _;

use serde::Serialize;

use super::args::DoctorArgs;
use super::checkup::{Finding, Status, checkup};
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::Style;

#[derive(Serialize)]
struct Document<'d> {
    format: &'static str,
    healthy: bool,
    exit_code: u8,
    checks: &'d [Finding],
}

/// `monolith doctor`: ends with 0 where nothing is wrong, whatever is missing, else with 1.
pub(in crate::cli) fn doctor(app: &App, args: &DoctorArgs) -> Result<Exit, CliError> {
    let findings = checkup(app, args)?;
    let healthy = findings.iter().all(|found| found.status != Status::Wrong);
    let exit = if healthy { Exit::OK } else { Exit::FAILED };
    if args.json {
        app.screen.out_json(&Document {
            format: "monolith-doctor/1",
            healthy,
            exit_code: exit.0,
            checks: &findings,
        })?;
        return Ok(exit);
    }
    let mut out = String::new();
    for found in &findings {
        let (style, word) = match found.status {
            Status::Ok => (Style::Good, "ok     "),
            Status::Missing => (Style::Dim, "missing"),
            Status::Wrong => (Style::Bad, "wrong  "),
        };
        let word = app.screen.paint_out(style, word);
        let (name, detail) = (line(&found.name), line(&found.detail));
        let _ = writeln!(out, "{word}  {name:<18}  {detail}");
        if let Some(fix) = &found.fix {
            let _ = writeln!(out, "{:27}  = {}", "", line(fix));
        }
    }
    let wrong = findings
        .iter()
        .filter(|found| found.status == Status::Wrong)
        .count();
    let _ = match wrong {
        0 => writeln!(
            out,
            "\nNothing is wrong; what is missing is needed only for what it says."
        ),
        wrong => {
            let verb = if wrong == 1 { "is" } else { "are" };
            writeln!(out, "\n{} {verb} wrong.", counted(wrong, "thing"))
        }
    };
    app.screen.out(&out)?;
    Ok(exit)
}
