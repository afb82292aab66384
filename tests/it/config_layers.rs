//! Layers of configuration, with real files and the real binary.

use std::path::Path;

use serde_json::json;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::fixture::{Fixture, Left};

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "prompts/c.yaml",
        "task: hi\ntool_policy: optional\ntargets: [{provider: cloud, model: m, context_window: 8192}]\n",
    );
    fixture
}

impl Fixture {
    /// Runs a command with a home folder `me`; what it says names no folder above the fixture.
    fn at_home(&self, args: &[&str]) -> Left {
        let mut command = self.command(args);
        command.env_remove("CLOUD_KEY").env("HOME", self.path("me"));
        let mut left = Left::from(command.output().unwrap());
        for root in [std::fs::canonicalize(self.path("")).unwrap(), self.path("")] {
            let root = root.display().to_string();
            left.err = left.err.replace(root.trim_end_matches('/'), "");
        }
        left
    }
}

fn cloud(address: &str) -> String {
    let terms = json!({"type": "openai", "baseUrl": address, "apiKey": "${CLOUD_KEY}"});
    json!({"providers": {"cloud": terms}}).to_string()
}

async fn model(key: &str) -> MockServer {
    let server = MockServer::start().await;
    let choice = json!({"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}});
    Mock::given(method("POST"))
        .and(header("authorization", format!("Bearer {key}").as_str()))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"choices": [choice]})))
        .mount(&server)
        .await;
    server
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_of_a_layer_is_asked_with_the_key_beside_it_and_stands_in_the_contract() {
    let server = model("k-of-home").await;
    let fixture = fixture();
    fixture.write("me/.ai-agent/ai-agent.json", &cloud(&server.uri()));
    fixture.write("me/.ai-agent/ai-agent.env", "CLOUD_KEY=k-of-home\n");
    let output = fixture.at_home(&["run", "prompts/c.yaml", "--json", "--run-id", "r"]);
    let result = output.document();
    assert_eq!(result["outcome"]["code"], "final_message", "{}", output.err);
    // What ran does not depend on the layer any more.
    std::fs::remove_dir_all(fixture.path("me")).unwrap();
    for command in ["verify", "replay"] {
        let again = fixture.at_home(&[command, "r"]);
        assert_eq!(again.code, 0, "{}", again.err);
    }
    let lost = fixture.at_home(&["run", "prompts/c.yaml"]);
    assert_eq!(lost.code, 4);
    let printed = lost.err;
    assert!(
        printed.contains("no provider `cloud` is defined under `providers`"),
        "{printed}"
    );
    let shown = fixture.at_home(&["export", "r", "-o", "r.jsonl"]);
    assert_eq!(shown.code, 0);
    let file = std::fs::read_to_string(fixture.path("r.jsonl")).unwrap();
    assert!(file.contains(&format!("\"base_url\":\"{}\"", server.uri())));
    assert!(!file.contains("k-of-home"));
}

/// 001 §4: the contract's folder is a layer, below that of the folder where the command is typed.
/// 001/4.layers.4
#[test]
fn contract_show_and_check_tell_which_file_each_value_is_from() {
    let fixture = fixture();
    fixture.write("prompts/.ai-agent.json", &cloud("http://prompt/v1"));
    fixture.write(
        ".ai-agent.json",
        r#"{"providers": {"cloud": {"baseUrl": "http://here/v1"}}}"#,
    );
    let output = fixture.at_home(&["contract", "show", "prompts/c.yaml"]);
    let contract = output.document();
    assert_eq!(contract["providers"]["cloud"]["base_url"], "http://here/v1");
    let printed = output.err;
    assert!(
        printed.contains("note: providers.cloud.base_url is from /.ai-agent.json\n"),
        "{printed}"
    );
    assert!(
        printed.contains("note: providers.cloud.type is from /prompts/.ai-agent.json\n"),
        "{printed}"
    );
    let output = fixture.at_home(&["contract", "check", "prompts/c.yaml", "--json"]);
    let report = output.document();
    let from = report["origins"]["providers.cloud.type"].as_str().unwrap();
    assert!(
        Path::new(from).ends_with("prompts/.ai-agent.json"),
        "{from}"
    );

    fixture.write("other.json", &cloud("http://other/v1"));
    let output = fixture.at_home(&[
        "contract",
        "show",
        "prompts/c.yaml",
        "--config",
        "other.json",
    ]);
    let contract = output.document();
    assert_eq!(
        contract["providers"]["cloud"]["base_url"],
        "http://other/v1"
    );
}

/// The file of configuration is found again by its recorded path, and its content is not recorded beside the run.
#[tokio::test(flavor = "multi_thread")]
async fn what_reads_the_file_anew_finds_the_configuration_that_the_run_was_begun_with() {
    let server = model("k-of-file").await;
    let fixture = fixture();
    let with = |turns: u32| {
        let terms = json!({"type": "openai", "baseUrl": server.uri(), "apiKey": "${CLOUD_KEY}"});
        let config = json!({"providers": {"cloud": terms}, "defaults": {"maxTurns": turns}});
        fixture.write("conf/x.json", &config.to_string());
    };
    with(3);
    fixture.write("conf/.ai-agent.env", "CLOUD_KEY=k-of-file\n");
    let named = ["--config", "conf/x.json"];
    let begun = ["run", "prompts/c.yaml", "--run-id", "r"];
    let output = fixture.at_home(&[&begun[..], &named[..]].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    assert_eq!(fixture.at_home(&["export", "r", "-o", "r.jsonl"]).code, 0);
    let file = std::fs::read_to_string(fixture.path("r.jsonl")).unwrap();
    assert!(file.contains("\"max_turns\":3"), "{file}");
    // `--live` reads the contract file again, as a resume does.
    let live = ["replay", "r", "--live", "inference"];
    let again = fixture.at_home(&live);
    assert_eq!(again.code, 0, "{}", again.err);
    with(4);
    let changed = fixture.at_home(&live);
    assert_eq!(changed.code, 4);
    let expect = "the file gives another contract: /max_turns is 4";
    assert!(changed.err.contains(expect), "{}", changed.err);
    std::fs::remove_file(fixture.path("conf/x.json")).unwrap();
    let gone = fixture.at_home(&live);
    assert_eq!(gone.code, 4);
    let expect = "failed to use configuration /conf/x.json: there is no such file";
    assert!(gone.err.contains(expect), "{}", gone.err);
    let store = std::fs::read(fixture.path("home/runs.db")).unwrap();
    let holds = |text: &str| {
        store
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(!holds("k-of-file"));
    // Texts of entries are packed in the file.
    for (_, entry) in crate::fixture::entries_of(&fixture.path("home/runs.db")) {
        let texts = entry.event + &entry.action;
        assert!(!texts.contains("k-of-file"), "{texts}");
    }
    let store = rusqlite::Connection::open(fixture.path("home/runs.db")).unwrap();
    let select = "SELECT config FROM invocations";
    let config: String = store.query_row(select, [], |row| row.get(0)).unwrap();
    assert!(config.ends_with("/conf/x.json"), "{config}");
}

#[test]
fn an_address_that_shows_a_key_gives_no_contract_and_no_message_shows_it() {
    let fixture = fixture();
    let check = |address: &str, expect: &str| {
        let terms = json!({"type": "openai", "baseUrl": address});
        let config = json!({"providers": {"cloud": terms}});
        fixture.write(".ai-agent.json", &config.to_string());
        let left = fixture.at_home(&["contract", "show", "prompts/c.yaml"]);
        assert_eq!(left.code, 4, "{}", left.printed());
        assert!(left.err.contains(expect), "{}", left.err);
        assert!(!left.printed().contains("abcdefghij"), "{}", left.printed());
    };
    check(
        "https://gate.example/sk-abcdefghij0123456789/v1",
        "what providers.cloud.base_url gives is at \"/providers/cloud/base_url\"",
    );
    // The name of a host may look like anything.
    let host = json!({"type": "openai", "baseUrl": "https://sk-abcdefghij-northeurope.example/v1"});
    let config = json!({"providers": {"cloud": host}});
    fixture.write(".ai-agent.json", &config.to_string());
    assert_eq!(
        fixture
            .at_home(&["contract", "show", "prompts/c.yaml"])
            .code,
        0
    );
    let file = "task: hi\ntargets: [{provider: p, model: m}]\nproviders: {p: {type: openai, base_url: \"ftp://x/sk-abcdefghij0123456789\"}}\n";
    fixture.write("prompts/c.yaml", file);
    check(
        "http://here/v1",
        "expected an address that begins with https:// or http://",
    );
}

/// 000/7.placeholders.3
/// 001/4.layers.3
#[test]
fn a_variable_that_is_missing_names_its_layer_and_its_key() {
    let fixture = fixture();
    fixture.write(".ai-agent.json", &cloud("http://127.0.0.1:9/v1"));
    assert_eq!(fixture.at_home(&["trust", "prompts/c.yaml"]).code, 0);
    let output = fixture.at_home(&["run", "prompts/c.yaml"]);
    assert_eq!(output.code, 4);
    let printed = output.err;
    let expect = "providers.cloud.api_key_env: Unresolved variable ${CLOUD_KEY} for provider 'cloud' at /.ai-agent.json";
    assert!(printed.contains(expect), "{printed}");
    let output = fixture.at_home(&["run", "prompts/c.yaml", "--config", "no.json", "--json"]);
    assert_eq!(output.code, 4);
    let result = output.document();
    assert_eq!(
        result["finalReport"]["metadata"]["reason"],
        "contract_invalid"
    );
    let printed = output.err;
    assert!(
        printed.contains("failed to use configuration /no.json: there is no such file"),
        "{printed}"
    );
}
