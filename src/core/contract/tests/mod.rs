//! Tests that need a whole contract: the factory's, and the preflight checks'.

mod agents;
mod agents_folder;
mod author_form;
mod check;
mod delegated;
mod factory;
mod fixture;
mod provider_filter;
mod queues;
mod report_reader;
mod sampling;
mod schema_bounds;
mod servers;
mod targets;
mod tokenizer;
mod tool_faults;
mod wire_schema;
mod yaml;

pub(super) use fixture::{
    make, manifest, profile_faults, spec, structure_faults, tool, tool_faults,
};

use super::*;
