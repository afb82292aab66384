//! `monolith export`: one transcript, or those of a tree of runs.

use super::args::ExportArgs;
use super::one::export_one;
use super::tree::export_tree;
use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;

/// `monolith export`.
pub(crate) fn export(app: &App, args: &ExportArgs) -> Result<Exit, ServiceError> {
    let form = args.form()?;
    if args.tree {
        return export_tree(app, args, form);
    }
    export_one(app, args, form, Vec::new())
}
