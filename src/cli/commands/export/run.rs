//! `monolith export`: one transcript, or those of a tree of runs.

use super::args::ExportArgs;
use super::one::export_one;
use super::tree::export_tree;
use crate::context::app::App;
use crate::context::error::CliError;
use crate::context::exit::Exit;

/// `monolith export`.
pub(crate) fn export(app: &App, args: &ExportArgs) -> Result<Exit, CliError> {
    let form = args.form()?;
    if args.tree {
        return export_tree(app, args, form);
    }
    export_one(app, args, form, Vec::new())
}
