//! The terms of the built-in tool `http_get`: which hosts it may ask. Reaches nothing, and does not know addresses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// The most hosts of one contract.
pub(crate) const MOST_HOSTS: usize = 64;
/// The most bytes of a body, whatever the author writes.
pub(crate) const MOST_BODY_BYTES: u64 = 16 * 1024 * 1024;
/// The most redirects that are followed, whatever the author writes.
pub(crate) const MOST_REDIRECTS: u64 = 20;
/// Any host.
const ANY: &str = "*";

/// The addresses that the built-in tool `http_get` may ask, and how much of an answer it takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpGetTerms {
    /// The hosts that it may ask, on every hop.
    pub hosts: Vec<HostPattern>,
    /// True if a listed host may be this machine.
    pub loopback: bool,
    /// Bytes of a body that are returned; the rest is left out.
    pub max_bytes: u64,
    /// Redirects that are followed.
    pub max_redirects: u32,
    /// The schemes of addresses.
    pub schemes: Vec<WebScheme>,
}

/// The scheme of an address of the web.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebScheme {
    /// In plain text.
    Http,
    /// Over TLS.
    Https,
}

impl WebScheme {}

/// Hosts, as an author writes them: `host`, `host:port`, `*.host` for what lies below it, `*` for any. Without a port it is the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct HostPattern(String);

impl HostPattern {
    /// # Errors
    /// The rule that the text breaks. A host has one spelling, the one that addresses are compared in: `127.0.0.1`, never `2130706433`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (host, port) = split(text);
        if let Some(port) = port {
            let number: Option<u16> = port.parse().ok().filter(|number| *number > 0);
            if number.is_none_or(|number| number.to_string() != port) {
                return Err(format!("{port:?} is no port: expected 1 to 65535"));
            }
        }
        if host == ANY {
            return Ok(Self(text.to_owned()));
        }
        let (below, name) = host.strip_prefix("*.").map_or((false, host), |n| (true, n));
        let rule = "expected a host such as docs.rs, docs.rs:8443, *.docs.rs or [::1]:8080";
        let parsed = Host::parse(name).map_err(|_| rule.to_owned())?;
        let spelled = parsed.to_string();
        if spelled != name {
            return Err(format!("the host {name:?} is written {spelled:?}"));
        }
        if name.contains('*') || name.ends_with('.') || below && !matches!(parsed, Host::Domain(_))
        {
            return Err(rule.to_owned());
        }
        Ok(Self(text.to_owned()))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if an address names one of these hosts, at their port.
    #[must_use]
    pub fn fits(&self, url: &Url) -> bool {
        let (host, port) = split(&self.0);
        let default = match url.scheme() {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let port = port.map_or(Some(default), |port| port.parse().ok());
        let Some(named) = url.host() else {
            return false;
        };
        if url.port_or_known_default() != port {
            return false;
        }
        match (host.strip_prefix("*."), &named) {
            (Some(above), Host::Domain(name)) => name
                .strip_suffix(above)
                .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            (Some(_), _) => false,
            (None, _) => host == ANY || named.to_string() == host,
        }
    }
}

impl HttpGetTerms {
    /// Checks that the contract allows a request to this address, as far as its text shows.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn check(&self, url: &Url) -> Result<(), String> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err("an address holds no user name and no password".to_owned());
        }
        if !self.schemes.iter().any(|s| s.as_str() == url.scheme()) {
            let known: Vec<&str> = self.schemes.iter().map(|s| s.as_str()).collect();
            let known = known.join(", ");
            let rule = format!("the contract allows {known}, not {}", url.scheme());
            return Err(rule);
        }
        if self.hosts.iter().any(|host| host.fits(url)) {
            return Ok(());
        }
        let port = url
            .port()
            .map_or_else(String::new, |port| format!(":{port}"));
        let host = url.host().map_or_else(String::new, |host| host.to_string());
        Err(format!(
            "the contract does not allow the host {host}{port}; it allows {}",
            self.hosts_in_words()
        ))
    }

    /// The hosts, as a sentence lists them.
    #[must_use]
    pub fn hosts_in_words(&self) -> String {
        let hosts: Vec<&str> = self.hosts.iter().map(HostPattern::as_str).collect();
        hosts.join(", ")
    }
}

/// The host and the port of a pattern; the colons of an address of version 6 stand in brackets.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    }
}

/// Checks that a text is a web address without user name and password.
///
/// # Errors
/// The rule that it breaks.
pub fn check_address(text: &str) -> Result<(), &'static str> {
    let rest = ["https://", "http://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    match host {
        None | Some("") => Err("expected an address that begins with https:// or http://"),
        Some(host) if host.contains('@') => {
            Err("an address in a contract holds no user name and no password")
        }
        Some(_) if text.chars().any(|c| c.is_whitespace() || c.is_control()) => {
            Err("an address holds no white space")
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_spelling() {
        for sound in [
            "*",
            "*:8080",
            "docs.rs",
            "docs.rs:8443",
            "*.docs.rs",
            "127.0.0.1:1",
            "[::1]:8080",
            "xn--bcher-kva.example",
        ] {
            assert_eq!(HostPattern::parse(sound).unwrap().as_str(), sound);
        }
        for (faulty, expect) in [
            ("2130706433", "written \"127.0.0.1\""),
            ("0x7f.1", "written \"127.0.0.1\""),
            ("0177.0.0.1", "written \"127.0.0.1\""),
            ("DOCS.rs", "written \"docs.rs\""),
            ("[0::1]", "written \"[::1]\""),
            ("docs.rs.", "expected a host"),
            ("docs.rs:0", "no port"),
            ("docs.rs:080", "no port"),
            ("docs.rs/path", "expected a host"),
            ("user@docs.rs", "expected a host"),
            ("*.127.0.0.1", "expected a host"),
            ("a.*.rs", "expected a host"),
            ("", "expected a host"),
        ] {
            let rule = HostPattern::parse(faulty).unwrap_err();
            assert!(rule.contains(expect), "{faulty}: {rule}");
        }
    }

    #[test]
    fn an_address_fits_by_host_and_port() {
        let check = |pattern: &str, url: &str, expect: bool| {
            let pattern = HostPattern::parse(pattern).unwrap();
            assert_eq!(pattern.fits(&Url::parse(url).unwrap()), expect, "{url}");
        };
        check("docs.rs", "https://docs.rs/x", true);
        check("docs.rs", "https://DOCS.rs:443/x", true);
        check("docs.rs", "https://docs.rs:8443/x", false);
        check("docs.rs", "https://docs.rs./x", false);
        check("docs.rs", "https://a.docs.rs/", false);
        check("docs.rs", "https://docs.rs.evil.example/", false);
        check("docs.rs:8443", "https://docs.rs:8443/x", true);
        check("docs.rs:8443", "https://docs.rs/x", false);
        check("*.docs.rs", "https://a.b.docs.rs/", true);
        check("*.docs.rs", "https://docs.rs/", false);
        check("*.docs.rs", "https://evildocs.rs/", false);
        check("*", "http://anything.example/", true);
        check("*", "http://anything.example:81/", false);
        check("127.0.0.1", "http://2130706433/", true);
        check("[::1]:8080", "http://[0:0::1]:8080/", true);
        check("docs.rs", "ftp://docs.rs/", false);
    }

    #[test]
    fn an_address_is_refused_by_the_rule_it_breaks() {
        let terms = HttpGetTerms {
            hosts: vec![HostPattern::parse("docs.rs").unwrap()],
            loopback: false,
            max_bytes: 1,
            max_redirects: 0,
            schemes: vec![WebScheme::Https],
        };
        let check = |url: &str, expect: &str| {
            let said = terms.check(&Url::parse(url).unwrap());
            let said = said.err().unwrap_or_default();
            assert!(
                said.contains(expect) && said.is_empty() == expect.is_empty(),
                "{url}: {said}"
            );
        };
        check("https://docs.rs/", "");
        check("http://docs.rs/", "allows https, not http");
        check("file:///etc/passwd", "allows https, not file");
        check(
            "https://other.example:1/",
            "does not allow the host other.example:1; it allows docs.rs",
        );
        check("https://me@docs.rs/", "no user name");
        check("https://:secret@docs.rs/", "no user name");
    }
}
