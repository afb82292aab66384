//! A run against strict servers, in this process: from the contract to the verified and replayed transcript.

use std::path::Path;

use monolith::contract::ContractSpec;
use monolith::evidence::{BlobSource, Replayer};
use monolith::host::{
    Durability, Environment, HostTool, NoObserver, RunRequest, Store, StoreReader, drive, prepare,
};
use monolith::session::{AgentMessage, Digest, RedactionKey, RunId};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::server::Server;

/// A key that no answer repeats.
const KEY: &str = "sk-strict-5b1f0c77";

/// The end of a run.
#[derive(Debug)]
pub struct Played {
    pub outcome: String,
    pub conversation: Vec<AgentMessage>,
}

/// A contract over these servers, asked in this order, with more terms.
pub fn contract(servers: &[(&str, &Server)], more: &Value) -> Value {
    let mut providers = Map::new();
    let mut targets = Vec::new();
    for (name, server) in servers {
        let provider = server.provider();
        providers.insert(
            (*name).to_owned(),
            json!({"type": provider.kind(), "base_url": server.url()}),
        );
        targets
            .push(json!({"provider": name, "model": provider.model(), "context_window": 128_000}));
    }
    let mut contract = json!({
        "system": "You use tools.",
        "task": "Work in four turns.",
        "tool_policy": "optional",
        "parallel_tool_calls": true,
        "targets": targets,
        "providers": providers,
        "tools": {"host": ["echo", "clock"]},
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        contract[key] = value.clone();
    }
    contract
}

/// Repeats its text, any number of times.
pub fn echo() -> HostTool {
    let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {"text": {"type": "string"},
        "times": {"type": "integer", "minimum": 1}}, "required": ["text"], "additionalProperties": false});
    HostTool::new(
        "echo",
        "Repeats a text.",
        schema,
        |arguments: Value| async move {
            let times = arguments["times"].as_u64().unwrap_or(1);
            let text = arguments["text"].as_str().map(str::to_owned);
            text.map(|text| text.repeat(usize::try_from(times).unwrap_or(1)))
                .ok_or("no text")
        },
    )
}

/// A tool without arguments: its schema names no properties.
pub fn clock() -> HostTool {
    HostTool::new(
        "clock",
        "Tells the time.",
        json!({"type": "object"}),
        |_| async { Ok::<_, String>("12:00".to_owned()) },
    )
}

/// Plays a contract to its end. The transcript verifies and replays.
pub async fn play(contract: &Value, tools: Vec<HostTool>) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let mut environment =
        Environment::new(|name| name.ends_with("_API_KEY").then(|| KEY.to_owned()));
    for tool in tools {
        environment = environment.with_tool(tool);
    }
    let spec = ContractSpec::parse("strict.yaml", &contract.to_string(), &[]).unwrap();
    let request = RunRequest::new(spec, folder.path(), environment, RedactionKey::new([7; 32]));
    let prepared = prepare(request, &CancellationToken::new()).await.unwrap();
    let path = folder.path().join("runs.db");
    let store = Store::open(&path, Durability::Normal).unwrap();
    let (_none, controls) = mpsc::channel(1);
    let ended = drive(prepared, &store, controls, &mut NoObserver)
        .await
        .unwrap();
    holds(&path, &ended.run_id);
    let conversation = ended.run.conversation().iter();
    Played {
        outcome: ended
            .run
            .outcome()
            .map_or_else(String::new, |end| end.to_string()),
        conversation: conversation
            .map(|message| AgentMessage::clone(message))
            .collect(),
    }
}

struct Blobs(StoreReader);

impl BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).ok().flatten()
    }
}

/// Verifies the run, and decides it again from its events.
fn holds(path: &Path, run: &RunId) {
    let mut reader = StoreReader::open(path).unwrap();
    let report = reader.verify_run(run, false).unwrap();
    assert_eq!(report.first_bad, None);
    let blobs = Blobs(StoreReader::open(path).unwrap());
    let stored = reader.read_run(run).unwrap();
    let mut replayer = Replayer::new(stored.contract().unwrap(), run);
    for entry in stored {
        replayer.take(&entry.unwrap(), &blobs);
    }
    let report = replayer.finish(false);
    assert!(report.same, "{:#?}", report.first_difference);
}

/// Generates a module of tests for each provider: each test calls a function with the provider.
macro_rules! for_each_provider {
    ($($test:ident),+ $(,)?) => {
        for_each_provider!(@each [$($test),+] gpt Gpt);
        for_each_provider!(@each [$($test),+] responses Responses);
        for_each_provider!(@each [$($test),+] opus Opus);
        for_each_provider!(@each [$($test),+] sonnet Sonnet);
        for_each_provider!(@each [$($test),+] gemini Gemini);
        for_each_provider!(@each [$($test),+] gemini_chat GeminiChat);
        for_each_provider!(@each [$($test),+] mistral Mistral);
        for_each_provider!(@each [$($test),+] deepseek DeepSeek);
        for_each_provider!(@each [$($test),+] kimi Kimi);
    };
    (@each [$($test:ident),+] $module:ident $provider:ident) => {
        mod $module {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                super::$test(crate::strict::provider::Provider::$provider).await;
            })+
        }
    };
}
pub(super) use for_each_provider;
