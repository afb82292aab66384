//! Tests of MCP servers over HTTP whose sessions expire, and of what a server says at the start, against a mock server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::Fixture;
use super::http::at;
use crate::tools::ServerHost;
use monolith_core::message::{NoSecrets, ToolOutcome};

/// A server whose current session has that number, and the numbers of its requests: sessions begun, and calls.
#[derive(Clone, Default)]
struct Sessions {
    begun: Arc<AtomicUsize>,
    calls: Arc<AtomicUsize>,
    current: Arc<AtomicUsize>,
}

impl Sessions {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        let reply = |result: Value| json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        let ok = |result: Value| ResponseTemplate::new(200).set_body_json(reply(result));
        let kind = asked["method"].as_str().unwrap_or_default();
        if kind == "initialize" {
            let session = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
            self.current.store(session, Ordering::SeqCst);
            let introduction = json!({
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "mock", "version": "1"},
            });
            return ok(introduction).insert_header("mcp-session-id", session.to_string());
        }
        if kind == "server/discover" {
            return ResponseTemplate::new(400);
        }
        let tool = asked["params"]["name"].as_str().unwrap_or_default();
        if kind == "tools/call" {
            self.calls.fetch_add(1, Ordering::SeqCst);
        }
        let current = self.current.load(Ordering::SeqCst).to_string();
        let session = request.headers.get("mcp-session-id");
        let is_current = session.is_some_and(|session| session.as_bytes() == current.as_bytes());
        let expired = json!({"code": -32001, "message": "Session not found"});
        let expired = json!({"jsonrpc": "2.0", "id": null, "error": expired});
        match (kind, tool) {
            _ if !is_current => ResponseTemplate::new(404).set_body_json(expired),
            ("tools/list", _) => {
                let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
                let tools = ["plain", "refused", "say"].map(tool);
                ok(json!({ "tools": tools }))
            }
            ("tools/call", "plain") => ResponseTemplate::new(404),
            ("tools/call", "refused") => ResponseTemplate::new(404).set_body_json(expired),
            ("tools/call", _) => {
                ok(json!({"content": [{"type": "text", "text": format!("session {current}")}]}))
            }
            _ => ResponseTemplate::new(202),
        }
    }

    fn expire(&self) {
        self.current.store(0, Ordering::SeqCst);
    }
}

/// A mock server with such sessions, and without streams beside the calls.
async fn serve(sessions: &Sessions) -> MockServer {
    let server = MockServer::start().await;
    let sessions = sessions.clone();
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| sessions.respond(request))
        .mount(&server)
        .await;
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(405))
        .mount(&server)
        .await;
    server
}

/// MCP, Streamable HTTP, Session Management: after a 404 the client begins a new session. The call that met it did not begin.
#[tokio::test]
async fn an_expired_session_is_begun_again_for_every_run_and_its_call_is_repeated() {
    let sessions = Sessions::default();
    let server = serve(&sessions).await;
    let root = tempfile::tempdir().unwrap();
    let host = ServerHost::alone(Arc::new(NoSecrets));
    let spec = || [("h", at(server.uri(), "secret"))];
    let one = Fixture::bring_up_at(&host, spec(), root.path()).await;
    let other = Fixture::bring_up_at(&host, spec(), root.path()).await;
    assert_eq!(one.text_of("h__say", "{}").await, "session 1");
    assert_eq!(other.text_of("h__say", "{}").await, "session 1");
    sessions.expire();
    assert_eq!(one.text_of("h__say", "{}").await, "session 2");
    assert_eq!(other.text_of("h__say", "{}").await, "session 2");
    assert_eq!(one.text_of("h__say", "{}").await, "session 2");
    // Each call once, and the one that met the end of the session once more.
    assert_eq!(sessions.calls.load(Ordering::SeqCst), 6);
    assert_eq!(sessions.begun.load(Ordering::SeqCst), 2);
    one.up.servers.close().await;
    other.up.servers.close().await;
}

/// A server that answers a call with 404 in its new session, too, refuses the call.
#[tokio::test]
async fn a_call_that_meets_no_session_twice_is_not_sent_a_third_time() {
    let sessions = Sessions::default();
    let server = serve(&sessions).await;
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("h", at(server.uri(), "secret"))], root.path()).await;
    assert_eq!(
        fixture.text_of("h__refused", "{}").await,
        "-32001: Session not found"
    );
    assert_eq!(sessions.calls.load(Ordering::SeqCst), 2);
    let detail = "the session has expired (HTTP 404)".to_owned();
    assert_eq!(
        fixture.call("h__plain", "{}").await,
        ToolOutcome::ConnectionLost { detail }
    );
    assert_eq!(sessions.calls.load(Ordering::SeqCst), 4);
    assert!(fixture.text_of("h__say", "{}").await.starts_with("session"));
    fixture.up.servers.close().await;
}

/// MCP, lifecycle: a client that does not speak the server's version disconnects.
#[tokio::test]
async fn a_server_that_speaks_an_unknown_version_is_not_used() {
    let server = MockServer::start().await;
    let respond = |request: &Request| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap();
        match asked["method"].as_str() {
            Some("initialize") => {}
            Some("server/discover") => return ResponseTemplate::new(400),
            _ => return ResponseTemplate::new(202),
        }
        let result = json!({
            "protocolVersion": "1999-12-31",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "mock", "version": "1"},
        });
        let result = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result});
        ResponseTemplate::new(200).set_body_json(result)
    };
    Mock::given(method("POST"))
        .respond_with(respond)
        .mount(&server)
        .await;
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("h", at(server.uri(), "secret"))], root.path()).await;
    assert_eq!(
        fixture.faults(),
        [
            "h: failed to initialise: the server speaks protocol version \"1999-12-31\", and monolith speaks \
             2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
        ]
    );
}

/// An answer over HTTP has the same text where the server is reached first.
#[tokio::test]
async fn a_server_that_sends_a_page_at_the_start_is_named_with_the_reason() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_raw("<html>", "text/html"))
        .mount(&server)
        .await;
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("h", at(server.uri(), "secret"))], root.path()).await;
    assert_eq!(
        fixture.faults(),
        [
            "h: failed to initialise: HTTP 200 OK: the server sent a web page, not an answer; \
             check its address, and any proxy or login page in front of it"
        ]
    );
}
