//! `monolith export`: one transcript, or those of a tree of runs.

use super::args::ExportArgs;
use super::one::export_one;
use super::tree::export_tree;
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;

/// `monolith export`.
pub(in crate::cli) fn export(app: &App, args: &ExportArgs) -> Result<Exit, CliError> {
    let form = args.form()?;
    if args.tree {
        return export_tree(app, args, form);
    }
    export_one(app, args, form, Vec::new())
}
