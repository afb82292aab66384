//! Tool servers: what each is started with, and that each that was started is closed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::confinement::Sandboxes;
use super::granted;
use crate::driver::{DriverError, Environment};
use crate::inference::Proxies;
use crate::tools::{
    BringUp, ClientTerms, Confined, Exchange, ServerHost, ServerSpec, StartFiles, ToolServers,
    is_out_of_reach, is_unreadable, named_paths, paths_at_home,
};
use monolith_core::contract::{
    ContractSpec, ExecutionContract, HOST, McpSpec, McpTransport, OAuthTerms, ServerCapability,
    ServerKind, server_sandbox,
};
use monolith_core::kernel::BringUpFault;
use monolith_core::message::ToolServerStatement;

/// The tool servers to start in order to see their offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServersToStart {
    /// The servers of the file and those inside monolith.
    All,
    /// All servers except those that need an unset variable.
    Possible,
    /// Only what is inside monolith, what no tool may reach, and what a broken file describes: no process is started, and nothing is
    /// asked.
    Builtin,
}

/// Returns the start specification of each of a file's servers, with variables of its environment and headers replaced. A
/// relative command with a separator begins in `folder`, the file's own.
pub(super) fn server_specs(
    spec: &ContractSpec,
    folder: &Path,
    environment: &Environment,
    which: ServersToStart,
) -> Result<BTreeMap<String, ServerSpec>, DriverError> {
    // A server stands in the workspace when it is started: a relative folder would begin there.
    let folder = std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.to_owned());
    let sandboxes = Sandboxes::of(spec, &folder, environment)?;
    if which != ServersToStart::Builtin {
        environment.decide(&named_by_servers(spec, &folder, environment));
    }
    if which != ServersToStart::Builtin {
        sandboxes.keep_granted();
    }
    let mut servers = BTreeMap::new();
    if !spec.tools.builtin.is_empty() {
        let shell = if spec.tools.has_shell() {
            sandboxes.shell_spec(environment.expand_all(&spec.tools.env, "tools.env")?)?
        } else {
            None
        };
        servers.insert(
            "builtin".to_owned(),
            ServerSpec::Builtin {
                http_get: spec.tools.http_get.clone(),
                names: spec.tools.builtin.clone(),
                shell,
                withheld: environment
                    .withheld()
                    .clone()
                    .guarding(environment.guarded_names()),
            },
        );
    }
    if !spec.tools.host.is_empty() {
        match environment.host_tools().named(&spec.tools.host) {
            Ok(tools) => {
                servers.insert(HOST.to_owned(), ServerSpec::Host { tools });
            }
            Err(tool) if which == ServersToStart::All => {
                return Err(DriverError::ToolNotOffered {
                    offered: environment.host_tools().in_words(),
                    place: "tools.host".to_owned(),
                    server: HOST.to_owned(),
                    tool: tool.to_owned(),
                });
            }
            // What is not there is not offered.
            Err(_) => {}
        }
    }
    let outside = spec.tools.servers.iter();
    let outside = outside.filter(|(name, server)| {
        which != ServersToStart::Builtin || is_known(name, server, &folder)
    });
    for (name, mcp) in outside {
        let place = mcp.place(name);
        let mut terms = mcp.terms.clone();
        for root in &mut terms.roots {
            *root = folder.join(&*root).to_string_lossy().into_owned();
        }
        let server = match &mcp.transport {
            McpTransport::Stdio {
                arg_variables,
                args,
                command,
                env,
            } => {
                let args = environment.put_in(arg_variables, args, &format!("{place}.args"))?;
                let env = environment.expand_all(env, &format!("{place}.env"))?;
                let named = named_by_server(spec, (name, mcp), &folder, environment)?;
                let files = environment.decide(&named);
                let file = match Path::new(command) {
                    path if path.components().count() > 1 => folder.join(path),
                    name => name.to_owned(),
                };
                let sandbox = sandboxes.server_profile(name, (&file, &args), &env, &files)?;
                let is_confined = sandbox
                    .as_ref()
                    .is_some_and(|profile| profile.confined != Confined::Never);
                ServerSpec::Stdio {
                    files: StartFiles::new(files, is_confined),
                    sandbox,
                    args,
                    command: command.clone(),
                    terms,
                    folder: folder.clone(),
                    env,
                    shared: mcp.shared,
                    supervisor: environment.program().map(Path::to_owned),
                }
            }
            McpTransport::Remote {
                headers,
                oauth,
                remote,
                url,
            } => ServerSpec::Remote {
                client: client_terms(oauth.as_deref(), environment, &format!("{place}.oauth"))?,
                keeper: environment.token_keeper(),
                remote: *remote,
                terms,
                headers: environment.expand_all(headers, &format!("{place}.headers"))?,
                shared: mcp.shared,
                url: url.clone(),
            },
            // Nothing is sent there.
            McpTransport::Openapi { terms, .. } if which == ServersToStart::Builtin => {
                ServerSpec::Openapi {
                    headers: BTreeMap::new(),
                    folder: folder.clone(),
                    proxies: Proxies::default(),
                    terms: terms.clone(),
                }
            }
            McpTransport::Openapi { headers, terms } => ServerSpec::Openapi {
                headers: environment.expand_all(headers, &format!("{place}.headers"))?,
                folder: folder.clone(),
                proxies: environment.proxies(),
                terms: terms.clone(),
            },
            McpTransport::Rest {
                headers,
                limits,
                tool,
            } => ServerSpec::Rest {
                headers: environment.expand_all(headers, &format!("{place}.headers"))?,
                limits: limits.clone(),
                proxies: environment.proxies(),
                tool: tool.clone(),
            },
        };
        servers.insert(name.clone(), server);
    }
    Ok(servers)
}

/// Takes over the files that the servers of a contract name, as they are now, unless this process knows them already. Returns the paths of those
/// that no sandbox confines, and of descriptions of web services: in a later run, too, these must be what they were.
pub fn decide_files(
    spec: &ContractSpec,
    folder: &Path,
    environment: &Environment,
) -> BTreeSet<PathBuf> {
    let environment = environment.over(spec);
    let folder = std::path::absolute(folder.join(".")).unwrap_or_else(|_| folder.to_owned());
    environment.decide(&named_by_servers(spec, &folder, &environment));
    let mut unconfined = spec.clone();
    unconfined.tools.servers.retain(|_, server| {
        let terms = server_sandbox(&server.sandbox.clone().unwrap_or_default());
        server.transport.kind() != ServerKind::Stdio || !terms.confined
    });
    named_by_servers(&unconfined, &folder, &environment)
}

/// The paths that the servers of a contract name. A server that needs a variable which is not set does not start, so it names none.
fn named_by_servers(
    spec: &ContractSpec,
    folder: &Path,
    environment: &Environment,
) -> BTreeSet<PathBuf> {
    let servers = spec.tools.servers.iter();
    let named =
        servers.filter_map(|server| named_by_server(spec, server, folder, environment).ok());
    named.flatten().collect()
}

/// The paths that the command line and the variables of a server may name: relative ones begin in the contract's folder or in the workspace.
fn named_by_server(
    spec: &ContractSpec,
    (name, server): (&String, &McpSpec),
    folder: &Path,
    environment: &Environment,
) -> Result<BTreeSet<PathBuf>, DriverError> {
    let place = server.place(name);
    let workspace = folder.join(spec.tools.workspace.as_deref().unwrap_or("."));
    match &server.transport {
        McpTransport::Stdio {
            arg_variables,
            args,
            command,
            env,
        } => {
            let args = environment.put_in(arg_variables, args, &format!("{place}.args"))?;
            let env = environment.expand_all(env, &format!("{place}.env"))?;
            let home = env.get("HOME").cloned().or_else(|| environment.get("HOME"));
            let env = env.into_iter().filter(|(name, _)| name != "PATH");
            let words = args.into_iter().chain(env.map(|(_, value)| value));
            // A bare name is looked up in PATH.
            let command = Some(command.clone()).filter(|command| command.contains('/'));
            let words: BTreeSet<String> = words.chain(command).collect();
            let mut named = named_paths(&words, &[folder.to_owned(), workspace]);
            if let Some(home) = home {
                named.extend(paths_at_home(&words, Path::new(&home)));
            }
            Ok(named)
        }
        McpTransport::Openapi { terms, .. } if !terms.spec.contains("://") => {
            Ok(BTreeSet::from([folder.join(&terms.spec)]))
        }
        McpTransport::Openapi { .. } | McpTransport::Remote { .. } | McpTransport::Rest { .. } => {
            Ok(BTreeSet::new())
        }
    }
}

/// Returns true if a server's offer is known without asking it: its author wrote it out, no tool may reach it, or the file that
/// describes it gives no tools.
fn is_known(name: &str, server: &McpSpec, folder: &Path) -> bool {
    let is_refused = match &server.transport {
        McpTransport::Openapi { headers, terms } => {
            let prefix = server.transport.kind().prefix(name);
            is_out_of_reach(terms) || is_unreadable(&prefix, (terms, folder), headers)
        }
        McpTransport::Remote { .. } | McpTransport::Rest { .. } | McpTransport::Stdio { .. } => {
            false
        }
    };
    is_refused || server.transport.kind().is_of_author()
}

/// As what this program comes to a server's authorization server, every variable resolved.
///
/// # Errors
/// [`DriverError::MissingVariable`].
pub(in crate::driver) fn client_terms(
    oauth: Option<&OAuthTerms>,
    environment: &Environment,
    place: &str,
) -> Result<ClientTerms, DriverError> {
    let proxies = environment.proxies();
    let Some(oauth) = oauth else {
        return Ok(ClientTerms {
            proxies,
            ..ClientTerms::default()
        });
    };
    let value = |key: &str, name: &Option<String>| {
        let place = format!("{place}.{key}");
        let name = name.as_deref();
        let value = name.map(|name| {
            let value = environment.get_at(name, &place);
            value.ok_or_else(|| environment.missing(name, &place))
        });
        value.transpose()
    };
    let id_token = value("id_token_env", &oauth.id_token_env)?;
    let identity = id_token.zip(oauth.idp_client_id.clone());
    let identity = identity.zip(oauth.idp_token_endpoint.clone());
    Ok(ClientTerms {
        client_id: oauth.client_id.clone(),
        client_secret: value("client_secret_env", &oauth.client_secret_env)?,
        exchange: identity.map(|((id_token, client_id), token_endpoint)| Exchange {
            client_id,
            id_token,
            token_endpoint,
        }),
        grant: oauth.grant,
        issuer: oauth.issuer.clone(),
        private_key: value("private_key_env", &oauth.private_key_env)?,
        proxies,
        scopes: oauth.scopes.clone(),
    })
}

/// The offers of servers, and the faults of bring-up.
pub(super) struct Offer {
    pub(super) capabilities: BTreeMap<String, ServerCapability>,
    pub(super) faults: Vec<BringUpFault>,
    /// The statements of the running servers about themselves.
    pub(super) statements: Vec<ToolServerStatement>,
}

impl Offer {
    /// Returns the servers that did not come up, those of this contract whose offer differs from the pinned one, and the tools that
    /// requests leave out; sorted by server.
    pub(super) fn faults_under(
        &self,
        spec: &ContractSpec,
        contract: &ExecutionContract,
    ) -> Vec<BringUpFault> {
        let differences = spec.pinned.differences(contract).into_iter();
        let differences = differences.map(|(server, detail)| BringUpFault::new(server, detail));
        let left_out = contract.left_out().into_iter();
        let left_out = left_out.map(|(server, detail)| BringUpFault::left_out(server, detail));
        let faults = self.faults.iter().cloned();
        let mut faults: Vec<BringUpFault> = faults.chain(differences).chain(left_out).collect();
        faults.sort_by(|one, other| one.server.cmp(&other.server));
        faults
    }
}

/// Tool servers that were started. They leave this type in two ways: running, with the success of the step that follows, or
/// closed. No path of an error can forget them.
pub(super) struct Started {
    offer: Offer,
    servers: ToolServers,
}

impl Started {
    /// Starts servers, within the contract's `total_timeout_ms`. One that does not come up is a fault of the offer, not an error.
    /// `environment` has the observer of their start.
    ///
    /// # Errors
    /// [`DriverError::Cancelled`].
    pub(super) async fn up(
        specs: BTreeMap<String, ServerSpec>,
        workspace: &Path,
        host: &ServerHost,
        total_timeout_ms: u64,
        cancel: &CancellationToken,
        environment: &Environment,
    ) -> Result<Self, DriverError> {
        let ready = |name: &str| environment.server_ready(name);
        let starting =
            ToolServers::bring_up(specs, workspace, host, total_timeout_ms, cancel, &ready);
        let up = environment.turn().given_up_for(async {
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(DriverError::Cancelled),
                up = starting => Ok(up),
            }
        });
        let BringUp {
            capabilities,
            faults,
            servers,
            statements,
        } = up.await?;
        let offer = Offer {
            capabilities,
            faults,
            statements,
        };
        granted::keep_names(environment.state(), &environment.made());
        let servers = servers.watched_by(environment.call_watch(), environment.notes());
        Ok(Self { offer, servers })
    }

    /// Does what needs the offer, and hands the running servers over with its result; where it fails they are closed.
    pub(super) async fn then<T, E>(
        self,
        step: impl AsyncFnOnce(Offer) -> Result<T, E>,
    ) -> Result<(T, ToolServers), E> {
        match step(self.offer).await {
            Ok(done) => Ok((done, self.servers)),
            Err(fault) => {
                self.servers.close().await;
                Err(fault)
            }
        }
    }

    /// Closes them: only what they offer is wanted.
    pub(super) async fn close(self) -> Offer {
        self.servers.close().await;
        self.offer
    }
}
