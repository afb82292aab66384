//! Drives one run to its end on the screen, with signals and questions at the terminal.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::approval::TerminalAsker;
use super::leaving::LeavingArgs;
use super::watched::OnScreen as _;
use crate::context::app::App;
use crate::context::runtime::runtime;
use crate::context::signals::{Signal, Signals, until};
use monolith_core::kernel::OutcomeCode;
use monolith_core::session::Control;
use monolith_service::drive::ended::{Broken, Ended};
use monolith_service::drive::follower::Follower;
use monolith_service::drive::run::{Conduct, Start, abandoned, broken, start};
use monolith_service::error::ServiceError;
use monolith_service::panics::caught;

/// Interval at which the screen may show that the run waits.
const TICK: Duration = Duration::from_millis(100);

/// Time that a finished run waits for file operations that it gave up.
const LINGER: Duration = Duration::from_secs(1);

/// Time that a second request to leave gives to what is being closed.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Starts a run and drives it, on `on` or on a new runtime. A person who watches sees it happen.
pub(crate) fn drive_job(
    app: &App,
    on: Option<&Runtime>,
    job: Start,
    leaving: LeavingArgs,
    live: &Follower,
) -> Result<Ended, Broken> {
    drive_to_the_end(on, live, leaving, async |conduct| {
        Box::pin(start(app, job, conduct)).await
    })
}

/// Drives a run, on `on` or on a new runtime. A person who watches sees it happen.
pub(crate) fn drive_to_the_end(
    on: Option<&Runtime>,
    live: &Follower,
    leaving: LeavingArgs,
    driving: impl AsyncFnOnce(Conduct<'_>) -> Result<Ended, Broken>,
) -> Result<Ended, Broken> {
    if let Some(shared) = on {
        return driven_on(shared, live, leaving, driving).map(|(ended, _)| ended);
    }
    let runtime = runtime()?;
    let driven = driven_on(&runtime, live, leaving, driving);
    // A file operation that never returns must not keep a finished run's process alive.
    let at_once = driven.as_ref().is_ok_and(|(ended, is_abandoned)| {
        let end = ended.view.outcome();
        *is_abandoned || end.is_some_and(|end| end.code == OutcomeCode::Abort)
    });
    runtime.shutdown_timeout(if at_once { Duration::ZERO } else { LINGER });
    driven.map(|(ended, _)| ended)
}

/// Returns the end of the run, and whether it was left at once.
fn driven_on(
    runtime: &Runtime,
    live: &Follower,
    leaving: LeavingArgs,
    driving: impl AsyncFnOnce(Conduct<'_>) -> Result<Ended, Broken>,
) -> Result<(Ended, bool), Broken> {
    // What panics here leaves a transcript behind, and the result says which.
    let driven = caught(|| {
        runtime.block_on(async {
            let signals = Signals::listen()?;
            Ok::<_, ServiceError>(with_signals(signals, live, leaving, driving).await)
        })
    });
    match driven {
        Ok(driven) => driven,
        Err(error) => {
            live.rest();
            live.left();
            Err(broken(live, error))
        }
    }
}

async fn with_signals(
    mut signals: Signals,
    live: &Follower,
    leaving: LeavingArgs,
    driving: impl AsyncFnOnce(Conduct<'_>) -> Result<Ended, Broken>,
) -> Result<(Ended, bool), Broken> {
    let (control, asked) = mpsc::channel(8);
    let conduct = Conduct {
        asked,
        asker: Some(Box::new(TerminalAsker::new(live, leaving))),
        follower: live,
        grace: Duration::from_secs(leaving.grace),
        leaves_waiting: leaving.no_wait,
    };
    let mut driving = Box::pin(driving(conduct));
    let mut tick = tokio::time::interval(TICK);
    let (mut interrupts, mut suspended, mut leaves_at) = (0_u32, false, None);
    loop {
        let ask = tokio::select! {
            biased;
            ended = &mut driving => {
                let mut ended = ended?;
                ended.stopped = interrupts > 0;
                ended.shown = live.has_shown(ended.result.report_text());
                return Ok((ended, false));
            }
            () = until(leaves_at) => {
                live.rest();
                live.left();
                return Ok((abandoned(live)?, true));
            }
            signal = signals.next() => match signal {
                Signal::Interrupt if interrupts == 0 => Control::Stop,
                Signal::Interrupt => Control::Abort,
                Signal::Terminate => {
                    if suspended {
                        // A third signal puts nothing off.
                        leaves_at = leaves_at.or_else(|| Instant::now().checked_add(AT_ONCE));
                    }
                    Control::Suspend
                }
            },
            _ = tick.tick() => {
                live.tick();
                continue;
            }
        };
        interrupts = interrupts.saturating_add(u32::from(ask != Control::Suspend));
        suspended |= ask == Control::Suspend;
        // A full queue holds eight requests to end already.
        drop(control.try_send(ask));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use monolith_service::source::Source;

    /// A run of which two entries are recorded.
    fn followed() -> Follower {
        let golden = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../replay/v1/core.valid_call.jsonl"
        );
        let recorded = Source::File(golden.into()).load().unwrap();
        let live = Follower::default();
        let contract = Arc::new(recorded.contract.clone());
        live.recall(&contract, &recorded.entries[..2]).unwrap();
        live
    }

    /// 000/2.output.1
    #[test]
    fn a_panic_during_a_run_leaves_a_result_that_names_the_run() {
        let live = followed();
        let fails = async |_: Conduct<'_>| panic!("as the test wants");
        let broken = drive_to_the_end(None, &live, LeavingArgs::default(), fails).unwrap_err();
        assert!(broken.error.is_panic());
        let result = broken.result.unwrap();
        assert!(result.run_id.is_some());
        assert_eq!((result.entries, result.exit_code), (2, 1));
    }
}
