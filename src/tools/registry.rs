//! The tool servers of a run: starts, calls and closes them. Does not decide which calls are made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::sync::CancellationToken;

use super::builtin::Builtins;
use super::mcp::{McpServer, Program, Timeouts};
use super::offer::{self, BUILTIN, Offer};
use super::{CallTerms, ServerSpec, ToolServerError};
use crate::contract::{ServerCapability, ServerKind, ToolCapability, ToolPin, check_server_name};
use crate::kernel::{BringUpFault, CallOrder};
use crate::message::Scrubber;
use crate::message::{ToolOutcome, ToolServerStatement, char_prefix};

/// Bytes of a fault's detail that are recorded.
const DETAIL_BYTES: usize = 2_048;

/// Receives the name of each server that has come up or failed: it need not be waited for any longer.
pub(crate) type ServerWatch<'w> = dyn Fn(&str) + Send + Sync + 'w;

/// What bring-up gives: running servers, what they offer, and what did not come up.
#[derive(Debug)]
pub(crate) struct BringUp {
    /// For the manifest: one for each server of the input, in any case.
    pub capabilities: BTreeMap<String, ServerCapability>,
    /// Servers that did not come up, and tools of the others that cannot be used; sorted by server.
    pub faults: Vec<BringUpFault>,
    /// What was brought up. Dropping it kills every server's process group.
    pub servers: ToolServers,
    /// What the servers that came up and are not built in said of themselves; sorted by server.
    pub statements: Vec<ToolServerStatement>,
}

/// Running tool servers, and which exposed name leads to which of them.
#[derive(Debug, Default)]
pub(crate) struct ToolServers {
    expected: BTreeMap<String, ToolPin>,
    hosts: BTreeMap<String, Host>,
    routes: BTreeMap<String, Route>,
}

#[derive(Debug)]
enum Host {
    Builtin {
        pins: BTreeMap<String, ToolPin>,
        tools: Builtins,
    },
    Mcp(Box<McpServer>),
}

#[derive(Debug)]
struct Route {
    server: String,
    tool: String,
}

impl ToolServers {
    /// Starts every server at once and lists its tools. A server that does not come up is a fault, not an error.
    pub(crate) async fn bring_up(
        specs: BTreeMap<String, ServerSpec>,
        workspace: &Path,
        scrub: &Arc<dyn Scrubber>,
        total_timeout_ms: u64,
        cancel: &CancellationToken,
        ready: &ServerWatch<'_>,
    ) -> BringUp {
        let timeouts = (Timeouts::within(total_timeout_ms), scrub);
        Self::bring_up_within(specs, workspace, timeouts, cancel, ready).await
    }

    pub(super) async fn bring_up_within(
        specs: BTreeMap<String, ServerSpec>,
        workspace: &Path,
        (timeouts, scrub): (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
        ready: &ServerWatch<'_>,
    ) -> BringUp {
        let workspace = tokio::fs::canonicalize(workspace)
            .await
            .map_err(|error| error.to_string());
        let kinds: Vec<ServerKind> = specs.values().map(ServerSpec::kind).collect();
        let started = join_all(specs.iter().map(|(name, spec)| {
            let workspace = workspace.clone();
            async move {
                let workspace =
                    workspace.map_err(|reason| ToolServerError::Workspace { reason })?;
                let host = Host::start(name, spec, workspace, (timeouts, scrub), cancel).await;
                ready(name);
                host
            }
        }))
        .await;
        let mut up = BringUp {
            capabilities: BTreeMap::new(),
            faults: Vec::new(),
            servers: Self::default(),
            statements: Vec::new(),
        };
        for ((name, kind), started) in specs.into_keys().zip(kinds).zip(started) {
            match started {
                Ok((host, offer)) => up.take(name, kind, host, offer),
                Err(error) => {
                    up.fault(&name, &scrub.owned_text(format!("failed to {error}")));
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

    /// Replaces the pins that calls are held to by the contract's, as a resumed run needs; returns the exposed names
    /// whose tool differs or is gone, sorted. Their calls end as `ToolChanged`.
    pub(crate) fn expect_pins(&mut self, pins: BTreeMap<String, ToolPin>) -> Vec<String> {
        self.expected = pins;
        self.differing()
    }

    /// Performs one call to its end; never longer than its timeout and a short grace.
    pub(crate) async fn call(&self, order: &CallOrder, terms: &CallTerms<'_>) -> ToolOutcome {
        let exposed = &order.invocation.name;
        let found = self
            .routes
            .get(exposed)
            .and_then(|route| Some((self.hosts.get(&route.server)?, route)))
            .zip(self.expected.get(exposed));
        let Some(((host, route), expected)) = found else {
            return ToolOutcome::ToolChanged;
        };
        match host {
            Host::Builtin { pins, .. } if pins.get(&route.tool) != Some(expected) => {
                ToolOutcome::ToolChanged
            }
            Host::Builtin { tools, .. } => call_builtin(tools, &route.tool, order, terms).await,
            Host::Mcp(server) => server.call(&route.tool, *expected, order, terms).await,
        }
    }

    /// Stops every server: closes its input, waits shortly, then ends its process group. Takes at most about 3 s.
    pub(crate) async fn close(self) {
        join_all(self.hosts.into_values().map(|host| async move {
            match host {
                Host::Builtin { .. } => {}
                Host::Mcp(server) => server.close().await,
            }
        }))
        .await;
    }

    fn differing(&self) -> Vec<String> {
        let offered = |exposed: &String| {
            let route = self.routes.get(exposed)?;
            match self.hosts.get(&route.server)? {
                Host::Builtin { pins, .. } => pins.get(&route.tool).copied(),
                Host::Mcp(server) => server.pin(&route.tool),
            }
        };
        self.expected
            .iter()
            .filter(|(exposed, pin)| offered(exposed) != Some(**pin))
            .map(|(exposed, _)| exposed.clone())
            .collect()
    }
}

impl BringUp {
    /// Enters a server that came up, and routes to those of its tools whose exposed name is still free.
    fn take(&mut self, name: String, kind: ServerKind, host: Host, offer: Offer) {
        for reason in &offer.unusable {
            self.fault(&name, reason);
        }
        if let Host::Mcp(server) = &host {
            self.statements.extend(server.statement(&name));
        }
        let origin = host.origin(&name);
        let mut tools: Vec<ToolCapability> = Vec::with_capacity(offer.tools.len());
        for tool in offer.tools {
            let exposed = host.exposed(&name, &tool.name);
            if let Some(taken) = self.servers.routes.get(&exposed) {
                let reason = format!(
                    "tool {:?} left out: server {:?} already has a tool exposed as {exposed:?}",
                    tool.name, taken.server
                );
                self.fault(&name, &reason);
                continue;
            }
            let pin = ToolPin::of(&origin, &tool);
            self.servers.expected.insert(exposed.clone(), pin);
            self.servers.routes.insert(
                exposed,
                Route {
                    server: name.clone(),
                    tool: tool.name.clone(),
                },
            );
            tools.push(tool);
        }
        self.capabilities.insert(
            name.clone(),
            ServerCapability {
                available: true,
                kind,
                tools,
            },
        );
        self.servers.hosts.insert(name, host);
    }

    fn fault(&mut self, server: &str, detail: &str) {
        self.faults.push(BringUpFault {
            detail: char_prefix(detail, DETAIL_BYTES).to_owned(),
            server: server.to_owned(),
        });
    }
}

impl Host {
    async fn start(
        name: &str,
        spec: &ServerSpec,
        workspace: PathBuf,
        timeouts: (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<(Self, Offer), ToolServerError> {
        check_name(name, spec)?;
        match spec {
            ServerSpec::Builtin { names, withheld } => {
                let (tools, offered) = Builtins::choose(names, workspace, withheld.clone())?;
                let pins = offer::pins(BUILTIN, &offered);
                let offer = Offer {
                    tools: offered,
                    unusable: Vec::new(),
                };
                Ok((Self::Builtin { pins, tools }, offer))
            }
            ServerSpec::Stdio {
                args,
                command,
                env,
                folder,
                supervisor,
            } => {
                let program = Program {
                    args,
                    command,
                    env,
                    folder,
                    supervisor: supervisor.as_deref(),
                    workspace: &workspace,
                };
                McpServer::start(name, &program, timeouts, cancel)
                    .await
                    .map(Self::mcp)
            }
            ServerSpec::Http { headers, url } => {
                McpServer::connect(name, url, headers, timeouts, cancel)
                    .await
                    .map(Self::mcp)
            }
        }
    }

    fn mcp((server, offer): (McpServer, Offer)) -> (Self, Offer) {
        (Self::Mcp(Box::new(server)), offer)
    }

    fn origin(&self, server: &str) -> String {
        match self {
            Self::Builtin { .. } => BUILTIN.to_owned(),
            Self::Mcp(_) => format!("mcp:{server}"),
        }
    }

    fn exposed(&self, server: &str, tool: &str) -> String {
        match self {
            Self::Builtin { .. } => tool.to_owned(),
            Self::Mcp(_) => format!("{server}__{tool}"),
        }
    }
}

fn check_name(name: &str, spec: &ServerSpec) -> Result<(), ToolServerError> {
    let refuse = |reason| Err(ToolServerError::ServerName { reason });
    match (spec, name) {
        (ServerSpec::Builtin { .. }, BUILTIN) => Ok(()),
        (ServerSpec::Builtin { .. }, _) => refuse("the built-in tools are called builtin"),
        (_, name) => check_server_name(name).or_else(refuse),
    }
}

async fn call_builtin(
    tools: &Builtins,
    tool: &str,
    order: &CallOrder,
    terms: &CallTerms<'_>,
) -> ToolOutcome {
    let started_at_ms = terms.clock.run_ms();
    let response = tokio::select! {
        biased;
        () = terms.cancel.cancelled() => return ToolOutcome::Cancelled,
        response = tools.call(tool, &order.invocation.arguments, terms.clock) => response,
        () = tokio::time::sleep(Duration::from_millis(terms.timeout_ms)) => {
            return ToolOutcome::TimedOut;
        }
    };
    response.map_or(ToolOutcome::ToolChanged, |response| {
        ToolOutcome::Returned(response.into_envelope(order, terms, started_at_ms))
    })
}
