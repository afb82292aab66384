//! How a display reports that it does not show the machine's state (002 Invariant D).

use monolith_core::view::Departure;
use monolith_service::text::escape::line;

/// The line that stands before what is shown.
pub(crate) fn departed(departure: &Departure) -> String {
    let place = line(&departure.to_string());
    format!("NOT THE STATE OF THE RUN: {place}; monolith replay derives it again")
}
