//! A server that speaks as OpenAI does, at an address that the caller names.

use super::choice::Choice;
use super::servers::{Calling, get, named};
use crate::contract::ProviderType;

/// What is given for such a server: the address below which it is asked.
pub(in crate::cli) fn base_url(given: &str) -> Result<String, String> {
    let given = given.trim().trim_end_matches('/');
    let rest = given
        .strip_prefix("http://")
        .or_else(|| given.strip_prefix("https://"))
        .ok_or("it begins with http:// or https://")?;
    if rest.is_empty() || rest.starts_with(['/', ':', '?', '#']) {
        return Err("it names no host".to_owned());
    }
    Ok(given.to_owned())
}

/// Every model that the server lists; none where it lists none to a caller without a key. Its list is below the address, or below
/// `/v1` there: then that is the address.
pub(in crate::cli) async fn endpoint(address: &str, key_env: Option<&str>) -> Vec<Choice> {
    let below = format!("{address}/v1");
    for address in [address, below.as_str()] {
        let Some(list) = get(address, "/models").await else {
            continue;
        };
        let Some(data) = list.get("data") else {
            continue;
        };
        let models = named(data, "id", |_| None).into_iter();
        return models
            .map(|model| Choice::of_endpoint(address, key_env, &model.name))
            .collect();
    }
    Vec::new()
}

impl Choice {
    /// That model at that address.
    pub(in crate::cli) fn of_endpoint(address: &str, key_env: Option<&str>, model: &str) -> Self {
        Self {
            address: Some(address.to_owned()),
            calling: Calling::Wire,
            key_env: key_env.map(str::to_owned),
            model: model.to_owned(),
            profile: None,
            provider: ProviderType::Openai,
            word: "endpoint",
            what: format!("{address}: {model}"),
            window: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host() {
        let check = |given: &str, expect: Option<&str>| {
            assert_eq!(base_url(given).ok().as_deref(), expect, "{given}");
        };
        check("https://host/v1/", Some("https://host/v1"));
        check("http://127.0.0.1:9", Some("http://127.0.0.1:9"));
        check("host/v1", None);
        check("https://", None);
        check("https:///v1", None);
    }
}
