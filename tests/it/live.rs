//! `corpus run --live` against servers of our own making: one that only talks, one that is not there.

use std::net::TcpListener;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};

use super::loopback::{Loopback, Served};

fn live(home: &Path, url: &str, more: &[&str]) -> Output {
    Command::cargo_bin("monolith")
        .unwrap()
        .env("MONOLITH_HOME", home)
        .args(["corpus", "run", "--live", url, "--model", "m", "--json"])
        .args(more)
        .output()
        .unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn a_server_that_only_talks_ends_every_case_as_its_contract_allows() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let said = json!({
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
    });
    let response = Served {
        body: said.to_string().into_bytes(),
        headers: Vec::new(),
        status: 200,
    };
    let server = runtime.block_on(Loopback::serving(vec![response]));
    let home = tempfile::tempdir().unwrap();
    let list = || {
        let mut list = Command::cargo_bin("monolith").unwrap();
        let list = list
            .env("MONOLITH_HOME", home.path())
            .args(["list", "--json", "--limit", "99"]);
        let listed = document(&list.output().unwrap());
        listed["runs"].as_array().map_or(0, Vec::len)
    };
    let output = live(home.path(), &server.address_of(0), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(list(), 0, "nobody asked for the runs");
    let output = live(
        home.path(),
        &server.address_of(0),
        &["--runs", "2", "--keep"],
    );
    assert_eq!(list(), 14);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document = document(&output);
    let row = |case: &str| {
        let rows = document["table"].as_array().unwrap();
        rows.iter().find(|row| row["case"] == case).unwrap().clone()
    };
    let ends = |case: &str| row(case)["ends"].clone();
    let no_tools = json!([["FAILED_PROTOCOL_NO_TOOLS (no_call_response)", 2]]);
    for case in [
        "1 valid call",
        "2 malformed",
        "3 narration",
        "5 result",
        "6 timeout",
    ] {
        assert_eq!(ends(case), no_tools, "{case}");
        assert_eq!(row(case)["proven"], 2, "{case}");
    }
    assert_eq!(
        ends("4 forbidden"),
        json!([["COMPLETED_CHAT_ONLY (final_message)", 2]])
    );
    assert_eq!(row("1 valid call")["reached"], 0);
    assert_eq!(row("3 narration")["reached"], 2);
    let traits = &document["server"];
    assert_eq!(traits["required"], json!({"of": 12, "held": 0}));
    assert_eq!(traits["none"], json!({"of": 2, "held": 2}));
    assert_eq!(traits["usage"], json!({"of": 14, "held": 0}));
    assert_eq!(traits["streaming"], "same");
    assert_eq!(document["metrics"]["required_without_call"], 12);
    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 14);
    // The runs are kept like any other, and are told from them by their names.
    let run = records[0]["id"].as_str().unwrap();
    assert!(run.starts_with("live-1-valid-call-"), "{run}");
    let verify = Command::cargo_bin("monolith")
        .unwrap()
        .env("MONOLITH_HOME", home.path())
        .args(["verify", run])
        .output()
        .unwrap();
    assert_eq!(verify.status.code(), Some(0), "{verify:?}");
}

#[test]
fn a_server_that_is_not_there_is_a_typed_end_and_exit_3() {
    // No process listens on a port that was just given back.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let home = tempfile::tempdir().unwrap();
    let output = live(home.path(), &url, &[]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    for record in document(&output)["records"].as_array().unwrap() {
        assert_eq!(record["outcome"], "FAILED_PREFLIGHT (backend_unavailable)");
        assert_eq!(record["status"], "unavailable");
        assert_eq!(record["proven"], true);
    }
}
