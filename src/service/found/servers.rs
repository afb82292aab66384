//! Model servers of this machine, found by their usual addresses. Sends no key and asks no model.

use std::time::Duration;

use serde_json::{Value, json};

use crate::found::server_kind::ServerKind;
use monolith_core::contract::recorded_url;
use monolith_host::driver::Environment;
use monolith_host::inference::request_json;

/// Time limit for one answer of a server on this machine.
const PATIENCE: Duration = Duration::from_millis(800);
/// The most models of one server that are taken.
const MAX_MODELS: usize = 1_024;
/// Maximum number of models of one server that are queried one by one.
const MAX_ASKED: usize = 16;
/// The longest name of a model that is taken from a server.
const MAX_NAME_CHARS: usize = 200;

/// The address value of a server that is not to be looked for.
const NOWHERE: &str = "none";

/// Addresses at which servers are looked for.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Address of Ollama, or `none`.
    pub ollama: Option<String>,
    /// Address of llama-server, or `none`.
    pub llama_server: Option<String>,
    /// Address of LM Studio, or `none`.
    pub lm_studio: Option<String>,
}

/// The way in which a server's model can call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calling {
    /// On the wire, as far as anybody can tell.
    #[default]
    Wire,
    /// In its text: the server lays out no tools for it.
    Text,
    /// In its text, and the server samples under a grammar.
    GatedText,
}

/// A server that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Address of the server.
    pub address: String,
    /// Kind of the server.
    pub kind: ServerKind,
    /// Models of the server.
    pub models: Vec<ServedModel>,
}

/// A model of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedModel {
    pub(crate) calling: Calling,
    pub(crate) name: String,
    /// Its window in tokens, where the server says it.
    pub(crate) window: Option<u64>,
}

impl Places {
    /// Returns the address to look for a server of that kind; `None` if it is not looked for.
    pub(crate) fn of(&self, kind: ServerKind, environment: &Environment) -> Option<String> {
        let usual = match kind {
            ServerKind::LlamaServer => "http://127.0.0.1:8080".to_owned(),
            ServerKind::LmStudio => "http://127.0.0.1:1234".to_owned(),
            ServerKind::Ollama => environment.get("OLLAMA_HOST").map_or_else(
                || "http://127.0.0.1:11434".to_owned(),
                |host| ollama_address(&host).trim_end_matches('/').to_owned(),
            ),
        };
        match self.named(kind) {
            Some(NOWHERE) => None,
            Some(address) => Some(address.to_owned()),
            None => Some(usual),
        }
    }

    /// Returns the caller's address for a server of that kind.
    fn named(&self, kind: ServerKind) -> Option<&str> {
        match kind {
            ServerKind::LlamaServer => self.llama_server.as_deref(),
            ServerKind::LmStudio => self.lm_studio.as_deref(),
            ServerKind::Ollama => self.ollama.as_deref(),
        }
    }

    /// The kinds of which the caller gave an address where none of those servers is.
    pub fn unanswered<'p>(
        &'p self,
        servers: &[Server],
    ) -> impl Iterator<Item = (ServerKind, &'p str)> {
        let named = ServerKind::ALL.into_iter().filter_map(|kind| {
            let address = self.named(kind).filter(|address| *address != NOWHERE)?;
            Some((kind, address))
        });
        named.filter(|(kind, _)| servers.iter().all(|server| server.kind != *kind))
    }

    /// Every place that is asked, in words, as it may be shown.
    pub fn description(&self, environment: &Environment) -> String {
        let asked = ServerKind::ALL.into_iter().filter_map(|kind| {
            let address = self.of(kind, environment)?;
            Some(format!("no {} at {}", kind.name(), recorded_url(&address)))
        });
        let asked: Vec<String> = asked.collect();
        if asked.is_empty() {
            "no server was looked for".to_owned()
        } else {
            asked.join(", ")
        }
    }
}

/// Normalizes a server's given address: removes the path that every client adds, and adds a missing scheme.
pub fn address_of(given: &str) -> Result<String, String> {
    let given = given.trim();
    if given == NOWHERE {
        return Ok(NOWHERE.to_owned());
    }
    let whole = if given.contains("://") {
        given.to_owned()
    } else {
        format!("http://{given}")
    };
    let host = whole
        .strip_prefix("http://")
        .or_else(|| whole.strip_prefix("https://"))
        .ok_or("it begins with http:// or https://")?;
    if host.is_empty() || host.starts_with(['/', ':', '?', '#']) {
        return Err("it names no host".to_owned());
    }
    let address = whole.trim_end_matches('/');
    let address = address.strip_suffix("/v1").unwrap_or(address);
    Ok(address.trim_end_matches('/').to_owned())
}

/// Returns the address that OLLAMA_HOST means for a client: it may be a host, a host and a port, or an address.
fn ollama_address(host: &str) -> String {
    let host = host.trim();
    let host = host.replacen("0.0.0.0", "127.0.0.1", 1);
    if host.contains("://") {
        return host;
    }
    match host.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => format!("http://{host}"),
        _ => format!("http://{host}:11434"),
    }
}

/// Every server that answers, asked beside each other.
pub async fn running(places: &Places, environment: &Environment) -> Vec<Server> {
    let ask = async |kind| {
        let address = places.of(kind, environment)?;
        match kind {
            ServerKind::LlamaServer => llama_server(address).await,
            ServerKind::LmStudio => lm_studio(address).await,
            ServerKind::Ollama => ollama(address).await,
        }
    };
    let (llama, studio, ollama) = tokio::join!(
        ask(ServerKind::LlamaServer),
        ask(ServerKind::LmStudio),
        ask(ServerKind::Ollama),
    );
    [llama, studio, ollama].into_iter().flatten().collect()
}

async fn get(address: &str, path: &str) -> Option<Value> {
    request_json(&format!("{address}{path}"), None, PATIENCE).await
}

async fn llama_server(address: String) -> Option<Server> {
    let (models, props) = tokio::join!(get(&address, "/v1/models"), get(&address, "/props"));
    let models = models?;
    let props = props?;
    // Other programs listen there and list models, too: only llama-server has these properties.
    let window = props.pointer("/default_generation_settings/n_ctx")?;
    let window = window.as_u64();
    let mut models = named(models.get("data")?.as_array()?, "id", |_| window);
    let calling = if lays_out_tools(&props) {
        Calling::Wire
    } else {
        Calling::GatedText
    };
    for model in &mut models {
        model.calling = calling;
    }
    Some(Server {
        address,
        kind: ServerKind::LlamaServer,
        models,
    })
}

/// True if a llama-server's template has a place for tools and for calls, by the server's own statement; a server too old for
/// that shows the template. With neither it gets the benefit of the doubt.
fn lays_out_tools(props: &Value) -> bool {
    let can = |name: &str| {
        props
            .pointer(&format!("/chat_template_caps/{name}"))?
            .as_bool()
    };
    if let (Some(tools), Some(calls)) = (can("supports_tools"), can("supports_tool_calls")) {
        return tools && calls;
    }
    let template = props.get("chat_template").and_then(Value::as_str);
    template.is_none_or(|template| template.is_empty() || template.contains("tools"))
}

async fn lm_studio(address: String) -> Option<Server> {
    let (own, models) = tokio::join!(get(&address, "/api/v0/models"), get(&address, "/v1/models"));
    // Its own list knows windows and kinds; older versions have only the other one.
    let listed = own.as_ref().or(models.as_ref())?;
    let listed = listed.get("data")?.as_array()?;
    let mut models = named(listed, "id", |model| {
        let loaded = model.get("loaded_context_length");
        let window = loaded.or_else(|| model.get("max_context_length"));
        window.and_then(Value::as_u64)
    });
    let embeds = |name: &str| {
        let is = |model: &&Value| model.get("id").and_then(Value::as_str) == Some(name);
        let mut same = listed.iter().filter(is);
        let kind = same.next().and_then(|model| model.get("type"));
        kind.and_then(Value::as_str) == Some("embeddings")
    };
    models.retain(|model| !embeds(&model.name));
    Some(Server {
        address,
        kind: ServerKind::LmStudio,
        models,
    })
}

async fn ollama(address: String) -> Option<Server> {
    let tags = get(&address, "/api/tags").await?;
    let mut models = named(tags.get("models")?.as_array()?, "name", |_| None);
    for model in models.iter_mut().take(MAX_ASKED) {
        let body = json!({"model": model.name});
        let asked = request_json(&format!("{address}/api/show"), Some(&body), PATIENCE).await;
        let Some(shown) = asked else { continue };
        model.window = length_of(&shown);
        // It answers a request with tools for such a model with an error.
        let able = shown.get("capabilities").and_then(Value::as_array);
        if able.is_some_and(|able| !able.iter().any(|word| word == "tools")) {
            model.calling = Calling::Text;
        }
    }
    Some(Server {
        address,
        kind: ServerKind::Ollama,
        models,
    })
}

/// The context length of what Ollama shows of a model; the key begins with the model's family.
fn length_of(shown: &Value) -> Option<u64> {
    let info = shown.get("model_info")?.as_object()?;
    let mut lengths = info
        .iter()
        .filter(|(key, _)| key.ends_with(".context_length"));
    lengths.next()?.1.as_u64()
}

/// The models of a list, as far as their names can stand in a contract.
pub(super) fn named(
    list: &[Value],
    key: &str,
    window: impl Fn(&Value) -> Option<u64>,
) -> Vec<ServedModel> {
    let mut models = Vec::new();
    for model in list.iter().take(MAX_MODELS) {
        let name = model.get(key).and_then(Value::as_str).unwrap_or_default();
        let fits = |c: char| !c.is_control();
        if !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS && name.chars().all(fits) {
            models.push(ServedModel {
                calling: Calling::default(),
                name: name.to_owned(),
                window: window(model),
            });
        }
    }
    models
}

#[cfg(test)]
mod tests {
    use wiremock::matchers::{method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;

    async fn server(answers: &[(&str, Value)]) -> MockServer {
        let server = MockServer::start().await;
        for (at, answer) in answers {
            Mock::given(path(*at))
                .respond_with(ResponseTemplate::new(200).set_body_json(answer))
                .mount(&server)
                .await;
        }
        server
    }

    /// Places that are not looked at.
    fn nowhere() -> Places {
        let closed = Some(NOWHERE.to_owned());
        Places {
            ollama: closed.clone(),
            llama_server: closed.clone(),
            lm_studio: closed,
        }
    }

    fn environment() -> Environment {
        Environment::new(|_| None)
    }

    #[tokio::test]
    async fn each_server_is_known_by_its_own_answers() {
        let ollama = server(&[
            (
                "/api/tags",
                json!({"models": [{"name": "qwen3:8b"}, {"name": "a\u{1b}b"}]}),
            ),
            (
                "/api/show",
                json!({"model_info": {"qwen3.context_length": 40960}}),
            ),
        ])
        .await;
        let llama = server(&[
            (
                "/v1/models",
                json!({"data": [{"id": "m.gguf", "owned_by": "llamacpp"}]}),
            ),
            (
                "/props",
                json!({"default_generation_settings": {"n_ctx": 4096}}),
            ),
        ])
        .await;
        let studio = server(&[(
            "/api/v0/models",
            json!({"data": [
                {"id": "nomic", "type": "embeddings", "max_context_length": 2048},
                {"id": "qwen", "type": "llm", "max_context_length": 32768, "loaded_context_length": 4096},
            ]}),
        )])
        .await;
        let places = Places {
            ollama: Some(ollama.uri()),
            llama_server: Some(llama.uri()),
            lm_studio: Some(studio.uri()),
        };
        let found = running(&places, &environment()).await;
        let named: Vec<String> = found
            .iter()
            .map(|server| format!("{} {:?}", server.kind.word(), server.models))
            .collect();
        let model = |name: &str, window: u64| {
            format!("[ServedModel {{ calling: Wire, name: {name:?}, window: Some({window}) }}]")
        };
        assert_eq!(
            named,
            [
                format!("llama-server {}", model("m.gguf", 4096)),
                format!("lm-studio {}", model("qwen", 4096)),
                format!("ollama {}", model("qwen3:8b", 40960)),
            ]
        );
        assert_eq!(found[0].address, llama.uri());
    }

    #[tokio::test]
    async fn what_is_not_there_or_is_something_else_is_not_found() {
        assert_eq!(running(&nowhere(), &environment()).await, []);
        // A web server that answers everything with a page.
        let page = MockServer::start().await;
        Mock::given(method("GET"))
            .respond_with(ResponseTemplate::new(200).set_body_string("<html>"))
            .mount(&page)
            .await;
        // A server of models that is not llama-server.
        let other = server(&[("/v1/models", json!({"data": [{"id": "m"}]}))]).await;
        let places = Places {
            ollama: Some(page.uri()),
            llama_server: Some(other.uri()),
            lm_studio: Some(page.uri()),
        };
        assert_eq!(running(&places, &environment()).await, []);
    }

    #[test]
    fn a_llama_server_says_of_its_template_whether_it_lays_out_tools() {
        let check = |props: Value, expect: bool| {
            assert_eq!(lays_out_tools(&props), expect, "{props}");
        };
        let caps = |tools: bool, calls: bool| {
            json!({
                "chat_template": "{% if tools %}",
                "chat_template_caps": {"supports_tools": tools, "supports_tool_calls": calls},
            })
        };
        check(caps(true, true), true);
        check(caps(false, false), false);
        check(caps(true, false), false);
        check(
            json!({"chat_template": "{% for message in messages %}"}),
            false,
        );
        check(json!({"chat_template": "{% if tools %}"}), true);
        check(json!({"chat_template": ""}), true);
        check(json!({}), true);
    }

    #[tokio::test]
    async fn a_model_that_ollama_gives_no_tools_is_known() {
        let places = |capabilities: &'static [&str]| async move {
            let ollama = server(&[
                ("/api/tags", json!({"models": [{"name": "m"}]})),
                ("/api/show", json!({"capabilities": capabilities})),
            ])
            .await;
            let places = Places {
                ollama: Some(ollama.uri()),
                ..nowhere()
            };
            running(&places, &environment()).await[0].models[0].calling
        };
        assert_eq!(places(&["completion", "tools"]).await, Calling::Wire);
        assert_eq!(places(&["completion"]).await, Calling::Text);
    }

    #[test]
    fn an_address_may_lack_its_scheme_and_may_end_in_what_every_client_adds() {
        let check = |given: &str, expect: Result<&str, &str>| {
            let got = address_of(given);
            assert_eq!(got.as_deref().map_err(String::as_str), expect, "{given}");
        };
        check("127.0.0.1:18555", Ok("http://127.0.0.1:18555"));
        check("https://box/models/v1/", Ok("https://box/models"));
        check("http://box:1//", Ok("http://box:1"));
        check("none", Ok("none"));
        check("ftp://box", Err("it begins with http:// or https://"));
        check("http:///v1", Err("it names no host"));
        check("", Err("it names no host"));
    }

    #[test]
    fn the_variable_of_ollama_is_a_host_a_port_or_an_address() {
        let check = |host: &str, expect: &str| assert_eq!(ollama_address(host), expect);
        check("127.0.0.1", "http://127.0.0.1:11434");
        check("0.0.0.0:9", "http://127.0.0.1:9");
        check("https://far:1", "https://far:1");
        check("box.local", "http://box.local:11434");
    }
}
