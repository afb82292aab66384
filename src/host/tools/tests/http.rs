//! Tests of MCP servers over HTTP, against a mock server.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use wiremock::matchers::{header, method};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::Fixture;
use crate::tools::{ClientTerms, ServerSpec};
use monolith_core::contract::{McpTerms, Remote};
use monolith_core::message::ToolOutcome;

/// A server that answers each POST with one JSON document, or one event where the tool is called `event`.
fn respond(request: &Request) -> ResponseTemplate {
    // No value holds such numbers.
    let body = String::from_utf8_lossy(&request.body)
        .replace("e400", "")
        .replace("e999", "");
    let asked: Value = serde_json::from_str(&body).unwrap();
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
                "raw", "raw_event", "malformed_event", "refused_by_status", "silent_event", "text", "no_id",
                "no_id_event", "half_pair", "failed", "limited", "page", "accepted", "no_content", "empty", "packed",
                "page_as_json", "other_case", "foreign", "credentials",
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
        ("tools/call", tool @ ("raw" | "raw_event")) => {
            let body = String::from_utf8(request.body.clone()).unwrap();
            let result = reply(&json!({"content": [{"type": "text", "text": body}]}));
            if tool == "raw" {
                return ResponseTemplate::new(200).set_body_json(result);
            }
            // A comment, a notification and a question of the server's own come before the answer.
            let told = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
            let ping = json!({"jsonrpc": "2.0", "id": asked["id"], "method": "ping"});
            let events = format!(": hello\r\n\r\nevent: message\r\ndata: {told}\r\n\r\ndata: {ping}\r\n\r\ndata: {result}\r\n\r\n");
            ResponseTemplate::new(200).set_body_raw(events, "text/event-stream")
        }
        ("tools/call", "malformed_event") => {
            let result = reply(&json!({"content": "just text"}));
            ResponseTemplate::new(200)
                .set_body_raw(format!("data: {result}\n\n"), "text/event-stream")
        }
        ("tools/call", tool @ ("no_id" | "no_id_event")) => {
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "unread"}});
            if tool == "no_id" {
                return ResponseTemplate::new(400).set_body_json(error);
            }
            ResponseTemplate::new(200)
                .set_body_raw(format!("data: {error}\n\n"), "text/event-stream")
        }
        ("tools/call", "half_pair") => {
            let result = reply(&json!({"content": [{"type": "text", "text": "HALF"}]})).to_string();
            ResponseTemplate::new(200)
                .set_body_raw(result.replace("HALF", "a\\ud83db"), "application/json")
        }
        ("tools/call", "failed") => ResponseTemplate::new(500).set_body_string("Traceback"),
        ("tools/call", "limited") => ResponseTemplate::new(429).insert_header("retry-after", "30"),
        ("tools/call", "page") => ResponseTemplate::new(200).set_body_raw("<html>", "text/html"),
        ("tools/call", "no_content") => ResponseTemplate::new(204),
        ("tools/call", "empty") => ResponseTemplate::new(200).set_body_raw("", "application/json"),
        ("tools/call", "packed") => ResponseTemplate::new(200)
            .insert_header("content-encoding", "gzip")
            .set_body_raw(b"\x1f\x8b".to_vec(), "application/json"),
        ("tools/call", "page_as_json") => {
            ResponseTemplate::new(200).set_body_raw("<html>", "application/json")
        }
        ("tools/call", "other_case") => {
            let result = reply(&json!({"content": [{"type": "text", "text": "read"}]}));
            ResponseTemplate::new(200).set_body_raw(result.to_string(), "Application/JSON")
        }
        ("tools/call", "foreign") => {
            let result = json!({"jsonrpc": "2.0", "id": 424_242, "result": {"content": []}});
            ResponseTemplate::new(200).set_body_json(result)
        }
        ("tools/call", "credentials") => ResponseTemplate::new(302)
            .insert_header("location", "https://me:hunter2@other.example/x#token=t"),
        ("tools/call", "silent_event") => {
            ResponseTemplate::new(200).set_body_raw(": nothing\n\n", "text/event-stream")
        }
        ("tools/call", "text") => ResponseTemplate::new(200).set_body_raw("done", "text/plain"),
        ("tools/call", "refused_by_status") => ResponseTemplate::new(400).set_body_json(
            json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32602, "message": "no such thing"}}),
        ),
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
        ("tools/call", "malformed") => ok(json!({"content": "just text"})),
        ("tools/call", "garbage") => {
            ResponseTemplate::new(200).set_body_raw("{\"jsonrpc\":", "application/json")
        }
        ("tools/call", "gone") => ResponseTemplate::new(503),
        ("tools/call", "moved") => ResponseTemplate::new(307).insert_header("location", "/elsewhere"),
        _ => ResponseTemplate::new(202),
    }
}

pub(super) fn at(url: String, key: &str) -> ServerSpec {
    ServerSpec::Remote {
        client: ClientTerms::default(),
        keeper: None,
        terms: McpTerms::default(),
        remote: Remote::Http,
        headers: BTreeMap::from([("x-key".to_owned(), key.to_owned())]),
        shared: true,
        url,
    }
}

/// 001 §7: what a server is to see stands in its headers.
/// 001/7.env.5
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
    let fixture = Fixture::bring_up(specs, root.path()).await;
    let faults = fixture.faults();
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
        fixture.text_of("h__say", r#"{"n":1}"#).await,
        r#"[{"n":1},"run:1"]"#
    );
    assert_eq!(fixture.text_of("h__event", "{}").await, "streamed");
    assert_eq!(
        fixture.text_of("h__refuse", "{}").await,
        "-32603: not today"
    );
    assert_eq!(
        fixture.text_of("h__refused_by_status", "{}").await,
        "-32602: no such thing"
    );
    for tool in ["h__malformed", "h__malformed_event"] {
        let outcome = fixture.call(tool, "{}").await;
        let kept = matches!(
            outcome,
            ToolOutcome::Malformed {
                raw_hash: Some(_),
                ..
            }
        );
        assert!(kept, "{tool}: {outcome:?}");
    }
    for tool in ["h__garbage", "h__huge", "h__huge_event", "h__silent_event"] {
        let outcome = fixture.call(tool, "{}").await;
        assert!(
            matches!(outcome, ToolOutcome::ConnectionLost { .. }),
            "{tool}: {outcome:?}"
        );
    }
    assert_eq!(fixture.text_of("h__event", "{}").await, "streamed");
    let calls = server.received_requests().await.unwrap();
    let count = |tool: &str| {
        let called = |r: &&Request| {
            String::from_utf8_lossy(&r.body).contains(&format!("\"name\":\"{tool}\""))
        };
        calls.iter().filter(called).count()
    };
    assert_eq!(["refuse", "garbage"].map(count), [1, 1]);
    fixture.up.servers.close().await;
}

/// An error in the protocol's words ends the call at once, whatever its status and its id. Every other answer has a text for its kind.
#[tokio::test]
async fn an_answer_over_http_that_is_no_result_ends_its_call_with_its_text() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let root = tempfile::tempdir().unwrap();
    let specs = [("h", at(server.uri(), "secret"))];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    for (tool, expect) in [
        ("no_id", "-32600: unread"),
        ("no_id_event", "-32600: unread"),
        ("half_pair", "a\u{fffd}b"),
        (
            "failed",
            "HTTP_STATUS: HTTP 500 Internal Server Error: the server failed; the request may have taken effect",
        ),
        (
            "gone",
            "HTTP_STATUS: HTTP 503 Service Unavailable: the server failed; the request may have taken effect",
        ),
        (
            "limited",
            "HTTP_STATUS: HTTP 429 Too Many Requests: the server limits the number of requests; it asks to wait 30 seconds",
        ),
        (
            "page",
            "HTTP_STATUS: HTTP 200 OK: the server sent a web page, not an answer; check its address, and any proxy or login page in front of it",
        ),
        (
            "moved",
            "HTTP_STATUS: HTTP 307 Temporary Redirect: the server redirects to /elsewhere; redirects are not followed, so the contract must name the final address",
        ),
        (
            "text",
            "HTTP_STATUS: HTTP 200 OK: the server sent \"text/plain\", which is neither JSON nor a stream of events",
        ),
        (
            "accepted",
            "HTTP_STATUS: HTTP 202 Accepted: the server took the request and sent no answer to it",
        ),
        (
            "no_content",
            "HTTP_STATUS: HTTP 204 No Content: the server took the request and sent no answer to it",
        ),
        (
            "empty",
            "HTTP_STATUS: HTTP 200 OK: the body of the answer is empty",
        ),
        (
            "packed",
            "HTTP_STATUS: HTTP 200 OK: the server compressed its answer with \"gzip\", which was not asked for",
        ),
        (
            "page_as_json",
            "HTTP_STATUS: HTTP 200 OK: the server sent a web page, not an answer; check its address, and any proxy or login page in front of it",
        ),
        ("other_case", "read"),
        (
            "credentials",
            "HTTP_STATUS: HTTP 302 Found: the server redirects to https://other.example/x; redirects are not followed, so the contract must name the final address",
        ),
    ] {
        let said = fixture.text_of(&format!("h__{tool}"), "{}").await;
        assert_eq!(said, expect, "{tool}");
    }
    match fixture.call("h__foreign", "{}").await {
        ToolOutcome::ConnectionLost { detail } => {
            assert!(
                detail.contains("the answer has the id of another request"),
                "{detail}"
            );
        }
        other => panic!("{other:?}"),
    }
    fixture.up.servers.close().await;
}

#[tokio::test]
async fn arguments_reach_an_address_bit_for_bit() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let root = tempfile::tempdir().unwrap();
    let specs = [("h", at(server.uri(), "secret"))];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    for arguments in [
        r#"{"x":"x86"}"#,
        r#"{"x":"\u0000\u0041\/\ud83d\ude00"}"#,
        r#"{"z":1,"a":{"z":2,"a":3},"m":[]}"#,
        r#"{"n":1e400,"m":-1E+0,"o":1.0,"p":1.50e2,"q":12345678901234567890123}"#,
        "{ \"x\" :\t1 ,\r\n \"y\": [ ] }",
        r#"{"arguments":{"arguments":1e999}}"#,
        "{}",
    ] {
        for tool in ["h__raw", "h__raw_event"] {
            let body = fixture.text_of(tool, arguments).await;
            let told = format!("\"arguments\":{arguments}");
            assert!(body.contains(&told), "{tool}: {body}");
            let read: Value =
                serde_json::from_str(&body.replace("e400", "").replace("e999", "")).unwrap();
            assert_eq!(read["method"], "tools/call");
            assert_eq!(read["params"]["name"], tool.strip_prefix("h__").unwrap());
        }
    }
    fixture.up.servers.close().await;
}

/// "1" is not 1, and rmcp would take it for that: in a body, in an event, and in what rmcp reads itself. An error is about the request
/// that it answers, whatever its id.
#[tokio::test]
async fn a_response_over_http_with_a_text_id_answers_no_request() {
    let server = MockServer::start().await;
    let other = |request: &Request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let id = asked["id"].to_string();
        let result = json!({"content": [{"type": "text", "text": "forged"}]});
        let result = json!({"jsonrpc": "2.0", "id": id, "result": result});
        let error = json!({"code": -32603, "message": "forged"});
        let error = json!({"jsonrpc": "2.0", "id": id, "error": error});
        match asked["params"]["name"].as_str().unwrap_or_default() {
            "say" => ResponseTemplate::new(200).set_body_json(result),
            "raw" => {
                let escaped = result.to_string().replace("\"id\"", "\"\\u0069d\"");
                ResponseTemplate::new(200).set_body_raw(escaped, "application/json")
            }
            "event" => ResponseTemplate::new(200)
                .set_body_raw(format!("data: {result}\n\n"), "text/event-stream"),
            "refuse" => ResponseTemplate::new(200).set_body_json(error),
            "refused_by_status" => ResponseTemplate::new(400).set_body_json(error),
            _ => respond(request),
        }
    };
    Mock::given(method("POST"))
        .and(wiremock::matchers::path("/calls"))
        .respond_with(other)
        .mount(&server)
        .await;
    // rmcp reads the list of tools of this one.
    let lists = |request: &Request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        if asked["method"] != "tools/list" {
            return respond(request);
        }
        let result = json!({"tools": []});
        let result = json!({"jsonrpc": "2.0", "id": asked["id"].to_string(), "result": result});
        ResponseTemplate::new(200).set_body_json(result)
    };
    Mock::given(method("POST"))
        .and(wiremock::matchers::path("/lists"))
        .respond_with(lists)
        .mount(&server)
        .await;
    let root = tempfile::tempdir().unwrap();
    let specs = [
        ("h", at(format!("{}/calls", server.uri()), "secret")),
        ("l", at(format!("{}/lists", server.uri()), "secret")),
    ];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    let faults = fixture.faults();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].contains("the id of the answer is not a whole number"),
        "{faults:?}"
    );
    for tool in ["refuse", "refused_by_status"] {
        let said = fixture.text_of(&format!("h__{tool}"), "{}").await;
        assert_eq!(said, "-32603: forged", "{tool}");
    }
    for tool in ["say", "raw", "event"] {
        let outcome = fixture.call(&format!("h__{tool}"), "{}").await;
        let lost = matches!(outcome, ToolOutcome::ConnectionLost { .. });
        assert!(lost, "{tool}: {outcome:?}");
    }
    fixture.up.servers.close().await;
}

/// The stream that a client opens beside its calls brings no response to a call of ours under another id, and a malformed one ends it.
#[tokio::test]
async fn a_text_id_on_the_stream_beside_the_calls_answers_nothing_of_ours() {
    let answer = json!({"content": [{"type": "text", "text": "from beside"}]});
    let malformed = json!({"content": 7});
    for (id, result, expect) in [
        (json!("2"), &answer, "none"),
        (json!(2.5), &answer, "none"),
        (json!(2.0), &answer, "returned"),
        (json!(2), &answer, "returned"),
        (json!(2), &malformed, "malformed"),
    ] {
        let server = MockServer::start().await;
        let posted = |request: &Request| {
            let asked: Value = serde_json::from_slice(&request.body).unwrap();
            match asked["method"].as_str().unwrap_or_default() {
                "initialize" => respond(request).insert_header("mcp-session-id", "s"),
                "tools/call" => ResponseTemplate::new(202),
                _ => respond(request),
            }
        };
        Mock::given(method("POST"))
            .respond_with(posted)
            .mount(&server)
            .await;
        let result = json!({"jsonrpc": "2.0", "id": id, "result": result});
        let events = ResponseTemplate::new(200)
            .set_body_raw(format!("data: {result}\n\n"), "text/event-stream")
            .set_delay(Duration::from_millis(300));
        Mock::given(method("GET"))
            .respond_with(events)
            .mount(&server)
            .await;
        let root = tempfile::tempdir().unwrap();
        let specs = [("h", at(server.uri(), "secret"))];
        let mut fixture = Fixture::bring_up(specs, root.path()).await;
        fixture.timeout_ms = 3_000;
        let outcome = fixture.call("h__say", "{}").await;
        let found = match outcome {
            ToolOutcome::Returned(_) => "returned",
            ToolOutcome::Malformed {
                raw_hash: Some(_), ..
            } => "malformed",
            _ => "none",
        };
        assert_eq!(found, expect, "{id}: {outcome:?}");
        fixture.up.servers.close().await;
    }
}
