//! The host of docs/session-api.md, which is not monolith's own: what it leaves behind verifies and replays.

#[allow(dead_code, reason = "its `main` is not called here")]
#[path = "../../examples/host.rs"]
mod example;

use crate::fixture::Fixture;

#[test]
fn the_transcript_of_another_host_verifies_and_replays() {
    let fixture = Fixture::new();
    let transcript = example::transcript().unwrap();
    assert!(transcript.contains("COMPLETED_WITH_TOOLS"), "{transcript}");
    fixture.write("run.jsonl", &transcript);
    for command in ["verify", "replay"] {
        fixture.ok(&[command, "run.jsonl"]);
    }
}
