//! The commands about receipts: verify, print, list, show, thaw and replay. The service judges.

use std::fmt::Write as _;
use std::pin::pin;

use tokio_util::sync::CancellationToken;

use super::args::WorkCommand;
use super::item::{ItemForm, show_item};
use super::run::run;
use super::shown::list_text;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::Signals;
use crate::ui::screen::{Screen, Style};
use monolith_core::message::Digest;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::work::receipts::{find, find_item, list, test_output};
use monolith_service::work::replay::{LiveRun, WorkReplay, replay};
use monolith_service::work::thaw::{ThawReport, thaw};
use monolith_service::work::verify::{ReceiptReport, verify};

/// `monolith work run | verify | receipt | list | show | thaw | replay`.
pub(crate) fn work(app: &App, command: WorkCommand) -> Result<Exit, ServiceError> {
    match command {
        WorkCommand::Run(args) => run(app, &args),
        WorkCommand::Verify(args) => {
            let report = verify(app, &args.receipt, &args.keys)?;
            if args.json {
                app.screen.out_json(&report)?;
            } else {
                app.screen.out(&verified_text(app.screen, &report))?;
            }
            Ok(report.exit())
        }
        WorkCommand::Receipt(args) => {
            let found = find(app, &args.receipt)?;
            let text = String::from_utf8_lossy(&found.receipt.to_bytes()).into_owned();
            app.screen.out_json_text(&format!("{text}\n"))?;
            Ok(Exit::OK)
        }
        WorkCommand::List(args) => {
            let items = list(app)?;
            if args.json {
                app.screen.out_json(&items)?;
            } else {
                app.screen.out(&list_text(&items))?;
            }
            Ok(Exit::OK)
        }
        WorkCommand::Show(args) if args.test_output => {
            let found = find(app, &args.receipt)?;
            app.screen.out_foreign(&test_output(app, &found.receipt)?)?;
            Ok(Exit::OK)
        }
        WorkCommand::Show(args) => {
            let form = match (args.json, args.full) {
                (true, _) => ItemForm::Json,
                (_, true) => ItemForm::Full,
                _ => ItemForm::Cut,
            };
            let (asked, source) = find_item(app, &args.receipt)?;
            let exit = show_item(app, source, &asked, form)?;
            Ok(if exit == Exit::DIVERGED {
                exit
            } else {
                Exit::OK
            })
        }
        WorkCommand::Thaw(args) => {
            let report = thaw(app, &args.receipt)?;
            if args.json {
                app.screen.out_json(&report)?;
            } else {
                app.screen.out(&thawed_text(&report))?;
            }
            Ok(report.exit())
        }
        WorkCommand::Replay(args) => {
            let report = replayed(app, &args.receipt, args.live)?;
            if let Some(changed) = &report.changed_result {
                let text = format!("note: a call returned something else: {}", line(changed));
                app.screen.remark(&text);
            }
            if let Some(live) = &report.live {
                if let Some(hash) = live.changed_contract {
                    app.screen.remark(&contract_note(hash));
                }
                if !args.json {
                    app.screen.remark(&live_note(live));
                }
            }
            if let Some(path) = &report.first_difference {
                let text = format!("the first path that differs: {}", line(&path.to_string()));
                app.screen.remark(&text);
            }
            if args.json {
                app.screen.out_json(&report)?;
            } else if report.live.is_some() {
                app.screen
                    .out(&format!("recorded  {}\n", report.expected))?;
                app.screen.out(&format!("live      {}\n", report.actual))?;
            } else {
                app.screen.out_whole(&format!("{}\n", report.actual))?;
            }
            Ok(report.exit())
        }
    }
}

/// Returns the note about a contract that is not the one of the item.
fn contract_note(hash: Digest) -> String {
    format!(
        "note: the file of the agent has changed since the item; the run has its present contract, {hash}"
    )
}

/// Returns the note about the run of a live replay.
fn live_note(live: &LiveRun) -> String {
    let name = live.run_id.as_ref().map(|run_id| format!(" {run_id}"));
    let name = name.unwrap_or_default();
    match &live.failure {
        Some(failure) => format!("note: run{name} did not succeed: {}", line(failure)),
        None => {
            format!(
                "note: run{name} asked the model again; it is not required to leave the same tree"
            )
        }
    }
}

fn replayed(app: &App, asked: &str, live: bool) -> Result<WorkReplay, ServiceError> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
        let mut progress = |text: &str| app.screen.note(&line(text));
        let replaying = replay(app, asked, live, &cancel, &mut progress);
        let mut replaying = pin!(replaying);
        loop {
            tokio::select! {
                biased;
                report = &mut replaying => return report,
                _ = signals.next() => cancel.cancel(),
            }
        }
    })
}

fn verified_text(screen: Screen, report: &ReceiptReport) -> String {
    let mut out = String::new();
    for check in &report.checks {
        // Writing to a String cannot fail.
        let _ = match &check.error {
            None => {
                let ok = screen.paint_out(Style::Good, "ok    ");
                writeln!(out, "{ok}  {}", check.name)
            }
            Some(error) => {
                let failed = screen.paint_out(Style::Bad, "FAILED");
                writeln!(out, "{failed}  {}: {}", check.name, line(error))
            }
        };
    }
    for path in &report.moved {
        let path = path.to_string();
        let _ = writeln!(out, "note    {} has changed since the item", line(&path));
    }
    if let Some(program) = &report.program {
        let _ = writeln!(out, "note    the replay script starts {}", line(program));
    }
    let (id, item) = (&report.receipt_id, line(&report.item));
    let _ = writeln!(out, "receipt {id} of item {item}");
    out
}

fn thawed_text(report: &ThawReport) -> String {
    let mut out = String::new();
    let lists = [
        ("restored", &report.restored),
        ("kept", &report.kept),
        ("left", &report.left),
    ];
    for (word, paths) in lists {
        for path in paths {
            let path = path.to_string();
            // Writing to a String cannot fail.
            let _ = writeln!(out, "{word:<8}  {}", line(&path));
        }
    }
    if out.is_empty() {
        out.push_str("nothing to restore\n");
    }
    out
}
