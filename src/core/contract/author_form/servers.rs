//! What a recorded contract knows of the servers of another one. Starts nothing.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::{
    CapabilityManifest, ExecutionContract, ServerCapability, ServerKind, ServerTerms,
};

/// What a recorded contract knows of the servers of another one: what each offered that both reach in the same way.
#[derive(Debug, Default)]
pub(super) struct RecordedOffers {
    pub(super) offered: BTreeMap<String, ServerCapability>,
    /// Servers of which nothing is known.
    pub(super) unknown: BTreeSet<String>,
}

impl RecordedOffers {
    pub(super) fn of(
        servers: &BTreeMap<String, ServerTerms>,
        recorded: &ExecutionContract,
    ) -> Self {
        let mut known = CapabilityManifest::recorded_in(recorded).servers;
        let mut offers = Self::default();
        for (name, server) in servers {
            let was = recorded.servers.get(name);
            let alike = server.kind == ServerKind::Builtin
                || was.is_some_and(|was| server.is_reached_like(was));
            match known.remove(name).filter(|_| alike) {
                Some(offer) => {
                    offers.offered.insert(name.clone(), offer);
                }
                None => {
                    offers.unknown.insert(name.clone());
                }
            }
        }
        offers
    }
}
