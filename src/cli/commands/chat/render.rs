//! What the commands of a conversation print. Does not know the conversation.

use std::fmt::Write as _;

use crate::cli::ui::escape::{brief, line};
use crate::contract::ExecutionContract;
use crate::message::RunId;

pub(super) const HELP: &str = "\
/show    the last run
/tools   what the model may call
/undo    forget the last message and its answer
/cost    what this conversation has used
/quit    the end, as Ctrl-D
Ctrl-C   asks the answer to come to its end; a second one ends it at once
";

/// What the model may call, one tool a line.
pub(super) fn tools_text(contract: &ExecutionContract) -> String {
    let mut out = String::new();
    for tool in contract.exposed_tools() {
        let first = tool.description.lines().next().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}  {}", line(&tool.name), brief(first, 100));
    }
    if out.is_empty() {
        out.push_str("no tool may be called\n");
    }
    out
}

/// What is said of a message that was taken back: its run, and the one before it.
pub(super) fn undone_text(gone: Option<&RunId>, last: Option<&RunId>) -> String {
    match (gone, last) {
        (None, _) => "there is nothing to take back\n".to_owned(),
        (Some(gone), Some(last)) => {
            format!("run {gone} is taken back; the next message continues run {last}\n")
        }
        (Some(gone), None) => {
            format!("run {gone} is taken back; the next message begins anew\n")
        }
    }
}
