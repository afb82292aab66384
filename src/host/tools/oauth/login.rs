//! A login by a person in a browser (authorization code with a proof key), from the address to open to the tokens. Prints and opens nothing.

use std::time::Duration;

use url::Url;

use super::assertion::{challenge, random_text};
use super::authorization::{stored, wanted};
use super::challenge::{Challenge, union};
use super::client::ClientTerms;
use super::client::{self, Asking};
use super::discovery::{Discovered, discover};
use super::fault::{OAuthFault, word_of};
use super::grant::{self, Grant};
use super::redirect::Redirect;
use super::stored::{StoredAuthorization, StoredClient, TokenKeeper};
use super::web::Web;

/// The terms of a login.
pub(crate) struct LoginTerms {
    pub client: ClientTerms,
    pub keeper: TokenKeeper,
    /// The port that the browser's answer comes to, where a client is registered for one.
    pub port: Option<u16>,
    /// Scopes to ask for beside those that the server wants.
    pub scopes: Vec<String>,
    /// The server's address.
    pub server: Url,
}

/// A login that waits for a person.
pub struct Login {
    address: Url,
    answer: Expected,
    client: StoredClient,
    found: Discovered,
    redirect: Redirect,
    scopes: Vec<String>,
    terms: LoginTerms,
    verifier: String,
    web: Web,
}

/// The values that the browser's answer must have.
struct Expected {
    issuer: String,
    /// True if it must name its issuer.
    names_issuer: bool,
    state: String,
}

/// The code of an answer that belongs to the login.
pub struct ReturnedCode(String);

impl Login {
    /// Finds out where, registers, and listens for the browser's answer.
    ///
    /// # Errors
    /// [`OAuthFault`].
    pub(in crate::tools) async fn begin(
        terms: LoginTerms,
        challenge_of_server: &Challenge,
    ) -> Result<Self, OAuthFault> {
        let web = Web::new(&terms.client.proxies)?;
        let issuer = terms.client.issuer.as_deref();
        let found = discover(&web, &terms.server, challenge_of_server, issuer).await?;
        let authorization = &found.authorization;
        let no_server = |rule| OAuthFault::NoServer {
            rule,
            server: authorization.issuer.clone(),
        };
        let endpoint = authorization.authorization_endpoint.clone();
        let mut address = endpoint.ok_or_else(|| no_server("it has no page for a login"))?;
        if !authorization.has_s256 {
            return Err(no_server("it checks no proof key (PKCE with S256)"));
        }
        let before = terms.keeper.load(&terms.server).await?;
        let wanted = wanted(&terms.client, before.as_ref(), &authorization.issuer);
        let wanted = union(&wanted, &terms.scopes);
        let scopes = found.lasting_scopes(challenge_of_server, &wanted);
        let redirect = Redirect::listen(terms.port).await?;
        let client =
            client::named_or_registered(&web, &terms.client, authorization, redirect.address());
        let client = client.await?;
        let (state, verifier) = (random_text()?, random_text()?);
        {
            let mut query = address.query_pairs_mut();
            query
                .append_pair("response_type", "code")
                .append_pair("client_id", &client.id)
                .append_pair("redirect_uri", redirect.address())
                .append_pair("state", &state)
                .append_pair("code_challenge", &challenge(&verifier))
                .append_pair("code_challenge_method", "S256")
                .append_pair("resource", &found.resource);
            if !scopes.is_empty() {
                query.append_pair("scope", &scopes.join(" "));
            }
            if scopes.iter().any(|scope| scope == "offline_access") {
                // OpenID Connect Core 1.0 §11 demands the person's consent for it.
                query.append_pair("prompt", "consent");
            }
        }
        let answer = Expected {
            issuer: authorization.issuer.clone(),
            names_issuer: authorization.states_issuer,
            state,
        };
        Ok(Self {
            address,
            answer,
            client,
            found,
            redirect,
            scopes,
            terms,
            verifier,
            web,
        })
    }

    /// The address to open in a browser.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Waits for the browser's answer, at most so long.
    ///
    /// # Errors
    /// [`OAuthFault`], also where the answer is a refusal.
    pub async fn returned(&self, longest: Duration) -> Result<ReturnedCode, OAuthFault> {
        let came = self.redirect.answer(|query| match self.answer.read(query) {
            // Anyone on this machine can send something here: it is no answer without the state.
            Err(OAuthFault::Answer(Expected::OTHER_STATE)) => None,
            read => Some(read),
        });
        let came = tokio::time::timeout(longest, came).await;
        came.unwrap_or(Err(OAuthFault::TimedOut(longest.as_secs())))
    }

    /// The code of an address that a person copied from the browser.
    ///
    /// # Errors
    /// [`OAuthFault`], also where the answer is a refusal.
    pub fn pasted(&self, text: &str) -> Result<ReturnedCode, OAuthFault> {
        let url = Url::parse(text.trim());
        let url = url.map_err(|_| OAuthFault::Answer("it is no address"))?;
        self.answer.read(url.query().unwrap_or_default())
    }

    /// Gets the tokens for a code and keeps them.
    ///
    /// # Errors
    /// [`OAuthFault`].
    pub async fn finish(
        self,
        ReturnedCode(code): ReturnedCode,
    ) -> Result<StoredAuthorization, OAuthFault> {
        let keeper = &self.terms.keeper;
        let asking = Asking {
            client: &self.client,
            issuer: &self.found.authorization.issuer,
            private_key: self.terms.client.private_key.as_deref(),
        };
        let grant = Grant::Code {
            code: &code,
            redirect: self.redirect.address(),
            verifier: &self.verifier,
        };
        let at = (&self.found.authorization.token_endpoint, &asking);
        let target = (self.found.resource.as_str(), self.scopes.as_slice());
        let granted = grant::grant(&self.web, at, grant, target).await?;
        let granted = (granted, self.scopes.as_slice());
        let server = (&self.terms.server, &self.found);
        let authorization = stored(server, self.client.clone(), granted);
        let _lock = keeper.lock(&self.terms.server).await?;
        keeper.save(authorization.clone()).await?;
        Ok(authorization)
    }
}

impl Expected {
    const OTHER_STATE: &'static str = "it belongs to another login";

    /// The code of an answer's query (RFC 6749 §4.1.2, RFC 9207 §2.4).
    fn read(&self, query: &str) -> Result<ReturnedCode, OAuthFault> {
        let one = |name: &str| {
            let mut values = url::form_urlencoded::parse(query.as_bytes())
                .filter(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned());
            let first = values.next();
            match values.next() {
                Some(_) => Err(OAuthFault::Answer("a value is there twice")),
                None => Ok(first),
            }
        };
        if one("state")?.as_deref() != Some(&self.state) {
            return Err(OAuthFault::Answer(Self::OTHER_STATE));
        }
        // Letter for letter: a server that answers for another one is caught by nothing else.
        match one("iss")? {
            Some(issuer) if issuer != self.issuer => {
                return Err(OAuthFault::Answer("it is from another issuer"));
            }
            None if self.names_issuer => {
                let rule =
                    "it does not name its issuer, and the authorization server says that it does";
                return Err(OAuthFault::Answer(rule));
            }
            _ => {}
        }
        if let Some(error) = one("error")? {
            return Err(OAuthFault::Refused {
                code: word_of(&error).unwrap_or_else(|| "an error".to_owned()),
                issuer: self.issuer.clone(),
                what: "log in",
            });
        }
        let code = one("code")?.filter(|code| !code.is_empty());
        let code = code.ok_or(OAuthFault::Answer("it holds no code"))?;
        Ok(ReturnedCode(code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_from_its_own_issuer_to_its_own_login_alone() {
        let check = |names_issuer, query: &str, expect: Result<&str, &str>| {
            let expected = Expected {
                issuer: "https://h".to_owned(),
                names_issuer,
                state: "s".to_owned(),
            };
            let read = expected.read(query);
            let read = read.as_ref().map(|code| code.0.as_str());
            let read = read.map_err(ToString::to_string);
            match expect {
                Ok(code) => assert_eq!(read, Ok(code), "{query}"),
                Err(part) => {
                    let fault = read.unwrap_err();
                    assert!(fault.contains(part), "{query}: {fault}");
                }
            }
        };
        check(false, "code=c&state=s", Ok("c"));
        check(true, "code=c&state=s&iss=https%3A%2F%2Fh", Ok("c"));
        check(true, "code=c&state=s", Err("does not name its issuer"));
        for iss in ["https://h/", "HTTPS://h", "https://evil.example.com", ""] {
            let query = format!("code=c&state=s&iss={iss}");
            check(false, &query, Err("another issuer"));
            check(true, &query, Err("another issuer"));
        }
        check(false, "code=c", Err("another login"));
        check(false, "code=c&state=x", Err("another login"));
        check(false, "code=c&state=s&state=s", Err("twice"));
        check(false, "code=c&code=d&state=s", Err("twice"));
        check(false, "state=s", Err("no code"));
        check(false, "state=s&code=", Err("no code"));
        check(
            false,
            "state=s&error=access_denied",
            Err("refused with access_denied"),
        );
        check(false, "state=s&error=%1b[31m", Err("refused with an error"));
        check(
            true,
            "state=s&error=access_denied&code=c",
            Err("does not name"),
        );
    }
}
