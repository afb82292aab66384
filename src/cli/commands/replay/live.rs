use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::pin::pin;

use tokio_util::sync::CancellationToken;

use super::args::{LiveArg, ReplayArgs};
use super::recorded;
use crate::cli::commands::verify::HOW_TO_ACCEPT;
use crate::cli::context::app::Home;
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
    home: &Home,
    args: &ReplayArgs,
    live: LiveArg,
) -> Result<Exit, CliError> {
    if let Some(flaw) = recorded::evidence_flaw(home, &args.run)? {
        let report = ReplayReport::default().with_flaw(&flaw);
        return recorded::tell(home, &report, args.json);
    }
    let source = home.source(&args.run)?;
    let file = recorded::contract_file(home, args, &source, true)?;
    let request = file.request(home, file.read(home)?, home.redaction_key()?);
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
        && let (Some(_), Some(mut reader)) = (&started.parent, home.reader()?)
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
    let report = asked(home, recording, request, scope)?;
    if args.json {
        home.screen.out_json(&report)?;
    } else {
        home.screen.out(&told(home, &report))?;
    }
    Ok(Exit::of_live(&report))
}

fn asked(
    home: &Home,
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
        let mut progress = |text: &str| home.screen.note(&line(text));
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

fn told(home: &Home, report: &LiveReport) -> String {
    let asked = format!(
        "{} sent again, {} made again",
        counted(report.inferences, "request"),
        counted(report.calls, "call")
    );
    let mut out = if report.open {
        let so_far = home.screen.paint_out(Style::Good, "same so far");
        format!("{so_far}: {asked}; the run has no seal yet\n")
    } else if report.same {
        let same = home.screen.paint_out(Style::Good, "same");
        format!("{same}: {asked}\n")
    } else {
        let other = home.screen.paint_out(Style::Bad, "not the same");
        format!("{other}: {asked}\n")
    };
    if !report.open {
        recorded::list_differences(&mut out, &report.differences);
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
