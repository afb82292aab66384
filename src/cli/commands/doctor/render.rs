//! What a checkup found, as lines of text: the verdict, the name, the detail, and below it how it is mended.

use std::fmt::Write as _;

use super::checkup::{Finding, Status};
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::{Screen, Style};

pub(super) fn report_text(screen: Screen, findings: &[Finding]) -> String {
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
    out
}
