//! Tests of MCP servers that are child processes, against a scripted server.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Fixture, texts};
use crate::tools::offer;
use crate::tools::process::INHERITED;
use crate::tools::{ServerSpec, StartFiles};
use monolith_core::contract::McpTerms;
use monolith_core::message::{ContentBlock, Digest, EnvelopeStatus, ToolOutcome};

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/fixtures/mcp_server.py"
);

/// True if Python can run the scripted server; prints a line if there is none.
pub(super) fn python() -> bool {
    let there = Command::new("python3")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if !there {
        println!("skipped: no python3 to run {SCRIPT}");
    }
    there
}

pub(super) fn scripted(modes: &[&str]) -> ServerSpec {
    let args = std::iter::once(&SCRIPT).chain(modes);
    ServerSpec::Stdio {
        args: args.map(|arg| (*arg).to_owned()).collect(),
        command: "python3".to_owned(),
        terms: McpTerms::default(),
        env: BTreeMap::from([("GIVEN".to_owned(), "by the author".to_owned())]),
        files: StartFiles::default(),
        folder: std::path::PathBuf::new(),
        sandbox: None,
        shared: true,
        supervisor: None,
    }
}

async fn fixture(root: &Path) -> Fixture {
    let fixture = Fixture::bring_up([("s", scripted(&[]))], root).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    fixture
}

fn malformed(outcome: &ToolOutcome) -> (&str, Option<Digest>) {
    match outcome {
        ToolOutcome::Malformed { detail, raw_hash } => (detail, *raw_hash),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_returns_the_servers_result() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let offer = &fixture.up.capabilities["s"];
    assert!(offer.available);
    let hello = offer
        .tools
        .iter()
        .find(|tool| tool.name == "hello")
        .unwrap();
    assert_eq!(
        hello.annotations,
        serde_json::json!({"readOnlyHint": true, "x-unknown": [1]})
    );

    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
    assert_eq!(fixture.text_of("s__slow", "{}").await, "slow but here");
    assert_eq!(fixture.text_of("s__stray", "{}").await, "after strays");
    assert_eq!(fixture.text_of("s__chatty", "{}").await, "still here");
    assert_eq!(fixture.text_of("s__empty", "{}").await, "");
    assert_eq!(
        fixture.text_of("s__structured", "{}").await,
        r#"{"n": 1.50}"#
    );
    assert_eq!(
        fixture.text_of("s__refuse", "{}").await,
        "-32602: no such thing"
    );

    let failed = fixture.envelope("s__failed", "{}").await;
    assert_eq!(failed.status, EnvelopeStatus::Error);
    assert_eq!(failed.text(), "it went wrong\ntwice");
    assert_eq!(failed.into_fields().error.unwrap().code, "TOOL_ERROR");
    fixture.up.servers.close().await;
}

/// "1" is not 1, and rmcp would take it for that.
#[tokio::test]
async fn a_response_with_a_text_id_answers_no_request() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut fixture = fixture(root.path()).await;
    fixture.timeout_ms = 300;
    let outcome = fixture.call("s__string_id", "{}").await;
    assert_eq!(outcome, ToolOutcome::TimedOut);
    fixture.timeout_ms = 20_000;
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
    fixture.up.servers.close().await;
}

#[tokio::test]
async fn arguments_arrive_as_the_model_wrote_them_with_the_idempotency_key() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let arguments = "{\"n\": 12345678901234567890123.4500,\n \"s\": \"a\\nb\", \"e\": 1E2}";
    let said = fixture.text_of("s__args", arguments).await;
    let written = arguments.replace('\n', " ");
    assert!(said.contains(&written), "{said}");
    assert!(said.ends_with("\"run:1\""), "{said}");
}

/// 001/6.servers.7, 001/7.env.5
#[tokio::test]
async fn a_child_sees_the_workspace_and_only_the_environment_it_is_given() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let said = fixture.text_of("s__env", "{}").await;
    let (env, cwd) = said.split_once('\n').unwrap();
    let env: BTreeMap<String, String> = serde_json::from_str(env).unwrap();
    assert_eq!(env["GIVEN"], "by the author");
    assert!(env.contains_key("PATH"));
    // cargo sets this one for every test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!env.contains_key("CARGO_MANIFEST_DIR"));
    // Python's launcher and the shell that it may be set some for themselves: they are there in a process that is given none.
    let names = "import os; print(*os.environ)";
    let mut bare = Command::new("python3");
    let bare = bare.args(["-c", names]).env_clear();
    let inherited = INHERITED
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    let set_by_launcher = bare.envs(inherited).output().unwrap().stdout;
    let set_by_launcher = String::from_utf8(set_by_launcher).unwrap();
    let known: Vec<&str> = set_by_launcher
        .split_whitespace()
        .chain(["GIVEN"])
        .collect();
    let other = env.keys().filter(|name| !known.contains(&name.as_str()));
    assert_eq!(other.collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(env.contains_key("HOME") == std::env::var_os("HOME").is_some());
    assert_eq!(Path::new(cwd), root.path().canonicalize().unwrap());
}

#[tokio::test]
async fn blocks_that_are_not_text_are_kept_by_hash() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let envelope = fixture.envelope("s__mixed", "{}").await;
    let last = "resource link file:///x, name x\nthree\n{\"ignored\": true}";
    assert_eq!(texts(&envelope), ["one\ntwo", last]);
    let resources: Vec<(u64, &str, Vec<u8>)> = envelope
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(_) => None,
            ContentBlock::Resource {
                blob,
                bytes,
                mime_type,
            } => Some((*bytes, mime_type.as_str(), fixture.blobs.bytes(*blob))),
        })
        .collect();
    assert_eq!(resources[0], (3, "image/png", vec![0, 1, 2]));
    assert_eq!(resources[1], (2, "application/octet-stream", vec![3, 4]));
    assert_eq!(resources.len(), 2);
}

#[tokio::test]
async fn an_answer_that_does_not_decode_is_malformed_and_kept() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    for (tool, expect) in [
        ("s__wrong_type", "its content is not an array"),
        ("s__broken_json", "expected value"),
        ("s__no_result", "it has neither result nor error"),
    ] {
        let outcome = fixture.call(tool, "{}").await;
        let (detail, raw) = malformed(&outcome);
        assert!(detail.contains(expect), "{tool}: {detail}");
        let raw = String::from_utf8(fixture.blobs.bytes(raw.unwrap())).unwrap();
        assert!(raw.starts_with("{\"jsonrpc\""), "{tool}: {raw}");
    }
    for (tool, expect) in [
        ("s__no_content", r#"{"text": "where is the content"}"#),
        ("s__unknown_block", r#"{"type": "hologram"}"#),
    ] {
        assert_eq!(fixture.text_of(tool, "{}").await, expect, "{tool}");
    }
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
}

#[tokio::test]
async fn a_large_answer_is_cut_and_one_over_the_bound_is_malformed() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    let envelope = fixture.envelope("s__huge", r#"{"size": 1048576}"#).await;
    assert_eq!(envelope.bytes_out, 1_048_576);
    assert_eq!(envelope.text().len(), 12_288);
    assert_eq!(fixture.blobs.bytes(envelope.full.unwrap()).len(), 1_048_576);

    let outcome = fixture.call("s__huge", r#"{"size": 70000000}"#).await;
    let (detail, raw) = malformed(&outcome);
    assert!(detail.contains("more than 67108864"), "{detail}");
    assert_eq!(raw, None);
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
}

#[tokio::test]
async fn a_missing_response_times_out_and_the_server_is_notified() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut fixture = fixture(root.path()).await;
    for tool in ["s__never", "s__wrong_id"] {
        fixture.timeout_ms = 150;
        assert_eq!(
            fixture.call(tool, "{}").await,
            ToolOutcome::TimedOut,
            "{tool}"
        );
    }
    fixture.timeout_ms = 20_000;
    assert_eq!(
        fixture.text_of("s__cancelled", "{}").await,
        r#"["timeout", "timeout"]"#
    );
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_the_server_is_notified() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let mut fixture = fixture(root.path()).await;
    let cancel = fixture.cancel.clone();
    let (outcome, ()) = tokio::join!(fixture.call("s__never", "{}"), async {
        tokio::task::yield_now().await;
        cancel.cancel();
    });
    assert_eq!(outcome, ToolOutcome::Cancelled);
    fixture.cancel = tokio_util::sync::CancellationToken::new();
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
}

#[tokio::test]
async fn a_server_that_dies_is_a_lost_connection_with_its_last_words() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for tool in ["s__die", "s__die_midway"] {
        let fixture = fixture(root.path()).await;
        let outcome = fixture.call(tool, "{}").await;
        let ToolOutcome::ConnectionLost { detail } = outcome else {
            panic!("{outcome:?}");
        };
        if tool == "s__die" {
            assert!(detail.contains("boom: out of cheese"), "{detail}");
        }
        // The next call starts it again.
        assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
    }
}

#[tokio::test]
async fn a_tool_that_changed_is_refused_and_the_others_go_on() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    assert_eq!(
        fixture.text_of("s__announce", "{}").await,
        "nothing really changed"
    );
    assert_eq!(fixture.text_of("s__hello", "{}").await, "hello");
    assert_eq!(fixture.text_of("s__rename", "{}").await, "renamed");
    assert_eq!(fixture.call("s__hello", "{}").await, offer::changed());
    assert_eq!(fixture.call("s__hello", "{}").await, offer::changed());
    assert_eq!(fixture.text_of("s__slow", "{}").await, "slow but here");
}

#[tokio::test]
async fn a_server_may_ask_nothing_of_us() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = fixture(root.path()).await;
    assert_eq!(
        fixture.text_of("s__ask_back", "{}").await,
        "[-32601, -32601, -32601, -32601]"
    );
}

#[tokio::test]
async fn bring_up_reports_a_faulty_server_and_starts_the_others() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let specs = [
        ("bad_init", scripted(&["bad-init"])),
        ("dies", scripted(&["die"])),
        ("good", scripted(&[])),
        ("many", scripted(&["many"])),
        (
            "missing",
            ServerSpec::Stdio {
                args: Vec::new(),
                command: "no-such-command-anywhere".to_owned(),
                terms: McpTerms::default(),
                env: BTreeMap::new(),
                files: StartFiles::default(),
                folder: std::path::PathBuf::new(),
                sandbox: None,
                shared: true,
                supervisor: None,
            },
        ),
        ("odd", scripted(&["odd-tools"])),
        ("pages", scripted(&["pages"])),
    ];
    let fixture = Box::pin(Fixture::bring_up(specs, root.path())).await;
    let available: Vec<&str> = fixture
        .up
        .capabilities
        .iter()
        .filter(|(_, server)| server.available)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(available, ["good", "odd"]);
    assert_eq!(fixture.up.capabilities["odd"].tools.len(), 4);
    insta::assert_snapshot!(fixture.faults().join("\n"), @r##"
    bad_init: failed to initialise: its answer is not the result of initialize
    dies: failed to initialise: the server ended before it answered: exit status: 7; its standard error ended with: cannot open the database
    many: failed to list its tools: more than 1000 tools
    missing: failed to find the command "no-such-command-anywhere"
    odd: tool "good" left out: the server offers that name twice
    odd: tool "no_schema" left out: missing field `inputSchema` at line 1 column 21
    odd: tool "#7" left out: missing field `name` at line 1 column 35
    odd: tool "#8" left out: invalid type: integer `7`, expected struct Tool at line 1 column 1
    pages: failed to list its tools: more than 50 pages
    "##);
    assert_eq!(fixture.text_of("good__hello", "{}").await, "hello");
}

/// Only a child that ends on the first question may get on with the other one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_that_ends_without_reading_the_question_is_started_once() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("s", scripted(&["unread"]))], root.path()).await;
    assert_eq!(
        fixture.faults(),
        [
            "s: failed to initialise: the server ended before it answered: exit status: 9; \
             its standard error ended with: no module named cheese"
        ]
    );
    let starts = std::fs::read_to_string(root.path().join("starts")).unwrap();
    assert_eq!(starts, "started\n");
}

#[tokio::test]
async fn a_server_that_never_introduces_itself_is_given_up() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for mode in ["mute", "deaf"] {
        let specs = BTreeMap::from([("s".to_owned(), scripted(&[mode]))]);
        let timeouts = crate::tools::mcp::Timeouts {
            initialise_ms: 300,
            list_ms: 300,
        };
        let cancel = tokio_util::sync::CancellationToken::new();
        let scrub: std::sync::Arc<dyn monolith_core::message::Scrubber> =
            std::sync::Arc::new(monolith_core::message::NoSecrets);
        let host = crate::tools::ServerHost::alone(scrub);
        let timeouts = (timeouts, &host);
        let up = crate::tools::ToolServers::bring_up_within(
            specs,
            root.path(),
            timeouts,
            &cancel,
            &|_| (),
        )
        .await;
        assert_eq!(
            up.faults[0].detail,
            "failed to initialise: no answer within 300 ms (total_timeout_ms allows it, at most 60000)",
            "{mode}"
        );
    }
}

/// True if a process exists and is not a zombie.
#[cfg(target_os = "linux")]
pub(super) fn runs(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .starts_with(" Z")
    })
}

#[cfg(target_os = "linux")]
pub(super) async fn wait_until_gone(pid: &str) {
    let gone = async {
        while runs(pid) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone)
        .await
        .unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_process_of_a_server_outlives_it() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    for how in ["closed", "dropped"] {
        let fixture = Fixture::bring_up([("s", scripted(&["child"]))], root.path()).await;
        let pid = fixture.text_of("s__pid", "{}").await;
        assert!(runs(&pid), "{how}");
        let Fixture { up, .. } = fixture;
        if how == "closed" {
            up.servers.close().await;
        } else {
            drop(up);
        }
        wait_until_gone(&pid).await;
    }
}
