//! A response whose end comes some time after its head, as a server sends it that thinks: whole in the run, and whole when it is
//! asked for again.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;

use crate::fixture::Fixture;
use crate::http::HttpRequest;

/// Answers every request; a POST with its head at once, and all of its body after a while.
fn serve(listener: &TcpListener, body: &str) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { return };
        // A client that goes away has what it wanted.
        drop(answer(stream, body));
    }
}

fn answer(mut stream: TcpStream, body: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    HttpRequest::read(&mut reader);
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.flush()?;
    // Nothing more is sent to us: reading is how to wait.
    stream.set_read_timeout(Some(Duration::from_millis(60)))?;
    drop(stream.read(&mut [0]));
    stream.write_all(body.as_bytes())
}

#[test]
fn a_body_that_comes_after_its_head_is_whole_in_the_run_and_when_it_is_asked_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let message = json!({"role": "assistant", "content": "It is noon."});
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    std::thread::spawn(move || serve(&listener, &body.to_string()));
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntool_policy: optional\ntargets: [{{provider: p, model: m, context_window: 8192}}]\n\
             providers: {{p: {{type: openai, base_url: 'http://{address}/v1'}}}}\n"
        ),
    );
    let (code, result) = fixture.json(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    assert_eq!(
        (code, &result["outcome"]["class"]),
        (0, &json!("COMPLETED_CHAT_ONLY")),
        "{result}"
    );
    for _ in 0..5 {
        let (code, report) = fixture.json(&["replay", "r1", "--live", "inference"]);
        assert_eq!((code, &report["same"]), (0, &json!(true)), "{report}");
        assert_eq!(report["inferences"], json!(1));
    }
}

#[test]
fn a_body_larger_than_a_piece_is_whole() {
    let fixture = Fixture::new();
    let long = "x".repeat(1 << 20);
    fixture.script("", &[&crate::fixture::says(&long)]);
    for run in ["a", "b", "c", "d"] {
        let (code, result) = fixture.json(&["run", "--contract", "c.yaml", "--run-id", run]);
        assert_eq!(code, 0, "{result}");
        let last = result["conversation"].as_array().and_then(|all| all.last());
        assert_eq!(
            last.unwrap()["content"].as_str().map(str::len),
            Some(1 << 20)
        );
    }
}
