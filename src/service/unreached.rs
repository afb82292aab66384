//! Advice for a model server that does not answer at an address. Asks none.

use crate::text::escape::line;
use monolith_core::contract::ProviderType;

/// Returns advice for a provider of that type whose address does not answer; `key` is where the address is written. The server
/// of a company cannot be started here.
pub fn unreached(
    provider: &str,
    at: Option<(ProviderType, &str)>,
    key: &str,
    is_set: impl Fn(&str) -> bool,
) -> String {
    let company = at.and_then(|(kind, address)| Some((address, kind.key_env_at(address)?)));
    let Some((address, variable)) = company else {
        let provider = line(provider);
        return format!("start the server of providers.{provider}, or correct its {key}");
    };
    let key = if is_set(variable) {
        String::new()
    } else {
        format!(", and set {variable}, which holds its key")
    };
    format!("look whether this machine reaches {}{key}", line(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_of_a_company_is_not_to_be_started() {
        let check = |address: Option<&str>, is_set: bool, expect: &str| {
            let at = address.map(|address| (ProviderType::Openai, address));
            assert_eq!(unreached("far", at, "`base_url`", |_| is_set), expect);
        };
        let own = "start the server of providers.far, or correct its `base_url`";
        check(None, false, own);
        check(Some("http://127.0.0.1:9/v1"), false, own);
        let far = "look whether this machine reaches https://api.openai.com/v1";
        check(Some("https://api.openai.com/v1"), true, far);
        let unset = format!("{far}, and set OPENAI_API_KEY, which holds its key");
        check(Some("https://api.openai.com/v1"), false, &unset);
    }
}
