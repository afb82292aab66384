//! One running tool server, of any kind: what it offers, its pins, calls, and its end. Does not know which runs use it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, OwnedSemaphorePermit};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::address_guard::{AddressGuard, SystemResolver};
use super::builtin::Builtins;
use super::envelope::ToolResponse;
use super::mcp::{Endpoint, McpServer, NotBegun, Timeouts};
use super::named_files::MissingNames;
use super::offer::{self, BUILTIN, Offer, changed};
use super::process::Program;
use super::restarts::Restarts;
use super::web::{WebFault, WebTools};
use super::{CallTerms, HostTools, ServerSpec, ToolServerError, trace};
use monolith_core::contract::{ServerKind, ToolCapability, ToolPin, check_server_name, own_name};
use monolith_core::kernel::CallOrder;
use monolith_core::message::{Scrubber, ToolOutcome, ToolServerStatement};

/// A running server; several runs may use it at once.
#[derive(Debug)]
pub(super) enum RunningServer {
    Builtin {
        offer: Arc<Offer>,
        pins: BTreeMap<String, ToolPin>,
        tools: Box<Builtins>,
    },
    Host {
        offer: Arc<Offer>,
        pins: BTreeMap<String, ToolPin>,
        tools: HostTools,
    },
    Web {
        kind: ServerKind,
        offer: Arc<Offer>,
        pins: BTreeMap<String, ToolPin>,
        tools: Box<WebTools>,
    },
    Mcp {
        /// Given back when it is closed.
        _alive: Option<Alive>,
        /// Ends the starts in its place, before the connection ends.
        in_use: DropGuard,
        /// The starts in its place, once it is down.
        restarts: Arc<Restarts<Self>>,
        server: Box<McpServer>,
    },
}

/// Kept by a server as long as its process may be there.
#[derive(Debug)]
pub(super) struct Alive {
    /// Its successor waits for that.
    _guard: OwnedMutexGuard<()>,
    /// Its place among those that may be up at once.
    _place: Option<OwnedSemaphorePermit>,
}

impl Alive {
    pub(super) const fn new(
        guard: OwnedMutexGuard<()>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            _guard: guard,
            _place: place,
        }
    }
}

impl RunningServer {
    /// Starts it, or connects to it, and lists its tools.
    pub(super) async fn start(
        name: &str,
        spec: &ServerSpec,
        workspace: PathBuf,
        timeouts: (Timeouts, &Arc<dyn Scrubber>),
        cancel: &CancellationToken,
    ) -> Result<Self, ToolServerError> {
        check_name(name, spec)?;
        let server = match spec {
            ServerSpec::Builtin {
                http_get,
                names,
                shell,
                withheld,
            } => {
                let shell = shell.as_ref().map(|shell| shell.in_workspace(&workspace));
                if let Some(shell) = &shell {
                    shell.check().await?;
                }
                let (withheld, more) = (withheld.clone(), (http_get.clone(), shell));
                let (tools, offered) = Builtins::choose(names, workspace, withheld, more)?;
                let pins = offer::pins(BUILTIN, &offered);
                let offer = Arc::new(Offer {
                    tools: offered,
                    ..Offer::default()
                });
                let tools = Box::new(tools);
                return Ok(Self::Builtin { offer, pins, tools });
            }
            ServerSpec::Host { tools } => {
                let kind = spec.kind();
                let mut offer = Offer::default();
                for tool in tools.described() {
                    offer.add(&kind.prefix(name), tool);
                }
                return Ok(Self::Host {
                    pins: offer::pins(&kind.origin(name), &offer.tools),
                    offer: Arc::new(offer),
                    tools: tools.clone(),
                });
            }
            ServerSpec::Openapi {
                folder,
                headers,
                proxies,
                terms,
            } => {
                let prefix = spec.kind().prefix(name);
                let imported = WebTools::of_openapi(&prefix, (terms, folder), headers, proxies);
                let tools = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return Err(ToolServerError::Cancelled),
                    tools = tokio::time::timeout(Duration::from_millis(timeouts.0.whole_ms()), imported) => tools,
                };
                let tools = tools.unwrap_or(Err(WebFault::Late));
                let tools = tools.map_err(|fault| unusable(name, spec.kind(), &fault))?;
                return Ok(Self::web(name, spec.kind(), tools));
            }
            ServerSpec::Rest {
                headers,
                limits,
                proxies,
                tool,
            } => {
                let guard = AddressGuard::of_service(limits, Arc::new(SystemResolver), proxies);
                let tools = WebTools::of_rest(own_name(name), tool, headers, limits, guard);
                let tools = tools.map_err(|fault| unusable(name, spec.kind(), &fault))?;
                return Ok(Self::web(name, spec.kind(), tools));
            }
            ServerSpec::Stdio {
                args,
                command,
                env,
                files,
                folder,
                sandbox,
                supervisor,
                terms,
                ..
            } => {
                let files = files.clone();
                let checked = tokio::task::spawn_blocking(move || files.check()).await;
                let missing = checked.unwrap_or_else(|_| Ok(MissingNames::default()));
                let missing = missing.map_err(|path| {
                    let command = command.clone();
                    ToolServerError::ChangedFile { command, path }
                })?;
                let sandbox = sandbox
                    .as_ref()
                    .map(|profile| profile.in_workspace(&workspace));
                let program = Program {
                    args,
                    command,
                    env,
                    folder,
                    sandbox: sandbox.as_ref(),
                    supervisor: supervisor.as_deref(),
                    workspace: &workspace,
                };
                let server = McpServer::start((name, terms), &program, timeouts, cancel);
                let server = Box::pin(server).await?;
                missing.note_start();
                server
            }
            ServerSpec::Remote {
                client,
                headers,
                remote,
                terms,
                url,
                ..
            } => {
                let authorization = spec.authorization().map_err(|fault| {
                    let reason = format!("failed to {fault}");
                    ToolServerError::Unauthorized {
                        reason,
                        scopes: None,
                    }
                })?;
                let place = Endpoint {
                    authorization: authorization.as_ref(),
                    headers,
                    proxies: &client.proxies,
                    remote: *remote,
                    url,
                };
                let named = (name, terms);
                Box::pin(McpServer::connect(named, place, timeouts, cancel)).await?
            }
        };
        let restarts = Arc::<Restarts<Self>>::default();
        Ok(Self::Mcp {
            _alive: None,
            in_use: restarts.unused().clone().drop_guard(),
            restarts,
            server: Box::new(server),
        })
    }

    fn web(name: &str, kind: ServerKind, tools: WebTools) -> Self {
        let mut offer = Offer::default();
        for tool in tools.described() {
            offer.add(&kind.prefix(name), tool);
        }
        for (operation, reason) in tools.left_out() {
            offer.leave_out(operation, reason);
        }
        Self::Web {
            kind,
            pins: offer::pins(&kind.origin(name), &offer.tools),
            offer: Arc::new(offer),
            tools: Box::new(tools),
        }
    }

    /// The same; it keeps that until it is closed.
    pub(super) fn keeping(self, alive: Alive) -> Self {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => self,
            Self::Mcp {
                in_use,
                restarts,
                server,
                ..
            } => Self::Mcp {
                _alive: Some(alive),
                in_use,
                restarts,
                server,
            },
        }
    }

    /// Returns the tools that it offers now.
    ///
    /// # Errors
    /// Where it reported a change, and does not list its tools again.
    pub(super) async fn offer(
        &self,
        cancel: &CancellationToken,
    ) -> Result<Arc<Offer>, ToolServerError> {
        match self {
            Self::Builtin { offer, .. } | Self::Host { offer, .. } | Self::Web { offer, .. } => {
                Ok(Arc::clone(offer))
            }
            Self::Mcp { server, .. } => server.offer(cancel).await,
        }
    }

    /// Returns its statement about itself, under that name in the contract.
    pub(super) fn statement(&self, name: &str) -> Option<ToolServerStatement> {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => None,
            Self::Mcp { server, .. } => server.statement(name),
        }
    }

    /// True if a call may be sent without another check: it is up, and its last response came in time.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => true,
            Self::Mcp { server, .. } => server.is_sound(),
        }
    }

    /// The starts in its place, and the token that is cancelled once it is down; `None` if it cannot be down.
    pub(super) fn restarts(&self) -> Option<(&Arc<Restarts<Self>>, &CancellationToken)> {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => None,
            Self::Mcp {
                restarts, server, ..
            } => Some((restarts, server.ended())),
        }
    }

    /// The server that is up in its place.
    pub(super) fn successor(&self) -> Option<Arc<Self>> {
        let (restarts, _) = self.restarts()?;
        restarts.successor()
    }

    /// True if no call can reach it any more.
    pub(super) fn is_closed(&self) -> bool {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => false,
            Self::Mcp { server, .. } => server.is_closed(),
        }
    }

    /// True if it answers; probes it if a response was overdue.
    pub(super) async fn answers(&self, cancel: &CancellationToken) -> bool {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => true,
            Self::Mcp { server, .. } => server.answers(cancel).await,
        }
    }

    pub(super) fn origin(&self, server: &str) -> String {
        match self {
            Self::Builtin { .. } => BUILTIN.to_owned(),
            Self::Host { .. } => ServerKind::Host.origin(server),
            Self::Web { kind, .. } => kind.origin(server),
            Self::Mcp { .. } => format!("mcp:{server}"),
        }
    }

    pub(super) fn exposed(&self, server: &str, tool: &str) -> String {
        match self {
            Self::Builtin { .. } => tool.to_owned(),
            Self::Host { .. } => format!("{}{tool}", ServerKind::Host.prefix(server)),
            Self::Web { kind, .. } => format!("{}{tool}", kind.prefix(server)),
            Self::Mcp { .. } => format!("{server}__{tool}"),
        }
    }

    /// A tool as it was last described.
    pub(super) fn tool(&self, tool: &str) -> Option<ToolCapability> {
        let offer = match self {
            Self::Builtin { offer, .. } | Self::Host { offer, .. } | Self::Web { offer, .. } => {
                Arc::clone(offer)
            }
            Self::Mcp { server, .. } => server.last_offer(),
        };
        let mut tools = offer.tools.iter();
        tools.find(|other| other.name == tool).cloned()
    }

    /// The pin of a tool as it was last described.
    pub(super) fn pin(&self, tool: &str) -> Option<ToolPin> {
        match self {
            Self::Builtin { pins, .. } | Self::Host { pins, .. } | Self::Web { pins, .. } => {
                pins.get(tool).copied()
            }
            Self::Mcp { server, .. } => server.pin(tool),
        }
    }

    /// Performs one call to its end, of a tool with that pin.
    ///
    /// # Errors
    /// The server is down now, and did not begin the call.
    pub(super) async fn call(
        &self,
        tool: &str,
        expected: ToolPin,
        order: &CallOrder,
        terms: &CallTerms<'_>,
    ) -> Result<ToolOutcome, NotBegun> {
        Ok(match self {
            Self::Builtin { pins, .. } | Self::Host { pins, .. } | Self::Web { pins, .. }
                if pins.get(tool) != Some(&expected) =>
            {
                changed()
            }
            Self::Builtin { tools, .. } => {
                let call = tools.call(tool, &order.invocation.arguments, terms);
                bounded(call, order, terms).await
            }
            Self::Host { tools, .. } => {
                let call = tools.call(tool, &order.invocation.arguments);
                bounded(call, order, terms).await
            }
            Self::Web { tools, .. } => {
                let arguments = &order.invocation.arguments;
                trace_call(order, terms);
                let call = tools.call(tool, arguments, terms);
                let outcome = bounded(call, order, terms).await;
                trace_outcome(order, &outcome);
                outcome
            }
            Self::Mcp { server, .. } => {
                return Box::pin(server.call(tool, expected, order, terms)).await;
            }
        })
    }

    /// Stops it: closes its input, waits shortly, then ends its process group. Returns what its sandbox threw away, in words.
    pub(super) async fn close(self) -> Option<String> {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Web { .. } => None,
            Self::Mcp {
                server,
                _alive,
                in_use,
                ..
            } => {
                drop(in_use);
                server.close().await
            }
        }
    }
}

/// Returns the error of a web service that gives no tools.
fn unusable(name: &str, kind: ServerKind, fault: &WebFault) -> ToolServerError {
    let reason = fault.to_string();
    match fault {
        WebFault::Address(_) => ToolServerError::Forbidden {
            place: kind.place(name),
            reason,
        },
        _ => ToolServerError::Description { reason },
    }
}

fn check_name(name: &str, spec: &ServerSpec) -> Result<(), ToolServerError> {
    let refuse = |reason| Err(ToolServerError::ServerName { reason });
    match (spec, name) {
        // The file's reader has judged the name of a web service; what it exposes is judged with its tools.
        (ServerSpec::Builtin { .. }, BUILTIN)
        | (ServerSpec::Host { .. } | ServerSpec::Openapi { .. } | ServerSpec::Rest { .. }, _) => {
            Ok(())
        }
        (ServerSpec::Builtin { .. }, _) => refuse("the built-in tools are called builtin"),
        (_, name) => check_server_name(name).or_else(refuse),
    }
}

/// Shows the call of a web service where it is traced.
fn trace_call(order: &CallOrder, terms: &CallTerms<'_>) {
    if trace::is_on() {
        let arguments = terms.scrub.cut_text(order.invocation.arguments.as_str());
        trace::sent(&order.invocation.name, &arguments);
    }
}

/// Shows what came of it: an envelope holds no secret.
fn trace_outcome(order: &CallOrder, outcome: &ToolOutcome) {
    if trace::is_on() {
        let text = serde_json::to_string(outcome).unwrap_or_default();
        trace::received(&order.invocation.name, &text);
    }
}

/// A call inside this process, ended with its time and by a cancellation.
async fn bounded(
    call: impl Future<Output = Option<ToolResponse>>,
    order: &CallOrder,
    terms: &CallTerms<'_>,
) -> ToolOutcome {
    let started_at_ms = terms.clock.run_ms();
    let response = tokio::select! {
        biased;
        () = terms.cancel.cancelled() => return ToolOutcome::Cancelled,
        response = call => response,
        () = tokio::time::sleep(Duration::from_millis(terms.timeout_ms)) => {
            return ToolOutcome::TimedOut;
        }
    };
    response.map_or_else(changed, |response| {
        ToolOutcome::Returned(response.into_envelope(order, terms, started_at_ms))
    })
}
