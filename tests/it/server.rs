//! The example server: it starts, follows and shows runs, lists what waits and answers, also for a run that the command line drives on
//! the same store.

#[allow(dead_code, reason = "its `main` is not called here")]
#[path = "../../examples/server.rs"]
mod example;

use std::future::IntoFuture as _;
use std::process::{Child, Stdio};
use std::time::Duration;

use monolith::host::Environment;
use monolith::service::service::Service;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::fixture::{Fixture, calls, says};

/// A process that ends with the test, even if the test fails.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A client of the example server, which works in the folder of a fixture.
struct Server {
    client: Client,
    root: String,
}

impl Server {
    async fn start(fixture: &Fixture) -> Self {
        let home = fixture.path("home").display().to_string();
        let environment =
            Environment::new(move |name| (name == "MONOLITH_HOME").then(|| home.clone()));
        let service = Service::new(fixture.path(""), environment).ready(|_, _| {});
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let root = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, example::routes(service)).into_future());
        Self {
            client: Client::new(),
            root,
        }
    }

    async fn get(&self, path: &str) -> String {
        let response = self.client.get(format!("{}{path}", self.root)).send();
        response.await.unwrap().text().await.unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let url = format!("{}{path}", self.root);
        let request = self.client.post(url).body(body.to_string());
        let request = request.header("content-type", "application/json");
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        (
            status,
            serde_json::from_str(&text).unwrap_or(Value::String(text)),
        )
    }

    /// Waits until calls of so many runs wait, and returns them.
    async fn waiting(&self, runs: usize) -> Vec<Value> {
        loop {
            let inbox: Value = serde_json::from_str(&self.get("/waiting").await).unwrap();
            let waiting = inbox["approvals"].as_array().unwrap();
            if waiting.len() >= runs {
                return waiting.clone();
            }
            tokio::task::yield_now().await;
        }
    }
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let rules =
        "tool_policy: optional\ntools: {builtin: [echo]}\napproval: [{tool: echo, action: ask}]\n";
    fixture.script(rules, &[&calls("echo", r#"{"text":"a"}"#), &says("said")]);
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_and_the_command_line_share_a_store_and_its_waiting_calls() {
    let fixture = fixture();
    let server = Server::start(&fixture).await;
    let child = fixture
        .command(&["run", "c.yaml", "--run-id", "by-command"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut child = Ends(child);
    let (status, begun) = server.post("/runs", &json!({"contract": "c.yaml"})).await;
    assert_eq!(status, StatusCode::CREATED, "{begun}");
    let own = begun["run_id"].as_str().unwrap();

    let waiting = tokio::time::timeout(Duration::from_secs(60), server.waiting(2))
        .await
        .unwrap();
    let pids = waiting
        .iter()
        .map(|call| (call["run_id"].as_str().unwrap(), &call["pid"]));
    let pids: std::collections::BTreeMap<_, _> = pids.collect();
    assert_eq!(pids["by-command"], child.0.id());
    assert_eq!(pids[own], std::process::id());
    let shown: Value = serde_json::from_str(&server.get(&format!("/runs/{own}")).await).unwrap();
    assert_eq!(shown["outcome"], Value::Null, "{shown}");

    for call in &waiting {
        let run = call["run_id"].as_str().unwrap();
        let verdict = json!({"approve": true, "arguments_hash": call["arguments_hash"]});
        let (status, given) = server.post(&format!("/runs/{run}/answer"), &verdict).await;
        assert_eq!(status, StatusCode::OK, "{given}");
    }
    // The stream ends when the run does.
    for run in ["by-command", own] {
        let entries = server.get(&format!("/runs/{run}/entries")).await;
        let last: Value = serde_json::from_str(entries.lines().last().unwrap()).unwrap();
        assert_eq!(last["state"], "TERMINATE", "{entries}");
        let shown: Value =
            serde_json::from_str(&server.get(&format!("/runs/{run}")).await).unwrap();
        assert_eq!(shown["finalReport"]["content"], "said", "{shown}");
        fixture.ok(&["verify", run]);
        fixture.ok(&["replay", run]);
    }
    assert!(child.0.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_service_layer_is_a_diagnosis() {
    let fixture = fixture();
    let server = Server::start(&fixture).await;
    let (status, refused) = server
        .post("/runs", &json!({"contract": "none.yaml"}))
        .await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(refused["exit_code"], 4, "{refused}");
    assert!(
        refused["message"].as_str().unwrap().contains("none.yaml"),
        "{refused}"
    );
    assert!(refused["code"].is_string(), "{refused}");
    fixture.write("s.jsonl", "no script");
    let (status, refused) = server.post("/runs", &json!({"contract": "c.yaml"})).await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
    assert!(
        refused["message"].as_str().unwrap().contains("s.jsonl"),
        "{refused}"
    );
}
