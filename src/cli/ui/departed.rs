//! How a display reports that it does not show the machine's state (002 Invariant D).

use super::escape::line;
use monolith_core::view::Departure;

/// The line that stands before what is shown.
pub(crate) fn departed(departure: &Departure) -> String {
    let place = line(&departure.to_string());
    format!("NOT THE STATE OF THE RUN: {place}; monolith replay derives it again")
}
