//! Vets the host of an address, and makes the client that reaches nothing else. Does not know contracts.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::Resolver;
use super::ranges::AddressKind;
use crate::tools::http_client;

/// The most addresses of one name.
const MOST_ADDRESSES: usize = 64;

/// Vets where requests may connect to.
#[derive(Clone, Debug)]
pub(in crate::tools) struct AddressGuard {
    /// Whether an address may be this machine.
    loopback: bool,
    resolver: Arc<dyn Resolver>,
}

/// Why no connection is made.
#[derive(Debug, thiserror::Error)]
pub(in crate::tools) enum AddressRefusal {
    /// The author: the host is none that a tool may reach.
    #[error("{host} is {address}, {what}; no tool connects there")]
    Special {
        address: IpAddr,
        host: String,
        what: &'static str,
    },
    /// The author: the host is this machine, and that was not opted in to.
    #[error("{host} is {address}, this machine; `loopback: true` in the contract allows that")]
    Loopback { address: IpAddr, host: String },
    /// The operator: the name has no addresses.
    #[error("{host} was not found: {reason}")]
    Unresolved { host: String, reason: String },
    /// The operator: no client could be made.
    #[error("make a client: {reason}")]
    Client { reason: String },
}

impl AddressRefusal {
    /// The code of a call that ends so.
    pub(in crate::tools) const fn code(&self) -> &'static str {
        match self {
            Self::Special { .. } | Self::Loopback { .. } => "ADDRESS_NOT_ALLOWED",
            Self::Unresolved { .. } | Self::Client { .. } => "UNREACHED",
        }
    }
}

impl AddressGuard {
    pub(in crate::tools) fn new(loopback: bool, resolver: Arc<dyn Resolver>) -> Self {
        Self { loopback, resolver }
    }

    /// A client that connects to the vetted addresses of this host and to nothing else, whatever its name means a moment later. The
    /// address itself stays as it is, and so do the name in the Host header and the one that a certificate is checked against.
    ///
    /// # Errors
    /// Where the name is not found, or one of its addresses may not be reached: a name that mixes them is refused as a whole.
    pub(in crate::tools) async fn client(
        &self,
        url: &Url,
    ) -> Result<reqwest::Client, AddressRefusal> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let addresses = match url.host() {
            Some(Host::Ipv4(four)) => vec![IpAddr::V4(four)],
            Some(Host::Ipv6(six)) => vec![IpAddr::V6(six)],
            Some(Host::Domain(name)) => self.resolved(name).await?,
            None => Vec::new(),
        };
        if addresses.is_empty() || addresses.len() > MOST_ADDRESSES {
            let reason = format!("it has {} addresses", addresses.len());
            return Err(AddressRefusal::Unresolved { host, reason });
        }
        for address in &addresses {
            self.judge(&host, *address)?;
        }
        let port = url.port_or_known_default().unwrap_or_default();
        let pinned = Pinned {
            addresses: addresses
                .into_iter()
                .map(|address| SocketAddr::new(address, port))
                .collect(),
            host,
        };
        let mut client = http_client::builder().dns_resolver(Arc::new(pinned));
        if url.scheme() == "http" {
            // Reading the system's certificates takes longer than the request.
            client = client.tls_certs_only([]);
        }
        client.build().map_err(|fault| AddressRefusal::Client {
            reason: fault.without_url().to_string(),
        })
    }

    async fn resolved(&self, name: &str) -> Result<Vec<IpAddr>, AddressRefusal> {
        let found = self.resolver.resolve(name.to_owned()).await;
        found.map_err(|fault| AddressRefusal::Unresolved {
            host: name.to_owned(),
            reason: fault.to_string(),
        })
    }

    fn judge(&self, host: &str, address: IpAddr) -> Result<(), AddressRefusal> {
        let host = || host.to_owned();
        match AddressKind::of(address) {
            AddressKind::Public => Ok(()),
            AddressKind::Loopback if self.loopback => Ok(()),
            AddressKind::Loopback => Err(AddressRefusal::Loopback {
                address,
                host: host(),
            }),
            AddressKind::Special(what) => Err(AddressRefusal::Special {
                address,
                host: host(),
                what,
            }),
        }
    }
}

/// Answers with what was vetted, and for that name alone.
struct Pinned {
    addresses: Vec<SocketAddr>,
    host: String,
}

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let found = if name.as_str().eq_ignore_ascii_case(&self.host) {
            Ok(Box::new(self.addresses.clone().into_iter()) as Addrs)
        } else {
            Err("another host than the one that was vetted".into())
        };
        Box::pin(std::future::ready(found))
    }
}
