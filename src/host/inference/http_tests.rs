//! The HTTP backend against servers on loopback.

use std::io::Write as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use wiremock::matchers::{body_string, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::Proxies;
use super::{
    Backend, BackendError, HttpBackend, HttpTarget, Reply, Secret, Timeouts, TransportFault,
    TransportFaultKind,
};

fn target(base_url: String) -> HttpTarget {
    HttpTarget {
        base_url,
        headers: Vec::new(),
        key: None,
        proxies: Proxies::default(),
    }
}

fn backend(base_url: String) -> Backend {
    Backend::Http(HttpBackend::new(&target(base_url)).unwrap())
}

fn timeouts(idle: Duration) -> Timeouts {
    Timeouts {
        cancel: CancellationToken::new(),
        idle,
    }
}

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(60);

async fn ask(backend: &Backend, timeouts: &Timeouts) -> Result<Reply, TransportFault> {
    backend
        .send("chat/completions", &[], b"{\"x\":1}"[..].into(), timeouts)
        .await
}

async fn read(reply: &mut Reply) -> (Vec<u8>, Option<TransportFaultKind>) {
    let mut body = Vec::new();
    loop {
        match reply.chunk().await {
            Ok(Some(chunk)) => body.extend(chunk),
            Ok(None) => return (body, None),
            Err(fault) => return (body, Some(fault.kind)),
        }
    }
}

/// A listener on loopback and the base URL of what it serves.
async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, url)
}

/// Accepts one connection and reads the request, which ends with the body `{"x":1}`.
async fn accept(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    while !request.ends_with(b"{\"x\":1}") {
        assert_ne!(
            socket.read_buf(&mut request).await.unwrap(),
            0,
            "the client went away"
        );
    }
    socket
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn a_request_carries_path_key_headers_and_body() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(query_param("api-version", "1"))
        .and(header("authorization", "Bearer sk-1"))
        .and(header("x-title", "t"))
        .and(header("content-type", "application/json"))
        .and(body_string("{\"x\":1}"))
        .respond_with(
            ResponseTemplate::new(429)
                .insert_header("Retry-After", "3")
                .set_body_string("slow"),
        )
        .expect(2)
        .mount(&server)
        .await;
    for slash in ["", "/"] {
        let backend = HttpBackend::new(&HttpTarget {
            base_url: format!("{}/v1{slash}?api-version=1", server.uri()),
            headers: vec![("X-Title".to_owned(), Secret::new("t"))],
            key: Some(Secret::new("sk-1")),
            proxies: Proxies::default(),
        });
        let backend = Backend::Http(backend.unwrap());
        let mut reply = ask(&backend, &timeouts(LONG)).await.unwrap();
        assert_eq!(reply.head().status, 429);
        assert!(
            reply
                .head()
                .headers
                .contains(&("retry-after".to_owned(), "3".to_owned()))
        );
        assert_eq!(read(&mut reply).await, (b"slow".to_vec(), None));
    }
}

#[tokio::test]
async fn any_http_answer_to_the_probe_counts() {
    let server = MockServer::start().await;
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(ResponseTemplate::new(401))
        .expect(1)
        .mount(&server)
        .await;
    let probe = backend(format!("{}/v1", server.uri()))
        .probe(&[], &CancellationToken::new())
        .await;
    assert_eq!(
        (probe.responsive, probe.detail.as_str()),
        (true, "HTTP 401")
    );
    let (listener, url) = listen().await;
    drop(listener);
    let secret = url.replace("http://", "http://user:word@");
    let probe = backend(format!("{secret}/v1/?key=word"))
        .probe(&[], &CancellationToken::new())
        .await;
    let expect = format!("{url}/v1: connection refused");
    assert_eq!((probe.responsive, probe.detail), (false, expect));
}

#[tokio::test]
async fn a_body_that_was_compressed_unasked_is_unpacked_or_named() {
    let packed = |text: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let server = MockServer::start().await;
    let answer = |body: Vec<u8>, encoding: &str| {
        ResponseTemplate::new(200)
            .insert_header("content-encoding", encoding)
            .set_body_bytes(body)
    };
    let whole = packed(&"data: {}\n\n".repeat(20_000));
    let cut = whole[..whole.len() / 2].to_vec();
    for (at, answer) in [
        ("a", answer(whole, "gzip")),
        ("b", answer(cut, "x-gzip")),
        ("c", answer(b"x".to_vec(), "br")),
        ("d", answer(b"x".to_vec(), "identity")),
        ("e", answer(packed("{}"), "identity")),
        ("f", answer(packed(&" ".repeat(32_000_000)), "gzip")),
    ] {
        Mock::given(path(format!("/{at}/chat/completions")))
            .respond_with(answer)
            .mount(&server)
            .await;
    }
    let ask_at = async |at: &str| {
        let backend = backend(format!("{}/{at}", server.uri()));
        ask(&backend, &timeouts(LONG)).await
    };
    let mut reply = ask_at("a").await.unwrap();
    let names = reply.head().headers.iter().map(|(name, _)| name.as_str());
    assert!(names.into_iter().all(|name| name != "content-encoding"));
    let (body, fault) = read(&mut reply).await;
    assert_eq!((body.len(), fault), (200_000, None));
    let mut reply = ask_at("b").await.unwrap();
    assert_eq!(read(&mut reply).await.1, Some(TransportFaultKind::Reset));
    let refused = ask_at("c").await.unwrap_err();
    assert!(
        refused.detail.contains("the answer is compressed (br)"),
        "{refused:?}"
    );
    let mut reply = ask_at("d").await.unwrap();
    assert_eq!(read(&mut reply).await, (b"x".to_vec(), None));
    let mut reply = ask_at("e").await.unwrap();
    assert_eq!(read(&mut reply).await, (b"{}".to_vec(), None));
    let mut reply = ask_at("f").await.unwrap();
    let (body, fault) = read(&mut reply).await;
    assert_eq!(fault, Some(TransportFaultKind::Other));
    assert!(body.len() < 16_000_000, "{}", body.len());
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(307).insert_header("location", "/elsewhere"))
        .expect(1)
        .mount(&server)
        .await;
    let reply = ask(&backend(server.uri()), &timeouts(LONG)).await.unwrap();
    assert_eq!(reply.head().status, 307);
}

#[tokio::test]
async fn a_closed_port_is_refused() {
    let (listener, url) = listen().await;
    drop(listener);
    let fault = ask(&backend(url.clone()), &timeouts(LONG))
        .await
        .unwrap_err();
    assert_eq!(fault.kind, TransportFaultKind::Refused);
    assert_eq!(fault.detail, format!("{url}: connection refused"));
}

#[tokio::test]
async fn a_name_without_an_address_is_a_dns_fault() {
    // A label of more than 63 characters is refused by the resolver itself: nothing is asked of the network.
    let url = format!("http://{}.invalid/v1", "a".repeat(70));
    let fault = ask(&backend(url), &timeouts(LONG)).await.unwrap_err();
    assert_eq!(fault.kind, TransportFaultKind::Dns);
}

#[tokio::test]
async fn a_server_without_tls_is_a_tls_fault() {
    let (listener, url) = listen().await;
    let backend = backend(url.replace("http://", "https://"));
    let timeouts = timeouts(LONG);
    let serve = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut hello = Vec::new();
        socket.read_buf(&mut hello).await.unwrap();
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        socket
    };
    let (asked, _socket) = tokio::join!(ask(&backend, &timeouts), serve);
    assert_eq!(asked.unwrap_err().kind, TransportFaultKind::Tls);
}

/// The most common mistake in the address of one's own server.
#[tokio::test]
async fn an_address_with_the_wrong_scheme_names_the_way_out() {
    let probe = async |url: String, answers: &'static [u8]| {
        let (listener, own) = listen().await;
        let backend = backend(url.replace("HOST", own.trim_start_matches("http://")));
        let serve = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut first = Vec::new();
            socket.read_buf(&mut first).await.unwrap();
            socket.write_all(answers).await.unwrap();
        };
        let cancel = CancellationToken::new();
        let (probe, ()) = tokio::join!(backend.probe(&[], &cancel), serve);
        assert!(!probe.responsive);
        probe.detail
    };
    let plain = probe(
        "https://HOST/v1".into(),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    )
    .await;
    assert!(plain.ends_with("write http:// in its address"), "{plain}");
    // An alert of TLS, and what closes without one.
    for answers in [&b"\x15\x03\x03\x00\x02\x02\x46"[..], b""] {
        let secured = probe("http://HOST/v1".into(), answers).await;
        assert!(
            secured.ends_with("speaks TLS, write https:// in its address"),
            "{secured}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_ends_before_the_answer_is_reset() {
    for sent in [&b""[..], b"HTTP/1.1 200 OK\r\ncontent-le"] {
        let (listener, url) = listen().await;
        let backend = backend(url);
        let timeouts = timeouts(LONG);
        let serve = async { accept(&listener).await.write_all(sent).await.unwrap() };
        let (asked, ()) = tokio::join!(ask(&backend, &timeouts), serve);
        assert_eq!(asked.unwrap_err().kind, TransportFaultKind::Reset);
    }
}

#[tokio::test]
async fn a_connection_that_ends_in_the_body_is_reset_after_what_came() {
    let length: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n";
    for (head, part, expect) in [
        (HEAD, &b"3\r\nabc\r\n"[..], &b"abc"[..]),
        (length, b"abc", b"abc"),
    ] {
        let (listener, url) = listen().await;
        let backend = backend(url);
        let timeouts = timeouts(LONG);
        let serve = async {
            let mut socket = accept(&listener).await;
            socket.write_all(&[head, part].concat()).await.unwrap();
        };
        let (asked, ()) = tokio::join!(ask(&backend, &timeouts), serve);
        let mut reply = asked.unwrap();
        assert_eq!(
            read(&mut reply).await,
            (expect.to_vec(), Some(TransportFaultKind::Reset))
        );
    }
}

/// 001/2.knobs.6
#[tokio::test]
async fn silence_after_a_chunk_is_a_timeout_after_what_came() {
    let (listener, url) = listen().await;
    let backend = backend(url);
    let timeouts = timeouts(Duration::from_secs(1));
    let serve = async {
        let mut socket = accept(&listener).await;
        socket
            .write_all(&[HEAD, b"1\r\nx\r\n"].concat())
            .await
            .unwrap();
        socket
    };
    let (asked, _open) = tokio::join!(ask(&backend, &timeouts), serve);
    let got = read(&mut asked.unwrap()).await;
    assert_eq!(got, (b"x".to_vec(), Some(TransportFaultKind::Timeout)));
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_timeout() {
    let (listener, url) = listen().await;
    let backend = backend(url);
    let timeouts = timeouts(Duration::from_millis(50));
    let (asked, _socket) = tokio::join!(ask(&backend, &timeouts), accept(&listener));
    assert_eq!(asked.unwrap_err().kind, TransportFaultKind::Timeout);
}

#[tokio::test]
async fn cancelling_ends_the_wait_and_dropping_the_reply_closes_the_connection() {
    let (listener, url) = listen().await;
    let backend = backend(url);
    let timeouts = timeouts(LONG);
    let serve = async {
        let mut socket = accept(&listener).await;
        socket
            .write_all(&[HEAD, b"1\r\nx\r\n"].concat())
            .await
            .unwrap();
        let mut rest = Vec::new();
        // Ends only when the client closes.
        let closed = socket.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{closed:?}");
    };
    let client = async {
        let mut reply = ask(&backend, &timeouts).await.unwrap();
        assert_eq!(reply.chunk().await, Ok(Some(b"x".to_vec())));
        timeouts.cancel.cancel();
        assert_eq!(
            reply.chunk().await.unwrap_err().kind,
            TransportFaultKind::Cancelled
        );
    };
    tokio::time::timeout(LONG, async { tokio::join!(serve, client) })
        .await
        .unwrap();
    let fault = ask(&backend, &timeouts).await.unwrap_err();
    assert_eq!(fault.kind, TransportFaultKind::Cancelled);
}

#[tokio::test]
async fn an_error_body_ends_at_its_bound() {
    let server = MockServer::start().await;
    let size = 3 * 1024 * 1024;
    for (status, at_least, at_most) in [(500, 1024 * 1024, 2 * 1024 * 1024), (200, size, size)] {
        server.reset().await;
        Mock::given(method("POST"))
            .respond_with(ResponseTemplate::new(status).set_body_bytes(vec![b'x'; size]))
            .mount(&server)
            .await;
        let mut reply = ask(&backend(server.uri()), &timeouts(LONG)).await.unwrap();
        let (body, end) = read(&mut reply).await;
        assert!(
            (at_least..=at_most).contains(&body.len()),
            "{status}: {}",
            body.len()
        );
        assert_eq!(end, None);
    }
}

#[test]
fn what_cannot_be_sent_is_refused_by_name_and_never_shown() {
    for bad in ["localhost:1", "ftp://x/v1", "", "/v1"] {
        let error = HttpBackend::new(&target(bad.to_owned())).unwrap_err();
        assert!(
            matches!(error, BackendError::BaseUrl { .. }),
            "{bad}: {error}"
        );
    }
    let mut hidden = target("http://localhost/v1".to_owned());
    hidden.key = Some(Secret::new("sk-\n1"));
    let error = HttpBackend::new(&hidden).unwrap_err();
    assert_eq!(
        error.to_string(),
        "header \"authorization\" has a name or value that cannot be sent"
    );
    hidden.key = Some(Secret::new("sk-77"));
    hidden.headers = vec![("x-key".to_owned(), Secret::new("sk-77"))];
    let backend = HttpBackend::new(&hidden).unwrap();
    for shown in [format!("{hidden:?}"), format!("{backend:?}")] {
        assert!(!shown.contains("sk-77"), "{shown}");
    }
}

#[tokio::test]
async fn an_authors_header_replaces_the_protocols_own() {
    let server = MockServer::start().await;
    let versions = |value: &'static str| {
        Mock::given(header("anthropic-version", value))
            .respond_with(ResponseTemplate::new(200))
            .expect(1)
    };
    versions("of-the-protocol").mount(&server).await;
    versions("of-the-author").mount(&server).await;
    let headers = ["anthropic-version".to_owned(), "of-the-protocol".to_owned()];
    let [name, value] = headers;
    let fixed = [(name.clone(), value)];
    for own in [Vec::new(), vec![(name, Secret::new("of-the-author"))]] {
        let backend = HttpBackend::new(&HttpTarget {
            base_url: server.uri(),
            headers: own,
            key: None,
            proxies: Proxies::default(),
        });
        let backend = Backend::Http(backend.unwrap());
        let timeouts = timeouts(LONG);
        let sent = backend.send("messages", &fixed, b"{}"[..].into(), &timeouts);
        assert_eq!(sent.await.unwrap().head().status, 200);
    }
}
