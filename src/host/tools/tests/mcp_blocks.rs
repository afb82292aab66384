//! Tests of the results and lists that MCP servers send in every form, against a scripted server.

use super::Fixture;
use super::mcp::{python, scripted};
use monolith_core::message::EnvelopeStatus;

/// Malformed is a result that is no object, or whose content is no array. Everything else reaches the model as text.
#[tokio::test]
async fn every_form_of_content_reaches_the_model_as_text() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("s", scripted(&["blocks"]))], root.path()).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    for (tool, expect) in [
        (
            "linked",
            "resource link file:///x, name x, type text/plain\nresource link file:///y, name y",
        ),
        ("embedded", "inside"),
        (
            "audio",
            "[audio/wav, 3 bytes, kept in the transcript's blobs]",
        ),
        ("broken_image", r#"{"type": "image", "data": "no base64"}"#),
        ("unknown", "{\"type\": \"hologram\", \"n\": 1.5}\n{}"),
        ("bare", "{}"),
        ("alone", r#"{"n": 1}"#),
        ("beside", "one\n{\"n\": 1}"),
        ("twice", r#"{ "n": 1 }"#),
        ("float_id", "the same number"),
        ("null_flag", "one"),
        ("half_pair", "a\u{fffd}b"),
        ("unread", "-32700: cannot read that"),
    ] {
        let said = fixture.text_of(&format!("s__{tool}"), "{}").await;
        assert_eq!(said, expect, "{tool}");
    }
    fixture.up.servers.close().await;
}

/// MCP, tools, output schema: a client validates structured results.
#[tokio::test]
async fn a_result_that_breaks_the_schema_of_its_tool_is_a_failed_call() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("s", scripted(&["blocks"]))], root.path()).await;
    let broken = fixture.envelope("s__breaks", "{}").await;
    assert_eq!(broken.status, EnvelopeStatus::Error);
    assert_eq!(
        broken.text(),
        "one\n{\"n\": \"1\"}\nstructuredContent breaks the outputSchema of the tool: /n: type: value is not of type \"integer\""
    );
    assert_eq!(broken.into_fields().error.unwrap().code, "OUTPUT_SCHEMA");
    for (tool, code, text) in [
        (
            "only_text",
            "OUTPUT_SCHEMA",
            "the tool has an outputSchema, and its result has no structuredContent",
        ),
        (
            "text_flag",
            "INVALID_RESULT",
            "isError of the result is \"true\", which is neither true nor false",
        ),
    ] {
        let failed = fixture.envelope(&format!("s__{tool}"), "{}").await;
        assert_eq!(failed.status, EnvelopeStatus::Error, "{tool}");
        assert_eq!(failed.text(), format!("one\n{text}"));
        assert_eq!(failed.into_fields().error.unwrap().code, code);
    }
    // The schema is about results, and a failure is none.
    let failed = fixture.envelope("s__failed", "{}").await;
    assert_eq!(failed.text(), r#"{"why": "no"}"#);
    assert_eq!(failed.into_fields().error.unwrap().code, "TOOL_ERROR");
    fixture.up.servers.close().await;
}

#[tokio::test]
async fn paging_stops_at_a_cursor_that_is_empty_or_comes_again() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let specs = [
        ("again", scripted(&["again"])),
        ("endless", scripted(&["endless"])),
    ];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    assert_eq!(
        fixture.faults(),
        [
            "again: tools after page 2 left out: the cursor of the next page is \"two\" again",
            "endless: tools after page 1 left out: the cursor of the next page is empty",
        ]
    );
    for tool in ["again__hello", "endless__hello"] {
        assert_eq!(fixture.text_of(tool, "{}").await, "hello");
    }
    assert_eq!(fixture.text_of("again__slow", "{}").await, "slow but here");
    fixture.up.servers.close().await;
}

/// MCP, lifecycle: a client that does not speak the server's version disconnects.
#[tokio::test]
async fn a_child_that_speaks_an_unknown_version_is_not_used() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let fixture = Fixture::bring_up([("s", scripted(&["future"]))], root.path()).await;
    assert_eq!(
        fixture.faults(),
        [
            "s: failed to initialise: the server speaks protocol version \"2999-01-01\", and monolith speaks \
             2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28"
        ]
    );
}
