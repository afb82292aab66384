//! As what this program comes to an authorization server, with every value resolved. Plain data.

use std::fmt;

use monolith_core::contract::OAuthGrant;

/// As what this program comes, and what it asks for. Holds secrets, so its `Debug` shows none of them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientTerms {
    /// Its name there; an https address is that of its metadata document.
    pub client_id: Option<String>,
    /// Its secret there.
    pub(crate) client_secret: Option<String>,
    /// What an identity is exchanged with, for cross-app access.
    pub exchange: Option<Exchange>,
    /// How tokens are got.
    pub grant: OAuthGrant,
    /// The only authorization server that secrets go to.
    pub issuer: Option<String>,
    /// What it signs with in place of a secret: PKCS #8 in PEM.
    pub(crate) private_key: Option<String>,
    /// Scopes that are asked for in any case.
    pub scopes: Vec<String>,
}

/// What an identity is exchanged with (RFC 8693) for a grant at another authorization server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Exchange {
    /// This program's name at the identity provider.
    pub client_id: String,
    /// The identity: a token of the provider's.
    pub(crate) id_token: String,
    /// Where the provider exchanges.
    pub(crate) token_endpoint: String,
}

impl ClientTerms {
    /// Whether tokens are got without a person.
    pub(super) const fn is_silent(&self) -> bool {
        !matches!(self.grant, OAuthGrant::AuthorizationCode)
    }
}

impl fmt::Debug for ClientTerms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientTerms")
            .field("client_id", &self.client_id)
            .field("grant", &self.grant)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}
