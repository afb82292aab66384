//! Tests of the operations of a web service as tools, against a server of our own.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use wiremock::matchers::{any, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::Fixture;
use super::web::gzip;
use crate::inference::Proxies;
use crate::tools::ServerSpec;
use monolith_core::contract::{HttpMethod, OpenapiTerms, WebLimits};

const SERVICE: &str = "rest__shop";

fn terms(spec: &str) -> OpenapiTerms {
    OpenapiTerms {
        base_url: None,
        include_methods: Vec::new(),
        limits: WebLimits {
            loopback: true,
            max_bytes: 10_000,
            max_redirects: 2,
            networks: Vec::new(),
        },
        spec: spec.to_owned(),
        tags: Vec::new(),
    }
}

async fn up(terms: OpenapiTerms, folder: &Path) -> Fixture {
    let headers = [("Authorization", "Bearer s3cret"), ("X-Own", "author")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let spec = ServerSpec::Openapi {
        folder: folder.to_owned(),
        headers: BTreeMap::from(headers),
        proxies: Proxies::default(),
        terms: Box::new(terms),
    };
    Fixture::bring_up([(SERVICE, spec)], folder).await
}

/// A folder with `shop.yaml`.
fn written(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("shop.yaml"), text).unwrap();
    folder
}

fn described(server: &str, paths: &Value) -> Value {
    json!({"openapi": "3.1.0", "servers": [{"url": server}], "paths": paths})
}

/// Returns the request as JSON.
fn echo(asked: &Request) -> ResponseTemplate {
    let header = |name: &str| asked.headers.get(name).map(|value| value.to_str().unwrap());
    ResponseTemplate::new(200).set_body_json(json!({
        "asked": format!("{} {}", asked.method, &asked.url[url::Position::BeforePath..]),
        "authorization": header("authorization"),
        "own": header("x-own"),
        "trace": header("x-trace"),
        "cookie": header("cookie"),
        "type": header("content-type"),
        "body": String::from_utf8_lossy(&asked.body),
    }))
}

async fn echoing() -> MockServer {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(echo).mount(&server).await;
    server
}

const SHOP: &str = r"
openapi: 3.0.3
info: {title: Shop, version: '1'}
servers: [{url: 'https://public.example/never'}]
paths:
  /items/{id}/{range}/{tags}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: string}}
      - {name: range, in: path, required: true, style: matrix, explode: true, schema: {type: object}}
      - {name: tags, in: path, required: true, style: label, explode: true, schema: {type: array, items: {type: string}}}
    get:
      operationId: getItem
      parameters:
        - {name: q, in: query, schema: {type: array, items: {type: string}}}
        - {name: ids, in: query, style: pipeDelimited, explode: false, schema: {type: array}}
        - {name: words, in: query, style: spaceDelimited, explode: false, schema: {type: array}}
        - {name: at, in: query, style: deepObject, explode: true, schema: {type: object}}
        - {name: X-Trace, in: header, schema: {type: array}}
        - {name: X-Own, in: header, required: true, schema: {type: string}}
        - {name: session, in: cookie, schema: {type: string}}
      responses: {200: {description: d}}
  /items:
    post:
      operationId: addItem
      requestBody: {$ref: '#/components/requestBodies/Item'}
  /form:
    post:
      operationId: sendForm
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {type: object}}}}
  /file:
    put:
      operationId: sendFile
      requestBody: {content: {multipart/form-data: {schema: {properties: {file: {type: string, format: binary}}}}}}
  /bytes:
    put:
      operationId: sendBytes
      requestBody: {content: {application/octet-stream: {schema: {type: string, format: binary}}}}
components:
  requestBodies:
    Item: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Item'}}}}
  schemas:
    Item:
      type: object
      required: [name]
      properties:
        name: {type: string, nullable: true}
        parts: {type: array, items: {$ref: '#/components/schemas/Item'}}
";

/// 001 §6: calls arrive as the description says.
/// 001/6.openapi.4
#[tokio::test]
async fn calls_arrive_as_the_description_says() {
    let server = echoing().await;
    let folder = written(SHOP);
    let own = OpenapiTerms {
        base_url: Some(format!("{}/api/", server.uri())),
        ..terms("shop.yaml")
    };
    let shop = up(own, folder.path()).await;
    assert_eq!(shop.faults(), [""; 0]);
    let arrived = async |tool: &str, arguments: Value| -> Value {
        let tool = format!("{SERVICE}_{tool}");
        let said = shop.text_of(&tool, &arguments.to_string()).await;
        serde_json::from_str(&said).unwrap_or_else(|_| panic!("{tool}: {said}"))
    };
    let got = arrived(
        "getItem",
        json!({
            "id": "a/b c", "range": {"from": 1, "to": 2}, "tags": ["x", "y.z"], "q": ["1&2", "ü"], "ids": [1, 2],
            "words": ["a", "b"], "at": {"lat": 1.5}, "X-Trace": ["t", "u"], "session": "s;1",
        }),
    )
    .await;
    // Arguments come in the order of their names.
    assert_eq!(
        got,
        json!({
            "asked": "GET /api/items/a%2Fb%20c/;from=1;to=2/.x.y.z?at%5Blat%5D=1.5&ids=1%7C2&q=1%262&q=%C3%BC&words=a%20b",
            "authorization": "Bearer s3cret",
            "own": "author",
            "trace": "t,u",
            "cookie": "session=s%3B1",
            "type": null,
            "body": "",
        })
    );
    let sent = async |tool: &str, body: Value| {
        let arrived = arrived(tool, json!({"body": body})).await;
        let text = |key: &str| arrived[key].as_str().unwrap().to_owned();
        (text("asked"), text("type"), text("body"))
    };
    let expect =
        |asked: &str, kind: &str, body: &str| (asked.to_owned(), kind.to_owned(), body.to_owned());
    assert_eq!(
        sent(
            "addItem",
            json!({"name": null, "parts": [{"name": "\r\n"}]})
        )
        .await,
        expect(
            "POST /api/items",
            "application/json",
            r#"{"name":null,"parts":[{"name":"\r\n"}]}"#
        )
    );
    assert_eq!(
        sent("sendForm", json!({"a": "1&2", "b": ["x", "y"]})).await,
        expect(
            "POST /api/form",
            "application/x-www-form-urlencoded",
            "a=1%262&b=x&b=y"
        )
    );
    assert_eq!(
        sent("sendBytes", json!("raw\n")).await,
        expect("PUT /api/bytes", "application/octet-stream", "raw\n")
    );
    let (_, kind, body) = sent("sendFile", json!({"file": "text", "note": "n"})).await;
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    assert_eq!(
        body.matches(&format!("--{boundary}\r\n")).count(),
        2,
        "{body}"
    );
    assert!(body.contains("name=\"file\"; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n\r\ntext\r\n"), "{body}");
}

#[tokio::test]
async fn a_description_says_what_its_tools_take_and_what_they_change() {
    let folder = written(SHOP);
    let own = OpenapiTerms {
        include_methods: vec![HttpMethod::Get, HttpMethod::Put],
        ..terms("shop.yaml")
    };
    let shop = up(own, folder.path()).await;
    let offered = &shop.up.capabilities[SERVICE].tools;
    let hint = |tool: &monolith_core::contract::ToolCapability, hint: &str| {
        tool.annotations[hint] == json!(true)
    };
    let hints: Vec<_> = offered
        .iter()
        .map(|tool| {
            (
                tool.name.as_str(),
                hint(tool, "readOnlyHint"),
                hint(tool, "idempotentHint"),
            )
        })
        .collect();
    assert_eq!(
        hints,
        [
            ("getItem", true, true),
            ("sendBytes", false, true),
            ("sendFile", false, true)
        ]
    );
    // What the author sends is no argument, whatever the description says of it.
    let item = &offered[0].input_schema;
    assert_eq!(item["properties"].get("X-Own"), None);
    assert_eq!(item["required"], json!(["id", "range", "tags"]));
    assert_eq!(item["additionalProperties"], json!(false));
}

#[tokio::test]
async fn a_description_is_read_at_an_address_without_the_headers_of_the_service() {
    let server = MockServer::start().await;
    let text = described("v2/", &json!({"/a": {"get": {"operationId": "a"}}})).to_string();
    let moved = ResponseTemplate::new(302).insert_header("location", "/docs/openapi.json");
    Mock::given(path("/openapi.json"))
        .respond_with(moved)
        .mount(&server)
        .await;
    Mock::given(path("/docs/openapi.json"))
        .respond_with(ResponseTemplate::new(200).set_body_string(text))
        .mount(&server)
        .await;
    Mock::given(path("/v2/a"))
        .respond_with(echo)
        .mount(&server)
        .await;
    let here = Path::new(".");
    let shop = up(terms(&format!("{}/openapi.json", server.uri())), here).await;
    for asked in server.received_requests().await.unwrap() {
        assert_eq!(asked.headers.get("authorization"), None, "{}", asked.url);
    }
    let said = shop.text_of("rest__shop_a", "{}").await;
    assert!(said.contains(r#""asked":"GET /v2/a""#), "{said}");
    let fault = async |terms: OpenapiTerms| up(terms, here).await.faults().join(" ");
    let missing = fault(terms(&format!("{}/none", server.uri()))).await;
    assert!(missing.contains("answered HTTP 404"), "{missing}");
    let mut closed = terms(&format!("{}/openapi.json?token=s3cret", server.uri()));
    closed.limits.loopback = false;
    let before = server.received_requests().await.unwrap().len();
    let refused = fault(closed).await;
    assert!(
        refused.contains("this machine") && !refused.contains("s3cret"),
        "{refused}"
    );
    assert_eq!(server.received_requests().await.unwrap().len(), before);
}

#[tokio::test]
async fn what_is_wrong_with_a_description_is_said_by_file_place_and_rule() {
    let fault = async |text: &str, spec: &str| {
        let folder = written(text);
        up(terms(spec), folder.path()).await.faults().join("\n")
    };
    let none = fault("", "other.yaml").await;
    assert!(
        none.contains("other.yaml: ") && none.contains("No such file"),
        "{none}"
    );
    #[cfg(target_os = "linux")]
    {
        let device = fault("", "/dev/zero").await;
        let expect = "/dev/zero: it is a device, not a file";
        assert!(device.contains(expect), "{device}");
        // No process writes into it, so a reader that waited would wait for good.
        let folder = written("");
        let pipe = folder.path().join("pipe.yaml");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let piped = up(terms("pipe.yaml"), folder.path()).await;
        let piped = piped.faults().join("\n");
        let expect = "pipe.yaml: it is a pipe, not a file";
        assert!(piped.contains(expect), "{piped}");
    }
    let old = fault("swagger: '2.0'", "shop.yaml").await;
    assert!(
        old.contains("shop.yaml: the description is Swagger 2.0") && old.contains("convert"),
        "{old}"
    );
    let nowhere = fault("openapi: 3.0.0\npaths: {/a: {get: {}}}", "shop.yaml").await;
    assert!(
        nowhere.contains("shop.yaml: ") && nowhere.contains("`base_url` names it"),
        "{nowhere}"
    );
    let one = described(
        "https://h.example",
        &json!({
            "/a": {"get": {}}, "/b/{id}": {"put": {"parameters": [{"$ref": "x.yaml#/P"}]}},
        }),
    );
    let left = fault(&one.to_string(), "shop.yaml").await;
    assert!(left.contains("shop.yaml#/paths/~1b~1{id}/put"), "{left}");
    assert!(
        left.contains("x.yaml#/P") && left.contains("nothing else is read"),
        "{left}"
    );
}

#[tokio::test]
async fn a_compressed_description_is_unpacked_or_refused() {
    let server = MockServer::start().await;
    let text = described(&server.uri(), &json!({"/a": {"get": {"operationId": "a"}}}));
    for encoding in ["gzip", "zstd"] {
        let packed = ResponseTemplate::new(200)
            .insert_header("content-encoding", encoding)
            .set_body_bytes(gzip(&format!("\u{feff}{text}")));
        Mock::given(path(format!("/{encoding}.json")))
            .respond_with(packed)
            .mount(&server)
            .await;
    }
    let at = async |name: &str| {
        let spec = format!("{}/{name}.json", server.uri());
        up(terms(&spec), Path::new("/")).await
    };
    let shop = at("gzip").await;
    assert_eq!(shop.faults(), [""; 0]);
    assert_eq!(shop.up.capabilities[SERVICE].tools.len(), 1);
    let refused = at("zstd").await.faults().join(" ");
    assert!(
        refused.contains("the answer is compressed (zstd) although no request asks for that"),
        "{refused}"
    );
}

/// 001/2.file.17: a service that is nowhere a tool may reach is known before it is asked.
#[tokio::test]
async fn a_service_that_no_tool_may_reach_is_a_fault_and_one_of_several_is_left_out() {
    let fault = async |server: &str, base_url: Option<&str>, servers: &Value| {
        let paths = json!({
            "/a": {"get": {"operationId": "a"}},
            "/b": {"get": {"operationId": "b", "servers": servers}},
        });
        let folder = written(&described(server, &paths).to_string());
        let mut own = terms("shop.yaml");
        own.limits.loopback = false;
        own.base_url = base_url.map(str::to_owned);
        up(own, folder.path()).await.faults().join(" ")
    };
    let none = json!(null);
    let expect = "rest__shop: failed to reach tools.openapi.shop: ";
    for (server, base_url, why) in [
        ("http://169.254.169.254/", None, "no tool connects there"),
        ("http://10.0.0.1/", None, "`networks` in the contract"),
        (
            "https://h.example/",
            Some("http://localhost:9"),
            "`loopback: true`",
        ),
    ] {
        let said = fault(server, base_url, &none).await;
        assert!(said.starts_with(expect) && said.contains(why), "{said}");
    }
    let other = json!([{"url": "http://127.0.0.1:9/"}]);
    let left = fault("https://h.example/", None, &other).await;
    assert!(!left.contains(expect), "{left}");
    assert!(
        left.contains("shop.yaml#/paths/~1b/get") && left.contains("this machine"),
        "{left}"
    );
}

/// Fault S8: a description that changes where its service is gives tools of another pin, and what it refers to elsewhere is never asked.
#[tokio::test]
async fn s8_a_description_that_leads_elsewhere_has_another_pin_and_fetches_nothing() {
    let evil = echoing().await;
    let pin = async |server: &str| {
        let text = described(
            server,
            &json!({
                "/a": {"get": {"operationId": "a"}},
                "/b": {"get": {"parameters": [{"$ref": format!("{}/spec.json#/P", evil.uri())}]}},
                "/c": {"$ref": format!("{}/path.json", evil.uri())},
            }),
        );
        let folder = written(&text.to_string());
        let shop = up(terms("shop.yaml"), folder.path()).await;
        assert_eq!(shop.up.capabilities[SERVICE].tools.len(), 1);
        shop.up.servers.pins()["rest__shop_a"]
    };
    let before = pin("https://h.example/v1").await;
    assert_eq!(before, pin("https://h.example/v1").await);
    assert_ne!(before, pin(&evil.uri()).await);
    assert_ne!(before, pin("https://h.example/v2").await);
    assert_eq!(evil.received_requests().await.unwrap().len(), 0);
}
