//! `monolith show --tree`: which runs came from which, as far as the store knows.

use std::fmt::Write as _;

use crate::commands::list;
use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::family::Family;
use monolith_service::source::Source;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// `monolith show --tree`.
pub(crate) fn tree(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let (run_id, mut reader) = match app.source(asked)? {
        Source::Run(run_id, reader) => (run_id, reader),
        Source::File(path) => return Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    };
    let (mut family, damaged) = Family::read(&mut reader)?;
    let paint = |name: &str| app.screen.paint_out(Style::Bold, name);
    let drawn = around(&mut family, &paint, run_id.as_str(), |family, name| {
        family.link(&mut reader, name)
    });
    app.screen.out(&drawn)?;
    Ok(list::name_damaged(app, &damaged))
}

/// The tree that `run` stands in; `link` says how a run comes from the one above it.
fn around(
    family: &mut Family,
    paint: &dyn Fn(&str) -> String,
    run: &str,
    mut link: impl FnMut(&mut Family, &str) -> Option<String>,
) -> String {
    let mut out = String::new();
    let (root, missing) = family.root_of(run);
    // A parent that is not in this store is named, and the tree begins below it.
    if let Some(missing) = missing {
        let _ = writeln!(out, "{missing}  not in this store");
    }
    let root = root.to_owned();
    for at in family.placed(&root, &mut |_| true) {
        let from = (at.branch.depth > 0).then(|| link(family, &at.name));
        let from = from.flatten().map(|from| format!(", {from}"));
        let Some(row) = family.row(&at.name) else {
            continue;
        };
        let outcome = match &row.outcome {
            Some((class, code)) => format!("{class} ({code})"),
            None => "unfinished".to_owned(),
        };
        let (shown, here) = if at.name == run {
            (paint(&at.name), "   ◀ this run")
        } else {
            (at.name, "")
        };
        let _ = writeln!(
            out,
            "{}{shown}  {}, {}{}{here}",
            at.branch.mark(),
            counted(row.length, "entry"),
            line(&outcome),
            from.unwrap_or_default()
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use monolith_core::kernel::ParentRun;
    use monolith_core::message::{Digest, RunId};
    use monolith_host::store::RunRow;
    use monolith_service::family::Above;

    /// Runs in the order in which they were begun.
    fn family(runs: &[(&str, Option<&str>)]) -> Family {
        let id = |name: &str| RunId::try_from(name.to_owned()).unwrap();
        let mut family = Family::default();
        for (name, parent) in runs.iter().rev() {
            let row = RunRow {
                run_id: id(name),
                workflow: false,
                contract_hash: Digest::of(b""),
                created_unix_ms: 0,
                epoch: 1,
                owner: String::new(),
                length: 5,
                head: Digest::of(b""),
                outcome: None,
            };
            let above = parent.map(|parent| Above {
                is_step: false,
                parent: ParentRun {
                    call: None,
                    head: Digest::of(b""),
                    run_id: id(parent),
                },
            });
            family.add(row, above);
        }
        family.in_order();
        family
    }

    /// Each line without what it says of the run.
    fn check(runs: &[(&str, Option<&str>)], asked: &str, expect: &[&str]) {
        let paint = |name: &str| format!("*{name}*");
        let drawn = around(&mut family(runs), &paint, asked, |_, _| None);
        let lines: Vec<&str> = drawn
            .lines()
            .map(|line| {
                line.split_once("  5 entries")
                    .map_or(line, |(name, _)| name)
            })
            .collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn a_run_stands_among_its_parents_and_children() {
        let runs = [
            ("a", None),
            ("b", Some("a")),
            ("c", Some("b")),
            ("d", Some("a")),
            ("e", None),
        ];
        check(&runs, "b", &["a", "├─ *b*", "│  └─ c", "└─ d"]);
        check(&runs, "e", &["*e*"]);
    }

    #[test]
    fn a_parent_elsewhere_is_named_and_a_circle_ends() {
        check(&[("b", Some("x"))], "b", &["x  not in this store", "*b*"]);
        check(&[("a", Some("b")), ("b", Some("a"))], "a", &["b", "└─ *a*"]);
    }
}
