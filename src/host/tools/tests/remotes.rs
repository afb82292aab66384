//! Tests of MCP servers over a stream of events with POSTs, and over a websocket, against servers of our own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use super::Fixture;
use crate::tools::{ClientTerms, ServerSpec};
use monolith_core::contract::{McpTerms, Remote};
use monolith_core::message::ToolOutcome;

/// Returns the response to a frame; `None` ends the connection.
fn respond(frame: &str) -> Option<Vec<String>> {
    let asked: Value = serde_json::from_str(&frame.replace("e400", "")).unwrap();
    let id = &asked["id"];
    let ok =
        |result: Value| vec![json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()];
    let text = |text: &str| ok(json!({"content": [{"type": "text", "text": text}]}));
    let tool = asked["params"]["name"].as_str().unwrap_or_default();
    let frames = match (asked["method"].as_str().unwrap_or_default(), tool) {
        ("initialize", _) => ok(json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "mock", "version": "1"},
        })),
        ("tools/list", _) => {
            let names = ["gone", "huge", "say", "stray"];
            let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
            ok(json!({"tools": names.map(tool)}))
        }
        ("tools/call", "gone") => return None,
        ("tools/call", "huge") => text(&"x".repeat(65 << 20)),
        ("tools/call", "say") => text(frame),
        ("tools/call", "stray") => {
            let mut frames = vec!["no frame".to_owned(), format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#)];
            frames.extend(text("after strays"));
            frames
        }
        _ if id.is_null() => Vec::new(),
        _ => vec![
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}})
                .to_string(),
        ],
    };
    Some(frames)
}

/// The start of a connection.
#[derive(Clone, Copy, PartialEq)]
enum Beginning {
    Sound,
    /// It names an address of another origin.
    Elsewhere,
    /// It answers with a page.
    Page,
    /// It accepts a websocket with another key.
    WrongKey,
}

/// The stream of the one client, where it is open.
type Stream = Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>;

async fn serve_events(mut socket: TcpStream, beginning: Beginning, stream: Stream) {
    let (mut length, mut key, mut line) = (0_usize, false, String::new());
    let mut reader = BufReader::new(&mut socket);
    let mut first = String::new();
    reader.read_line(&mut first).await.unwrap();
    while reader.read_line(&mut line).await.unwrap_or(0) > 2 {
        let (name, value) = line.split_once(':').unwrap();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "x-key" => key = value.trim() == "secret",
            _ => {}
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).await.unwrap();
    let head = |status: &str, kind: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n")
    };
    if !key {
        let refused = head("401 Unauthorized", "text/plain");
        socket.write_all(refused.as_bytes()).await.unwrap();
    } else if first.starts_with("GET") {
        let kind = if beginning == Beginning::Page {
            "text/html"
        } else {
            "text/event-stream"
        };
        let place = match beginning {
            Beginning::Elsewhere => "http://127.0.0.1:1/messages",
            _ => "messages?session=1",
        };
        let begun = format!(
            "{}: hello\n\nevent: endpoint\ndata: {place}\n\n",
            head("200 OK", kind)
        );
        socket.write_all(begun.as_bytes()).await.unwrap();
        let (sender, mut frames) = mpsc::unbounded_channel();
        *stream.lock().unwrap() = Some(sender);
        while let Some(frame) = frames.recv().await {
            let event = format!("event: message\ndata: {frame}\n\n");
            if socket.write_all(event.as_bytes()).await.is_err() {
                return;
            }
        }
    } else {
        assert!(first.starts_with("POST /messages?session=1 "), "{first}");
        match respond(std::str::from_utf8(&body).unwrap()) {
            Some(frames) => {
                let stream = stream.lock().unwrap();
                for frame in frames {
                    let _ = stream.as_ref().unwrap().send(frame);
                }
            }
            None => *stream.lock().unwrap() = None,
        }
        let taken = head("202 Accepted", "text/plain");
        let _ = socket.write_all(taken.as_bytes()).await;
    }
}

async fn serve_socket(mut socket: TcpStream, beginning: Beginning) {
    if beginning == Beginning::Page {
        let (mut reader, mut line) = (BufReader::new(&mut socket), String::new());
        while reader.read_line(&mut line).await.unwrap() > 2 {
            line.clear();
        }
        let page = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        socket.write_all(page.as_bytes()).await.unwrap();
        return;
    }
    #[expect(clippy::result_large_err, reason = "so the library's trait has it")]
    let judge = |request: &Request, mut response: Response| {
        assert_eq!(request.headers()["sec-websocket-protocol"], "mcp");
        let headers = response.headers_mut();
        headers.insert("sec-websocket-protocol", "mcp".parse().unwrap());
        if beginning == Beginning::WrongKey {
            headers.insert("sec-websocket-accept", "another".parse().unwrap());
        }
        if request
            .headers()
            .get("x-key")
            .is_some_and(|key| key == "secret")
        {
            return Ok(response);
        }
        let mut refused = Response::new(());
        *refused.status_mut() = "401".parse().unwrap();
        Err(refused.map(|()| None))
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(socket, judge).await else {
        return;
    };
    let _ = socket.send(Message::Ping(Vec::new().into())).await;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(frame) = message else {
            continue;
        };
        let Some(frames) = respond(frame.as_str()) else {
            return;
        };
        for frame in frames {
            let _ = socket.send(Message::Text(frame.into())).await;
        }
    }
}

/// A server that listens until the test ends, and its address.
async fn listen(remote: Remote, beginning: Beginning) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stream = Stream::default();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let stream = Arc::clone(&stream);
            tokio::spawn(async move {
                match remote {
                    Remote::Websocket => serve_socket(socket, beginning).await,
                    Remote::Http | Remote::Sse => serve_events(socket, beginning, stream).await,
                }
            });
        }
    });
    let scheme = if remote == Remote::Websocket {
        "ws"
    } else {
        "http"
    };
    format!("{scheme}://{address}/mcp")
}

fn at(remote: Remote, url: String, key: &str) -> ServerSpec {
    ServerSpec::Remote {
        client: ClientTerms::default(),
        keeper: None,
        terms: McpTerms::default(),
        headers: BTreeMap::from([("x-key".to_owned(), key.to_owned())]),
        remote,
        shared: true,
        url,
    }
}

#[tokio::test]
async fn tools_are_called_over_events_and_over_a_websocket() {
    let root = tempfile::tempdir().unwrap();
    let remotes = [("e", Remote::Sse), ("w", Remote::Websocket)];
    let mut specs = Vec::new();
    for (name, remote) in remotes {
        specs.push((
            name,
            at(remote, listen(remote, Beginning::Sound).await, "secret"),
        ));
    }
    let fixture = Fixture::bring_up(specs, root.path()).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    for (name, _) in remotes {
        let arguments = r#"{"n": 1.50e400, "s": "é\n"}"#;
        let said = fixture.text_of(&format!("{name}__say"), arguments).await;
        assert!(
            said.contains(&format!("\"arguments\":{arguments}")),
            "{said}"
        );
        assert_eq!(
            fixture.text_of(&format!("{name}__stray"), "{}").await,
            "after strays"
        );
        let outcome = fixture.call(&format!("{name}__gone"), "{}").await;
        let lost = matches!(outcome, ToolOutcome::ConnectionLost { .. });
        assert!(lost, "{name}: {outcome:?}");
    }
    fixture.up.servers.close().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_ends_the_connection_and_is_named() {
    let root = tempfile::tempdir().unwrap();
    for (remote, bound) in [(Remote::Sse, "16 MiB"), (Remote::Websocket, "64 MiB")] {
        let url = listen(remote, Beginning::Sound).await;
        let fixture = Fixture::bring_up([("s", at(remote, url, "secret"))], root.path()).await;
        match fixture.call("s__huge", "{}").await {
            ToolOutcome::ConnectionLost { detail } => assert!(detail.contains(bound), "{detail}"),
            other => panic!("{remote:?}: {other:?}"),
        }
        fixture.up.servers.close().await;
    }
}

#[tokio::test]
async fn a_connection_that_does_not_begin_says_why_and_shows_no_secret() {
    let root = tempfile::tempdir().unwrap();
    for (remote, beginning, key, reason) in [
        (
            Remote::Sse,
            Beginning::Sound,
            "wrong",
            "use the server: it wants authorization (HTTP 401), and there is no token; `monolith mcp login s --contract FILE` gets one",
        ),
        (
            Remote::Sse,
            Beginning::Page,
            "secret",
            "initialise: its answer is no stream of events",
        ),
        (
            Remote::Sse,
            Beginning::Elsewhere,
            "secret",
            "initialise: the address that it names for messages is of another origin",
        ),
        (
            Remote::Websocket,
            Beginning::Sound,
            "wrong",
            "initialise: HTTP 401 in place of a websocket",
        ),
        (
            Remote::Websocket,
            Beginning::Page,
            "secret",
            "initialise: HTTP 200 in place of a websocket",
        ),
        (
            Remote::Websocket,
            Beginning::WrongKey,
            "secret",
            "initialise: it did not accept the websocket's key",
        ),
    ] {
        let url = format!("{}?token=hidden", listen(remote, beginning).await);
        let fixture = Fixture::bring_up([("s", at(remote, url, key))], root.path()).await;
        assert_eq!(fixture.faults(), [format!("s: failed to {reason}")]);
    }
    for remote in [Remote::Sse, Remote::Websocket] {
        let url = "http://127.0.0.1:1/?token=hidden".to_owned();
        let fixture = Fixture::bring_up([("s", at(remote, url, "k"))], root.path()).await;
        let fault = "s: failed to initialise: http://127.0.0.1:1/: connection refused";
        assert_eq!(fixture.faults(), [fault]);
    }
}
