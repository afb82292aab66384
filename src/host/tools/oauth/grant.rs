//! Tokens for grants: a code, a refresh token, a client's own proof, an identity. Keeps none of them.

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::challenge::scopes_of;
use super::client::{Asking, Exchange};
use super::fault::OAuthFault;
use super::web::Web;
use super::well_known::judged;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The longest token: it must fit into a header.
const MOST_BYTES: usize = 16 << 10;

/// The grant of a token request.
pub(super) enum Grant<'a> {
    /// A client's own proof.
    Client,
    /// A code from a browser.
    Code {
        code: &'a str,
        redirect: &'a str,
        verifier: &'a str,
    },
    /// An identity's assertion for this authorization server.
    Identity { assertion: &'a str },
    /// A token that lasts longer.
    Refresh { token: &'a str },
}

/// The response of a token endpoint.
#[derive(Clone, Deserialize)]
pub(super) struct Granted {
    pub(super) access_token: String,
    /// In seconds from now; `None` if it is not given.
    #[serde(default, deserialize_with = "seconds")]
    pub(super) expires_in: Option<u64>,
    pub(super) refresh_token: Option<String>,
    scope: Option<String>,
    token_type: String,
}

/// A number, which some servers write as text; anything else is none.
fn seconds<'de, D: Deserializer<'de>>(input: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(input)?;
    let text = value.as_str().and_then(|text| text.parse().ok());
    Ok(value.as_u64().or(text))
}

impl Granted {
    /// The scopes that it has: where it does not say, those that were asked for.
    pub(super) fn scopes(&self, requested: &[String]) -> Vec<String> {
        match &self.scope {
            Some(scope) => scopes_of(scope),
            None => requested.to_vec(),
        }
    }
}

/// Asks for a token for a resource.
pub(super) async fn grant(
    web: &Web,
    (endpoint, asking): (&Url, &Asking<'_>),
    grant: Grant<'_>,
    (resource, scopes): (&str, &[String]),
) -> Result<Granted, OAuthFault> {
    let mut form = vec![("resource", resource.to_owned())];
    // A code has the scopes that it was asked for with, and a refreshed token those of the one before it.
    let mut with_scopes = false;
    let what = match grant {
        Grant::Client => {
            with_scopes = true;
            form.push(("grant_type", "client_credentials".to_owned()));
            "get a token for this client"
        }
        Grant::Code {
            code,
            redirect,
            verifier,
        } => {
            form.push(("grant_type", "authorization_code".to_owned()));
            form.push(("code", code.to_owned()));
            form.push(("code_verifier", verifier.to_owned()));
            form.push(("redirect_uri", redirect.to_owned()));
            "get a token for the login"
        }
        Grant::Identity { assertion } => {
            with_scopes = true;
            form.push(("grant_type", JWT_BEARER.to_owned()));
            form.push(("assertion", assertion.to_owned()));
            "get a token for the identity"
        }
        Grant::Refresh { token } => {
            form.push(("grant_type", "refresh_token".to_owned()));
            form.push(("refresh_token", token.to_owned()));
            "refresh the token"
        }
    };
    if with_scopes && !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
    let granted = ask(web, endpoint, asking, form, what).await?;
    if !granted.token_type.eq_ignore_ascii_case("bearer") {
        return Err(unfit(
            endpoint,
            "it gives tokens of another type than Bearer",
        ));
    }
    Ok(granted)
}

/// Exchanges an identity at its provider for an assertion for that authorization server and resource (RFC 8693).
pub(super) async fn exchange(
    web: &Web,
    (exchange, server): (&Exchange, &Url),
    (issuer, resource): (&str, &str),
    scopes: &[String],
) -> Result<String, OAuthFault> {
    let endpoint = judged(&exchange.token_endpoint, server)?;
    let mut form = vec![
        ("grant_type", EXCHANGE.to_owned()),
        ("requested_token_type", ID_JAG.to_owned()),
        ("subject_token", exchange.id_token.clone()),
        ("subject_token_type", ID_TOKEN.to_owned()),
        ("audience", issuer.to_owned()),
        ("resource", resource.to_owned()),
        ("client_id", exchange.client_id.clone()),
    ];
    if !scopes.is_empty() {
        form.push(("scope", scopes.join(" ")));
    }
    let reply = web.post_form(&endpoint, &form, None).await?;
    if !reply.status.is_success() {
        return Err(OAuthFault::Refused {
            code: reply.refusal(),
            issuer: endpoint.origin().ascii_serialization(),
            what: "exchange the identity",
        });
    }
    let granted: Granted = reply.read()?;
    Ok(granted.access_token)
}

async fn ask(
    web: &Web,
    endpoint: &Url,
    asking: &Asking<'_>,
    mut form: Vec<(&'static str, String)>,
    what: &'static str,
) -> Result<Granted, OAuthFault> {
    let header = asking.prove(&mut form)?;
    let reply = web.post_form(endpoint, &form, header).await?;
    if !reply.status.is_success() {
        return Err(OAuthFault::Refused {
            code: reply.refusal(),
            issuer: asking.issuer.to_owned(),
            what,
        });
    }
    let granted: Granted = reply.read()?;
    let fits = |token: &String| {
        (1..=MOST_BYTES).contains(&token.len()) && token.bytes().all(|b| b.is_ascii_graphic())
    };
    let all_fit = fits(&granted.access_token) && granted.refresh_token.iter().all(fits);
    if !all_fit {
        return Err(unfit(endpoint, "it gives a token that no header can hold"));
    }
    Ok(granted)
}

fn unfit(endpoint: &Url, rule: &str) -> OAuthFault {
    OAuthFault::Document {
        address: super::well_known::named(endpoint),
        rule: rule.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Granted;

    #[test]
    fn how_long_a_token_lasts_may_be_a_text_or_left_out() {
        let check = |more: &str, expect: Option<u64>| {
            let text = format!(r#"{{"access_token": "a", "token_type": "Bearer"{more}}}"#);
            let granted: Granted = serde_json::from_str(&text).unwrap();
            assert_eq!(granted.expires_in, expect, "{more}");
        };
        check("", None);
        check(r#", "expires_in": 60"#, Some(60));
        check(r#", "expires_in": "60""#, Some(60));
        check(
            r#", "expires_in": null, "scope": null, "refresh_token": null"#,
            None,
        );
        check(r#", "expires_in": -1"#, None);
    }
}
