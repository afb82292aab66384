//! The findings of a checkup, as lines of text: the verdict, the name, the detail, and below it the fix.

use std::fmt::Write as _;
use std::path::Path;

use super::checkup::{Checkup, Finding, Status};
use crate::ui::screen::{Screen, Style};
use monolith_service::text::escape::{help, line};
use monolith_service::text::numbers::counted;

/// The report: of a contract, which is named then, what that needs comes first.
pub(super) fn report_text(screen: Screen, checkup: &Checkup, contract: Option<&Path>) -> String {
    let mut out = String::new();
    if let Some(contract) = contract {
        let title = format!("{} needs:", line(&contract.display().to_string()));
        let _ = writeln!(out, "{}", screen.paint_out(Style::Bold, &title));
        out.push_str(&rows(screen, &checkup.needed));
        let title = screen.paint_out(Style::Bold, "this machine:");
        let _ = writeln!(out, "\n{title}");
    }
    out.push_str(&rows(screen, &checkup.general));
    let wrong = checkup
        .findings()
        .filter(|found| found.status == Status::Wrong);
    let _ = match wrong.count() {
        0 => writeln!(
            out,
            "\nNothing is wrong; each missing item is needed only for its own feature."
        ),
        wrong => {
            let verb = if wrong == 1 { "is" } else { "are" };
            writeln!(out, "\n{} {verb} wrong.", counted(wrong, "thing"))
        }
    };
    out
}

fn rows(screen: Screen, findings: &[Finding]) -> String {
    let mut out = String::new();
    for found in findings {
        let (style, word) = match found.status {
            Status::Ok => (Style::Good, "ok     "),
            Status::Missing => (Style::Dim, "missing"),
            Status::Wrong => (Style::Bad, "wrong  "),
        };
        let word = screen.paint_out(style, word);
        let (name, detail) = (line(&found.name), line(&found.detail));
        let _ = writeln!(out, "{word}  {name:<18}  {detail}");
        if let Some(fix) = &found.fix {
            let _ = writeln!(out, "{:27}  = {}", "", help(fix));
        }
    }
    out
}
