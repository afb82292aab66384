//! Turns a name into addresses. Judges none of them.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use futures_util::future::BoxFuture;

/// Turns a name into its addresses.
pub(in crate::tools) trait Resolver: fmt::Debug + Send + Sync {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// What the system knows: its files and its name servers.
#[derive(Debug)]
pub(in crate::tools) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(found.map(|address: SocketAddr| address.ip()).collect())
        })
    }
}
