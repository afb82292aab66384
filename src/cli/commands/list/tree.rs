//! The runs of a list as trees: each with the runs below it. Reads the store; lays nothing out.

use std::collections::BTreeMap;

use super::args::ListArgs;
use super::filter::Wanted;
use crate::context::app::App;
use monolith_host::store::{DamagedRow, StoreReader};
use monolith_service::error::ServiceError;
use monolith_service::family::Family;
use monolith_service::list::found::{Found, found};
use monolith_service::text::branch::Branch;

/// A run of a list, and where it stands.
pub(super) struct ListedRun {
    pub(super) found: Found,
    /// Where it stands in its tree; none in a list without trees.
    pub(super) place: Option<TreePosition>,
}

/// Where a run stands in its tree.
pub(super) struct TreePosition {
    pub(super) branch: Branch,
    /// Whether it is one that was asked for, and not only above one.
    pub(super) fits: bool,
    pub(super) has_more: bool,
    /// How it comes from the one above it.
    pub(super) link: Option<String>,
}

/// The trees in which a run is as it was asked for, the newest first; each run after the one above it. Damaged rows go to `damaged`.
pub(super) fn trees(
    app: &App,
    reader: &mut StoreReader,
    args: &ListArgs,
    wanted: &Wanted<'_>,
    damaged: &mut Vec<DamagedRow>,
) -> Result<Vec<ListedRun>, ServiceError> {
    let (mut family, unread) = Family::read(reader)?;
    damaged.extend(unread);
    let roots: Vec<String> = family.roots().into_iter().map(str::to_owned).collect();
    let (mut listed, mut trees) = (Vec::new(), 0);
    for root in roots {
        if args.limit > 0 && trees >= args.limit {
            break;
        }
        let mut fitting = BTreeMap::new();
        let placed = family.placed(&root, &mut |row| {
            if !wanted.has_row(row) {
                return false;
            }
            match found(app, reader, row) {
                Ok(found) if wanted.has(&found.row, found.outline.as_ref()) => {
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
            let above = || family.row(&at.name).map(|row| found(app, reader, row));
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
