//! The resources shared by the runs of one process: queues, tool servers, connections to models, and what is the same for all
//! runs of one contract. It does not know the runs.

use std::sync::Arc;

use monolith_core::contract::{ExecutionContract, RedactionTerms};
use monolith_core::message::{Digest, Scrubber};
use monolith_core::session::{KnownSecrets, KnownValues, Redactor};

use super::interned::Interned;
use super::queue::Queue;
use crate::inference::{Backend, HttpTarget};
use crate::tools::{ServerHost, ServerKeeper, ServerPool, ToolServers};

/// The resources shared by the runs of one process. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Resources>);

#[derive(Debug)]
struct Resources {
    backends: Interned<HttpTarget, Backend>,
    contracts: Interned<Digest, ExecutionContract>,
    /// Requests to models, of whatever provider.
    inferences: Arc<Queue>,
    /// Probes of models: they take no time, and a run that begins need not wait for the answers of others.
    probes: Arc<Queue>,
    queues: Interned<String, Queue>,
    scrubbers: Interned<(Vec<String>, RedactionTerms), Redactor>,
    secrets: Interned<(Vec<String>, RedactionTerms), KnownSecrets>,
    servers: ServerPool,
    values: Interned<Vec<String>, KnownValues>,
}

impl Default for Resources {
    fn default() -> Self {
        Self {
            backends: Interned::default(),
            contracts: Interned::default(),
            inferences: Queue::new("inferences"),
            probes: Queue::new("probes"),
            queues: Interned::default(),
            scrubbers: Interned::default(),
            secrets: Interned::default(),
            servers: ServerPool::default(),
            values: Interned::default(),
        }
    }
}

impl Shared {
    /// Returns the resources of runs that have at most so many tool servers up at once.
    pub fn of_many(max_servers: usize) -> Self {
        Self(Arc::new(Resources {
            servers: ServerPool::bounded(max_servers),
            ..Resources::default()
        }))
    }

    /// Returns the number of model requests that wait for others to end.
    pub fn waiting_requests(&self) -> usize {
        let waiting = [self.inferences(), self.probes()];
        waiting.into_iter().map(|queue| queue.depth()).sum()
    }

    /// The queue of calls of that name.
    pub(super) fn queue(&self, name: &str) -> Arc<Queue> {
        self.0
            .queues
            .value(name.to_owned(), |name| Queue::named(name))
    }

    /// The queue of requests to models.
    pub(super) fn inferences(&self) -> &Arc<Queue> {
        &self.0.inferences
    }

    /// The queue of probes of models.
    pub(super) fn probes(&self) -> &Arc<Queue> {
        &self.0.probes
    }

    /// Returns a finder of these values.
    pub(super) fn values<'v>(&self, values: impl IntoIterator<Item = &'v str>) -> Arc<KnownValues> {
        self.0.values.value(once_each(values), |values| {
            KnownValues::new(values.iter().map(String::as_str))
        })
    }

    /// Returns the known secrets.
    pub(super) fn secrets<'v>(
        &self,
        values: impl IntoIterator<Item = &'v str>,
        terms: &RedactionTerms,
    ) -> Arc<KnownSecrets> {
        let key = key(values, terms);
        self.0.secrets.value(key, |(values, terms)| {
            let values = self.values(values.iter().map(String::as_str));
            KnownSecrets::of_values(values, terms)
        })
    }

    /// Returns the host that starts tool servers whose texts may hold these secrets.
    pub(super) fn server_host<'v>(
        &self,
        values: impl IntoIterator<Item = &'v str>,
        terms: &RedactionTerms,
    ) -> ServerHost {
        let scrub: Arc<dyn Scrubber> = self.0.scrubbers.value(key(values, terms), |key| {
            Redactor::fixed(self.secrets(key.0.iter().map(String::as_str), &key.1))
        });
        ServerHost {
            is_below: false,
            pool: self.0.servers.clone(),
            scrub,
        }
    }

    /// Tool servers stay up between runs as long as somebody has what this returns.
    pub(super) fn keep_servers(&self) -> ServerKeeper {
        self.0.servers.keep()
    }

    /// Returns the backend for that address, with those headers and that key.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn backend<E>(
        &self,
        target: HttpTarget,
        make: impl FnOnce(&HttpTarget) -> Result<Backend, E>,
    ) -> Result<Arc<Backend>, E> {
        self.0.backends.try_value(target, make)
    }

    /// The one copy of a contract.
    pub(super) fn contract(&self, contract: ExecutionContract) -> Arc<ExecutionContract> {
        let known = self
            .0
            .contracts
            .value(contract.contract_hash(), |_| contract.clone());
        // The hash that a stored contract states may not be its own.
        if *known == contract {
            known
        } else {
            Arc::new(contract)
        }
    }
}

fn key<'v>(
    values: impl IntoIterator<Item = &'v str>,
    terms: &RedactionTerms,
) -> (Vec<String>, RedactionTerms) {
    (once_each(values), terms.clone())
}

/// The values without repetitions, in their order.
fn once_each<'v>(values: impl IntoIterator<Item = &'v str>) -> Vec<String> {
    let mut once = Vec::new();
    for value in values {
        if !once.iter().any(|known| known == value) {
            once.push(value.to_owned());
        }
    }
    once
}

/// The tool servers of a run that is driven.
pub(super) struct RunServers {
    /// The keeper that holds shared servers up until it ends; none for a run without agents.
    kept: Option<ServerKeeper>,
    own: Arc<ToolServers>,
}

impl RunServers {
    /// Wraps the servers of a run. If it has agents, the servers that these share start once for all of them (001 §6).
    pub(super) fn new(own: ToolServers, shared: &Shared, has_agents: bool) -> Self {
        let kept = has_agents.then(|| shared.keep_servers());
        let own = Arc::new(own);
        Self { kept, own }
    }

    /// Returns the run's own servers.
    pub(super) fn own(&self) -> Arc<ToolServers> {
        Arc::clone(&self.own)
    }

    /// Leaves them, once every task of the run has ended.
    pub(super) async fn close(self) {
        if let Ok(own) = Arc::try_unwrap(self.own) {
            own.close().await;
        }
        if let Some(kept) = self.kept {
            kept.end().await;
        }
    }
}
