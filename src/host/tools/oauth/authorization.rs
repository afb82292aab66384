//! The authorization of one connection: its token, kept fresh, and what is missing where there is none. Begins no login.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use url::Url;

use super::challenge::{Challenge, union};
use super::client::{self, Asking};
use super::client::{ClientTerms, now_unix_s};
use super::discovery::{Discovered, discover};
use super::fault::OAuthFault;
use super::grant::{self, Grant, Granted};
use super::minted::{Inner, Minted, MintedScrubber};
use super::stored::{StoredAuthorization, StoredClient, TokenKeeper, VERSION};
use super::web::Web;
use super::well_known::{judged, resource_of};
use monolith_core::contract::OAuthGrant;

/// A token is refreshed when it has no longer than that: a request must arrive before it expires.
const MARGIN: Duration = Duration::from_secs(30);
/// The longest that a token is used without another look.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3_600);

/// The authorization of one connection to a server.
#[derive(Debug)]
pub(in crate::tools) struct Authorization {
    keeper: Option<TokenKeeper>,
    minted: Minted,
    /// The need behind a refused request, if this program cannot meet it.
    need: Mutex<Option<Need>>,
    server: Url,
    /// One request at a time gets a token; the others wait for it.
    state: tokio::sync::Mutex<State>,
    terms: ClientTerms,
    web: Web,
}

#[derive(Debug, Default)]
struct State {
    current: Option<Current>,
    /// Set once the stored authorization was loaded.
    is_loaded: bool,
}

#[derive(Clone)]
struct Current {
    access_token: String,
    /// When it is to be refreshed; `None` if the server does not state how long it lasts.
    fresh_until: Option<Instant>,
}

impl fmt::Debug for Current {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Current")
            .field("fresh_until", &self.fresh_until)
            .finish_non_exhaustive()
    }
}

/// A demand of the server that only a person can meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tools) struct Need {
    pub(in crate::tools) challenge: Challenge,
    /// The error of this program's attempt, if it tried.
    pub(in crate::tools) fault: Option<OAuthFault>,
    /// True if there was a token that did not suffice.
    pub(in crate::tools) had_token: bool,
}

/// The consequence of a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tools) enum Renewal {
    /// The request may be sent again, with another token.
    Again,
    /// A retry cannot help; [`Authorization::need`] has what is missing.
    Never,
}

impl Need {
    /// The scopes that the token lacks, as the server names them.
    pub(in crate::tools) fn lacking_scopes(&self) -> &[String] {
        let scopes = self.challenge.scopes.as_slice();
        if self.challenge.insufficient_scope {
            scopes
        } else {
            &[]
        }
    }

    /// Returns the remedy in one sentence; `name` is the server's name in the contract.
    pub(in crate::tools) fn remedy(&self, name: &str) -> String {
        let scopes = self.lacking_scopes();
        let is_short = !scopes.is_empty();
        let scope = if is_short {
            format!(" --scope '{}'", scopes.join(" "))
        } else {
            String::new()
        };
        let why = match (&self.fault, is_short, self.had_token) {
            (Some(fault), _, _) => format!("failed to {fault}"),
            (None, true, _) => "the token's scopes do not suffice".to_owned(),
            (None, false, true) => "it does not take the token (HTTP 401)".to_owned(),
            (None, false, false) => {
                "it wants authorization (HTTP 401), and there is no token".to_owned()
            }
        };
        format!("{why}; `monolith mcp login {name}{scope} --contract FILE` gets one")
    }
}

impl Authorization {
    /// Creates the authorization of one server connection. Without a keeper it loads nothing and stores nothing.
    pub(in crate::tools) fn new(
        server: Url,
        terms: ClientTerms,
        keeper: Option<TokenKeeper>,
    ) -> Result<Self, OAuthFault> {
        Ok(Self {
            keeper,
            minted: Minted::default(),
            need: Mutex::default(),
            server,
            state: tokio::sync::Mutex::default(),
            web: Web::new(&terms.proxies)?,
            terms,
        })
    }

    /// Returns the reason why a request was refused, if this program could not help.
    pub(in crate::tools) fn need(&self) -> Option<Need> {
        let need = self.need.lock();
        need.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A scrubber that takes the connection's tokens out, too.
    pub(in crate::tools) fn behind<I: Inner>(&self, scrub: I) -> MintedScrubber<I> {
        self.minted.behind(scrub)
    }

    /// A text without the connection's tokens.
    pub(in crate::tools) fn without_tokens(&self, text: &str) -> String {
        self.minted.without(text)
    }

    /// The token to send now; `None` if there is none.
    pub(in crate::tools) async fn token(&self) -> Option<String> {
        let mut state = self.state.lock().await;
        if !state.is_loaded {
            state.is_loaded = true;
            let kept = self.kept().await;
            state.current = kept.map(|kept| self.current(&kept));
        }
        let current = state.current.as_ref()?;
        let is_stale = current
            .fresh_until
            .is_some_and(|until| until <= Instant::now());
        if is_stale {
            let used = current.access_token.clone();
            // Where that fails the old one is sent, once more without a look at its age: only the server knows whether it still takes it.
            let next = self.next(&used, &Challenge::default()).await;
            state.current = Some(next.ok().flatten().unwrap_or(Current {
                access_token: used,
                fresh_until: None,
            }));
        }
        state
            .current
            .as_ref()
            .map(|current| current.access_token.clone())
    }

    /// Gets another token after a refusal of a request that was sent with `used`.
    pub(in crate::tools) async fn renew(
        &self,
        used: Option<&str>,
        challenge: &Challenge,
    ) -> Renewal {
        let mut state = self.state.lock().await;
        let current = state
            .current
            .as_ref()
            .map(|current| current.access_token.as_str());
        if current.is_some() && current != used {
            // Another request of this connection was refused first.
            return Renewal::Again;
        }
        let fault = match self.next(used.unwrap_or_default(), challenge).await {
            Ok(Some(next)) => {
                state.current = Some(next);
                return Renewal::Again;
            }
            Ok(None) => None,
            Err(fault) => Some(fault),
        };
        self.lack(used, challenge, fault);
        Renewal::Never
    }

    /// Notes that a request was refused, and that nothing here helps.
    pub(in crate::tools) fn lack(
        &self,
        used: Option<&str>,
        challenge: &Challenge,
        fault: Option<OAuthFault>,
    ) {
        let mut need = self.need.lock().unwrap_or_else(PoisonError::into_inner);
        *need = Some(Need {
            challenge: challenge.clone(),
            fault,
            had_token: used.is_some(),
        });
    }

    /// Another token than `used`: one that a login or another process got meanwhile, else one for what this program has. `None` if that
    /// takes a person.
    async fn next(&self, used: &str, challenge: &Challenge) -> Result<Option<Current>, OAuthFault> {
        if self.terms.is_silent() {
            return self.silent(challenge).await.map(Some);
        }
        let Some(keeper) = &self.keeper else {
            return Ok(None);
        };
        // Of two processes that refresh, the second finds what the first got: a refresh token may be good for one use.
        let _lock = keeper.lock(&self.server).await?;
        let Some(kept) = keeper.load(&self.server).await? else {
            return Ok(None);
        };
        if kept.access_token != used {
            return Ok(Some(self.current(&kept)));
        }
        // More scopes than it was asked for with come of a login alone.
        if challenge.insufficient_scope {
            return Ok(None);
        }
        let Some(refresh) = kept.refresh_token.as_deref() else {
            return Ok(None);
        };
        let endpoint = judged(&kept.token_endpoint, &self.server)?;
        let asking = self.asking(&kept.client, &kept.issuer);
        let target = (kept.resource.as_str(), kept.scopes.as_slice());
        let refreshed = grant::grant(
            &self.web,
            (&endpoint, &asking),
            Grant::Refresh { token: refresh },
            target,
        );
        let granted = refreshed.await?;
        let next = StoredAuthorization {
            expires_unix_s: expiry(&granted),
            // It stays good where no other comes.
            refresh_token: granted.refresh_token.clone().or(kept.refresh_token.clone()),
            scopes: granted.scopes(&kept.scopes),
            access_token: granted.access_token,
            ..kept
        };
        let current = self.current(&next);
        keeper.save(next).await?;
        Ok(Some(current))
    }

    /// A token for what the contract names, without a person.
    async fn silent(&self, challenge: &Challenge) -> Result<Current, OAuthFault> {
        let issuer = self.terms.issuer.as_deref();
        let found = discover(&self.web, &self.server, challenge, issuer).await?;
        let Discovered {
            authorization,
            resource,
            ..
        } = &found;
        let scopes = found.scopes(challenge, &self.terms.scopes);
        let client = client::named(&self.terms, authorization)?;
        let client = client.ok_or_else(|| OAuthFault::NoClient {
            issuer: authorization.issuer.clone(),
            rule: "the contract names no client: `oauth.client_id`",
        })?;
        let asking = self.asking(&client, &authorization.issuer);
        let assertion = match &self.terms.exchange {
            Some(exchange) if self.terms.grant == OAuthGrant::CrossAppAccess => {
                let at = (exchange, &self.server);
                let whom = (authorization.issuer.as_str(), resource.as_str());
                Some(grant::exchange(&self.web, at, whom, &scopes).await?)
            }
            _ => None,
        };
        let by = assertion
            .as_deref()
            .map_or(Grant::Client, |assertion| Grant::Identity { assertion });
        let at = (&authorization.token_endpoint, &asking);
        let granted = grant::grant(&self.web, at, by, (resource, &scopes)).await?;
        self.minted.add([granted.access_token.as_str()]);
        let lasts = granted.expires_in.map(Duration::from_secs);
        Ok(Current {
            fresh_until: lasts.map(fresh_until),
            access_token: granted.access_token,
        })
    }

    fn asking<'a>(&'a self, client: &'a StoredClient, issuer: &'a str) -> Asking<'a> {
        Asking {
            client,
            issuer,
            private_key: self.terms.private_key.as_deref(),
        }
    }

    async fn kept(&self) -> Option<StoredAuthorization> {
        if self.terms.is_silent() {
            return None;
        }
        // What cannot be read is reported by the refusal that follows.
        self.keeper.as_ref()?.load(&self.server).await.ok()?
    }

    fn current(&self, kept: &StoredAuthorization) -> Current {
        self.minted.add(kept.secrets());
        let now = now_unix_s();
        let lasts = kept.expires_unix_s.map(|at| at.saturating_sub(now));
        let lasts = lasts.map(Duration::from_secs);
        Current {
            access_token: kept.access_token.clone(),
            fresh_until: lasts.map(fresh_until),
        }
    }
}

/// When a token is to be refreshed that lasts so long from now; no token lasts a year.
fn fresh_until(lasts: Duration) -> Instant {
    Instant::now() + lasts.saturating_sub(MARGIN).min(LONGEST)
}

/// When a token expires that was granted now.
fn expiry(granted: &Granted) -> Option<u64> {
    let lasts = granted.expires_in?;
    Some(now_unix_s().saturating_add(lasts))
}

/// Builds the stored form of a login.
pub(super) fn stored(
    (server, found): (&Url, &Discovered),
    client: StoredClient,
    (granted, requested): (Granted, &[String]),
) -> StoredAuthorization {
    StoredAuthorization {
        version: VERSION,
        server: resource_of(server),
        resource: found.resource.clone(),
        issuer: found.authorization.issuer.clone(),
        token_endpoint: found.authorization.token_endpoint.clone().into(),
        client,
        expires_unix_s: expiry(&granted),
        scopes: granted.scopes(requested),
        refresh_token: granted.refresh_token,
        access_token: granted.access_token,
    }
}

/// Scopes to ask for beside those of the challenge: those of the contract, and those that a login at the same issuer got before.
pub(super) fn wanted(
    terms: &ClientTerms,
    before: Option<&StoredAuthorization>,
    issuer: &str,
) -> Vec<String> {
    let granted = before.filter(|before| before.issuer == issuer);
    let granted = granted.map_or(&[][..], |before| &before.scopes);
    union(&terms.scopes, granted)
}
