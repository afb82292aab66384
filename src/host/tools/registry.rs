//! The tool servers of a run: has them started, calls them and leaves them. Does not decide which calls are made.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::error::fault_of;
use super::kept_server::KeptServer;
use super::mcp::Timeouts;
use super::offer::{Offer, changed};
use super::pool::{Key, ServerHost};
use super::restart_loop::RestartLoop;
use super::{CallTerms, CallWatch, ServerSpec, ToolServerError};
use monolith_core::contract::{ServerCapability, ServerKind, ToolCapability, ToolPin};
use monolith_core::kernel::{BringUpCause, BringUpFault, CallOrder};
use monolith_core::message::{ToolOutcome, ToolServerStatement};

/// Receives the name of each server that has come up or failed: it need not be waited for any longer.
pub(crate) type ServerWatch<'w> = dyn Fn(&str) + Send + Sync + 'w;

/// The result of bring-up: running servers, their offers, and the failures.
#[derive(Debug)]
pub(crate) struct BringUp {
    /// For the manifest: one for each server of the input, in any case.
    pub capabilities: BTreeMap<String, ServerCapability>,
    /// Servers that did not come up, and tools of the others that cannot be used; sorted by server.
    pub faults: Vec<BringUpFault>,
    /// The running servers. Dropping it kills the process group of every server that no other run uses.
    pub servers: ToolServers,
    /// The statements about themselves of servers that came up and are not built in; sorted by server.
    pub statements: Vec<ToolServerStatement>,
}

/// Running tool servers, and which exposed name leads to which of them.
#[derive(Default)]
pub(crate) struct ToolServers {
    expected: BTreeMap<String, ToolPin>,
    hosts: BTreeMap<String, KeptServer>,
    /// Receives lines about servers that have ended.
    notes: Option<Arc<ServerWatch<'static>>>,
    /// The right to those of them that only this run uses.
    own: Option<OwnedSemaphorePermit>,
    /// The routes of each exposed name: two servers may have one for the same tool, and a contract takes at most one of them.
    routes: BTreeMap<String, Vec<Route>>,
    watch: Option<Arc<CallWatch>>,
}

#[derive(Debug)]
struct Route {
    server: String,
    tool: String,
}

impl fmt::Debug for ToolServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolServers")
            .field("hosts", &self.hosts)
            .field("routes", &self.routes)
            .finish_non_exhaustive()
    }
}

impl ToolServers {
    /// Has every server started that is not running yet, all at once, and takes over the tools. A server that does not come up is a fault, not
    /// an error.
    pub(crate) async fn bring_up(
        specs: BTreeMap<String, ServerSpec>,
        workspace: &Path,
        host: &ServerHost,
        total_timeout_ms: u64,
        cancel: &CancellationToken,
        ready: &ServerWatch<'_>,
    ) -> BringUp {
        let timeouts = (Timeouts::within(total_timeout_ms), host);
        Self::bring_up_within(specs, workspace, timeouts, cancel, ready).await
    }

    pub(super) async fn bring_up_within(
        specs: BTreeMap<String, ServerSpec>,
        workspace: &Path,
        (timeouts, host): (Timeouts, &ServerHost),
        cancel: &CancellationToken,
        ready: &ServerWatch<'_>,
    ) -> BringUp {
        let scrub = &host.scrub;
        let workspace = tokio::fs::canonicalize(workspace)
            .await
            .map_err(|error| error.to_string());
        let kinds: Vec<ServerKind> = specs.values().map(ServerSpec::kind).collect();
        let keys = specs.iter().map(|(name, spec)| {
            let workspace = workspace.clone();
            let workspace = workspace.map_err(|reason| ToolServerError::Workspace { reason });
            workspace.map(|workspace| Key {
                name: name.clone(),
                scrub: Arc::as_ptr(scrub).cast::<()>().addr(),
                spec: spec.clone(),
                workspace,
            })
        });
        let keys: Vec<Result<Key, ToolServerError>> = keys.collect();
        let outside = keys.iter().flatten().filter(|key| key.spec.is_outside());
        let (shared, own): (Vec<&Key>, Vec<&Key>) = outside.partition(|key| key.spec.is_shared());
        let shared: Vec<Key> = shared.into_iter().cloned().collect();
        let mut admission = if host.is_below {
            host.pool.admit_below(own.len(), &shared)
        } else {
            host.pool.admit(own.len(), &shared).await
        };
        let started = join_all(keys.into_iter().zip(specs.keys()).map(|(key, name)| {
            let place = key.as_ref().ok().and_then(|key| admission.take(key));
            async move {
                let key = key?;
                let server = if key.spec.is_shared() {
                    host.pool
                        .server(&key, place, (timeouts, scrub), cancel)
                        .await
                } else {
                    let own = key.start((timeouts, scrub), cancel).await;
                    own.map(Arc::new).map_err(Arc::new)
                };
                ready(name);
                let server = server?;
                let offer = server.offer(cancel).await?;
                let restarts = RestartLoop {
                    host: host.clone(),
                    key,
                    timeouts,
                };
                Ok::<_, Arc<ToolServerError>>((KeptServer::new(server, &restarts), offer))
            }
        }))
        .await;
        let mut up = BringUp {
            capabilities: BTreeMap::new(),
            faults: Vec::new(),
            servers: Self {
                own: admission.own,
                ..Self::default()
            },
            statements: Vec::new(),
        };
        for ((name, kind), started) in specs.into_keys().zip(kinds).zip(started) {
            match started {
                Ok((server, offer)) => up.take(name, kind, server, &offer),
                Err(error) => {
                    up.faults.push(error.fault(&name, &**scrub));
                    up.capabilities.insert(
                        name,
                        ServerCapability {
                            available: false,
                            kind,
                            tools: Vec::new(),
                        },
                    );
                }
            }
        }
        up
    }

    /// The pin of each exposed tool that calls are held to.
    #[cfg(test)]
    pub(crate) const fn pins(&self) -> &BTreeMap<String, ToolPin> {
        &self.expected
    }

    /// Replaces the pins that calls are held to by the contract's; returns the exposed names whose tool differs or is gone, sorted.
    /// Their calls end as `ToolChanged`.
    pub(crate) fn expect_pins(&mut self, pins: BTreeMap<String, ToolPin>) -> Vec<String> {
        self.expected = pins;
        self.differing()
    }

    /// Performs one call to its end; never longer than its timeout and a short grace.
    pub(crate) async fn call(&self, order: &CallOrder, terms: &CallTerms<'_>) -> ToolOutcome {
        let exposed = &order.invocation.name;
        let Some((route, expected)) = self.route(exposed).zip(self.expected.get(exposed)) else {
            return changed();
        };
        let Some(server) = self.hosts.get(&route.server) else {
            return changed();
        };
        let terms = CallTerms {
            reports: self.watch.as_deref(),
            ..*terms
        };
        server.call(&route.tool, *expected, order, &terms).await
    }

    /// Sets the receivers of reports of calls and of lines about servers that have ended.
    pub(crate) fn watched_by(
        self,
        watch: Option<Arc<CallWatch>>,
        notes: Option<Arc<ServerWatch<'static>>>,
    ) -> Self {
        Self {
            notes,
            watch,
            ..self
        }
    }

    /// The tool that an exposed name leads to as its server describes it now, with the server's own name for it; none if it is gone.
    pub(crate) fn offered(&self, exposed: &str) -> Option<ToolCapability> {
        let route = self.route(exposed)?;
        self.hosts.get(&route.server)?.current().tool(&route.tool)
    }

    /// Returns the route of an exposed name: the tool with the expected pin, which covers its server, else the first of that
    /// name.
    fn route(&self, exposed: &str) -> Option<&Route> {
        let routes = self.routes.get(exposed)?;
        let expected = self.expected.get(exposed).copied();
        let is_expected = |route: &&Route| {
            let server = self.hosts.get(&route.server);
            let pin = server.and_then(|server| server.current().pin(&route.tool));
            expected.is_some() && pin == expected
        };
        routes.iter().find(is_expected).or(routes.first())
    }

    /// Leaves every server; stops those that no other run uses: closes their input, waits shortly, then ends their process group. Takes
    /// at most about 3 s.
    pub(crate) async fn close(self) {
        let discarded = join_all(self.hosts.into_values().map(KeptServer::close)).await;
        if let Some(note) = &self.notes {
            discarded.iter().flatten().for_each(|line| note(line));
        }
        drop(self.own);
    }

    fn differing(&self) -> Vec<String> {
        let offered = |exposed: &String| {
            let route = self.route(exposed)?;
            self.hosts.get(&route.server)?.current().pin(&route.tool)
        };
        self.expected
            .iter()
            .filter(|(exposed, pin)| offered(exposed) != Some(**pin))
            .map(|(exposed, _)| exposed.clone())
            .collect()
    }
}

impl BringUp {
    /// Enters a server that came up, and the ways to its tools. Where two tools have one exposed name, no contract holds both.
    fn take(&mut self, name: String, kind: ServerKind, kept: KeptServer, offer: &Offer) {
        let host = kept.current();
        for reason in &offer.unusable {
            self.faults.push(BringUpFault {
                cause: Some(BringUpCause::LeftOut),
                ..fault_of(&name, reason)
            });
        }
        self.statements.extend(host.statement(&name));
        let origin = host.origin(&name);
        for tool in &offer.tools {
            let exposed = host.exposed(&name, &tool.name);
            let pin = ToolPin::of(&origin, tool);
            self.servers.expected.entry(exposed.clone()).or_insert(pin);
            let routes = self.servers.routes.entry(exposed).or_default();
            routes.push(Route {
                server: name.clone(),
                tool: tool.name.clone(),
            });
        }
        self.capabilities.insert(
            name.clone(),
            ServerCapability {
                available: true,
                kind,
                tools: offer.tools.clone(),
            },
        );
        self.servers.hosts.insert(name, kept);
    }
}
