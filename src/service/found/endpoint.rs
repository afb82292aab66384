//! A server that speaks as OpenAI does, at an address that the caller names.

use std::time::Duration;

use serde_json::Value;

use crate::found::choice::Choice;
use crate::found::no_way::NoWay;
use crate::found::server_kind::ServerKind;
use crate::found::servers::{Calling, Places, named};
use crate::text::escape::line;
use monolith_core::contract::{ProviderType, recorded_url};
use monolith_host::driver::Environment;
use monolith_host::inference::{Proxies, ServerAnswer, answer_at, probe_address};

/// Time limit for one answer of such a server, which may be far away.
const PATIENCE: Duration = Duration::from_secs(5);

/// The same for one on this machine.
const NEAR: Duration = Duration::from_millis(800);
/// Characters of what such a server says of an error.
const MOST_CHARS: usize = 200;

/// The note for a model that no list could confirm.
pub const UNCHECKED: &str =
    "a name that was not checked (no list of models can be had without a key)";
/// The same at a server that wants no key.
const UNLISTED: &str = "a name that was not checked (no list of models is there)";
/// The path of requests below such an address: a copied address may end so.
const REQUESTS: &str = "/chat/completions";

/// Normalizes the given address of such a server: requests go below it.
pub fn base_url(given: &str) -> Result<String, String> {
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
pub async fn endpoint(
    address: &str,
    key_env: Option<&str>,
    model: Option<&str>,
    proxies: &Proxies,
) -> Result<Vec<Choice>, NoWay> {
    let below = format!("{address}/v1");
    let (mut refused, mut failing, mut is_page) = (None, None, false);
    for place in [address, below.as_str()] {
        let Some(answer) = answer_at(place, "models", PATIENCE, proxies).await else {
            if place == address {
                let probe = probe_address(address, PATIENCE, proxies).await;
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
        if answer.status >= 500 {
            failing.get_or_insert_with(|| failing_at(place, answer.status, &answer.body));
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
        let mut ways: Vec<Choice> = named(list, "id", window_of)
            .into_iter()
            .map(|model| Choice {
                window: model.window,
                ..Choice::of_endpoint(place, key_env, &model.name)
            })
            .collect();
        if ways.iter().any(|way| way.window.is_none()) {
            let windows = windows_beside(place, proxies).await;
            for way in ways.iter_mut().filter(|way| way.window.is_none()) {
                way.window = windows.of(&way.model);
            }
        }
        return match model {
            None => Ok(ways),
            Some(model) if lists(list, model) => {
                // A long list is not taken over whole.
                let listed = ways.into_iter().find(|way| way.model == model);
                let unlisted = || Choice::of_endpoint(place, key_env, model);
                Ok(vec![listed.unwrap_or_else(unlisted)])
            }
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
        (Some((_, status)), None) => Err(NoWay::ListWantsKey {
            address: shown,
            status,
        }),
        (None, None) => Err(failing.unwrap_or(NoWay::NoList { address: shown })),
    }
}

/// Reports that no server of that kind is at an address; `listed` is the answer to a request for its models.
pub fn no_such_server(kind: ServerKind, address: &str, listed: Option<&ServerAnswer>) -> NoWay {
    let (name, shown) = (kind.name(), recorded_url(address));
    match listed {
        Some(failed) if failed.status >= 500 => failing_at(address, failed.status, &failed.body),
        Some(_) => NoWay::OtherServer {
            address: shown,
            name,
            request: kind.request(),
        },
        None => NoWay::Unanswered {
            address: shown,
            name,
        },
    }
}

/// Reports that the server at that address answers with an error, in its own words if it has some.
fn failing_at(address: &str, status: u16, body: &[u8]) -> NoWay {
    let document = serde_json::from_slice::<Value>(body).ok();
    let said = document.as_ref().and_then(|document| {
        let error = document.pointer("/error/message");
        error.or_else(|| document.get("message"))?.as_str()
    });
    let said = said.map(|said| said.chars().take(MOST_CHARS).collect::<String>());
    NoWay::Failing {
        address: recorded_url(address),
        status,
        why: said.map_or_else(String::new, |said| format!(" ({})", line(&said))),
    }
}

/// The address below which a server lists models where one is looked for that is not of its kind.
pub async fn other_server(places: &Places, environment: &Environment) -> Option<String> {
    for kind in ServerKind::ALL {
        let Some(root) = places.of(kind, environment) else {
            continue;
        };
        let address = format!("{root}/v1");
        let answer = answer_at(&address, "models", NEAR, &environment.proxies()).await;
        let document = answer.filter(|answer| (200..300).contains(&answer.status));
        let document =
            document.and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
        let list = document.as_ref().and_then(|document| document.get("data"));
        if list
            .and_then(Value::as_array)
            .is_some_and(|list| !list.is_empty())
        {
            return Some(address);
        }
    }
    None
}

/// The window of a model that a list states: of vLLM, of LM Studio, and of services that offer many models.
fn window_of(listed: &Value) -> Option<u64> {
    const KEYS: [&str; 4] = [
        "max_model_len",
        "loaded_context_length",
        "context_length",
        "max_context_length",
    ];
    KEYS.iter().find_map(|key| listed.get(key)?.as_u64())
}

/// The windows that a server states beside its list.
#[derive(Debug, Default)]
struct Windows {
    /// Of whatever model it has.
    any: Option<u64>,
    /// The windows of the models in a separate list.
    of_models: Vec<(String, u64)>,
}

impl Windows {
    fn of(&self, model: &str) -> Option<u64> {
        let own = self.of_models.iter().find(|(name, _)| name == model);
        own.map(|(_, window)| *window).or(self.any)
    }
}

/// Returns the windows that llama-server and LM Studio state, above the address that ends in `/v1`.
async fn windows_beside(address: &str, proxies: &Proxies) -> Windows {
    let root = address.strip_suffix("/v1").unwrap_or(address);
    let ask = async |path: &str| {
        let answer = answer_at(root, path, PATIENCE, proxies).await?;
        let is_ok = (200..300).contains(&answer.status);
        is_ok.then(|| serde_json::from_slice::<Value>(&answer.body).ok())?
    };
    let (props, own) = tokio::join!(ask("props"), ask("api/v0/models"));
    let any = props.as_ref().and_then(|props| {
        let window = props.pointer("/default_generation_settings/n_ctx")?;
        window.as_u64()
    });
    let listed = own.as_ref().and_then(|own| own.get("data")?.as_array());
    let of_models = listed.map_or_else(Vec::new, |listed| named(listed, "id", window_of));
    let of_models = of_models.into_iter();
    Windows {
        any,
        of_models: of_models
            .filter_map(|model| Some((model.name, model.window?)))
            .collect(),
    }
}

/// True if the list has a model of that name. A llama-server answers under every name, with its one model: another name is a
/// mistake there, too.
fn lists(list: &[Value], model: &str) -> bool {
    let mut names = list.iter().map(|listed| listed.get("id"));
    names.any(|name| name.and_then(Value::as_str) == Some(model))
}

impl Choice {
    /// Chooses that model at that address.
    pub(crate) fn of_endpoint(address: &str, key_env: Option<&str>, model: &str) -> Self {
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
    fn a_server_of_another_kind_is_not_called_silent() {
        let said = |status: Option<u16>| {
            let answer = status.map(|status| ServerAnswer {
                status,
                ..ServerAnswer::default()
            });
            let none = no_such_server(ServerKind::Ollama, "http://h:1", answer.as_ref());
            none.to_string()
        };
        assert_eq!(
            said(None),
            "use Ollama at http://h:1: no Ollama answers there"
        );
        assert_eq!(
            said(Some(404)),
            "use Ollama at http://h:1: a server answers there, and it is not Ollama: GET /api/tags has another answer"
        );
        assert_eq!(
            said(Some(503)),
            "list the models of http://h:1: it answers HTTP 503"
        );
    }

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
