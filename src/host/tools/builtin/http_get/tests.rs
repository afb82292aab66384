//! Tests of `http_get` against servers of our own, with names that mean what a test wants.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use url::Url;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{Get, HttpGet, next_hop};
use crate::tools::address_guard::Resolver;
use monolith_core::contract::{HostPattern, HttpGetTerms, WebScheme};

/// Every name means the next of these; the last one for good.
#[derive(Debug)]
struct Answers {
    asked: Mutex<Vec<String>>,
    left: Mutex<Vec<Vec<IpAddr>>>,
}

impl Answers {
    fn of(answers: &[&[&str]]) -> Arc<Self> {
        let address = |text: &&str| text.parse().unwrap();
        let answer = |texts: &&[&str]| texts.iter().map(address).collect();
        Arc::new(Self {
            asked: Mutex::default(),
            left: Mutex::new(answers.iter().rev().map(answer).collect()),
        })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Resolver for Answers {
    fn resolve(&self, name: String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        self.asked.lock().unwrap().push(name);
        let mut left = self.left.lock().unwrap();
        let answer = if left.len() > 1 {
            left.pop()
        } else {
            left.last().cloned()
        };
        let answer = answer.ok_or_else(|| io::Error::other("no such name"));
        Box::pin(std::future::ready(answer))
    }
}

fn terms(hosts: &[String]) -> HttpGetTerms {
    let host = |host: &String| HostPattern::parse(host).unwrap();
    HttpGetTerms {
        hosts: hosts.iter().map(host).collect(),
        loopback: true,
        max_bytes: 1_000,
        max_redirects: 2,
        schemes: vec![WebScheme::Http],
    }
}

async fn text_of(web: &HttpGet, url: &str) -> String {
    let url = url.to_owned();
    match web.perform(Get { url }).await {
        Ok(text) => text,
        Err(refusal) => format!("{}: {}", refusal.code, refusal.message),
    }
}

async fn serve(server: &MockServer, at: &str, response: ResponseTemplate) {
    let mock = Mock::given(path(at)).respond_with(response);
    mock.mount(server).await;
}

fn redirect(to: &str) -> ResponseTemplate {
    ResponseTemplate::new(302).insert_header("location", to)
}

async fn hits(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[tokio::test]
async fn the_vetted_address_is_connected_to_under_the_name_that_was_asked() {
    let server = MockServer::start().await;
    let port = server.address().port();
    serve(
        &server,
        "/a",
        ResponseTemplate::new(200).set_body_string("hello"),
    )
    .await;
    // No other resolver knows that name, and a second answer would be refused.
    let names = Answers::of(&[&["127.0.0.1"], &["10.0.0.1"]]);
    let web = HttpGet::new(terms(&[format!("pinned.test:{port}")]), names.clone());
    let address = format!("http://pinned.test:{port}/a#part");
    assert_eq!(
        text_of(&web, &address).await,
        format!("HTTP 200 OK\nurl: http://pinned.test:{port}/a\ncontent-type: text/plain\n\nhello")
    );
    assert_eq!(names.asked(), 1);
    let requests = server.received_requests().await.unwrap();
    let headers = &requests[0].headers;
    assert_eq!(headers["host"], format!("pinned.test:{port}").as_str());
    assert_eq!(headers["accept-encoding"], "identity");
    for none in ["authorization", "cookie", "referer"] {
        assert!(!headers.contains_key(none), "{none}");
    }
}

#[tokio::test]
async fn a_name_that_means_something_else_a_moment_later_leads_nowhere_else() {
    let server = MockServer::start().await;
    let port = server.address().port();
    serve(&server, "/again", redirect("/secret")).await;
    serve(&server, "/secret", ResponseTemplate::new(200)).await;
    for (answers, asked) in [
        (
            &[&["127.0.0.1"] as &[&str], &["169.254.169.254"]] as &[&[&str]],
            1,
        ),
        (&[&["127.0.0.1"], &["::ffff:127.0.0.1"]], 2),
        // One address of many is enough.
        (&[&["127.0.0.1", "10.0.0.7"]], 2),
        (&[&["fd00:ec2::254", "127.0.0.1"]], 2),
    ] {
        let names = Answers::of(answers);
        let web = HttpGet::new(terms(&[format!("moving.test:{port}")]), names);
        let said = text_of(&web, &format!("http://moving.test:{port}/again")).await;
        assert!(
            said.starts_with("ADDRESS_NOT_ALLOWED: moving.test is "),
            "{answers:?}: {said}"
        );
        assert!(hits(&server).await <= asked, "{answers:?}");
    }
    let requests = server.received_requests().await.unwrap();
    assert!(requests.iter().all(|asked| asked.url.path() == "/again"));
}

#[tokio::test]
async fn every_hop_is_judged_as_if_it_were_the_first() {
    let server = MockServer::start().await;
    let port = server.address().port();
    let own = format!("127.0.0.1:{port}");
    for (at, to) in [
        ("/metadata", "http://169.254.169.254/latest/meta-data/"),
        ("/decimal", "http://2852039166/"),
        ("/mapped", "http://[::ffff:169.254.169.254]/"),
        ("/elsewhere", "http://elsewhere.test/"),
        ("/file", "file:///etc/passwd"),
        ("/user", "http://me:secret@allowed.test/"),
        ("/1", "/2"),
        ("/2", "/3"),
        ("/3", "/4"),
        ("/end", "/ok"),
    ] {
        serve(&server, at, redirect(to)).await;
    }
    serve(
        &server,
        "/ok",
        ResponseTemplate::new(200).set_body_string("ok"),
    )
    .await;
    let hosts = [
        own.clone(),
        "169.254.169.254".to_owned(),
        "[::ffff:a9fe:a9fe]".to_owned(),
        "allowed.test".to_owned(),
    ];
    let names = Answers::of(&[&["127.0.0.1"]]);
    let web = HttpGet::new(terms(&hosts), names.clone());
    for (at, expect) in [
        (
            "/metadata",
            "ADDRESS_NOT_ALLOWED: 169.254.169.254 is a link-local address",
        ),
        ("/decimal", "ADDRESS_NOT_ALLOWED: 169.254.169.254 is"),
        ("/mapped", "ADDRESS_NOT_ALLOWED: [::ffff:a9fe:a9fe] is"),
        (
            "/elsewhere",
            "URL_NOT_ALLOWED: the contract does not allow the host elsewhere.test",
        ),
        (
            "/file",
            "URL_NOT_ALLOWED: the contract allows http, not file",
        ),
        ("/user", "URL_NOT_ALLOWED: an address holds no user name"),
        ("/1", "TOO_MANY_REDIRECTS: the contract allows 2 redirects"),
        ("/2", "HTTP_STATUS: HTTP 404"),
        ("/end", &format!("HTTP 200 OK\nurl: http://{own}/ok\n")),
    ] {
        let said = text_of(&web, &format!("http://{own}{at}")).await;
        assert!(said.starts_with(expect), "{at}: {said}");
        assert!(!said.contains("secret"), "{at}: {said}");
    }
    assert_eq!(names.asked(), 0, "what is not allowed is not looked up");
    let from = Url::parse("https://docs.rs/").unwrap();
    assert!(
        next_hop(&from, "http://docs.rs/")
            .unwrap_err()
            .message
            .contains("from https to http")
    );
    assert_eq!(
        next_hop(&from, "//docs.rs/x").unwrap().as_str(),
        "https://docs.rs/x"
    );
}

#[tokio::test]
async fn this_machine_is_reached_by_opt_in_alone_however_it_is_spelled() {
    let server = MockServer::start().await;
    let port = server.address().port();
    serve(
        &server,
        "/",
        ResponseTemplate::new(200).set_body_string("ok"),
    )
    .await;
    let mut closed = terms(&[format!("*:{port}")]);
    closed.loopback = false;
    let names = Answers::of(&[&["127.0.0.1"]]);
    let closed = HttpGet::new(closed, names.clone());
    let open = HttpGet::new(terms(&[format!("*:{port}")]), names);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.1",
        "127.0.1",
        "localhost",
        "LOCALHOST.",
        "①②⑦.0.0.1",
    ] {
        let url = format!("http://{host}:{port}/");
        let refused = text_of(&closed, &url).await;
        assert!(
            refused.starts_with("ADDRESS_NOT_ALLOWED: ") && refused.contains("loopback: true"),
            "{host}: {refused}"
        );
        let reached = text_of(&open, &url).await;
        assert!(reached.starts_with("HTTP 200"), "{host}: {reached}");
    }
    for host in [
        "0.0.0.0",
        "0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ] {
        let url = format!("http://{host}:{port}/");
        let refused = text_of(&open, &url).await;
        assert!(
            refused.starts_with("ADDRESS_NOT_ALLOWED: "),
            "{host}: {refused}"
        );
    }
    assert_eq!(hits(&server).await, 11);
}

#[tokio::test]
async fn a_document_is_bounded_and_text() {
    let server = MockServer::start().await;
    let port = server.address().port();
    let typed = |bytes: &[u8], kind: &str| ResponseTemplate::new(200).set_body_raw(bytes, kind);
    for (at, response) in [
        (
            "/long",
            typed("é".repeat(600).as_bytes(), "text/html; charset=UTF-8"),
        ),
        (
            "/odd",
            typed(format!("x{}", "é".repeat(600)).as_bytes(), "text/html"),
        ),
        (
            "/latin",
            typed(b"caf\xe9", "text/plain; charset=iso-8859-1"),
        ),
        ("/png", typed(b"\x89PNG", "image/png")),
        ("/zip", typed(b"text", "application/octet-stream")),
        ("/nul", typed(b"a\0b", "text/plain")),
        ("/bytes", typed(b"caf\xe9", "application/json")),
        ("/sjis", typed(b"x", "text/html; charset=shift_jis")),
        (
            "/gzip",
            typed(b"x", "text/html").insert_header("content-encoding", "gzip"),
        ),
        (
            "/gone",
            ResponseTemplate::new(410).set_body_string("no more"),
        ),
    ] {
        serve(&server, at, response).await;
    }
    let web = HttpGet::new(terms(&[format!("127.0.0.1:{port}")]), Answers::of(&[]));
    let get = async |at: &str| text_of(&web, &format!("http://127.0.0.1:{port}{at}")).await;
    let cut = "\n[the first 1000 bytes of a longer document]";
    let long = get("/long").await;
    assert!(
        long.ends_with(&format!("\n\n{}{cut}", "é".repeat(500))),
        "{long}"
    );
    let odd = get("/odd").await;
    assert!(
        odd.ends_with(&format!("\n\nx{}{cut}", "é".repeat(499))),
        "{odd}"
    );
    assert!(get("/latin").await.ends_with("\n\ncafé"));
    assert!(
        get("/png")
            .await
            .starts_with("NOT_TEXT: the document is \"image/png\"")
    );
    for at in ["/zip", "/nul", "/bytes", "/sjis", "/gzip"] {
        let said = get(at).await;
        assert!(said.starts_with("NOT_TEXT: "), "{at}: {said}");
    }
    let gone = get("/gone").await;
    assert!(
        gone.starts_with("HTTP_STATUS: HTTP 410 Gone\n") && gone.ends_with("no more"),
        "{gone}"
    );
    for (url, expect) in [
        ("not an address", "URL_NOT_ALLOWED: "),
        ("http://", "URL_NOT_ALLOWED: "),
        (
            &format!("http://h/{}", "x".repeat(8_192)),
            "URL_NOT_ALLOWED: an address has at most",
        ),
        (
            "http://127.0.0.1:1/",
            "URL_NOT_ALLOWED: the contract does not allow the host 127.0.0.1:1",
        ),
    ] {
        let said = text_of(&web, url).await;
        assert!(said.starts_with(expect), "{url}: {said}");
    }
    let web = HttpGet::new(terms(&["nobody.test".to_owned()]), Answers::of(&[]));
    let said = text_of(&web, "http://nobody.test/").await;
    assert_eq!(said, "UNREACHED: nobody.test was not found: no such name");
}
