//! Faults of logins at tool servers.

use crate::error::advice::Advice;
use crate::exit::Exit;
use crate::text::command::command;
use crate::text::escape::line;
use monolith_host::tools::LoginFault;

/// There was no login.
#[derive(Debug, thiserror::Error)]
pub enum LoginRefused {
    /// The caller: the address is none.
    #[error("log in at --url: {rule}")]
    Address {
        /// The rule that it breaks.
        rule: String,
    },
    /// The caller: no server is named, and the contract has not exactly one with an address.
    #[error("log in: no server is named")]
    NoName {
        /// The known servers.
        known: Vec<String>,
    },
    /// The caller: the contract has no server of that name.
    #[error("log in at {name}: the contract has no server of that name")]
    Unknown {
        /// The known servers.
        known: Vec<String>,
        name: String,
    },
    /// The caller: the server is a command, or behind a websocket.
    #[error("log in at {name}: only a server with an address of http or https is logged in at")]
    NotRemote { name: String },
    /// The caller: no person is needed.
    #[error("log in at {name}: its `oauth.grant` gets tokens without a person, in the run itself")]
    WithoutPerson { name: String },
    /// The server, its authorization server, or the person.
    #[error(transparent)]
    Fault(#[from] LoginFault),
}

impl Advice for LoginRefused {
    fn exit(&self) -> Exit {
        match self {
            Self::Fault(_) => Exit::SETUP,
            _ => Exit::USAGE,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NoName { known } | Self::Unknown { known, .. } if known.is_empty() => {
                Some("the contract has no server with an address".to_owned())
            }
            Self::NoName { known } | Self::Unknown { known, .. } => Some(format!(
                "servers with an address: {}",
                line(&known.join(", "))
            )),
            Self::Address { .. } => Some(command("monolith mcp login --url https://HOST/PATH")),
            _ => None,
        }
    }
}
