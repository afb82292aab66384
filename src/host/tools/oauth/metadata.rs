//! The metadata of resources (RFC 9728) and of authorization servers (RFC 8414), as far as it is used. Fetches nothing.

use serde::Deserialize;
use url::Url;

use super::fault::OAuthFault;
use super::well_known::{judged, named, with_path};

/// The metadata of a resource.
#[derive(Debug, Deserialize)]
pub(super) struct ResourceMetadata {
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    pub(super) resource: String,
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// The metadata of an authorization server, as it came.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ServerMetadata {
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    authorization_endpoint: Option<String>,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
    code_challenge_methods_supported: Option<Vec<String>>,
    pub(super) issuer: String,
    registration_endpoint: Option<String>,
    scopes_supported: Option<Vec<String>>,
    token_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

/// An authorization server whose addresses may be used.
#[derive(Clone, Debug)]
pub(super) struct AuthorizationServer {
    pub(super) authorization_endpoint: Option<Url>,
    /// The client authentication methods; `None` if the server does not say.
    pub(super) auth_methods: Option<Vec<String>>,
    /// True if the address of a metadata document can be a client id.
    pub(super) has_client_documents: bool,
    /// True if it supports the proof key method S256.
    pub(super) has_s256: bool,
    pub(super) issuer: String,
    pub(super) registration_endpoint: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// True if it names itself in the browser's answer (RFC 9207).
    pub(super) states_issuer: bool,
    pub(super) token_endpoint: Url,
}

impl ServerMetadata {
    /// The server, where every address that it names may be used for that resource's tokens.
    pub(super) fn judged(
        self,
        resource: &Url,
        at: &Url,
    ) -> Result<AuthorizationServer, OAuthFault> {
        let judge = |address: Option<String>| {
            let judge = |address: String| judged(&address, resource);
            address.map(judge).transpose()
        };
        let token_endpoint = judge(self.token_endpoint)?;
        let token_endpoint = token_endpoint.ok_or_else(|| OAuthFault::Document {
            address: named(at),
            rule: "it names no token endpoint".to_owned(),
        })?;
        let methods = self.code_challenge_methods_supported.unwrap_or_default();
        Ok(AuthorizationServer {
            authorization_endpoint: judge(self.authorization_endpoint)?,
            auth_methods: self.token_endpoint_auth_methods_supported,
            has_client_documents: self.client_id_metadata_document_supported,
            has_s256: methods.iter().any(|method| method == "S256"),
            issuer: self.issuer,
            registration_endpoint: judge(self.registration_endpoint)?,
            scopes: self.scopes_supported.unwrap_or_default(),
            states_issuer: self.authorization_response_iss_parameter_supported,
            token_endpoint,
        })
    }
}

impl AuthorizationServer {
    /// The one that a server of protocol 2025-03-26 has at its own origin, where it has no metadata.
    pub(super) fn without_metadata(server: &Url) -> Self {
        Self {
            authorization_endpoint: Some(with_path(server, "/authorize")),
            auth_methods: None,
            has_client_documents: false,
            // That protocol demands it of all.
            has_s256: true,
            issuer: server.origin().ascii_serialization(),
            registration_endpoint: Some(with_path(server, "/register")),
            scopes: Vec::new(),
            states_issuer: false,
            token_endpoint: with_path(server, "/token"),
        }
    }
}
