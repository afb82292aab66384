//! The stored result of a login, and its store. Does not know files.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use url::Url;

use super::fault::OAuthFault;
use super::well_known::resource_of;

/// The only version of the stored form.
pub(super) const VERSION: u32 = 1;

/// The authorization at one server: tokens, and what refreshes them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredAuthorization {
    /// The version of the format.
    pub version: u32,
    /// The server's address without its query.
    pub server: String,
    /// The server's name as a resource.
    pub resource: String,
    /// Whose tokens these are. They go nowhere else but to the server.
    pub issuer: String,
    pub(crate) token_endpoint: String,
    pub(crate) client: StoredClient,
    pub(crate) access_token: String,
    /// The token that renews the access token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// Seconds of Unix time; `None` if the server does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_unix_s: Option<u64>,
    /// The granted scopes.
    pub scopes: Vec<String>,
}

/// A client as an authorization server knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredClient {
    pub id: String,
    pub method: AuthMethod,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// The authentication method of a client at the token endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

impl StoredAuthorization {
    /// Every value of it that is secret.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let more = [&self.refresh_token, &self.client.secret];
        let more = more.into_iter().filter_map(Option::as_deref);
        [self.access_token.as_str()].into_iter().chain(more)
    }
}

impl fmt::Debug for StoredAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredAuthorization")
            .field("server", &self.server)
            .field("issuer", &self.issuer)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for StoredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredClient")
            .field("id", &self.id)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// Keeps what logins leave, for this program's processes. May block: it is called off the runtime's threads.
pub(crate) trait TokenStore: Send + Sync {
    /// Returns the place of the store: two stores with the same place are the same.
    fn place(&self) -> &Path;

    /// Loads the stored authorization of a server.
    ///
    /// # Errors
    /// [`OAuthFault::Store`].
    fn load(&self, server: &str) -> Result<Option<StoredAuthorization>, OAuthFault>;

    /// Stores this authorization and replaces the server's old one.
    ///
    /// # Errors
    /// [`OAuthFault::Store`].
    fn save(&self, authorization: &StoredAuthorization) -> Result<(), OAuthFault>;

    /// The right to refresh the token of a server, which one process has at a time; given back when it is dropped.
    ///
    /// # Errors
    /// [`OAuthFault::Store`], also where another process has it for long.
    fn lock(&self, server: &str) -> Result<Box<dyn Send>, OAuthFault>;
}

/// A store, shared; equal where the place is the same.
#[derive(Clone)]
pub(crate) struct TokenKeeper(Arc<dyn TokenStore>);

impl TokenKeeper {
    pub(crate) fn new(store: impl TokenStore + 'static) -> Self {
        Self(Arc::new(store))
    }

    /// Loads the stored authorization of a server; `None` for another server or version.
    pub(super) async fn load(
        &self,
        server: &Url,
    ) -> Result<Option<StoredAuthorization>, OAuthFault> {
        let (store, name) = (Arc::clone(&self.0), resource_of(server));
        let wanted = name.clone();
        let found = off_thread(move || store.load(&name)).await?;
        Ok(found.filter(|found| found.version == VERSION && found.server == wanted))
    }

    pub(super) async fn save(&self, authorization: StoredAuthorization) -> Result<(), OAuthFault> {
        let store = Arc::clone(&self.0);
        off_thread(move || store.save(&authorization)).await
    }

    pub(super) async fn lock(&self, server: &Url) -> Result<Box<dyn Send>, OAuthFault> {
        let (store, name) = (Arc::clone(&self.0), resource_of(server));
        off_thread(move || store.lock(&name)).await
    }
}

/// Files block, and a lock may for long.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, OAuthFault> + Send + 'static,
) -> Result<T, OAuthFault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|fault| Err(OAuthFault::Store(fault.to_string())))
}

impl PartialEq for TokenKeeper {
    fn eq(&self, other: &Self) -> bool {
        self.0.place() == other.0.place()
    }
}

impl Eq for TokenKeeper {}

impl Hash for TokenKeeper {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.place().hash(state);
    }
}

impl fmt::Debug for TokenKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenKeeper").field(&self.0.place()).finish()
    }
}
