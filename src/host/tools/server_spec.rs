//! The specification of a tool server, with resolved values. Does not start it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monolith_core::contract::{
    Elicitation, HttpGetTerms, McpTerms, OpenapiTerms, Remote, RestTool, ServerKind, WebLimits,
};
use monolith_core::message::SandboxPart;
use url::Url;

use super::oauth::{Authorization, OAuthFault};
use super::sandbox::{Confined, ProbeFault, ProbeReport};
use super::{
    ClientTerms, HostTools, SandboxProfile, StartFiles, TokenKeeper, ToolServerError, Withheld,
};
use crate::inference::Proxies;

/// The specification of one tool server, with every value resolved. Holds secrets, so its `Debug` shows names only.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum ServerSpec {
    /// Tools inside monolith; its server name is `builtin`.
    Builtin {
        /// The terms of `http_get`.
        http_get: Option<HttpGetTerms>,
        /// The tools, such as `read_file`.
        names: Vec<String>,
        /// The settings for commands, if `shell` is one of them.
        shell: Option<ShellSpec>,
        /// The files that none of them reads.
        withheld: Withheld,
    },
    /// Closures of the program that embeds monolith; its server name is `host`.
    Host {
        /// The tools that the contract takes.
        tools: HostTools,
    },
    /// The operations of a web service.
    Openapi {
        /// The base folder for the path of a description that is a file.
        folder: PathBuf,
        /// Sent with every request to the service.
        headers: BTreeMap<String, String>,
        /// The proxies of the environment.
        proxies: Proxies,
        /// The operations to take, and their description.
        terms: Box<OpenapiTerms>,
    },
    /// A tool that is one request to a web service.
    Rest {
        /// Sent with the request.
        headers: BTreeMap<String, String>,
        /// The limits of the request.
        limits: WebLimits,
        /// The proxies of the environment.
        proxies: Proxies,
        /// The request template.
        tool: Box<RestTool>,
    },
    /// A child process that speaks MCP over its standard streams.
    Stdio {
        /// Arguments.
        args: Vec<String>,
        /// The program: a name, looked up in `PATH`, or a path; a relative one begins in `folder`.
        command: String,
        /// Added to the few inherited variables; wins over them.
        env: BTreeMap<String, String>,
        /// The files that its command names; it is not started with others.
        files: StartFiles,
        /// The folder that a relative path of the program begins in, absolute.
        folder: PathBuf,
        /// The confinement; its workspace is added at the start.
        sandbox: Option<SandboxProfile>,
        /// True if other runs of this process share it.
        shared: bool,
        /// The permissions of the server and the requirements on it.
        terms: McpTerms,
        /// This program, which starts the server and ends whatever it has started; none if the host is no monolith.
        supervisor: Option<PathBuf>,
    },
    /// MCP at an address.
    Remote {
        /// As what this program comes to its authorization server.
        client: ClientTerms,
        /// Sent with every request.
        headers: BTreeMap<String, String>,
        /// The store for its tokens, if there is one.
        keeper: Option<TokenKeeper>,
        /// The protocol at the address.
        remote: Remote,
        /// True if other runs of this process share it.
        shared: bool,
        /// The permissions of the server and the requirements on it.
        terms: McpTerms,
        /// Its address.
        url: String,
    },
}

impl ServerSpec {
    /// Returns the contract's name for this kind of server.
    #[must_use]
    pub(crate) const fn kind(&self) -> ServerKind {
        match self {
            Self::Builtin { .. } => ServerKind::Builtin,
            Self::Host { .. } => ServerKind::Host,
            Self::Openapi { .. } => ServerKind::Openapi,
            Self::Rest { .. } => ServerKind::Rest,
            Self::Stdio { .. } => ServerKind::Stdio,
            Self::Remote { remote, .. } => remote.kind(),
        }
    }

    /// Returns the source of its tokens. `None` if it is not at a web address, or if the author's headers have credentials.
    ///
    /// # Errors
    /// Where there is no client to get tokens with.
    pub(super) fn authorization(&self) -> Result<Option<Arc<Authorization>>, OAuthFault> {
        let Self::Remote {
            client,
            headers,
            keeper,
            remote,
            url,
            ..
        } = self
        else {
            return Ok(None);
        };
        let has_own = headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("authorization"));
        // What is no address is reported where it is used.
        let Ok(url) = Url::parse(url) else {
            return Ok(None);
        };
        if has_own || *remote == Remote::Websocket {
            return Ok(None);
        }
        let authorization = Authorization::new(url, client.clone(), keeper.clone())?;
        Ok(Some(Arc::new(authorization)))
    }

    /// True if it is a separate process or connection, which takes open files.
    pub(super) const fn is_outside(&self) -> bool {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Openapi { .. } | Self::Rest { .. } => {
                false
            }
            Self::Stdio { .. } | Self::Remote { .. } => true,
        }
    }

    /// True if runs that reach it in the same way share it.
    pub(super) fn is_shared(&self) -> bool {
        match self {
            Self::Builtin { .. } | Self::Host { .. } | Self::Openapi { .. } | Self::Rest { .. } => {
                true
            }
            // What a server asks for is put to the run that called it, so it must be known which one that is.
            Self::Stdio { shared, terms, .. } | Self::Remote { shared, terms, .. } => {
                *shared && terms.elicitation == Elicitation::Denied && terms.sampling.is_none()
            }
        }
    }
}

impl fmt::Debug for ServerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin { names, .. } => f.debug_struct("Builtin").field("names", names).finish(),
            Self::Host { tools } => f.debug_struct("Host").field("tools", tools).finish(),
            Self::Openapi { headers, terms, .. } => f
                .debug_struct("Openapi")
                .field("headers", &headers.keys())
                .field("terms", terms)
                .finish(),
            Self::Rest { headers, tool, .. } => f
                .debug_struct("Rest")
                .field("headers", &headers.keys())
                .field("tool", tool)
                .finish(),
            Self::Stdio {
                args, command, env, ..
            } => f
                .debug_struct("Stdio")
                .field("args", args)
                .field("command", command)
                .field("env", &env.keys())
                .finish(),
            Self::Remote {
                headers,
                remote,
                url,
                ..
            } => f
                .debug_struct("Remote")
                .field("remote", remote)
                .field("headers", &headers.keys())
                .field("url", url)
                .finish(),
        }
    }
}

/// The settings for commands of the built-in shell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ShellSpec {
    /// Added to the few inherited variables; wins over them.
    pub env: BTreeMap<String, String>,
    pub profile: SandboxProfile,
    /// This program, which sets the sandbox up; none if the host is no monolith.
    pub program: Option<PathBuf>,
}

impl ShellSpec {
    /// The same in that workspace, a resolved path.
    pub(super) fn in_workspace(&self, workspace: &Path) -> Self {
        Self {
            profile: self.profile.in_workspace(workspace),
            ..self.clone()
        }
    }

    /// Sets the sandbox up with the files of the run and no command in it. It decides nothing: a workspace that cannot be confined is named
    /// before a model asks for a command.
    ///
    /// # Errors
    /// [`ToolServerError::Sandbox`] with the part that is lacking.
    pub(super) async fn check(&self) -> Result<(), ToolServerError> {
        let lacks = |part: &str, reason: String| ToolServerError::Sandbox {
            part: part.to_owned(),
            reason,
        };
        if self.profile.confined == Confined::Never {
            return Ok(());
        }
        let Some(program) = self.program.clone() else {
            let reason = "this host starts no processes of monolith itself";
            return Err(lacks(SandboxPart::Helper.name(), reason.to_owned()));
        };
        let profile = self.profile.clone();
        let tried = move || ProbeReport::of_profile(&program, &profile);
        let tried = tokio::task::spawn_blocking(tried).await;
        let tried = tried.map_err(|fault| ProbeFault::Untried {
            reason: fault.to_string(),
        });
        match tried.and_then(|report| report.result) {
            Ok(_) => Ok(()),
            Err(ProbeFault::Lacking { part, reason }) => Err(lacks(part.name(), reason)),
            Err(ProbeFault::Untried { reason }) => Err(lacks(SandboxPart::Helper.name(), reason)),
        }
    }
}
