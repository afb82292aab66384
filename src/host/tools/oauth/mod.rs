//! Authorization at remote MCP servers: OAuth 2.1 as the protocol's versions 2025-03-26 to 2026-07-28 have it.
//!
//! Knows where a server's authorization server is found, how a client is registered, how tokens are got, kept fresh and given up.
//! It does not know MCP itself, contracts' files, nor where tokens are kept: a [`TokenStore`] is handed in. A
//! token goes to the origin that it was got for, and to its authorization server; addresses are https, or on this machine.
//!
//! ```text
//! challenge (401, 403) ─▶ discovery ─▶ client ─▶ grant ─▶ StoredAuthorization ─▶ TokenStore
//!                            login: a person in a browser, Redirect: the address that comes back
//! request ─▶ Authorization: token, refreshed before it expires and after a 401 ─▶ header
//! ```
//!
//! docs/design/libraries.md says why rmcp's own client (its feature `auth`) is not used.

mod assertion;
mod authorization;
mod challenge;
mod client;
mod discovery;
mod fault;
mod grant;
mod login;
mod metadata;
mod minted;
mod redirect;
mod stored;
mod web;
mod well_known;

pub(in crate::tools) use authorization::{Authorization, Need, Renewal};
pub(in crate::tools) use challenge::Challenge;
pub(crate) use client::{ClientTerms, Exchange};
pub use fault::OAuthFault;
pub(crate) use login::LoginTerms;
pub use login::{Login, ReturnedCode};
pub use stored::StoredAuthorization;
pub(crate) use stored::{TokenKeeper, TokenStore};
pub use well_known::resource_of as server_address;
