//! The well-known places of resource and authorization server metadata, and the addresses that may be used. Fetches nothing.

use url::{Host, Url};

use super::fault::OAuthFault;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

/// Returns the places of a resource's metadata, if the server does not say (RFC 9728 §3.1): first for its path, then for its
/// origin.
pub(super) fn of_resource(resource: &Url) -> Vec<Url> {
    let mut places = Vec::new();
    let path = path_of(resource);
    if !path.is_empty() {
        places.push(with_path(resource, &format!("{RESOURCE}{path}")));
    }
    places.push(with_path(resource, RESOURCE));
    places
}

/// Returns the places of an authorization server's metadata: RFC 8414 §3.1 first, then OpenID Connect Discovery 1.0 §4.
pub(super) fn of_server(issuer: &Url) -> Vec<Url> {
    let path = path_of(issuer);
    let mut places = vec![
        with_path(issuer, &format!("{SERVER}{path}")),
        with_path(issuer, &format!("{OPENID}{path}")),
    ];
    if !path.is_empty() {
        places.push(with_path(issuer, &format!("{path}{OPENID}")));
    }
    places
}

/// Returns the place of the authorization server metadata at a server of protocol 2025-03-26.
pub(super) fn of_old_server(server: &Url) -> Url {
    with_path(server, SERVER)
}

/// A path at the origin of an address, without query and fragment.
pub(super) fn with_path(origin: &Url, path: &str) -> Url {
    let mut place = origin.clone();
    place.set_query(None);
    place.set_fragment(None);
    place.set_path(path);
    place
}

/// The path of an address without the slash at its end.
fn path_of(address: &Url) -> &str {
    address.path().trim_end_matches('/')
}

/// True if a resource name covers a server's address: the same origin, and the same path or a parent path.
pub(super) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    let path = path_of(&resource);
    let below = server.path().strip_prefix(path);
    resource.origin() == server.origin()
        && resource.fragment().is_none()
        && below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns a server's resource name (RFC 8707): its address without query and fragment, which may be secret.
pub fn resource_of(server: &Url) -> String {
    let bare = with_path(server, server.path());
    match bare.path() {
        // A parser puts a slash there that no one wrote.
        "/" => bare.as_str().trim_end_matches('/').to_owned(),
        _ => bare.into(),
    }
}

/// An address as faults name it.
pub(super) fn named(address: &Url) -> String {
    let mut bare = with_path(address, address.path());
    // An address that has no host has no user either.
    let _ = bare.set_username("");
    let _ = bare.set_password(None);
    bare.into()
}

/// True if an address is on this machine.
pub(super) fn is_loopback(address: &Url) -> bool {
    match address.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// An address that secrets may be sent to: https, or on this machine, and the latter only where `server` is on this machine, too: a
/// stranger must not send this program to a service here.
pub(super) fn judged(address: &str, server: &Url) -> Result<Url, OAuthFault> {
    let refuse = |address: String, rule| Err(OAuthFault::Address { address, rule });
    let Ok(url) = Url::parse(address) else {
        return refuse("an address".to_owned(), "it is none");
    };
    match url.scheme() {
        "https" | "http" if is_loopback(&url) => {
            if !is_loopback(server) {
                let rule = "it is on this machine, and the server is not";
                return refuse(named(&url), rule);
            }
        }
        "https" => {}
        _ => return refuse(named(&url), "it does not begin with https://"),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse(named(&url), "it holds a user name or a password");
    }
    if url.fragment().is_some() {
        return refuse(named(&url), "it has a fragment");
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn metadata_is_looked_for_in_the_order_of_the_specifications() {
        let texts = |places: Vec<Url>| places.into_iter().map(String::from).collect::<Vec<_>>();
        let resource = |text: &str| texts(of_resource(&url(text)));
        let server = |text: &str| texts(of_server(&url(text)));
        assert_eq!(
            resource("https://h:8/a/mcp?k=1#f"),
            [
                "https://h:8/.well-known/oauth-protected-resource/a/mcp",
                "https://h:8/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            resource("https://h/"),
            ["https://h/.well-known/oauth-protected-resource"]
        );
        assert_eq!(
            server("https://h"),
            [
                "https://h/.well-known/oauth-authorization-server",
                "https://h/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            server("https://h/tenant1/"),
            [
                "https://h/.well-known/oauth-authorization-server/tenant1",
                "https://h/.well-known/openid-configuration/tenant1",
                "https://h/tenant1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn a_resource_covers_its_own_address_and_what_is_below_it() {
        let check = |resource: &str, server: &str, expect: bool| {
            assert_eq!(
                covers(resource, &url(server)),
                expect,
                "{resource} {server}"
            );
        };
        check("https://h/mcp", "https://h/mcp", true);
        check("https://h", "https://h/mcp", true);
        check("https://h/", "https://h/mcp?x=1", true);
        check("https://h/a", "https://h/a/b", true);
        check("https://h/a", "https://h/ab", false);
        check("https://h/mcp/x", "https://h/mcp", false);
        check("https://evil.example.com/mcp", "https://h/mcp", false);
        check("http://h/mcp", "https://h/mcp", false);
        check("https://h:444/mcp", "https://h/mcp", false);
        check("https://h/mcp#f", "https://h/mcp", false);
        check("mcp", "https://h/mcp", false);
    }

    #[test]
    fn secrets_go_to_https_or_on_this_machine_from_this_machine() {
        let check = |address: &str, server: &str, expect: bool| {
            let judged = judged(address, &url(server));
            assert_eq!(judged.is_ok(), expect, "{address} {server}");
        };
        check("https://auth.example.com/t", "https://h/mcp", true);
        check("http://auth.example.com/t", "https://h/mcp", false);
        check("http://auth.example.com/t", "http://127.0.0.1/mcp", false);
        check("http://127.0.0.1:9/t", "http://localhost:8/mcp", true);
        check("http://[::1]:9/t", "http://localhost:8/mcp", true);
        check("http://127.0.0.1:9/t", "https://h/mcp", false);
        check("https://127.0.0.1:9/t", "https://h/mcp", false);
        check(
            "https://me:secret@auth.example.com/",
            "https://h/mcp",
            false,
        );
        check("https://auth.example.com/#f", "https://h/mcp", false);
        check("file:///etc/passwd", "https://h/mcp", false);
        check("nothing", "https://h/mcp", false);
    }

    #[test]
    fn a_server_is_named_as_it_was_written_without_what_may_be_secret() {
        assert_eq!(resource_of(&url("https://h/mcp?key=1#f")), "https://h/mcp");
        assert_eq!(resource_of(&url("https://h:8/")), "https://h:8");
        assert_eq!(named(&url("https://me:pw@h/a?key=1")), "https://h/a");
    }
}
