//! Vets the host of an address, and makes the client that reaches nothing else. Does not know contracts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::{fmt, io};

use futures_util::future::BoxFuture;
use monolith_core::contract::{PrivateNetwork, WebLimits};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use url::{Host, Url};

use super::ranges::AddressKind;
use crate::inference::{Proxies, through};
use crate::tools::http_client;

/// The name of this machine.
const THIS_MACHINE: &str = "localhost";
/// The most addresses of one name.
const MOST_ADDRESSES: usize = 64;

/// Vets where requests may connect to.
#[derive(Clone, Debug)]
pub(in crate::tools) struct AddressGuard {
    /// True if an address may be this machine.
    loopback: bool,
    /// Networks that are not public and that an address may be in; `None` if the contract has no place for any.
    networks: Option<Vec<PrivateNetwork>>,
    /// The proxies of requests to hosts that the author wrote; none for those that a model wrote.
    proxies: Proxies,
    resolver: Arc<dyn Resolver>,
}

/// The reason for a refused connection.
#[derive(Debug, thiserror::Error)]
pub(in crate::tools) enum AddressRefusal {
    /// The author: the host is none that a tool may reach.
    #[error("{} {what}; no tool connects there", is_called(host, *address))]
    Special {
        address: IpAddr,
        host: String,
        what: &'static str,
    },
    /// The author: the host is in a private network, and that was not opted in to.
    #[error("{} {what}; `networks` in the contract may name its network", is_called(host, *address))]
    Private {
        address: IpAddr,
        host: String,
        what: &'static str,
    },
    /// The author: the host is this machine, and that was not opted in to.
    #[error("{} this machine; `loopback: true` in the contract allows that", is_called(host, *address))]
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
            Self::Special { .. } | Self::Private { .. } | Self::Loopback { .. } => {
                "ADDRESS_NOT_ALLOWED"
            }
            Self::Unresolved { .. } | Self::Client { .. } => "UNREACHED",
        }
    }
}

impl AddressGuard {
    pub(in crate::tools) fn new(loopback: bool, resolver: Arc<dyn Resolver>) -> Self {
        Self {
            loopback,
            networks: None,
            proxies: Proxies::default(),
            resolver,
        }
    }

    /// Builds the guard of a service, as its author states it.
    pub(in crate::tools) fn of_service(
        limits: &WebLimits,
        resolver: Arc<dyn Resolver>,
        proxies: &Proxies,
    ) -> Self {
        Self {
            networks: Some(limits.networks.clone()),
            proxies: proxies.clone(),
            ..Self::new(limits.loopback, resolver)
        }
    }

    /// A client that connects to the vetted addresses of this host and to nothing else, whatever its name means a moment later. The
    /// address itself stays as it is, and so do the name in the Host header and the one that a certificate is checked against.
    ///
    /// Through a proxy, only what the host says by itself is vetted: the proxy finds out what a name means and connects.
    ///
    /// # Errors
    /// Where the name is not found, or one of its addresses may not be reached: a name that mixes them is refused as a whole.
    pub(in crate::tools) async fn client(
        &self,
        url: &Url,
    ) -> Result<reqwest::Client, AddressRefusal> {
        let unmade = |reason: String| AddressRefusal::Client { reason };
        let proxy = self.proxies.for_url(url);
        if let Some(proxy) = proxy.map_err(|fault| unmade(fault.to_string()))? {
            self.vet_written(url)?;
            let client = through(http_client::builder(), Some(&proxy));
            let client = client.and_then(reqwest::ClientBuilder::build);
            return client.map_err(|fault| unmade(fault.without_url().to_string()));
        }
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
        client
            .build()
            .map_err(|fault| unmade(fault.without_url().to_string()))
    }

    /// Vets a host that is written out: an address, `localhost`, or a name below that (RFC 6761 §6.3). What another name means is judged
    /// where it is asked.
    ///
    /// # Errors
    /// Where no request can ever be sent there.
    pub(in crate::tools) fn vet_written(&self, url: &Url) -> Result<(), AddressRefusal> {
        let address = match url.host() {
            Some(Host::Ipv4(four)) => IpAddr::V4(four),
            Some(Host::Ipv6(six)) => IpAddr::V6(six),
            Some(Host::Domain(name)) if is_this_machine(name) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(Host::Domain(_)) | None => return Ok(()),
        };
        self.judge(url.host_str().unwrap_or_default(), address)
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
            AddressKind::Private(what) => match &self.networks {
                Some(networks) if networks.iter().any(|network| holds(network, address)) => Ok(()),
                Some(_) => Err(AddressRefusal::Private {
                    address,
                    host: host(),
                    what,
                }),
                None => Err(AddressRefusal::Special {
                    address,
                    host: host(),
                    what,
                }),
            },
            AddressKind::Special(what) => Err(AddressRefusal::Special {
                address,
                host: host(),
                what,
            }),
        }
    }
}

/// Returns the first words about an address: the host, and the address if that is another text.
fn is_called(host: &str, address: IpAddr) -> String {
    let written = host.trim_start_matches('[').trim_end_matches(']');
    if written.parse() == Ok(address) {
        format!("{host} is")
    } else {
        format!("{host} is {address},")
    }
}

/// Returns true if a name is that of this machine, or below it; a last dot means that nothing follows.
fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let last = name.rsplit('.').next().unwrap_or_default();
    last.eq_ignore_ascii_case(THIS_MACHINE)
}

/// Returns true if an address lies in a network.
fn holds(network: &PrivateNetwork, address: IpAddr) -> bool {
    network.range().is_some_and(|range| match address {
        IpAddr::V4(four) => range.has_four(u32::from(four)),
        IpAddr::V6(six) => range.has_six(u128::from(six)),
    })
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

/// Turns a name into its addresses.
pub(in crate::tools) trait Resolver: fmt::Debug + Send + Sync {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system: its files and its name servers.
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

#[cfg(test)]
mod tests {
    use std::io;

    use futures_util::future::BoxFuture;

    use super::*;

    /// Every name means these.
    #[derive(Debug)]
    struct Means(Vec<IpAddr>);

    impl Resolver for Means {
        fn resolve(&self, _: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
            let found = self.0.clone();
            Box::pin(std::future::ready(Ok(found)))
        }
    }

    /// Returns the refusal of a service whose name resolves to those addresses; empty if it is allowed.
    async fn refused(networks: &[&str], addresses: &[&str]) -> String {
        let networks = networks.iter();
        let networks = networks.map(|text| PrivateNetwork::parse(text).unwrap());
        let limits = WebLimits {
            loopback: false,
            max_bytes: 1,
            max_redirects: 0,
            networks: networks.collect(),
        };
        let addresses = addresses.iter().map(|text| text.parse().unwrap());
        let guard = AddressGuard::of_service(
            &limits,
            Arc::new(Means(addresses.collect())),
            &Proxies::default(),
        );
        let url = Url::parse("http://service.example/").unwrap();
        let made = guard.client(&url).await;
        made.err()
            .map_or_else(String::new, |fault| fault.to_string())
    }

    /// 001/6.rest.4
    #[tokio::test]
    async fn a_private_network_is_reached_only_where_the_author_names_it() {
        let office = ["10.1.0.0/16", "fd00::/8"];
        for (networks, addresses, expect) in [
            (&[][..], &["10.1.2.3"][..], "may name its network"),
            (&office, &["10.1.2.3"], ""),
            (&office, &["10.1.2.3", "fd00:7::1"], ""),
            (
                &office,
                &["10.2.0.1"],
                "service.example is 10.2.0.1, a private address",
            ),
            (&office, &["10.1.2.3", "192.168.0.1"], "192.168.0.1"),
            (&office, &["10.1.2.3", "1.1.1.1"], ""),
            (&office, &["127.0.0.1"], "this machine"),
            (&office, &["169.254.169.254"], "no tool connects there"),
            (&office, &["fd00:ec2::254"], "no tool connects there"),
            (&office, &["::ffff:10.1.2.3"], "no tool connects there"),
        ] {
            let said = refused(networks, addresses).await;
            assert!(
                said.contains(expect) && said.is_empty() == expect.is_empty(),
                "{networks:?} {addresses:?}: {said}"
            );
        }
    }

    #[test]
    fn a_host_that_is_written_out_is_refused_before_it_is_asked_and_named_once() {
        for (url, expect) in [
            ("http://10.0.0.7/", "10.0.0.7 is a private address; "),
            ("http://[::1]:3/", "[::1] is this machine; "),
            ("http://127.1/", "127.0.0.1 is this machine; "),
            (
                "http://localhost/",
                "localhost is 127.0.0.1, this machine; ",
            ),
            (
                "http://localhost./",
                "localhost. is 127.0.0.1, this machine; ",
            ),
            (
                "http://a.LOCALHOST:9/",
                "a.localhost is 127.0.0.1, this machine; ",
            ),
            (
                "http://169.254.169.254/",
                "169.254.169.254 is a link-local address",
            ),
            ("http://localhost.example/", ""),
            ("http://notlocalhost/", ""),
        ] {
            let limits = WebLimits {
                loopback: false,
                max_bytes: 1,
                max_redirects: 0,
                networks: Vec::new(),
            };
            let guard =
                AddressGuard::of_service(&limits, Arc::new(Means(Vec::new())), &Proxies::default());
            let vetted = guard.vet_written(&Url::parse(url).unwrap());
            let said = vetted.map_or_else(|fault| fault.to_string(), |()| String::new());
            assert!(
                said.starts_with(expect) && said.is_empty() == expect.is_empty(),
                "{url}: {said}"
            );
        }
    }

    /// A model's request there is refused in any case.
    #[tokio::test]
    async fn an_address_that_a_model_wrote_is_in_no_private_network() {
        let resolver = Means(vec!["10.1.2.3".parse().unwrap()]);
        let guard = AddressGuard::new(true, Arc::new(resolver));
        let url = Url::parse("http://service.example/").unwrap();
        let said = guard.client(&url).await.unwrap_err().to_string();
        assert!(said.contains("no tool connects there"), "{said}");
    }
}
