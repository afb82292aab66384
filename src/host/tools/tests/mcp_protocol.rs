//! Tests of what a server and a run agree on: protocol, input, and what is offered beside tools.

use super::mcp::{python, scripted};
use super::{Fixture, texts};
use crate::tools::ServerSpec;
use crate::tools::offer;
use monolith_core::contract::{Beside, Elicitation, McpTerms};
use monolith_core::message::{ContentBlock, InputAnswer};

/// Whatever a server makes of `server/discover`: refuse it, end on it, answer it with something else or too late, or speak nothing older.
#[tokio::test]
async fn the_protocol_is_negotiated_whatever_a_server_makes_of_the_question() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let older = ["", "brittle", "late", "odd", "sluggish"];
    let specs = older.map(|mode| {
        (
            if mode.is_empty() { "plain" } else { mode },
            scripted(&[mode]),
        )
    });
    let specs = specs.into_iter().chain([("modern", scripted(&["modern"]))]);
    let fixture = Fixture::bring_up(specs, root.path()).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    for statement in &fixture.up.statements {
        let newer = statement.server == "modern";
        let protocol = if newer { "2026-07-28" } else { "2025-11-25" };
        assert_eq!(statement.protocol, protocol, "{}", statement.server);
    }
    for server in ["brittle", "late", "modern", "odd", "plain", "sluggish"] {
        assert_eq!(
            fixture.text_of(&format!("{server}__hello"), "{}").await,
            "hello"
        );
    }
    // A change is reported to those who asked for that, and so is seen in both protocols.
    for server in ["modern", "plain"] {
        let tool = |name: &str| format!("{server}__{name}");
        assert_eq!(fixture.text_of(&tool("rename"), "{}").await, "renamed");
        let changed = fixture.call(&tool("hello"), "{}").await;
        assert_eq!(changed, offer::changed(), "{server}");
    }
    // Every request of the newer protocol says who asks, and in which version.
    let line = fixture.text_of("modern__args", "{}").await;
    assert!(
        line.contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#),
        "{line}"
    );
    assert!(
        line.contains(r#""io.modelcontextprotocol/clientCapabilities":{}"#),
        "{line}"
    );
    fixture.up.servers.close().await;
}

/// A server of that mode, granted the defaults of what it asks for.
fn granted(modes: &[&str]) -> ServerSpec {
    let terms = McpTerms {
        elicitation: Elicitation::Defaults,
        offers: vec![Beside::Prompts, Beside::Resources],
        roots: vec![env!("CARGO_MANIFEST_DIR").to_owned(), "/gone".to_owned()],
        ..McpTerms::default()
    };
    match scripted(modes) {
        ServerSpec::Stdio {
            args,
            command,
            env,
            files,
            folder,
            sandbox,
            shared,
            supervisor,
            ..
        } => ServerSpec::Stdio {
            args,
            command,
            env,
            files,
            folder,
            sandbox,
            shared,
            supervisor,
            terms,
        },
        other => other,
    }
}

/// S4: input is denied unless the contract grants it, in both protocols.
#[tokio::test]
async fn a_server_gets_the_input_that_the_contract_grants_and_no_other() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let specs = [
        ("denied", scripted(&["modern"])),
        ("given", granted(&["modern"])),
        ("older", granted(&[])),
    ];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    assert_eq!(
        fixture.text_of("denied__needs_input", "{}").await,
        "INPUT_NOT_GRANTED: the server asks for elicitation/create, which the contract does not grant"
    );
    let arguments = r#"{"n": 1.50}"#;
    let said = fixture.text_of("given__needs_input", arguments).await;
    let (line, answered) = said.split_once('\n').unwrap();
    assert!(line.contains(r#""arguments":{"n": 1.50}"#), "{line}");
    assert!(line.contains(r#""elicitation":{"form":{}}"#), "{line}");
    assert_eq!(
        answered.trim(),
        r#"[{"who": {"action": "accept", "content": {"name": "J"}}}, "as it came: \u00e9\n"]"#
    );
    let exchanges = || {
        let exchanges = fixture.exchanges.take().into_iter();
        let said = exchanges.map(|one| (one.answer, one.message, one.content));
        said.collect::<Vec<_>>()
    };
    let content = Some(r#"{"name":"J"}"#.to_owned());
    let filled = (InputAnswer::Accept, "Who?".to_owned(), content);
    assert_eq!(exchanges(), [filled]);
    assert_eq!(
        fixture.text_of("given__insists", "{}").await,
        "INPUT_NOT_GRANTED: the server asked for input more than 10 times in one call"
    );
    let declined = (InputAnswer::Decline, "Who?".to_owned(), None);
    assert_eq!(exchanges(), vec![declined; 10]);
    // The folders of the contract that are there, and no other.
    let root = r#"[{"uri": "file:///"#;
    let said = fixture
        .text_of("given__needs_input", r#"{"roots": true}"#)
        .await;
    assert!(
        said.contains(&format!(r#""where": {{"roots": {root}"#)),
        "{said}"
    );
    assert!(said.contains(r#""roots":{}"#), "{said}");
    assert!(!said.contains("/gone"), "{said}");
    assert_eq!(exchanges().len(), 1);
    let said = fixture.text_of("older__ask_back", "{}").await;
    let answers = format!("[{root}");
    assert!(said.starts_with(&answers), "{said}");
    let rest = r#""}], -32601, "accept", -32601]"#;
    assert!(said.ends_with(rest) && !said.contains("/gone"), "{said}");
    let asked = (InputAnswer::Accept, "?".to_owned(), Some("{}".to_owned()));
    assert_eq!(exchanges(), [asked]);
    fixture.up.servers.close().await;
}

#[tokio::test]
async fn resources_and_prompts_are_tools_where_the_contract_wants_them() {
    if !python() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let specs = [
        ("bare", granted(&[])),
        ("m", granted(&["library", "modern"])),
        ("s", granted(&["library"])),
        ("unwanted", scripted(&["library"])),
    ];
    let fixture = Fixture::bring_up(specs, root.path()).await;
    assert_eq!(fixture.faults(), Vec::<String>::new());
    let beside = |server: &str| {
        let tools = &fixture.up.capabilities[server].tools;
        let ours = tools
            .iter()
            .skip_while(|tool| tool.name != "freeze")
            .skip(1);
        ours.map(|tool| tool.name.clone()).collect::<Vec<_>>()
    };
    let all = [
        "list_resources",
        "list_resource_templates",
        "read_resource",
        "list_prompts",
        "get_prompt",
    ];
    assert_eq!(beside("s"), all);
    assert_eq!(beside("m"), all);
    assert_eq!(beside("bare"), [""; 0]);
    assert_eq!(beside("unwanted"), [""; 0]);

    for server in ["m", "s"] {
        let tool = |name: &str| format!("{server}__{name}");
        let listed = fixture
            .text_of(&tool("list_resources"), r#"{"cursor": "2"}"#)
            .await;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed["resources"][0]["uri"], "mem:a");
        assert_eq!(listed["asked"], serde_json::json!({"cursor": "2"}));
        let templates = fixture
            .text_of(&tool("list_resource_templates"), "{}")
            .await;
        assert!(templates.contains("resourceTemplates"), "{templates}");
        let read = fixture
            .envelope(&tool("read_resource"), r#"{"uri": "mem:a"}"#)
            .await;
        assert_eq!(texts(&read), ["one", "two"]);
        let [
            _,
            ContentBlock::Resource {
                blob, mime_type, ..
            },
            _,
        ] = read.content.as_slice()
        else {
            panic!("{read:?}");
        };
        assert_eq!(mime_type, "image/png");
        assert_eq!(fixture.blobs.bytes(*blob), [3, 4]);
        // A resource without content is its own JSON.
        let none = r#"{"uri": "mem:none"}"#;
        assert_eq!(fixture.text_of(&tool("read_resource"), none).await, none);
        let prompts = fixture.text_of(&tool("list_prompts"), "{}").await;
        assert!(prompts.contains("greet"), "{prompts}");
        let arguments = r#"{"name": "greet", "arguments": {"who": "J"}}"#;
        assert_eq!(
            fixture.text_of(&tool("get_prompt"), arguments).await,
            "user:\n{\"name\": \"greet\", \"arguments\": {\"who\": \"J\"}}\nassistant:\nkept"
        );
    }
    fixture.up.servers.close().await;
}
