//! As which client this program comes to an authorization server: registered before, by a document, or now (RFC 7591).

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use monolith_core::contract::OAuthGrant;
use reqwest::header::HeaderValue;
use serde::Deserialize;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::assertion;
use super::fault::OAuthFault;
use super::metadata::AuthorizationServer;
use super::stored::{AuthMethod, StoredClient};
use super::web::Web;
use crate::inference::Proxies;

/// The type of an assertion in place of a secret (RFC 7523 §2.2).
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// The response to a registration.
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

/// The client of the author's terms; `None` if they name none that this server takes.
pub(super) fn named(
    terms: &ClientTerms,
    server: &AuthorizationServer,
) -> Result<Option<StoredClient>, OAuthFault> {
    let Some(id) = terms.client_id.clone() else {
        return Ok(None);
    };
    let has_proof = terms.client_secret.is_some() || terms.private_key.is_some();
    if id.starts_with("https://") && !has_proof && !server.has_client_documents {
        // Its document is no name here.
        return Ok(None);
    }
    let secret = terms.client_secret.clone();
    let method = if terms.private_key.is_some() {
        AuthMethod::PrivateKeyJwt
    } else {
        method_of(server, secret.is_some(), None)?
    };
    Ok(Some(StoredClient { id, method, secret }))
}

/// The client of the terms, else one that is registered now for a login with that redirect address.
pub(super) async fn named_or_registered(
    web: &Web,
    terms: &ClientTerms,
    server: &AuthorizationServer,
    redirect: &str,
) -> Result<StoredClient, OAuthFault> {
    if let Some(named) = named(terms, server)? {
        return Ok(named);
    }
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(OAuthFault::NoClient {
            issuer: server.issuer.clone(),
            rule: "it registers no clients: name one with `oauth.client_id` in the contract, or --client-id",
        });
    };
    let methods = server.auth_methods.as_deref();
    let offers = |method: &str| methods.is_some_and(|all| all.iter().any(|one| one == method));
    let wanted = if methods.is_none() || offers("none") {
        "none"
    } else if offers("client_secret_basic") {
        "client_secret_basic"
    } else {
        "client_secret_post"
    };
    let request = json!({
        "application_type": "native",
        "client_name": "monolith",
        "grant_types": ["authorization_code", "refresh_token"],
        "redirect_uris": [redirect],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
    });
    let reply = web.post_json(endpoint, &request).await?;
    if !reply.status.is_success() {
        return Err(OAuthFault::Refused {
            code: reply.refusal(),
            issuer: server.issuer.clone(),
            what: "register",
        });
    }
    let registered: Registered = reply.read()?;
    let stated = registered.token_endpoint_auth_method.as_deref();
    let method = method_of(server, registered.client_secret.is_some(), stated)?;
    Ok(StoredClient {
        id: registered.client_id,
        method,
        secret: registered.client_secret,
    })
}

/// Picks an authentication method that the server takes.
fn method_of(
    server: &AuthorizationServer,
    has_secret: bool,
    stated: Option<&str>,
) -> Result<AuthMethod, OAuthFault> {
    if !has_secret {
        return Ok(AuthMethod::None);
    }
    match stated {
        Some("none") => return Ok(AuthMethod::None),
        Some("client_secret_basic") => return Ok(AuthMethod::ClientSecretBasic),
        Some("client_secret_post") => return Ok(AuthMethod::ClientSecretPost),
        _ => {}
    }
    // RFC 8414 §2: where the server does not say, it takes the header.
    let Some(methods) = &server.auth_methods else {
        return Ok(AuthMethod::ClientSecretBasic);
    };
    let known = [
        ("client_secret_basic", AuthMethod::ClientSecretBasic),
        ("client_secret_post", AuthMethod::ClientSecretPost),
        ("none", AuthMethod::None),
    ];
    let found = known
        .into_iter()
        .find(|(name, _)| methods.iter().any(|one| one == name));
    found
        .map(|(_, method)| method)
        .ok_or_else(|| OAuthFault::NoClient {
            issuer: server.issuer.clone(),
            rule: "it takes a client's secret neither in a header nor in a form",
        })
}

/// Who asks: a client, what it signs with, and for whom that is.
pub(super) struct Asking<'a> {
    pub(super) client: &'a StoredClient,
    pub(super) issuer: &'a str,
    pub(super) private_key: Option<&'a str>,
}

impl Asking<'_> {
    /// Adds what proves who asks to a form; returns the header that belongs to it.
    pub(super) fn prove(
        &self,
        form: &mut Vec<(&'static str, String)>,
    ) -> Result<Option<HeaderValue>, OAuthFault> {
        let secret = self.client.secret.as_deref().unwrap_or_default();
        match self.client.method {
            AuthMethod::ClientSecretBasic => return basic(&self.client.id, secret).map(Some),
            AuthMethod::None => form.push(("client_id", self.client.id.clone())),
            AuthMethod::ClientSecretPost => {
                form.push(("client_id", self.client.id.clone()));
                form.push(("client_secret", secret.to_owned()));
            }
            AuthMethod::PrivateKeyJwt => {
                let key = self.private_key.unwrap_or_default();
                let signed = assertion::sign(key, &self.client.id, self.issuer, now_unix_s())?;
                form.push(("client_id", self.client.id.clone()));
                form.push(("client_assertion_type", ASSERTION_TYPE.to_owned()));
                form.push(("client_assertion", signed));
            }
        }
        Ok(None)
    }
}

/// The header of `client_secret_basic`: both are encoded as in a form first (RFC 6749 §2.3.1).
fn basic(id: &str, secret: &str) -> Result<HeaderValue, OAuthFault> {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(id), encoded(secret));
    let value = format!("Basic {}", STANDARD.encode(pair));
    let mut value = HeaderValue::try_from(value).map_err(|_| OAuthFault::Randomness)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Seconds of Unix time.
pub(super) fn now_unix_s() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 knows no time at all.
    now.map_or(0, |now| now.as_secs())
}

/// As what this program comes, and what it asks for. Holds secrets, so its `Debug` shows none of them.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ClientTerms {
    /// Its name there; an https address is that of its metadata document.
    pub client_id: Option<String>,
    /// Its secret there.
    pub(crate) client_secret: Option<String>,
    /// The terms of the identity exchange for cross-app access.
    pub exchange: Option<Exchange>,
    /// The grant type for tokens.
    pub grant: OAuthGrant,
    /// The only authorization server that secrets go to.
    pub issuer: Option<String>,
    /// The key that it signs with instead of a secret: PKCS #8 in PEM.
    pub(crate) private_key: Option<String>,
    /// The proxies of the environment, for its servers too.
    pub proxies: Proxies,
    /// Scopes that are asked for in any case.
    pub scopes: Vec<String>,
}

/// The terms of an identity exchange (RFC 8693) for a grant at another authorization server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Exchange {
    /// This program's name at the identity provider.
    pub client_id: String,
    /// The identity: a token of the provider's.
    pub(crate) id_token: String,
    /// The provider's exchange endpoint.
    pub(crate) token_endpoint: String,
}

impl ClientTerms {
    /// True if getting tokens needs no person.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_encoded_as_in_a_form_before_it_is_a_header() {
        let header = basic("a b", "p:w&ü").unwrap();
        let encoded = header.to_str().unwrap().strip_prefix("Basic ").unwrap();
        let decoded = STANDARD.decode(encoded).unwrap();
        assert_eq!(decoded, b"a+b:p%3Aw%26%C3%BC");
    }

    #[test]
    fn a_client_proves_who_it_is_as_the_server_takes_it() {
        let server = |methods: Option<&[&str]>| {
            let mut server =
                AuthorizationServer::without_metadata(&url::Url::parse("https://h").unwrap());
            let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
            server.auth_methods = methods.map(owned);
            server
        };
        let check = |methods, has_secret, stated, expect| {
            let got = method_of(&server(methods), has_secret, stated);
            assert_eq!(got.ok(), expect, "{methods:?} {has_secret} {stated:?}");
        };
        check(None, false, None, Some(AuthMethod::None));
        check(None, true, None, Some(AuthMethod::ClientSecretBasic));
        check(
            Some(&["client_secret_post"]),
            true,
            None,
            Some(AuthMethod::ClientSecretPost),
        );
        check(
            Some(&["client_secret_post"]),
            true,
            Some("client_secret_basic"),
            Some(AuthMethod::ClientSecretBasic),
        );
        check(Some(&["none"]), true, None, Some(AuthMethod::None));
        check(Some(&["tls_client_auth"]), true, None, None);
    }
}
