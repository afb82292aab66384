//! Layers of configuration, with real files and the real binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(TempDir::new().unwrap());
        desk.write(
            "prompts/c.yaml",
            "task: hi\ntool_policy: optional\ntargets: [{provider: cloud, model: m, context_window: 8192}]\n",
        );
        desk
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_monolith"))
            .args(args)
            .current_dir(self.0.path())
            .stdin(Stdio::null())
            .env_remove("CLOUD_KEY")
            .env("HOME", self.0.path().join("me"))
            .env("MONOLITH_HOME", self.0.path().join("home"))
            .output()
            .unwrap()
    }

    fn shown(&self, bytes: &[u8]) -> String {
        let root = std::fs::canonicalize(self.0.path()).unwrap();
        let text = String::from_utf8_lossy(bytes).into_owned();
        let text = text.replace(&root.display().to_string(), "");
        text.replace(&self.0.path().display().to_string(), "")
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
    let desk = Desk::new();
    desk.write("me/.ai-agent/ai-agent.json", &cloud(&server.uri()));
    desk.write("me/.ai-agent/ai-agent.env", "CLOUD_KEY=k-of-home\n");
    let output = desk.run(&["run", "prompts/c.yaml", "--json", "--run-id", "r"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        result["outcome"]["code"],
        "final_message",
        "{}",
        desk.shown(&output.stderr)
    );
    // What ran does not depend on the layer any more.
    std::fs::remove_dir_all(desk.0.path().join("me")).unwrap();
    for command in ["verify", "replay"] {
        let again = desk.run(&[command, "r"]);
        assert_eq!(
            again.status.code(),
            Some(0),
            "{}",
            desk.shown(&again.stderr)
        );
    }
    let lost = desk.run(&["run", "prompts/c.yaml"]);
    assert_eq!(lost.status.code(), Some(4));
    let told = desk.shown(&lost.stderr);
    assert!(
        told.contains("no provider `cloud` stands under `providers`"),
        "{told}"
    );
    let shown = desk.run(&["export", "r", "-o", "r.jsonl"]);
    assert_eq!(shown.status.code(), Some(0));
    let file = std::fs::read_to_string(desk.0.path().join("r.jsonl")).unwrap();
    assert!(file.contains(&format!("\"base_url\":\"{}\"", server.uri())));
    assert!(!file.contains("k-of-home"));
}

#[test]
fn contract_show_and_check_tell_which_file_each_value_is_from() {
    let desk = Desk::new();
    desk.write("prompts/.ai-agent.json", &cloud("http://prompt/v1"));
    desk.write(
        ".ai-agent.json",
        r#"{"providers": {"cloud": {"baseUrl": "http://here/v1"}}}"#,
    );
    let output = desk.run(&["contract", "show", "prompts/c.yaml"]);
    let contract: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(contract["providers"]["cloud"]["base_url"], "http://here/v1");
    let told = desk.shown(&output.stderr);
    assert!(
        told.contains("note: providers.cloud.base_url is from /.ai-agent.json\n"),
        "{told}"
    );
    assert!(
        told.contains("note: providers.cloud.type is from /prompts/.ai-agent.json\n"),
        "{told}"
    );
    let output = desk.run(&["contract", "check", "prompts/c.yaml", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let from = report["origins"]["providers.cloud.type"].as_str().unwrap();
    assert!(
        Path::new(from).ends_with("prompts/.ai-agent.json"),
        "{from}"
    );

    desk.write("other.json", &cloud("http://other/v1"));
    let output = desk.run(&[
        "contract",
        "show",
        "prompts/c.yaml",
        "--config",
        "other.json",
    ]);
    let contract: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        contract["providers"]["cloud"]["base_url"],
        "http://other/v1"
    );
}

/// The file of configuration is found again by its recorded path, and what stands in it is not recorded beside the run.
#[tokio::test(flavor = "multi_thread")]
async fn what_reads_the_file_anew_finds_the_configuration_that_the_run_was_begun_with() {
    let server = model("k-of-file").await;
    let desk = Desk::new();
    let with = |turns: u32| {
        let mut config: Value = serde_json::from_str(&cloud(&server.uri())).unwrap();
        config["defaults"] = json!({"maxTurns": turns});
        desk.write("conf/x.json", &config.to_string());
    };
    with(3);
    desk.write("conf/.ai-agent.env", "CLOUD_KEY=k-of-file\n");
    let named = ["--config", "conf/x.json"];
    let begun = ["run", "prompts/c.yaml", "--run-id", "r"];
    let output = desk.run(&[&begun[..], &named[..]].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        desk.shown(&output.stderr)
    );
    let shown = desk.run(&["export", "r", "-o", "r.jsonl"]);
    assert_eq!(shown.status.code(), Some(0));
    let file = std::fs::read_to_string(desk.0.path().join("r.jsonl")).unwrap();
    assert!(file.contains("\"max_turns\":3"), "{file}");
    // `--live` reads the contract file anew, as a resume does.
    let live = ["replay", "r", "--live", "inference"];
    let again = desk.run(&live);
    assert_eq!(
        again.status.code(),
        Some(0),
        "{}",
        desk.shown(&again.stderr)
    );
    with(4);
    let changed = desk.run(&live);
    assert_eq!(changed.status.code(), Some(4));
    let told = desk.shown(&changed.stderr);
    let expect = "the file gives another contract: /max_inferences is 13";
    assert!(told.contains(expect), "{told}");
    std::fs::remove_file(desk.0.path().join("conf/x.json")).unwrap();
    let gone = desk.run(&live);
    assert_eq!(gone.status.code(), Some(4));
    let told = desk.shown(&gone.stderr);
    let expect = "failed to use configuration /conf/x.json: there is no such file";
    assert!(told.contains(expect), "{told}");
    let store = std::fs::read(desk.0.path().join("home/runs.db")).unwrap();
    let holds = |text: &str| {
        store
            .windows(text.len())
            .any(|part| part == text.as_bytes())
    };
    assert!(holds("--config=") && !holds("k-of-file"));
}

/// 000/7.placeholders.3
#[test]
fn a_variable_that_is_missing_names_its_layer_and_its_key() {
    let desk = Desk::new();
    desk.write(".ai-agent.json", &cloud("http://127.0.0.1:9/v1"));
    let output = desk.run(&["run", "prompts/c.yaml"]);
    assert_eq!(output.status.code(), Some(4));
    let told = desk.shown(&output.stderr);
    let expect = "providers.cloud.api_key_env (in /.ai-agent.json): the environment variable CLOUD_KEY is not set";
    assert!(told.contains(expect), "{told}");
    let output = desk.run(&["run", "prompts/c.yaml", "--config", "no.json", "--json"]);
    assert_eq!(output.status.code(), Some(4));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        result["finalReport"]["metadata"]["reason"],
        "contract_invalid"
    );
    let told = desk.shown(&output.stderr);
    assert!(
        told.contains("failed to use configuration /no.json: there is no such file"),
        "{told}"
    );
}
