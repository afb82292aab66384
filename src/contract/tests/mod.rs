//! Tests that need a whole contract: the factory's, and the preflight checks'.

mod check;
mod factory;
mod fixture;
mod report_reader;
mod schema_bounds;

pub(super) use fixture::{make, manifest, spec, tool};

use super::*;
