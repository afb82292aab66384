//! `monolith show --tree`: which runs came from which, as far as the store knows.

use std::fmt::Write as _;

use crate::commands::list;
use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::view::tree::{RunTree, tree_around};

/// `monolith show --tree`.
pub(crate) fn tree(app: &App, asked: &str) -> Result<Exit, ServiceError> {
    let tree = tree_around(app, asked)?;
    app.screen.out(&drawn(app, &tree))?;
    Ok(list::name_damaged(app, &tree.damaged))
}

fn drawn(app: &App, tree: &RunTree) -> String {
    let mut out = String::new();
    // A parent that is not in this store is named, and the tree begins below it.
    if let Some(missing) = &tree.missing {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{missing}  not in this store");
    }
    for run in &tree.runs {
        let from = run.link.as_ref().map(|from| format!(", {from}"));
        let outcome = match &run.row.outcome {
            Some((class, code)) => format!("{class} ({code})"),
            None => "unfinished".to_owned(),
        };
        let name = run.row.run_id.as_str();
        let (shown, here) = if run.is_asked {
            (app.screen.paint_out(Style::Bold, name), "   ◀ this run")
        } else {
            (name.to_owned(), "")
        };
        let _ = writeln!(
            out,
            "{}{shown}  {}, {}{}{here}",
            run.branch.mark(),
            counted(run.row.length, "entry"),
            line(&outcome),
            from.unwrap_or_default()
        );
    }
    out
}
