use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::pin::pin;

use tokio_util::sync::CancellationToken;

use super::args::{LiveArg, ReplayArgs};
use super::recorded;
use super::render::list_differences;
use crate::cli::commands::verify::HOW_TO_ACCEPT;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, SystemFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::runtime::runtime;
use crate::cli::context::signals::Signals;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::cli::ui::screen::Style;
use crate::driver::{self, Recording, RunRequest};
use crate::kernel::EventKind;
use crate::replay::{LiveReport, LiveScope, ReplayReport};
use crate::transcript::SealedEntry;

/// `monolith replay --live`: the recorded requests or calls are made again.
pub(in crate::cli) fn replay(
    app: &App,
    args: &ReplayArgs,
    live: LiveArg,
) -> Result<Exit, CliError> {
    if let Some(flaw) = recorded::evidence_flaw(app, &args.run)? {
        let report = ReplayReport::default().with_flaw(&flaw);
        return recorded::print(app, &report, args.json);
    }
    let source = app.source(&args.run)?;
    let file = recorded::contract_file(app, args, &source, true)?;
    let request = file.request(app, file.read(app)?, app.redaction_key()?);
    let recorded = source.load()?;
    let scope = LiveScope {
        effects: args.effects,
        inference: matches!(live, LiveArg::Inference | LiveArg::All),
        tools: matches!(live, LiveArg::Tools | LiveArg::All),
    };
    let mut answered_before = BTreeMap::new();
    let first = recorded.entries.first().map(SealedEntry::decode_event);
    if scope.inference
        && let Some(Ok(Some(event))) = first
        && let EventKind::RunStarted(started) = event.event
        && let (Some(_), Some(mut reader)) = (&started.parent, app.reader()?)
    {
        answered_before = driver::answered_before(&mut reader, &recorded.contract, &started)?;
    }
    let recording = Recording {
        answered_before,
        blobs: &recorded,
        contract: recorded.contract.clone(),
        entries: &recorded.entries,
        open: args.open,
        run_id: recorded.run_id.clone(),
    };
    let report = asked(app, recording, request, scope)?;
    if args.json {
        app.screen.out_json(&report)?;
    } else {
        app.screen.out(&report_text(app, &report))?;
    }
    Ok(Exit::of_live(&report))
}

fn asked(
    app: &App,
    recording: Recording<'_>,
    request: RunRequest,
    scope: LiveScope,
) -> Result<LiveReport, CliError> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    runtime.block_on(async {
        let mut signals = Signals::listen().map_err(|fault| SystemFault::Runtime {
            reason: fault.to_string(),
        })?;
        let mut progress = |text: &str| app.screen.note(&line(text));
        let asking = driver::reissue(recording, request, scope, &cancel, &mut progress);
        let mut asking = pin!(asking);
        loop {
            tokio::select! {
                biased;
                report = &mut asking => return Ok(report?),
                _ = signals.next() => cancel.cancel(),
            }
        }
    })
}

fn report_text(app: &App, report: &LiveReport) -> String {
    let asked = format!(
        "{} sent again, {} made again",
        counted(report.inferences, "request"),
        counted(report.calls, "call")
    );
    let mut out = if report.open {
        let so_far = app.screen.paint_out(Style::Good, "same so far");
        format!("{so_far}: {asked}; the run has no seal yet\n")
    } else if report.same {
        let same = app.screen.paint_out(Style::Good, "same");
        format!("{same}: {asked}\n")
    } else {
        let other = app.screen.paint_out(Style::Bad, "not the same");
        format!("{other}: {asked}\n")
    };
    if !report.open {
        list_differences(&mut out, &report.differences);
    } else if !report.same {
        out.push_str(HOW_TO_ACCEPT);
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {}", line(note));
    }
    for note in &report.not_compared {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
    out
}
