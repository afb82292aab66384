//! The HTTP client for tool servers and where they are authorized. Does not know what is asked.

use std::time::Duration;

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// The user agent of monolith.
const USER_AGENT: &str = concat!("monolith/", env!("CARGO_PKG_VERSION"));

/// As for inferences: a request is sent once. No redirect is followed, so headers go nowhere else; nothing is repeated: a repeated
/// call would be executed twice. Whoever knows the address adds its proxy.
pub(super) fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        // A header that cannot be printed is left out, and the rest of the answer counts.
        .http1_ignore_invalid_headers_in_responses(true)
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .user_agent(USER_AGENT)
}

#[cfg(test)]
mod tests {
    use super::builder;

    /// The `Debug` text of reqwest's client: no proxy if none is shown, the rest if it differs from its default.
    #[test]
    fn bytes_go_to_the_address_and_nowhere_else() {
        let set = format!("{:?}", builder());
        assert!(set.contains("connect_timeout: 30s"), "{set}");
        let ignored = "http1_ignore_invalid_headers_in_responses: true";
        assert!(set.contains(ignored), "{set}");
        let built = format!("{:?}", builder().build().unwrap());
        assert!(!built.contains("proxies"), "{built}");
        assert!(built.contains("redirect_policy"), "{built}");
        assert!(!built.contains("referer"), "{built}");
        let with_proxy = format!("{:?}", reqwest::Client::new());
        assert!(with_proxy.contains("proxies"), "{with_proxy}");
    }
}
