//! As what monolith comes to the authorization server of a tool server, as a contract records it: addresses and names, no secret. It is
//! what the hash covers of a login; the tokens that come of it lie in the key folder.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The way to get tokens for a server at an address (OAuth 2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OAuthGrant {
    /// By a person's login in a browser.
    #[default]
    AuthorizationCode,
    /// By the client's own proof, without a person.
    ClientCredentials,
    /// By an identity that its provider exchanges for this server, without a person.
    CrossAppAccess,
}

/// True if a value is the default of its type, which a contract leaves out.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// As what monolith comes to the authorization server of a tool server (OAuth 2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OAuthTerms {
    /// monolith's client id there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// The variable with its secret there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_env: Option<String>,
    /// The way to get tokens; omitted if it is a person's login.
    #[serde(default, skip_serializing_if = "is_default")]
    pub grant: OAuthGrant,
    /// The variable with the identity that is exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id_token_env: Option<String>,
    /// monolith's client id at the identity provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idp_client_id: Option<String>,
    /// The exchange endpoint of the identity provider; of a query only the names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idp_token_endpoint: Option<String>,
    /// The only authorization server that secrets go to; of a query the names alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// The variable with what it signs with in place of a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_key_env: Option<String>,
    /// Scopes that are asked for in any case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

impl OAuthTerms {
    /// Every variable that it reads, and under which key.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("client_secret_env", &self.client_secret_env),
            ("id_token_env", &self.id_token_env),
            ("private_key_env", &self.private_key_env),
        ];
        let named = all.into_iter();
        named.filter_map(|(key, name)| Some((key, name.as_deref()?)))
    }
}
