//! The tree that a run stands in, as far as the store knows it.

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::family::Family;
use crate::service::Service;
use crate::source::Source;
use crate::text::branch::Branch;
use monolith_host::store::{DamagedRow, RunRow};

/// The parents and children of a run.
pub struct RunTree {
    /// Rows of the store that cannot be read.
    pub damaged: Vec<DamagedRow>,
    /// Parent of the first run, if this store does not have it.
    pub missing: Option<String>,
    /// Runs, each after its parent.
    pub runs: Vec<RunInTree>,
}

/// A run of a tree.
pub struct RunInTree {
    /// Position in the tree.
    pub branch: Branch,
    /// True for the run that was asked for.
    pub is_asked: bool,
    /// Origin from its parent, in words.
    pub link: Option<String>,
    /// Row of the run in the store.
    pub row: RunRow,
}

/// Reads the tree that a stored run stands in.
///
/// # Errors
///
/// A file has no tree. The store cannot be read.
pub fn tree_around(service: &Service, asked: &str) -> Result<RunTree, ServiceError> {
    let (run_id, mut reader) = match service.source(asked)? {
        Source::Run(run_id, reader) => (run_id, reader),
        Source::File(path) => return Err(TranscriptFault::FileInsteadOfRun { path }.into()),
    };
    let (mut family, damaged) = Family::read(&mut reader)?;
    let link = |family: &mut Family, name: &str| family.link(&mut reader, name);
    let tree = around(&mut family, run_id.as_str(), link);
    Ok(RunTree { damaged, ..tree })
}

fn around(
    family: &mut Family,
    run: &str,
    mut link: impl FnMut(&mut Family, &str) -> Option<String>,
) -> RunTree {
    let (root, missing) = family.root_of(run);
    let (root, missing) = (root.to_owned(), missing.map(str::to_owned));
    let mut runs = Vec::new();
    for at in family.placed(&root, &mut |_| true) {
        let link = (at.branch.depth > 0).then(|| link(family, &at.name));
        let Some(row) = family.row(&at.name) else {
            continue;
        };
        runs.push(RunInTree {
            branch: at.branch,
            is_asked: at.name == run,
            link: link.flatten(),
            row: row.clone(),
        });
    }
    RunTree {
        damaged: Vec::new(),
        missing,
        runs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::Above;
    use monolith_core::kernel::ParentRun;
    use monolith_core::message::{Digest, RunId};
    use monolith_core::transcript::TranscriptKind;
    use monolith_host::store::RunRow;

    /// Runs in the order in which they were begun.
    fn family(runs: &[(&str, Option<&str>)]) -> Family {
        let id = |name: &str| RunId::try_from(name.to_owned()).unwrap();
        let mut family = Family::default();
        for (name, parent) in runs.iter().rev() {
            let row = RunRow {
                run_id: id(name),
                kind: TranscriptKind::Run,
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

    fn check(runs: &[(&str, Option<&str>)], asked: &str, expect: &[&str]) {
        let tree = around(&mut family(runs), asked, |_, _| None);
        let missing = tree.missing.map(|missing| format!("{missing} missing"));
        let rows = tree.runs.into_iter().map(|row| {
            let here = if row.is_asked { "*" } else { "" };
            format!("{}{here}{}{here}", row.branch.mark(), row.row.run_id)
        });
        let lines: Vec<String> = missing.into_iter().chain(rows).collect();
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
        check(&[("b", Some("x"))], "b", &["x missing", "*b*"]);
        check(&[("a", Some("b")), ("b", Some("a"))], "a", &["b", "└─ *a*"]);
    }
}
