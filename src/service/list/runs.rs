//! The list of runs: which are asked for, and where each stands in its tree.

use std::collections::BTreeMap;

use super::found::{Found, found};
use super::outcome_names::is_of_outcome;
use crate::error::ServiceError;
use crate::family::Family;
use crate::service::Service;
use crate::text::branch::Branch;
use monolith_core::view::RunOutline;
use monolith_host::store::{DamagedRow, RunFilter, RunRow, StoreReader};

/// The runs that a list is asked for; the default asks for all.
#[derive(Clone, Debug, Default)]
pub struct ListRequest {
    /// Beginning of the id or the hash of a contract.
    pub contract: Option<String>,
    /// Most runs, or trees, to list; 0 lists all.
    pub limit: usize,
    /// Text in PROVIDER/MODEL of a target.
    pub model: Option<String>,
    /// True if only runs without an end are listed.
    pub open: bool,
    /// A name of [`outcome_names`](super::outcome_names).
    pub outcome: Option<String>,
    /// Earliest begin, in milliseconds since 1970-01-01 UTC.
    pub since_unix_ms: Option<u64>,
    /// Text in the task or the name of a run.
    pub text: Option<String>,
    /// True if each run is listed with its children.
    pub tree: bool,
}

/// The runs of a list, newest first.
pub struct RunList {
    /// Rows that cannot be read.
    pub damaged: Vec<DamagedRow>,
    /// Runs; in a tree each after its parent.
    pub runs: Vec<ListedRun>,
}

/// A run of a list.
pub struct ListedRun {
    /// The run itself.
    pub found: Found,
    /// Position in its tree; `None` in a list without trees.
    pub place: Option<TreePosition>,
}

/// The position of a run in its tree.
pub struct TreePosition {
    /// Lines that are drawn before it.
    pub branch: Branch,
    /// True if it was asked for, and is not only a parent of such a run.
    pub fits: bool,
    /// True if runs below it follow.
    pub has_more: bool,
    /// Origin from its parent, in words.
    pub link: Option<String>,
}

/// Lists runs of the store.
///
/// # Errors
///
/// The store cannot be read. A damaged row is part of the list.
pub fn list(service: &Service, request: &ListRequest) -> Result<RunList, ServiceError> {
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    if request.tree {
        if let Some(mut reader) = service.reader()? {
            runs = trees(service, &mut reader, request, &mut damaged)?;
        }
    } else if let (Some(index), Some(mut reader)) = (service.reader()?, service.reader()?) {
        index.each_row(request.filter(), |row| {
            let found = |row: RunRow| {
                let fits = request.has_row(&row);
                fits.then(|| found(service, &mut reader, &row))
            };
            match row.map(found) {
                Ok(Some(Ok(found))) if request.has(&found.row, found.outline.as_ref()) => {
                    runs.push(ListedRun { found, place: None });
                }
                Ok(Some(Ok(_)) | None) => {}
                Ok(Some(Err(row))) | Err(row) => damaged.push(row),
            }
            request.limit == 0 || runs.len() + damaged.len() < request.limit
        })?;
    }
    Ok(RunList { damaged, runs })
}

impl ListRequest {
    /// True if some runs may be left out.
    #[must_use]
    pub fn is_narrow(&self) -> bool {
        self.text.is_some() || self.is_narrow_without_text()
    }

    /// True if only the text in task or name leaves runs out.
    #[must_use]
    pub fn is_by_text_alone(&self) -> bool {
        self.text.is_some() && !self.is_narrow_without_text()
    }

    fn is_narrow_without_text(&self) -> bool {
        let texts = [&self.outcome, &self.model, &self.contract];
        self.since_unix_ms.is_some() || texts.iter().any(|text| text.is_some())
    }

    /// The part that the store can judge.
    const fn filter(&self) -> RunFilter {
        match (self.open, &self.outcome) {
            (true, _) => RunFilter::Open,
            (false, Some(_)) => RunFilter::Sealed,
            (false, None) => RunFilter::All,
        }
    }

    /// The part that a row can judge.
    fn has_row(&self, row: &RunRow) -> bool {
        let ended_so = |asked: &String| {
            let outcome = row.outcome.as_ref();
            outcome.is_some_and(|(class, code)| is_of_outcome((class, code), asked))
        };
        row.created_unix_ms >= self.since_unix_ms.unwrap_or(0)
            && self.outcome.as_ref().is_none_or(ended_so)
    }

    /// The part that only the run can judge.
    fn has(&self, row: &RunRow, outline: Option<&RunOutline>) -> bool {
        let of_model = |asked: &String| {
            let asked = asked.to_lowercase();
            outline.is_some_and(|outline| {
                let mut models = outline.models.iter();
                models.any(|model| model.to_lowercase().contains(&asked))
            })
        };
        let hash = row.contract_hash.to_string();
        let under = |asked: &String| {
            let id = outline.is_some_and(|outline| outline.contract_id.starts_with(asked));
            id || hash.starts_with(asked)
        };
        let holds = |asked: &String| {
            let task = outline.and_then(|outline| outline.task.as_deref());
            let asked = asked.to_lowercase();
            let mut texts = [Some(row.run_id.as_str()), task].into_iter().flatten();
            texts.any(|text| text.to_lowercase().contains(&asked))
        };
        // A run may have ended between the two looks at it.
        (!self.open || row.outcome.is_none())
            && self.contract.as_ref().is_none_or(under)
            && self.model.as_ref().is_none_or(of_model)
            && self.text.as_ref().is_none_or(holds)
    }
}

/// Returns the trees of the runs that are asked for, newest first; each run after its parent. Damaged rows go to `damaged`.
fn trees(
    service: &Service,
    reader: &mut StoreReader,
    request: &ListRequest,
    damaged: &mut Vec<DamagedRow>,
) -> Result<Vec<ListedRun>, ServiceError> {
    let (mut family, unread) = Family::read(reader)?;
    damaged.extend(unread);
    let roots: Vec<String> = family.roots().into_iter().map(str::to_owned).collect();
    let (mut listed, mut trees) = (Vec::new(), 0);
    for root in roots {
        if request.limit > 0 && trees >= request.limit {
            break;
        }
        let mut fitting = BTreeMap::new();
        let placed = family.placed(&root, &mut |row| {
            if !request.has_row(row) {
                return false;
            }
            match found(service, reader, row) {
                Ok(found) if request.has(&found.row, found.outline.as_ref()) => {
                    fitting.insert(row.run_id.as_str().to_owned(), found);
                    true
                }
                Ok(_) => false,
                Err(row) => {
                    damaged.push(row);
                    false
                }
            }
        });
        trees += usize::from(!placed.is_empty());
        for at in placed {
            let link = family.link(reader, &at.name);
            let own = fitting.remove(&at.name);
            let fits = own.is_some();
            let above = || family.row(&at.name).map(|row| found(service, reader, row));
            let found = match own.map(Ok).or_else(above) {
                Some(Ok(found)) => found,
                Some(Err(row)) => {
                    damaged.push(row);
                    continue;
                }
                None => continue,
            };
            listed.push(ListedRun {
                found,
                place: Some(TreePosition {
                    branch: at.branch,
                    fits,
                    has_more: at.has_more,
                    link,
                }),
            });
        }
    }
    Ok(listed)
}
