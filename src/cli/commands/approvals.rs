//! `monolith approvals`: the calls of all runs of the store that wait for a person. Shows what each asks, and how it is answered.

use std::fmt::Write as _;

use clap::Args;

use super::list::name_damaged;
use crate::context::app::App;
use crate::ui::screen::Style;
use crate::ui::wrap::{cells, shortened};
use monolith_core::message::utc;
use monolith_service::approvals::{self, WaitingApproval};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::{brief, hides, line};
use monolith_service::text::numbers::counted;
use monolith_service::waiting_call::answering;

#[derive(Debug, Args)]
pub(crate) struct ApprovalsArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// `monolith approvals`.
pub(crate) fn approvals(app: &App, args: &ApprovalsArgs) -> Result<Exit, ServiceError> {
    let inbox = approvals::approvals(app)?;
    for (run_id, fault) in &inbox.unread {
        let text = line(&format!("run {run_id}: failed to {fault}"));
        app.screen.write_err(&format!("warning: {text}\n"));
    }
    let exit = name_damaged(app, &inbox.damaged);
    if args.json {
        app.screen.out_json(&inbox)?;
    } else if inbox.approvals.is_empty() {
        let place = line(&inbox.store.display().to_string());
        app.screen
            .write_err(&format!("no call waits for a person in {place}\n"));
    } else {
        app.screen.out(&listed(app, &inbox.approvals))?;
    }
    Ok(exit)
}

/// The most characters of arguments that are looked at: `approve` shows them whole.
const ARGUMENT_CHARS: usize = 400;

/// Each call in a few lines of at most the terminal's cells; a hash and a command are not cut.
fn listed(app: &App, calls: &[WaitingApproval]) -> String {
    let mut out = String::new();
    for (nth, call) in calls.iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        one(app, call, &mut out);
    }
    out
}

fn one(app: &App, call: &WaitingApproval, out: &mut String) {
    let width = app.screen.width_out();
    let dim = |text: &str| app.screen.paint_out(Style::Dim, text);
    // Writing to a String cannot fail.
    let since = format!("since {} UTC", utc(call.since_unix_ms));
    let asks = match (call.asks_for, call.answer) {
        (_, Some(_)) => "has its answer",
        ("question", None) => "has a question of its server",
        (_, None) => "asks for your approval",
    };
    let head = format!(
        "{}  call {} of {}",
        call.run_id,
        call.call.0,
        line(&call.tool)
    );
    let _ = writeln!(out, "{}", shortened(&format!("{head} {asks}"), width));
    let arguments = brief(&call.arguments, ARGUMENT_CHARS);
    let _ = writeln!(out, "  {}", shortened(&arguments, width.saturating_sub(2)));
    let hidden = if hides(&call.arguments) {
        ", with characters that a terminal does not show"
    } else {
        ""
    };
    let length = format!("  {}{hidden}", counted(call.arguments.len(), "byte"));
    let _ = writeln!(out, "{}", dim(&shortened(&length, width)));
    let _ = writeln!(out, "{}", dim(&format!("  blake3 {}", call.arguments_hash)));
    // The run of a step that is one call asks no model.
    let model = call.models.first();
    let model = model.map_or_else(String::new, |model| format!(", {}", line(model)));
    let rule = call.asked_by.as_ref();
    let rule = rule.map_or_else(String::new, |rule| format!("asked by {rule}"));
    let contract = call.contract_hash.short(12);
    let by = format!("  {since}{model}, contract {contract}");
    let beside = format!("{by}, {rule}");
    // The rule is not cut: it says why a person is asked.
    if rule.is_empty() || cells(&beside) > width {
        let _ = writeln!(out, "{}", dim(&shortened(&by, width)));
    } else {
        let _ = writeln!(out, "{}", dim(&beside));
    }
    if !rule.is_empty() && cells(&beside) > width {
        let _ = writeln!(out, "{}", dim(&shortened(&format!("  {rule}"), width)));
    }
    let name = app.brief_name(call.run_id.as_str());
    let signed = !call.approvers.is_empty();
    let answer = |verb: &str| app.hint(&answering(verb, &name, &call.order, signed));
    let next = match call.answer {
        Some(answer) if call.pid.is_none() => {
            let resume = app.hint(&app.resume_words(&call.run_id));
            format!("  {answer}: {resume}")
        }
        Some(answer) => format!("  {answer}"),
        None => {
            let (approve, deny) = (answer("approve"), answer("deny"));
            let both = format!("  {approve}  or  {deny}");
            if cells(&both) <= width {
                both
            } else {
                format!("  {approve}\n  {deny}")
            }
        }
    };
    let _ = writeln!(out, "{next}");
}
