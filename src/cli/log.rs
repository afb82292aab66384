//! Diagnostics for operators, on stderr and only where a variable turns them on. What users read does not pass through here.

use std::io::{self, Write};

use tracing::Metadata;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterExt as _, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;

use monolith_host::driver::Environment;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::secrets;
use monolith_service::text::escape;

/// The variable that turns diagnostics on: a level, or `monolith_host::module=level` separated by commas.
const VARIABLE: &str = "MONOLITH_LOG";

/// Writes diagnostics to stderr where the operator asks for them; without the variable there are none.
///
/// Only monolith's own are written, whatever the variable says: those of the libraries below it hold what is sent and
/// received, and with it secrets.
///
/// `traces` are the targets of payloads that the caller asks to see: those are written as they are, whatever the variable says.
pub(super) fn start(
    environment: &Environment,
    traces: Vec<&'static str>,
) -> Result<(), ServiceError> {
    let given = environment.get(VARIABLE);
    if given.is_none() && traces.is_empty() {
        return Ok(());
    }
    let shown = traces.clone();
    let filter = parse(&given.unwrap_or_else(|| "off".to_owned()))?;
    let filter = filter.and(filter_fn(move |event| {
        is_own(event) && !shown.contains(&event.target())
    }));
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(|| EscapedStderr);
    let payloads = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .without_time()
        .with_level(false)
        .with_target(false)
        .with_writer(|| EscapedStderr)
        .with_filter(filter_fn(move |event| traces.contains(&event.target())));
    let subscriber = tracing_subscriber::registry()
        .with(layer.with_filter(filter))
        .with(payloads);
    // Only a second call in one process can fail, and then there is a log already.
    drop(tracing::subscriber::set_global_default(subscriber));
    tracing::debug!(version = env!("CARGO_PKG_VERSION"), "started");
    Ok(())
}

fn parse(given: &str) -> Result<Targets, ServiceError> {
    let filter = given.parse().map_err(|_| SystemFault::LogFilter {
        got: given.chars().take(200).collect(),
    })?;
    Ok(filter)
}

fn is_own(metadata: &Metadata<'_>) -> bool {
    let package = metadata.target().split("::").next().unwrap_or_default();
    package == "monolith" || package.starts_with("monolith_")
}

/// Diagnostics quote what others sent.
struct EscapedStderr;

impl Write for EscapedStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = secrets::without_secrets(&text);
        io::stderr().write_all(escape::text(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn a_filter_is_a_level_or_rooms_with_levels() {
        let check = |given: &str, expect: [bool; 2]| {
            let filter = parse(given).ok().map(|filter| {
                ["monolith_host::tools::mcp", "monolith_cli"]
                    .map(|target| filter.would_enable(target, &Level::DEBUG))
            });
            assert_eq!(filter, Some(expect), "{given}");
        };
        check("debug", [true, true]);
        check("info", [false, false]);
        check("monolith_host::tools=debug", [true, false]);
        let fault = parse("monolith=loud").map(drop).unwrap_err();
        assert!(fault.summary().contains("\"monolith=loud\""), "{fault}");
    }

    /// Counts the events that `is_own` lets through.
    #[test]
    fn what_libraries_say_of_their_traffic_is_never_written() {
        use std::sync::Arc;
        use std::sync::atomic::{AtomicUsize, Ordering};

        #[derive(Clone, Default)]
        struct Lines(Arc<AtomicUsize>);
        impl Write for Lines {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.fetch_add(1, Ordering::Relaxed);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = Lines::default();
        let writer = lines.clone();
        let layer = tracing_subscriber::fmt::layer().with_writer(move || writer.clone());
        let filter = parse("trace").unwrap().and(filter_fn(is_own));
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "rmcp::transport", "authorization: Bearer secret");
            tracing::info!(target: "hyper_util::client", "secret");
            tracing::info!(target: "monolithic", "secret");
            assert_eq!(lines.0.load(Ordering::Relaxed), 0);
            tracing::info!(target: "monolith_host::tools", "told");
            assert_eq!(lines.0.load(Ordering::Relaxed), 1);
        });
    }
}
