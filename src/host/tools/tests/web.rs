//! Tests of tools of web services, against a server of our own.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::Fixture;
use crate::inference::Proxies;
use crate::tools::ServerSpec;
use monolith_core::contract::{HttpMethod, RestTool, StreamTerms, WebLimits};
use monolith_core::message::ToolOutcome;

const TOOL: &str = "rest__ask";

fn tool(method: HttpMethod, url: &str) -> RestTool {
    RestTool {
        body_template: None,
        description: "Asks.".to_owned(),
        method,
        parameters_schema: json!({"type": "object"}),
        streaming: None,
        url: url.to_owned(),
    }
}

fn limits() -> WebLimits {
    WebLimits {
        loopback: true,
        max_bytes: 1_000,
        max_redirects: 2,
        networks: Vec::new(),
    }
}

async fn up(tool: RestTool, limits: WebLimits) -> Fixture {
    let headers = [("Authorization", "Bearer s3cret"), ("X-Own", "author")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let spec = ServerSpec::Rest {
        headers: BTreeMap::from(headers),
        limits,
        proxies: Proxies::default(),
        tool: Box::new(tool),
    };
    Fixture::bring_up([(TOOL, spec)], &std::env::temp_dir()).await
}

async fn text_of(tool: RestTool, arguments: &str) -> String {
    up(tool, limits()).await.text_of(TOOL, arguments).await
}

/// Returns the request as JSON.
fn echo(asked: &Request) -> ResponseTemplate {
    let header = |name: &str| asked.headers.get(name).map(|value| value.to_str().unwrap());
    ResponseTemplate::new(200).set_body_json(json!({
        "method": asked.method.to_string(),
        "path": asked.url.path(),
        "query": asked.url.query(),
        "authorization": header("authorization"),
        "type": header("content-type"),
        "body": String::from_utf8_lossy(&asked.body),
    }))
}

async fn serve(server: &MockServer, at: &str, response: ResponseTemplate) {
    Mock::given(path(at))
        .respond_with(response)
        .mount(server)
        .await;
}

fn redirect(status: u16, to: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).insert_header("location", to)
}

/// 001/6.rest.1
#[tokio::test]
async fn a_call_arrives_as_its_author_wrote_it() {
    let server = MockServer::start().await;
    Mock::given(wiremock::matchers::any())
        .respond_with(echo)
        .mount(&server)
        .await;
    let mut posted = tool(
        HttpMethod::Post,
        &format!("{}/items/${{parameters.id}}?v=1", server.uri()),
    );
    posted.body_template = Some(json!({"query": "${parameters.q}"}));
    let arrived: Value =
        serde_json::from_str(&text_of(posted, r#"{"id": "a/b", "q": ["x"]}"#).await).unwrap();
    assert_eq!(
        arrived,
        json!({
            "method": "POST",
            "path": "/items/a%2Fb",
            "query": "v=1",
            "authorization": "Bearer s3cret",
            "type": "application/json",
            "body": r#"{"query":["x"]}"#,
        })
    );
}

#[tokio::test]
async fn what_a_service_answers_is_what_the_model_reads() {
    let server = MockServer::start().await;
    serve(&server, "/created", redirect(201, "/items/7")).await;
    serve(
        &server,
        "/none",
        ResponseTemplate::new(404).set_body_string("no such item"),
    )
    .await;
    serve(
        &server,
        "/long",
        ResponseTemplate::new(200).set_body_string("x".repeat(1_001)),
    )
    .await;
    let image = ResponseTemplate::new(200).set_body_raw(vec![0, 1, 2], "image/png");
    serve(&server, "/image", image).await;
    let get = |at: &str| tool(HttpMethod::Get, &format!("{}{at}", server.uri()));
    let created = text_of(get("/created"), "{}").await;
    assert_eq!(
        created,
        "HTTP 201 Created\ncontent-length: 0\nlocation: /items/7"
    );
    let missing = text_of(get("/none"), "{}").await;
    assert!(
        missing.starts_with("HTTP_STATUS: HTTP 404 Not Found\n"),
        "{missing}"
    );
    assert!(missing.ends_with("\n\nno such item"), "{missing}");
    let long = text_of(get("/long"), "{}").await;
    assert!(
        long.ends_with("x\n[the first 1000 bytes of a longer answer]"),
        "{long}"
    );
    let image = up(get("/image"), limits()).await.envelope(TOOL, "{}").await;
    let kinds: Vec<bool> = image
        .content
        .iter()
        .map(|block| {
            matches!(
                block,
                monolith_core::message::ContentBlock::Resource { bytes: 3, .. }
            )
        })
        .collect();
    assert_eq!(kinds, [false, true]);
}

/// No request asks for compression, and some services compress all the same.
#[tokio::test]
async fn a_compressed_answer_is_unpacked_or_refused() {
    let server = MockServer::start().await;
    let packed = |encoding: &str, body: Vec<u8>| {
        ResponseTemplate::new(200)
            .insert_header("content-encoding", encoding)
            .set_body_raw(body, "application/json")
    };
    let whole = gzip("{\"tea\": true}");
    let cut = whole[..whole.len() - 4].to_vec();
    let long = gzip(&"x".repeat(1 << 20));
    for (at, answer) in [
        ("/whole", packed("GZIP", whole)),
        ("/cut", packed("gzip", cut)),
        ("/long", packed("x-gzip", long)),
        ("/none", packed("gzip", Vec::new())),
        ("/br", packed("br", b"x".to_vec())),
        (
            "/stream",
            packed(
                "gzip",
                gzip("data: {\"type\":\"token\",\"content\":\"42\"}\n"),
            ),
        ),
    ] {
        serve(&server, at, answer).await;
    }
    let at = |at: &str| tool(HttpMethod::Get, &format!("{}{at}", server.uri()));
    assert_eq!(text_of(at("/whole"), "{}").await, "{\"tea\": true}");
    let long = text_of(at("/long"), "{}").await;
    assert_eq!(
        long,
        format!(
            "{}\n[the first 1000 bytes of a longer answer]",
            "x".repeat(1_000)
        )
    );
    let none = text_of(at("/none"), "{}").await;
    assert_eq!(none, "HTTP 200 OK\ncontent-type: application/json");
    let cut = text_of(at("/cut"), "{}").await;
    assert!(
        cut.starts_with("UNREACHED: the gzip of the answer is damaged: "),
        "{cut}"
    );
    let other = text_of(at("/br"), "{}").await;
    assert!(
        other.starts_with("UNREACHED: the answer is compressed (br) although"),
        "{other}"
    );
    let mut streamed = at("/stream");
    streamed.streaming = Some(StreamTerms {
        line_prefix: "data: ".to_owned(),
        ..StreamTerms::default()
    });
    assert_eq!(text_of(streamed, "{}").await, "42");
}

pub(super) fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

/// 001/6.rest.3
#[tokio::test]
async fn a_stream_is_read_up_to_its_last_event() {
    let server = MockServer::start().await;
    let events = "data: {\"type\":\"token\",\"content\":\"4\"}\r\n\r\n: note\ndata: {\"type\":\"token\",\"content\":\"2\"}\ndata: {\"type\":\"done\"}\ndata: {\"type\":\"token\",\"content\":\"late\"}\n";
    let stream = ResponseTemplate::new(200).set_body_raw(events, "text/event-stream");
    serve(&server, "/stream", stream).await;
    serve(
        &server,
        "/refused",
        ResponseTemplate::new(429).set_body_string("slowly"),
    )
    .await;
    let streamed = |at: &str| {
        let mut streamed = tool(HttpMethod::Get, &format!("{}{at}", server.uri()));
        streamed.streaming = Some(StreamTerms {
            line_prefix: "data: ".to_owned(),
            ..StreamTerms::default()
        });
        streamed
    };
    assert_eq!(text_of(streamed("/stream"), "{}").await, "42");
    let refused = text_of(streamed("/refused"), "{}").await;
    assert!(refused.starts_with("HTTP_STATUS: HTTP 429"), "{refused}");
}

/// Fault S7: what a REST tool connects to is vetted on every hop.
#[tokio::test]
async fn s7_a_rest_tool_reaches_nothing_but_its_public_service() {
    // What is written out is judged before the model is asked, and the place and the key are said.
    for (url, expect) in [
        (
            "http://127.0.0.1:9/",
            "`loopback: true` in the contract allows",
        ),
        ("http://127.0.0.1:9/${parameters.id}", "this machine"),
        ("http://0.0.0.0/", "no tool connects there"),
        ("http://localhost:9/", "this machine"),
        (
            "http://localhost.:9/",
            "localhost. is 127.0.0.1, this machine",
        ),
        (
            "http://a.localhost:9/",
            "a.localhost is 127.0.0.1, this machine",
        ),
        ("http://[::1]:9/", "this machine"),
        ("http://0x7f.1:9/", "this machine"),
        ("http://2130706433:9/", "this machine"),
        ("http://127.1:9/", "this machine"),
        ("http://[::ffff:127.0.0.1]:9/", "no tool connects there"),
        (
            "http://169.254.169.254/latest/meta-data/",
            "no tool connects there",
        ),
        ("http://[::ffff:169.254.169.254]/", "no tool connects there"),
        ("http://10.0.0.7/", "`networks` in the contract may name"),
        ("http://[fd00::7]/", "`networks` in the contract may name"),
        ("http://[fd00:ec2::254]/", "no tool connects there"),
    ] {
        let closed = WebLimits {
            loopback: false,
            ..limits()
        };
        let faults = up(tool(HttpMethod::Get, url), closed).await.faults();
        let said = faults.join(" ");
        assert!(
            said.starts_with("rest__ask: failed to reach tools.rest.ask: ")
                && said.contains(expect),
            "{url}: {said}"
        );
    }
    let server = MockServer::start().await;
    let other = MockServer::start().await;
    for (at, to) in [
        ("/private", "http://10.0.0.7/".to_owned()),
        ("/metadata", "http://169.254.169.254/".to_owned()),
        (
            "/other",
            format!("{}/stolen?token=hunter2#hunter2", other.uri()),
        ),
        (
            "/user",
            format!("http://me:hunter2@{}/stolen", server.address()),
        ),
    ] {
        serve(&server, at, redirect(302, &to)).await;
        let get = tool(HttpMethod::Get, &format!("{}{at}?q=private", server.uri()));
        let said = text_of(get, "{}").await;
        assert!(
            said.starts_with("REDIRECT_NOT_FOLLOWED: ")
                && !said.contains("q=private")
                && !said.contains("hunter2"),
            "{at}: {said}"
        );
    }
    serve(
        &server,
        "/stolen",
        ResponseTemplate::new(200).set_body_string("stolen"),
    )
    .await;
    assert_eq!(other.received_requests().await.unwrap().len(), 0);
    serve(&server, "/moved", redirect(307, "/there")).await;
    serve(
        &server,
        "/there",
        ResponseTemplate::new(200).set_body_string("here"),
    )
    .await;
    serve(&server, "/circle", redirect(302, "/circle")).await;
    let at = |method, at: &str| tool(method, &format!("{}{at}", server.uri()));
    assert_eq!(text_of(at(HttpMethod::Get, "/moved"), "{}").await, "here");
    let posted = text_of(at(HttpMethod::Post, "/moved"), "{}").await;
    assert!(posted.starts_with("REDIRECT_NOT_FOLLOWED: "), "{posted}");
    let circle = text_of(at(HttpMethod::Get, "/circle"), "{}").await;
    assert_eq!(
        circle,
        "TOO_MANY_REDIRECTS: the contract allows 2 redirects"
    );
}

#[tokio::test]
async fn a_call_ends_with_its_time() {
    let server = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(std::time::Duration::from_secs(60));
    serve(&server, "/late", late).await;
    let mut up = up(
        tool(HttpMethod::Get, &format!("{}/late", server.uri())),
        limits(),
    )
    .await;
    up.timeout_ms = 50;
    assert!(matches!(up.call(TOOL, "{}").await, ToolOutcome::TimedOut));
}

#[tokio::test]
async fn a_rest_tool_is_offered_as_what_its_author_wrote() {
    let up = up(tool(HttpMethod::Delete, "https://h.example/"), limits()).await;
    assert_eq!(up.faults(), [""; 0]);
    let offered = &up.up.capabilities[TOOL].tools[0];
    assert_eq!(
        (offered.name.as_str(), offered.description.as_str()),
        ("ask", "Asks.")
    );
    assert_eq!(offered.annotations, HttpMethod::Delete.annotations());
    assert_eq!(up.up.servers.pins().keys().collect::<Vec<_>>(), [TOOL]);
}
