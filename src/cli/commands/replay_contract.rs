use std::fmt::Write as _;

use tokio_util::sync::CancellationToken;

use super::replay;
use super::runtime::runtime;
use crate::cli::args::ReplayArgs;
use crate::cli::error::CliError;
use crate::cli::escape::{brief, line};
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::numbers::{counted, grouped};
use crate::cli::recorded::Source;
use crate::cli::screen::Style;
use crate::contract::ExecutionContract;
use crate::driver::{self, Preview, ServersToStart};
use crate::kernel::{EventKind, Outcome, RunStarted};
use crate::replay::{ReplayReport, WhatIf, WhatIfReport};

/// How many differing fields of the contracts are written out for people.
const MOST: usize = 20;

/// What a recorded run was begun with.
struct Begun {
    contract: ExecutionContract,
    task: Option<String>,
}

/// `monolith replay` under another contract.
pub(super) fn replay(home: &Home, args: &ReplayArgs) -> Result<Exit, CliError> {
    if let Some(flaw) = replay::evidence_flaw(home, &args.run)? {
        let report = ReplayReport::default().with_flaw(&flaw);
        return replay::tell(home, &report, args.json);
    }
    let begun = begun(home.source(&args.run)?)?;
    let other = other(home, args, &begun)?;
    let source = home.source(&args.run)?;
    let what_if = source.each_entry_with_blobs(
        |recorded, _| WhatIf::new(recorded, other.contract).counting_with(&other.tokenizers),
        |what_if, entry, blobs| what_if.take(entry, blobs),
    )?;
    let mut report = what_if.finish();
    for server in &other.not_started {
        report.not_compared.push(format!(
            "tools of {server}: the recorded contract does not have this server so, and it was not started (--start-servers)"
        ));
    }
    for fault in &other.faults {
        let (server, detail) = (&fault.server, &fault.detail);
        report
            .not_compared
            .push(format!("tools of {server}: {detail}"));
    }
    if args.json {
        home.screen.out_json(&report)?;
    } else {
        home.screen.out(&told(home, &report))?;
    }
    Ok(Exit::of_what_if(&report))
}

fn begun(source: Source) -> Result<Begun, CliError> {
    source.each_entry_with_blobs(
        |contract, _| Begun {
            contract,
            task: None,
        },
        |begun, entry, _| {
            if entry.seq > 0 {
                return;
            }
            if let Ok(Some(event)) = entry.decode_event()
                && let EventKind::RunStarted(started) = event.event
            {
                begun.task = RunStarted::intent(&started.messages);
            }
        },
    )
}

/// The other contract. Its policy is judged by what the recorded run was told to do.
fn other(home: &Home, args: &ReplayArgs, begun: &Begun) -> Result<Preview, CliError> {
    let file = replay::contract_file(home, args, &home.source(&args.run)?, false)?;
    let mut request = file.request(home, file.read(home)?, home.redaction_key()?);
    request.spec.task.clone_from(&begun.task);
    let cancel = CancellationToken::new();
    let runtime = runtime()?;
    let made = if args.start_servers {
        let all = ServersToStart::All;
        let made = runtime.block_on(driver::preview(&request, all, &cancel));
        made.map(|preview| preview.counted_as(&begun.contract))
    } else {
        runtime.block_on(driver::preview_recorded(&request, &begun.contract, &cancel))
    };
    Ok(made?)
}

fn told(home: &Home, report: &WhatIfReport) -> String {
    let mut out = String::new();
    let terms = &report.contract_differences;
    let count = match terms.len() {
        0 => "The contracts are the same".to_owned(),
        count => format!("The contracts differ in {}", counted(count, "field")),
    };
    let _ = writeln!(out, "{count}.");
    for differs in terms.iter().take(MOST) {
        let (recorded, other) = (brief(&differs.recorded, 200), brief(&differs.other, 200));
        let _ = writeln!(
            out,
            "  {}: recorded {recorded}, other {other}",
            line(&differs.pointer)
        );
    }
    if terms.len() > MOST {
        out.push_str("  … monolith replay --json lists them all\n");
    }
    let (same, all) = (grouped(report.same_decisions), grouped(report.entries));
    let _ = writeln!(out, "{same} of {all} entries decide the same.");
    if let Some(first) = &report.first_other_decision {
        let _ = writeln!(
            out,
            "The first that decides otherwise is entry {}:",
            first.seq
        );
        let _ = writeln!(out, "  recorded  {}", line(&first.recorded));
        let _ = writeln!(out, "  other     {}", line(&first.other));
    }
    if let Some(end) = &report.no_longer_fits {
        let _ = writeln!(
            out,
            "From entry {} on the recording no longer fits: {}.",
            end.seq,
            line(&end.why)
        );
        let _ = writeln!(out, "  recorded  {}", line(&end.recorded));
        let _ = writeln!(out, "  other     {}", line(&end.other));
    }
    for note in &report.not_compared {
        let _ = writeln!(out, "not compared: {}", line(note));
    }
    let end = |outcome: Option<Outcome>, none: &str| {
        outcome.map_or_else(|| none.to_owned(), |outcome| outcome.to_string())
    };
    let recorded = end(report.recorded_outcome, "no end");
    let so_far = report.recorded_outcome.is_none() && report.same_decisions == report.entries;
    let verdict = if so_far {
        let same = home.screen.paint_out(Style::Good, "same so far");
        format!("{same}: the recorded run has no end yet\n")
    } else if report.same_outcome {
        let same = home.screen.paint_out(Style::Good, "same end");
        format!("{same}: {recorded}\n")
    } else {
        let other = home.screen.paint_out(Style::Bad, "not the same end");
        let would = end(report.outcome, "unknown, for the recording does not say");
        format!("{other}: recorded {recorded}, other {would}\n")
    };
    out.push_str(&verdict);
    out
}
