//! The scripted backend under paused time: what it plays, when, and how it fails.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Backend, Reply, ScriptedBackend, Timeouts, TransportFault, TransportFaultKind};
use monolith_core::message::ProviderFaultClass;

fn backend(script: &str, played: usize) -> Backend {
    Backend::Scripted(ScriptedBackend::new(script.parse().unwrap(), played))
}

fn timeouts(idle_ms: u64) -> Timeouts {
    Timeouts {
        cancel: CancellationToken::new(),
        idle: Duration::from_millis(idle_ms),
    }
}

async fn ask(backend: &Backend, timeouts: &Timeouts) -> Result<Reply, TransportFault> {
    backend
        .send("chat/completions", &[], b"{}"[..].into(), timeouts)
        .await
}

/// The chunks of a reply, and how it ended.
async fn read(reply: &mut Reply) -> (Vec<String>, Option<TransportFaultKind>) {
    let mut chunks = Vec::new();
    loop {
        match reply.chunk().await {
            Ok(Some(chunk)) => chunks.push(String::from_utf8(chunk).unwrap()),
            Ok(None) => return (chunks, None),
            Err(fault) => return (chunks, Some(fault.kind)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn records_are_played_in_order_and_then_it_is_exhausted() {
    let script = "{\"response\":\"a\"}\n{\"status\":429,\"headers\":{\"Retry-After\":\"2\"},\"response\":\"b\"}\n";
    let backend = backend(script, 0);
    let probe = backend.probe(&[], &CancellationToken::new()).await;
    assert!(probe.responsive);
    let mut first = ask(&backend, &timeouts(10)).await.unwrap();
    assert_eq!(first.head().status, 200);
    assert_eq!(read(&mut first).await, (vec!["a".to_owned()], None));
    let second = ask(&backend, &timeouts(10)).await.unwrap();
    assert_eq!(second.head().status, 429);
    assert_eq!(
        second.head().headers,
        [("retry-after".to_owned(), "2".to_owned())]
    );
    for _ in 0..2 {
        let fault = ask(&backend, &timeouts(10)).await.unwrap_err();
        assert_eq!(fault.kind, TransportFaultKind::ScriptExhausted);
        let fault = fault.into_provider_fault();
        assert_eq!(
            (fault.class, fault.message.as_str()),
            (ProviderFaultClass::Model, "script_exhausted")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_goes_on_where_it_was() {
    let backend = backend("{\"response\":\"a\"}\n{\"response\":\"b\"}", 1);
    let mut reply = ask(&backend, &timeouts(10)).await.unwrap();
    assert_eq!(read(&mut reply).await, (vec!["b".to_owned()], None));
}

#[tokio::test(start_paused = true)]
async fn a_stream_arrives_event_by_event() {
    let backend = backend(
        r#"{"stream":true,"response":"data: a\n\n: c\ndata: b\r\n\r\ndata: [DONE]"}"#,
        0,
    );
    let mut reply = ask(&backend, &timeouts(10)).await.unwrap();
    let expect = ["data: a\n\n", ": c\ndata: b\r\n\r\n", "data: [DONE]"].map(str::to_owned);
    assert_eq!(read(&mut reply).await, (expect.to_vec(), None));
}

#[tokio::test(start_paused = true)]
async fn a_delay_within_the_timeout_passes_and_a_longer_one_does_not() {
    let script = "{\"delay_ms\":500,\"response\":\"a\"}\n{\"delay_ms\":500,\"response\":\"a\"}";
    let backend = backend(script, 0);
    let start = Instant::now();
    assert!(ask(&backend, &timeouts(501)).await.is_ok());
    assert_eq!(start.elapsed(), Duration::from_millis(500));
    let fault = ask(&backend, &timeouts(499)).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::from_millis(999));
    assert_eq!(
        (fault.kind, fault.class()),
        (TransportFaultKind::Timeout, ProviderFaultClass::Timeout)
    );
}

#[tokio::test(start_paused = true)]
async fn faults_happen_as_scripted() {
    let script = concat!(
        "{\"fault\":\"refused\"}\n",
        "{\"fault\":\"reset\"}\n",
        "{\"fault\":\"hang\"}\n",
        "{\"fault\":\"reset\",\"after_bytes\":3,\"response\":\"abcdef\"}\n",
        "{\"fault\":\"hang\",\"after_bytes\":0,\"response\":\"abcdef\"}\n",
        "{\"fault\":\"reset\",\"after_bytes\":99,\"response\":\"abc\"}\n",
    );
    let backend = backend(script, 0);
    let timeouts = timeouts(70);
    for expect in [
        TransportFaultKind::Refused,
        TransportFaultKind::Reset,
        TransportFaultKind::Timeout,
    ] {
        assert_eq!(ask(&backend, &timeouts).await.unwrap_err().kind, expect);
    }
    for (text, expect) in [
        ("abc", TransportFaultKind::Reset),
        ("", TransportFaultKind::Timeout),
        ("abc", TransportFaultKind::Reset),
    ] {
        let mut reply = ask(&backend, &timeouts).await.unwrap();
        let (chunks, end) = read(&mut reply).await;
        assert_eq!((chunks.concat().as_str(), end), (text, Some(expect)));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_hanging_request_at_once() {
    let backend = backend("{\"fault\":\"hang\"}", 0);
    let timeouts = timeouts(600_000);
    let start = Instant::now();
    let (asked, ()) = tokio::join!(ask(&backend, &timeouts), async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        timeouts.cancel.cancel();
    });
    assert_eq!(asked.unwrap_err().kind, TransportFaultKind::Cancelled);
    assert_eq!(start.elapsed(), Duration::from_millis(5));
}
