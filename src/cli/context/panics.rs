//! The report of a panic: a bug in monolith.

use std::panic::PanicHookInfo;

use monolith_service::panics::words;
use monolith_service::secrets;
use monolith_service::text::escape;

/// One line for the report of the bug; the command itself ends with an error after it.
pub(crate) fn on_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string);
    let place = place.unwrap_or_else(|| "an unknown place".to_owned());
    let line = format!("monolith: bug at {place}: {}\n", words(info.payload()));
    drop(std::io::Write::write_all(
        &mut std::io::stderr(),
        escape::text(&secrets::without_secrets(&line)).as_bytes(),
    ));
}
