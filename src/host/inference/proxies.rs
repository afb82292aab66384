//! The proxies that the environment names, and the requests that go through one. Opens no connection.
//!
//! `HTTPS_PROXY` and `HTTP_PROXY` name the proxy of a scheme, `NO_PROXY` the hosts that are reached without; a name in lower case wins.
//! This machine is always reached without a proxy. `ALL_PROXY` and SOCKS are not supported.

use std::net::IpAddr;

use reqwest::{ClientBuilder, Proxy, Url};
use url::Host;

use super::Secret;

/// The proxies that the environment names. A value may hold a password, so none is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Proxies {
    http: Option<Named>,
    https: Option<Named>,
    /// The hosts of `NO_PROXY`, in lower case.
    exempt: Vec<String>,
}

/// The value of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Named {
    value: Secret,
    variable: &'static str,
}

/// A proxy that cannot be used. The value is not shown, as it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable {variable} names no proxy that can be used: {rule}; correct or unset it")]
pub struct ProxyFault {
    /// The error in the value.
    pub rule: String,
    /// The variable.
    pub variable: &'static str,
}

impl Proxies {
    /// The variables that name a proxy, the one that wins first.
    pub const VARIABLES: [&'static str; 4] =
        ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];

    /// The proxies of an environment. A blank value is none.
    pub fn of(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let first = |names: [&'static str; 2]| {
            let mut named = names.into_iter().filter_map(|variable| {
                let value = Secret::new(value(variable)?.trim());
                Some(Named { value, variable })
            });
            named.next()
        };
        let [https, other_https, http, other_http] = Self::VARIABLES;
        let exempt = value("no_proxy").or_else(|| value("NO_PROXY"));
        let exempt = exempt.unwrap_or_default().to_ascii_lowercase();
        let exempt = exempt.split([',', ' ']).map(str::trim);
        Self {
            http: first([http, other_http]),
            https: first([https, other_https]),
            exempt: exempt
                .filter(|host| !host.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns the proxy that requests to an address go through; `None` if they go to the address itself.
    ///
    /// # Errors
    /// [`ProxyFault`] where there is to be one and its variable names none.
    pub fn for_url(&self, url: &Url) -> Result<Option<Url>, ProxyFault> {
        let named = match url.scheme() {
            "http" | "ws" => &self.http,
            "https" | "wss" => &self.https,
            _ => &None,
        };
        let Some(named) = named else {
            return Ok(None);
        };
        if is_this_machine(url) || self.exempt.iter().any(|entry| is_exempt(entry, url)) {
            return Ok(None);
        }
        named.proxy().map(Some)
    }

    /// The variables that name a proxy, each with the address that it names.
    ///
    /// # Errors
    /// [`ProxyFault`] for each that names none.
    pub fn named(&self) -> Vec<Result<(&'static str, String), ProxyFault>> {
        let named = self.https.iter().chain(&self.http);
        let shown = |named: &Named| Ok((named.variable, shown_proxy(&named.proxy()?)));
        named.map(shown).collect()
    }

    /// The hosts that `NO_PROXY` names.
    #[must_use]
    pub fn exempt(&self) -> &[String] {
        &self.exempt
    }
}

impl Named {
    fn proxy(&self) -> Result<Url, ProxyFault> {
        let fault = |rule: &str| ProxyFault {
            rule: rule.to_owned(),
            variable: self.variable,
        };
        let value = self.value.reveal();
        let scheme = if value.contains("://") { "" } else { "http://" };
        let proxy = Url::parse(&format!("{scheme}{value}"));
        let proxy = proxy.map_err(|error| fault(&error.to_string()))?;
        match (proxy.scheme(), proxy.host_str()) {
            ("http" | "https", Some(_)) => Ok(proxy),
            _ => Err(fault("it does not begin with http:// or https://")),
        }
    }
}

/// The address of a proxy as it is shown and recorded: without user, password, path and query.
#[must_use]
pub fn shown_proxy(proxy: &Url) -> String {
    let host = proxy.host_str().unwrap_or_default();
    let port = proxy.port_or_known_default().unwrap_or_default();
    format!("{}://{host}:{port}", proxy.scheme())
}

/// The client that sends everything through that proxy, or nothing through any.
pub(crate) fn through(
    client: ClientBuilder,
    proxy: Option<&Url>,
) -> Result<ClientBuilder, reqwest::Error> {
    let client = client.no_proxy();
    Ok(match proxy {
        Some(proxy) => client.proxy(Proxy::all(proxy.clone())?),
        None => client,
    })
}

/// True if an address is written as one of this machine.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(four)) => four.is_loopback() || four.is_unspecified(),
        Some(Host::Ipv6(six)) => {
            six.is_loopback()
                || six.is_unspecified()
                || six.to_ipv4_mapped().is_some_and(|four| four.is_loopback())
        }
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

/// True if an entry of `NO_PROXY` names the host of an address: `*`, a name and the names below it, an address, or a network as
/// `10.0.0.0/8`; a port in it must be the address's.
fn is_exempt(entry: &str, url: &Url) -> bool {
    if entry == "*" {
        return true;
    }
    let Some(host) = url.host() else {
        return false;
    };
    let (name, port) = match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
            (name, port.parse::<u16>().ok())
        }
        _ => (entry, None),
    };
    if port.is_some() && port != url.port_or_known_default() {
        return false;
    }
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let address = match host {
        Host::Ipv4(four) => IpAddr::V4(four),
        Host::Ipv6(six) => IpAddr::V6(six),
        Host::Domain(host) => {
            let host = host.trim_end_matches('.');
            let name = name.trim_start_matches('*').trim_matches('.');
            let above = host.strip_suffix(name);
            return !name.is_empty()
                && above.is_some_and(|above| above.is_empty() || above.ends_with('.'));
        }
    };
    match name.split_once('/') {
        None => name.parse() == Ok(address),
        Some((network, bits)) => match (network.parse(), bits.parse()) {
            (Ok(network), Ok(bits)) => is_within(address, network, bits),
            _ => false,
        },
    }
}

/// True if two addresses are of one version and agree in their first bits.
fn is_within(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    match (address, network) {
        (IpAddr::V4(one), IpAddr::V4(other)) if bits <= 32 => {
            let different = u32::from(one) ^ u32::from(other);
            different.leading_zeros() >= bits
        }
        (IpAddr::V6(one), IpAddr::V6(other)) if bits <= 128 => {
            let different = u128::from(one) ^ u128::from(other);
            different.leading_zeros() >= bits
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)], url: &str, expect: Option<&str>) {
        let lookup = |name: &str| {
            let mut known = variables.iter().filter(|(known, _)| *known == name);
            known.next().map(|(_, value)| (*value).to_owned())
        };
        let proxy = Proxies::of(lookup).for_url(&Url::parse(url).unwrap());
        let proxy = proxy.unwrap().map(|proxy| shown_proxy(&proxy));
        assert_eq!(proxy.as_deref(), expect, "{variables:?} {url}");
    }

    #[test]
    fn a_scheme_has_its_proxy_and_a_lower_case_name_wins() {
        let secure = ("HTTPS_PROXY", "http://u:secret@proxy.example:3128/x?y");
        let plain = ("HTTP_PROXY", "plain.example");
        let both = [secure, plain, ("ALL_PROXY", "http://all.example")];
        check(
            &both,
            "https://api.example/v1",
            Some("http://proxy.example:3128"),
        );
        check(
            &both,
            "http://api.example/v1",
            Some("http://plain.example:80"),
        );
        check(&[plain], "https://api.example/v1", None);
        let lower = [secure, ("https_proxy", "https://lower.example")];
        check(
            &lower,
            "https://api.example",
            Some("https://lower.example:443"),
        );
        check(&[("HTTP_PROXY", " ")], "http://api.example", None);
    }

    #[test]
    fn this_machine_and_the_hosts_of_no_proxy_are_reached_directly() {
        let proxy = ("HTTP_PROXY", "http://p:1");
        for url in [
            "http://127.0.0.1:1",
            "http://127.8.8.8",
            "http://[::1]/",
            "http://localhost:8080",
            "http://model.localhost.",
            "http://0.0.0.0",
        ] {
            check(&[proxy], url, None);
        }
        let exempt = |list: &'static str, url: &str, is_exempt: bool| {
            let expect = Some("http://p:1").filter(|_| !is_exempt);
            check(&[proxy, ("NO_PROXY", list)], url, expect);
        };
        exempt("*", "http://a.example", true);
        exempt("other, .Example.com", "http://api.example.com", true);
        exempt("example.com", "http://example.com.", true);
        exempt("*.example.com", "http://api.example.com", true);
        exempt("example.com", "http://notexample.com", false);
        exempt("example.com:81", "http://example.com", false);
        exempt("example.com:81", "http://example.com:81", true);
        exempt("10.0.0.0/8", "http://10.9.8.7", true);
        exempt("10.0.0.0/8", "http://11.9.8.7", false);
        exempt("192.168.1.2", "http://192.168.1.2", true);
        exempt("fd00::/8", "http://[fd12::1]", true);
        exempt("[fd12::1]:80", "http://[fd12::1]", true);
        exempt("a.example", "http://10.9.8.7", false);
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_an_error_that_shows_no_password() {
        let named = Proxies::of(|name| {
            (name == "HTTPS_PROXY").then(|| "socks5://u:hunter2@p:1080".to_owned())
        });
        let fault = named.for_url(&Url::parse("https://api.example").unwrap());
        let said = fault.unwrap_err().to_string();
        assert!(
            said.contains("HTTPS_PROXY") && !said.contains("hunter2"),
            "{said}"
        );
        assert!(!format!("{named:?}").contains("hunter2"));
        let local = Url::parse("https://127.0.0.1").unwrap();
        assert_eq!(named.for_url(&local), Ok(None));
    }
}
