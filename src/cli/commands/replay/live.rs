//! `monolith replay --live`: sends recorded requests or calls again. Compares; records nothing.

use std::collections::BTreeMap;
use std::pin::pin;

use tokio_util::sync::CancellationToken;

use super::args::{LiveArg, ReplayArgs};
use super::recorded;
use super::render::live_text;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::Signals;
use monolith_core::kernel::EventKind;
use monolith_core::replay::{LiveReport, LiveScope, ReplayReport};
use monolith_core::transcript::SealedEntry;
use monolith_host::driver::{self, Recording, RunRequest};
use monolith_service::begun_below::run_of_agent;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;

/// `monolith replay --live`: the recorded requests or calls are made again.
pub(crate) fn replay(app: &App, args: &ReplayArgs, live: LiveArg) -> Result<Exit, ServiceError> {
    if let Some(flaw) = recorded::evidence_flaw(app, &args.run)? {
        let report = ReplayReport::default().with_flaw(&flaw);
        return recorded::print(app, &report, args.json);
    }
    if args.contract.is_none()
        && let Some(found) = run_of_agent(app, &args.run)?
    {
        return Err(found.not_asked_again(app).into());
    }
    let source = app.source(&args.run)?;
    let file = recorded::contract_file(app, args, &source, true)?;
    let request = file.request(app, app.read_contract(&file)?, app.redaction_key()?);
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
        elsewhere: false,
        entries: &recorded.entries,
        open: args.open,
        run_id: recorded.run_id.clone(),
    };
    let report = asked(app, recording, request, scope)?;
    if args.json {
        app.screen.out_json(&report)?;
    } else {
        app.screen.out(&live_text(app.screen, &report))?;
    }
    Ok(Exit::of_live(&report))
}

fn asked(
    app: &App,
    recording: Recording<'_>,
    request: RunRequest,
    scope: LiveScope,
) -> Result<LiveReport, ServiceError> {
    let runtime = runtime()?;
    let cancel = CancellationToken::new();
    runtime.block_on(async {
        let mut signals = Signals::listen()?;
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
