//! The reasons why a model or server that the caller names cannot be used, and the alternatives here.

use crate::found::choice::{Choice, EMBEDDED, HOSTED};
use crate::found::server_kind::ServerKind;
use crate::found::servers::{Places, Server};
use crate::text::command::shell_word;
use monolith_core::contract::recorded_url;
use monolith_host::driver::Environment;
use monolith_host::inference::{KNOWN_MODELS, StoredModel};

/// Maximum number of model names in a message.
const MOST_TOLD: usize = 12;

/// The reason why the caller's choice is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoWay {
    /// No way is called that.
    #[error("use {got:?}: expected one of {known}")]
    Unknown { got: String, known: String },
    /// No such server answers.
    #[error("use {word}: no {name} answers at {address}")]
    NotRunning {
        address: String,
        name: &'static str,
        word: &'static str,
    },
    /// An address is given, and no such server is there.
    #[error("use {name} at {address}: no {name} answers there")]
    Unanswered { address: String, name: &'static str },
    /// An address is given, and another server is there.
    #[error(
        "use {name} at {address}: a server answers there, and it is not {name}: {request} has another answer"
    )]
    OtherServer {
        address: String,
        name: &'static str,
        request: &'static str,
    },
    /// The caller said not to look for it.
    #[error("use {word}: --{word} none disables it")]
    NotLookedFor { word: &'static str },
    /// The server answers, and has nothing to answer with.
    #[error("use {word}: {name} runs at {address}, but holds no model")]
    Empty {
        address: String,
        name: &'static str,
        word: &'static str,
    },
    /// No model is stored.
    #[error("use embedded: no model is stored here")]
    NothingStored,
    /// The build has no engine.
    #[error("use embedded: this build has no embedded engine")]
    NoEngine,
    /// The hosted provider's key is not set.
    #[error("use {word}: {variable} is not set")]
    NoKey {
        variable: &'static str,
        word: &'static str,
    },
    /// The address that the caller names does not answer.
    #[error("use the server that --base-url names: {why}")]
    Silent { why: String },
    /// The server at that address refuses a caller without a key.
    #[error("use the server at {address}: it answers HTTP {status}")]
    WantsKey { address: String, status: u16 },
    /// The server at that address answers with a page for browsers.
    #[error("list the models of {address}: its answer is a web page")]
    WebPage { address: String },
    /// The server at that address answers with an error.
    #[error("list the models of {address}: it answers HTTP {status}{why}")]
    Failing {
        address: String,
        status: u16,
        why: String,
    },
    /// The server at that address gives its list to who has the key alone.
    #[error("list the models of {address}: it wants the key for its list (HTTP {status})")]
    ListWantsKey { address: String, status: u16 },
    /// The server at that address answers, and lists no model.
    #[error("list the models of {address}: it answers, but lists none")]
    NoList { address: String },
    /// The way is there, the model is not.
    #[error("use the model {model:?} of {word}: it has {held}")]
    NoModel {
        held: String,
        model: String,
        word: String,
    },
    /// No server and no stored model here has that model, and no remote provider could be asked for it.
    #[error(
        "use the model {model:?}: no server here and no stored model has that name{held}, and no usual key is set"
    )]
    NoSuchModel { held: String, model: String },
}

/// The results of the search.
pub struct Looked<'a> {
    pub environment: &'a Environment,
    pub places: &'a Places,
    pub servers: &'a [Server],
    pub stored: &'a [StoredModel],
}

impl NoWay {
    /// Returns the reason why no choice of that kind is left; `None` if one should be.
    pub fn of_way(word: &str, looked: &Looked<'_>) -> Option<Self> {
        if let Some(kind) = ServerKind::ALL.into_iter().find(|kind| kind.word() == word) {
            let (name, word) = (kind.name(), kind.word());
            let Some(address) = looked.places.of(kind, looked.environment) else {
                return Some(Self::NotLookedFor { word });
            };
            let address = recorded_url(&address);
            let runs = looked.servers.iter().find(|server| server.kind == kind);
            return match runs {
                None => Some(Self::NotRunning {
                    address,
                    name,
                    word,
                }),
                Some(server) if server.models.is_empty() => Some(Self::Empty {
                    address,
                    name,
                    word,
                }),
                Some(_) => None,
            };
        }
        if word == EMBEDDED {
            return match (cfg!(feature = "local"), looked.stored.is_empty()) {
                (false, _) => Some(Self::NoEngine),
                (true, true) => Some(Self::NothingStored),
                (true, false) => None,
            };
        }
        if let Some((provider, word, _)) = HOSTED.into_iter().find(|(_, known, _)| *known == word) {
            let variable = provider.usual_key_env().unwrap_or_default();
            let set = looked.environment.get(variable).is_some();
            return (!set).then_some(Self::NoKey { variable, word });
        }
        let near = ServerKind::ALL.into_iter().map(ServerKind::word);
        let far = HOSTED.into_iter().map(|(_, word, _)| word);
        let known: Vec<&str> = near.chain([EMBEDDED]).chain(far).collect();
        Some(Self::Unknown {
            got: word.to_owned(),
            known: known.join(", "),
        })
    }

    /// Returns the error that none of those choices has that model.
    pub fn of_model(model: &str, way: Option<&str>, ways: &[Choice]) -> Self {
        let mut held: Vec<&str> = ways.iter().map(|way| way.model.as_str()).collect();
        let more = held.len().saturating_sub(MOST_TOLD);
        held.truncate(MOST_TOLD);
        let mut held = held.join(", ");
        if more > 0 {
            held = format!("{held} and {more} more");
        }
        let model = model.to_owned();
        match way {
            Some(word) => Self::NoModel {
                held,
                model,
                word: word.to_owned(),
            },
            None if held.is_empty() => Self::NoSuchModel { held, model },
            None => Self::NoSuchModel {
                held: format!(" (there are {held})"),
                model,
            },
        }
    }

    /// Returns the next step, if it is not the general advice for when nothing is found.
    pub(crate) fn help(&self) -> Option<String> {
        let text = match self {
            Self::NotRunning { .. } => {
                "start it, or name its address: --llama-server, --lm-studio, --ollama URL"
            }
            Self::Empty { .. } => "let it load a model",
            Self::NothingStored => {
                "monolith model pull fetches one, monolith model add NAME FILE takes a GGUF file"
            }
            Self::NoEngine => "cargo build --release --features local makes one that has",
            Self::NoKey { .. } => "export it; its value is never read into the contract",
            Self::Unanswered { address, name } => {
                let server = address.trim_end_matches('/').trim_end_matches("/v1");
                return Some(format!(
                    "start {name} there, or correct the address; any other server that speaks as OpenAI does: --base-url {server}/v1"
                ));
            }
            Self::OtherServer { address, name, .. } => {
                let server = address.trim_end_matches('/').trim_end_matches("/v1");
                return Some(format!(
                    "if it speaks as OpenAI does: --base-url {server}/v1; else correct the address of {name}"
                ));
            }
            Self::Silent { .. } => {
                "start it, or correct --base-url, which mostly ends in /v1; nothing was written"
            }
            Self::WantsKey { .. } => {
                "--key-env VAR names the variable that holds its key, --model NAME the model; nothing is sent with a key before a run"
            }
            Self::WebPage { .. } => {
                "--base-url leads to something else than an API, whose address mostly ends in /v1; nothing was written"
            }
            Self::Failing { .. } => {
                "it may still be loading: try again, or look at its log; --model NAME names the model without its list"
            }
            Self::NoList { .. } | Self::ListWantsKey { .. } => {
                "--model NAME says which; nothing is sent with a key before a run"
            }
            Self::NoModel { held, .. } if !held.is_empty() => {
                let one = held.split(", ").next().filter(|one| one == held);
                return Some(format!(
                    "--model {}",
                    one.map_or_else(|| "NAME takes one of them".to_owned(), shell_word)
                ));
            }
            Self::NotLookedFor { .. }
            | Self::Unknown { .. }
            | Self::NoModel { .. }
            | Self::NoSuchModel { .. } => return None,
        };
        Some(text.to_owned())
    }

    /// True if the caller made the mistake, and nothing is missing here.
    pub(crate) const fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::NotLookedFor { .. })
    }
}

/// Returns the general advice for when nothing is found.
pub fn ways_out() -> String {
    let known = KNOWN_MODELS.map(|known| known.name).join(", ");
    let embedded = if cfg!(feature = "local") {
        format!("monolith model pull {known}")
    } else {
        format!("cargo build --release --features local, then monolith model pull {known}")
    };
    format!(
        "start Ollama, llama-server or LM Studio, elsewhere with --ollama, --llama-server or --lm-studio URL; or name any server that speaks as OpenAI does: monolith init --base-url URL; or {embedded}; or set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or \
         OPENROUTER_API_KEY. monolith demo needs none of them, nor does a provider {{type: scripted, file: script.jsonl}}, which a script answers for (docs/recipes/without-a-model.md)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::servers::{Calling, ServedModel};

    #[test]
    fn each_way_that_is_none_has_its_own_reason() {
        let server = |kind, models: &[&str]| Server {
            address: "http://a".to_owned(),
            kind,
            models: models
                .iter()
                .map(|name| ServedModel {
                    calling: Calling::Wire,
                    name: (*name).to_owned(),
                    window: None,
                })
                .collect(),
        };
        let servers = [
            server(ServerKind::Ollama, &[]),
            server(ServerKind::LmStudio, &["m"]),
        ];
        let environment =
            Environment::new(|name| (name == "OPENAI_API_KEY").then(|| "k".to_owned()));
        let looked = Looked {
            environment: &environment,
            places: &Places::default(),
            servers: &servers,
            stored: &[],
        };
        let check = |word: &str, expect: Option<&str>| {
            let said = NoWay::of_way(word, &looked).map(|no| no.to_string());
            assert_eq!(said.as_deref(), expect, "{word}");
        };
        check(
            "llama-server",
            Some("use llama-server: no llama-server answers at http://127.0.0.1:8080"),
        );
        check(
            "ollama",
            Some("use ollama: Ollama runs at http://127.0.0.1:11434, but holds no model"),
        );
        check("lm-studio", None);
        check("openai", None);
        check("google", Some("use google: GEMINI_API_KEY is not set"));
        let embedded = if cfg!(feature = "local") {
            "use embedded: no model is stored here"
        } else {
            "use embedded: this build has no embedded engine"
        };
        check("embedded", Some(embedded));
        check(
            "olama",
            Some(
                "use \"olama\": expected one of llama-server, lm-studio, ollama, embedded, anthropic, openai, google, openrouter",
            ),
        );
    }
}
