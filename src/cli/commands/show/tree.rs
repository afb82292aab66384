//! `monolith show --tree`: which runs came from which, as far as the store knows.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::cli::commands::list;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, TranscriptFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::source::{Recorded, Source};
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::Style;
use crate::kernel::ParentRun;
use crate::store::{DamagedRow, RunFilter, RunRow, StoreError, StoreReader};
use crate::view::RunStart;

/// How many runs of the store are looked through.
const MOST_RUNS: usize = 100_000;
/// How deep the tree is drawn.
const MOST_DEPTH: usize = 64;

/// The runs of a store by name, and who came from whom.
struct Family {
    children: BTreeMap<String, Vec<String>>,
    parents: BTreeMap<String, ParentRun>,
    rows: BTreeMap<String, RunRow>,
}

/// `monolith show --tree`.
pub(in crate::cli) fn tree(app: &App, asked: &str) -> Result<Exit, CliError> {
    let (run_id, mut reader) = match app.source(asked)? {
        Source::Run(run_id, reader) => (run_id, reader),
        Source::File(path) => return Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    };
    let (family, damaged) = Family::read(&mut reader)?;
    let paint = |name: &str| app.screen.paint_out(Style::Bold, name);
    app.screen.out(&family.around(&paint, run_id.as_str()))?;
    Ok(list::name_damaged(app, &damaged))
}

impl Family {
    /// All that the store knows of them, and the rows that cannot be read.
    fn read(reader: &mut StoreReader) -> Result<(Self, Vec<DamagedRow>), CliError> {
        let mut family = Self {
            children: BTreeMap::new(),
            parents: BTreeMap::new(),
            rows: BTreeMap::new(),
        };
        let mut damaged = Vec::new();
        // Children in the order in which they were begun.
        for row in reader
            .list_rows(MOST_RUNS, RunFilter::All)?
            .into_iter()
            .rev()
        {
            let known = row.and_then(|row| {
                let run = row.run_id.as_str().to_owned();
                // No run is above a workflow.
                let parent = if row.workflow {
                    Ok(None)
                } else {
                    parent_of(reader, &row)
                };
                parent
                    .map(|parent| (row, parent))
                    .map_err(|fault| DamagedRow { run, fault })
            });
            let (row, parent) = match known {
                Ok(known) => known,
                Err(row) => {
                    damaged.push(row);
                    continue;
                }
            };
            let name = row.run_id.as_str().to_owned();
            if let Some(parent) = parent {
                let siblings = family.children.entry(parent.run_id.as_str().to_owned());
                siblings.or_default().push(name.clone());
                family.parents.insert(name.clone(), parent);
            }
            family.rows.insert(name, row);
        }
        Ok((family, damaged))
    }

    /// The tree that `run` stands in.
    fn around(&self, paint: &dyn Fn(&str) -> String, run: &str) -> String {
        let mut root = run;
        let mut seen = BTreeSet::from([run]);
        let mut out = String::new();
        // A parent that is not in this store is named, and the tree begins below it.
        while let Some(parent) = self.parents.get(root) {
            let parent = parent.run_id.as_str();
            if !self.rows.contains_key(parent) {
                let _ = writeln!(out, "{parent}  not in this store");
                break;
            }
            if !seen.insert(parent) {
                break;
            }
            root = parent;
        }
        let at = Branch {
            depth: 0,
            indent: String::new(),
            is_last: true,
        };
        self.draw(paint, root, run, &at, &mut out);
        out
    }

    fn draw(
        &self,
        paint: &dyn Fn(&str) -> String,
        name: &str,
        asked: &str,
        at: &Branch,
        out: &mut String,
    ) {
        let Some(row) = self.rows.get(name) else {
            return;
        };
        let outcome = match &row.outcome {
            Some((class, code)) => format!("{class} ({code})"),
            None => "unfinished".to_owned(),
        };
        let shown = if name == asked {
            paint(name)
        } else {
            name.to_owned()
        };
        let (indent, mark) = (&at.indent, at.mark());
        let here = if name == asked { "   ◀ this run" } else { "" };
        let from = self.parents.get(name).filter(|_| at.depth > 0);
        let from = from.map(|parent| match parent.call {
            Some(call) => format!(", call {call}"),
            None => format!(", from head {}", parent.head.short(8)),
        });
        let _ = writeln!(
            out,
            "{indent}{mark}{shown}  {}, {}{}{here}",
            counted(row.length, "entry"),
            line(&outcome),
            from.unwrap_or_default()
        );
        if at.depth < MOST_DEPTH {
            let children = self.children.get(name).map_or(&[][..], Vec::as_slice);
            for (n, child) in children.iter().enumerate() {
                let is_last = n.saturating_add(1) == children.len();
                self.draw(paint, child, asked, &at.below(is_last), out);
            }
        }
    }
}

/// Where a run is drawn.
struct Branch {
    depth: usize,
    /// What stands before its mark: the lines of the runs above that have further children.
    indent: String,
    is_last: bool,
}

impl Branch {
    fn mark(&self) -> &'static str {
        match (self.depth, self.is_last) {
            (0, _) => "",
            (_, true) => "└─ ",
            (_, false) => "├─ ",
        }
    }

    /// That of a child.
    fn below(&self, is_last: bool) -> Self {
        let line = match (self.depth, self.is_last) {
            (0, _) => "",
            (_, true) => "   ",
            (_, false) => "│  ",
        };
        Self {
            depth: self.depth.saturating_add(1),
            indent: format!("{}{line}", self.indent),
            is_last,
        }
    }
}

/// What the first entry of a run says of its parent; nothing where it cannot be read.
fn parent_of(reader: &mut StoreReader, row: &RunRow) -> Result<Option<ParentRun>, StoreError> {
    let Some(first) = reader.read_run(&row.run_id)?.next() else {
        return Ok(None);
    };
    let first = Recorded::decode(&first?).ok();
    let start = first.and_then(|first| RunStart::of(&first.into_event()?));
    Ok(start.and_then(|start| start.parent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Digest, RunId};

    fn family(runs: &[(&str, Option<&str>)]) -> Family {
        let id = |name: &str| RunId::try_from(name.to_owned()).unwrap();
        let mut family = Family {
            children: BTreeMap::new(),
            parents: BTreeMap::new(),
            rows: BTreeMap::new(),
        };
        for (name, parent) in runs {
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
            family.rows.insert((*name).to_owned(), row);
            if let Some(parent) = parent {
                let siblings = family.children.entry((*parent).to_owned());
                siblings.or_default().push((*name).to_owned());
                let parent = ParentRun {
                    call: None,
                    head: Digest::of(b""),
                    run_id: id(parent),
                };
                family.parents.insert((*name).to_owned(), parent);
            }
        }
        family
    }

    /// Each line without what it says of the run.
    fn check(runs: &[(&str, Option<&str>)], asked: &str, expect: &[&str]) {
        let drawn = family(runs).around(&|name| format!("*{name}*"), asked);
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
        let drawn = family(&[("a", Some("b")), ("b", Some("a"))]).around(&str::to_owned, "a");
        assert!(drawn.lines().count() <= MOST_DEPTH + 1, "{drawn}");
    }
}
