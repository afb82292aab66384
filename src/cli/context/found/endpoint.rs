//! A server that speaks as OpenAI does, at an address that the caller names.

use std::time::Duration;

use serde_json::Value;

use super::choice::Choice;
use super::no_way::NoWay;
use super::servers::{Calling, named};
use crate::contract::{ProviderType, recorded_url};
use crate::inference::{answer_at, probe_address};

/// How long such a server, which may be far away, may take for one answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is reported of a model that no list could be held against.
pub(in crate::cli) const UNCHECKED: &str =
    "a name that was not checked (no list of models can be had without a key)";
/// The same at a server that wants no key.
const UNLISTED: &str = "a name that was not checked (no list of models is there)";
/// Where requests are sent below such an address: what is copied from a manual may end so.
const REQUESTS: &str = "/chat/completions";

/// What is given for such a server: the address below which it is asked.
pub(in crate::cli) fn base_url(given: &str) -> Result<String, String> {
    let given = given.trim().trim_end_matches('/');
    let given = given.strip_suffix(REQUESTS).unwrap_or(given);
    let rest = given
        .strip_prefix("http://")
        .or_else(|| given.strip_prefix("https://"))
        .ok_or("it begins with http:// or https://")?;
    if rest.is_empty() || rest.starts_with(['/', ':', '?', '#']) {
        return Err("it names no host".to_owned());
    }
    Ok(given.to_owned())
}

/// The models to choose from at an address: those that the server lists, or the one that is named. Its list is below the
/// address, or below `/v1` there: then that is the address, also where a key is wanted for it. A server that answers and lists none has the model that is named.
///
/// # Errors
/// Nothing answers there, it wants a key and no variable of one is named, it lists none and none is named, or it lists others.
pub(in crate::cli) async fn endpoint(
    address: &str,
    key_env: Option<&str>,
    model: Option<&str>,
) -> Result<Vec<Choice>, NoWay> {
    let below = format!("{address}/v1");
    let (mut refused, mut is_page) = (None, false);
    for place in [address, below.as_str()] {
        let Some(answer) = answer_at(place, "models", PATIENCE).await else {
            if place == address {
                let probe = probe_address(address, PATIENCE).await;
                if !probe.responsive {
                    let why = probe.detail;
                    return Err(NoWay::Silent { why });
                }
            }
            continue;
        };
        if matches!(answer.status, 401 | 403) {
            refused.get_or_insert((place, answer.status));
        }
        is_page |=
            (200..300).contains(&answer.status) && answer.body.trim_ascii_start().starts_with(b"<");
        let document = (200..300).contains(&answer.status).then_some(&answer.body);
        let document = document.and_then(|body| serde_json::from_slice::<Value>(body).ok());
        let list = document.as_ref().and_then(|document| document.get("data"));
        let Some(list) = list
            .and_then(Value::as_array)
            .filter(|list| !list.is_empty())
        else {
            continue;
        };
        let choice = |name: &str| Choice::of_endpoint(place, key_env, name);
        let served = named(list, "id", |_| None);
        let ways = served.iter().map(|model| choice(&model.name)).collect();
        return match model {
            None => Ok(ways),
            Some(model) if lists(list, model) => Ok(vec![choice(model)]),
            Some(model) => Err(NoWay::of_model(model, Some(place), &ways)),
        };
    }
    // What wants a key is an API, and what has nothing there is none.
    let place = refused.map_or(address, |(place, _)| place);
    let shown = recorded_url(place);
    match (refused, model) {
        (None, _) if is_page => Err(NoWay::WebPage { address: shown }),
        (Some((_, status)), _) if key_env.is_none() => Err(NoWay::WantsKey {
            address: shown,
            status,
        }),
        (_, Some(model)) => {
            let choice = Choice::of_endpoint(place, key_env, model);
            let why = refused.map_or(UNLISTED, |_| UNCHECKED);
            let what = format!("{}, {why}", choice.what);
            Ok(vec![Choice { what, ..choice }])
        }
        (_, None) => Err(NoWay::NoList { address: shown }),
    }
}

/// Whether the list has a model of that name. A llama-server answers under every name, with its one model: another name is a mistake there, too.
fn lists(list: &[Value], model: &str) -> bool {
    let mut names = list.iter().map(|listed| listed.get("id"));
    names.any(|name| name.and_then(Value::as_str) == Some(model))
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
            what: format!("{}: {model}", recorded_url(address)),
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
        check("https://host/v1/chat/completions", Some("https://host/v1"));
        check("host/v1", None);
        check("https://", None);
        check("https:///v1", None);
    }
}
