use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::Bench;
use crate::message::ToolOutcome;
use crate::tools::ServerSpec;

/// A server that answers each POST with one JSON document, or one event where the tool is called `event`.
fn respond(request: &Request) -> ResponseTemplate {
    let asked: Value = serde_json::from_slice(&request.body).unwrap();
    let reply = |result: &Value| json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
    let ok = |result: Value| ResponseTemplate::new(200).set_body_json(reply(&result));
    let tool = asked["params"]["name"].as_str().unwrap_or_default();
    match (asked["method"].as_str().unwrap_or_default(), tool) {
        ("initialize", _) => ok(json!({
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mock", "version": "1"},
        })),
        ("tools/list", _) => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let names = [
                "say", "event", "refuse", "malformed", "garbage", "gone", "moved", "huge", "huge_event",
            ];
            ok(json!({"tools": names.map(tool)}))
        }
        ("tools/call", "say") => {
            let said = json!([asked["params"]["arguments"], asked["params"]["_meta"]["monolith/idempotency_key"]]);
            ok(json!({"content": [{"type": "text", "text": said.to_string()}]}))
        }
        ("tools/call", "event") => {
            let result = reply(&json!({"content": [{"type": "text", "text": "streamed"}]}));
            ResponseTemplate::new(200)
                .set_body_raw(format!("data: {result}\n\n"), "text/event-stream")
        }
        ("tools/call", tool @ ("huge" | "huge_event")) => {
            let text = "x".repeat(17 << 20);
            let result = reply(&json!({"content": [{"type": "text", "text": text}]}));
            let (body, mime_type) = if tool == "huge" {
                (result.to_string(), "application/json")
            } else {
                (format!("data: {result}\n\n"), "text/event-stream")
            };
            ResponseTemplate::new(200).set_body_raw(body, mime_type)
        }
        ("tools/call", "refuse") => ResponseTemplate::new(200).set_body_json(
            json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "not today"}}),
        ),
        ("tools/call", "malformed") => ok(json!({"text": "where is the content"})),
        ("tools/call", "garbage") => {
            ResponseTemplate::new(200).set_body_raw("{\"jsonrpc\":", "application/json")
        }
        ("tools/call", "gone") => ResponseTemplate::new(503),
        ("tools/call", "moved") => ResponseTemplate::new(307).insert_header("location", "/elsewhere"),
        _ => ResponseTemplate::new(202),
    }
}

fn at(url: String, key: &str) -> ServerSpec {
    ServerSpec::Http {
        headers: BTreeMap::from([("x-key".to_owned(), key.to_owned())]),
        url,
    }
}

#[tokio::test]
async fn a_server_behind_an_address_is_called_with_the_authors_headers() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(header("x-key", "secret"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let root = tempfile::tempdir().unwrap();
    let specs = [
        ("h", at(server.uri(), "secret")),
        ("w", at(server.uri(), "wrong")),
        ("z", at("http://127.0.0.1:1/".to_owned(), "secret")),
    ];
    let bench = Bench::bring_up(specs, root.path()).await;
    let faults = bench.faults();
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(
        faults[0].starts_with("w: failed to initialise: "),
        "{faults:?}"
    );
    assert!(
        faults[1].starts_with("z: failed to initialise: "),
        "{faults:?}"
    );
    assert!(!faults.iter().any(|fault| fault.contains("secret")));

    assert_eq!(
        bench.said("h__say", r#"{"n":1}"#).await,
        r#"[{"n":1},"run:1"]"#
    );
    assert_eq!(bench.said("h__event", "{}").await, "streamed");
    assert_eq!(bench.said("h__refuse", "{}").await, "-32603: not today");
    let outcome = bench.call("h__malformed", "{}").await;
    assert!(
        matches!(outcome, ToolOutcome::Malformed { raw_hash: None, .. }),
        "{outcome:?}"
    );
    for tool in [
        "h__garbage",
        "h__gone",
        "h__moved",
        "h__huge",
        "h__huge_event",
    ] {
        let outcome = bench.call(tool, "{}").await;
        assert!(
            matches!(outcome, ToolOutcome::ConnectionLost { .. }),
            "{tool}: {outcome:?}"
        );
    }
    assert_eq!(bench.said("h__event", "{}").await, "streamed");
    let calls = server.received_requests().await.unwrap();
    let count = |tool: &str| {
        let called = |r: &&Request| {
            String::from_utf8_lossy(&r.body).contains(&format!("\"name\":\"{tool}\""))
        };
        calls.iter().filter(called).count()
    };
    assert_eq!(
        ["refuse", "garbage", "gone", "moved"].map(count),
        [1, 1, 1, 1]
    );
    bench.up.servers.close().await;
}
