//! A tool loop of four turns against each provider: single and parallel calls, text next to calls, a tool without arguments.

use serde_json::{Value, json};

use super::contract::{clock, contract, echo, for_each_provider, play};
use super::provider::Provider;
use super::script::{Said, Script};
use super::server::{Log, Server};
use crate::fixture::Fixture;

/// The ways in which a loop is asked for: nothing stated, or streamed, or with a limit and an effort that the author states.
pub fn ways() -> [(&'static str, Value); 3] {
    let stated = json!({"max_output_tokens": 8192, "reasoning": "high"});
    [
        ("blocking", json!({})),
        ("streamed", json!({"sampling": {"stream": true}})),
        ("stated", json!({"sampling": stated})),
    ]
}

#[track_caller]
fn accepted(what: &str, outcome: &str, log: &Log) {
    assert_eq!(log.refused, Vec::<String>::new(), "{what}");
    assert_eq!(
        outcome, "COMPLETED_WITH_TOOLS (final_message)",
        "{what}: {:#?}",
        log.requests
    );
    assert_eq!(log.lost, Vec::<String>::new(), "{what}");
}

async fn completes(provider: Provider, way: usize) {
    let (what, more) = &ways()[way];
    let server = Server::start(provider, "a", Script::four_turns());
    let played = play(
        &contract(&[(provider.name(), &server)], more),
        vec![echo(), clock()],
    )
    .await;
    let log = server.log();
    accepted(what, &played.outcome, &log);
    assert_eq!(log.requests.len(), 4, "{what}");
    let last = played.conversation.last().unwrap();
    assert_eq!(last.content, "It is done.", "{what}");
    let results = played
        .conversation
        .iter()
        .filter(|message| message.tool_call_id.is_some());
    let results: Vec<&str> = results.map(|message| message.content.as_str()).collect();
    assert_eq!(results, ["one", "two", "three", "12:00"], "{what}");
}

async fn a_loop_completes(provider: Provider) {
    completes(provider, 0).await;
}

async fn a_streamed_loop_completes(provider: Provider) {
    completes(provider, 1).await;
}

async fn a_loop_with_a_stated_limit_and_effort_completes(provider: Provider) {
    completes(provider, 2).await;
}

/// A notice follows a result: some protocols take no message of the user there.
async fn an_empty_answer_after_a_result_is_asked_for_again(provider: Provider) {
    let calls = Said::calls(&[("echo", json!({"text": "one"}))]);
    let rounds = vec![vec![calls], vec![Said::text(""), Said::text("It is done.")]];
    let server = Server::start(provider, "a", Script(rounds));
    let played = play(
        &contract(&[(provider.name(), &server)], &json!({})),
        vec![echo(), clock()],
    )
    .await;
    accepted("a notice", &played.outcome, &server.log());
}

/// The instruction of the closing turn follows a result, and no tools are offered.
async fn a_closing_turn_after_a_result_is_accepted(provider: Provider) {
    let server = Server::start(provider, "a", Script::four_turns());
    let mut rounds = Script::four_turns().0;
    rounds[2] = vec![Said::text("It is done.")];
    let closing = Server::start(provider, "a", Script(rounds));
    drop(server);
    let more = json!({"max_turns": 3});
    let played = play(
        &contract(&[(provider.name(), &closing)], &more),
        vec![echo(), clock()],
    )
    .await;
    let log = closing.log();
    assert_eq!(log.refused, Vec::<String>::new());
    assert_eq!(
        played.outcome, "COMPLETED_WITH_TOOLS (synthesis)",
        "{:#?}",
        log.requests
    );
}

/// A schema that a provider does not take is sent in another form, or its tool is left out; the request passes in any case.
async fn tools_with_unusual_schemas_do_not_stop_a_run(provider: Provider) {
    use monolith::host::HostTool;
    let tool = |name: &str, schema: Value| {
        HostTool::new(name, "An unusual tool.", schema, |_| async {
            Ok::<_, String>(String::new())
        })
    };
    let unusual = [
        (
            "either",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        ),
        (
            "untyped",
            json!({"properties": {"a": {"type": ["string", "null"]}}}),
        ),
        (
            "referring",
            json!({"$ref": "#/$defs/point", "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}}}),
        ),
        (
            "maybe",
            json!({"type": ["object", "null"], "properties": {"a": {"const": 1}}}),
        ),
    ];
    let server = Server::start(provider, "a", Script::four_turns());
    let mut tools = vec![echo(), clock()];
    let mut names = vec!["echo", "clock"];
    for (name, schema) in &unusual {
        tools.push(tool(name, schema.clone()));
        names.push(name);
    }
    let more = json!({"tools": {"host": names}});
    let played = play(&contract(&[(provider.name(), &server)], &more), tools).await;
    accepted("unusual schemas", &played.outcome, &server.log());
}

for_each_provider!(
    a_loop_completes,
    a_streamed_loop_completes,
    a_loop_with_a_stated_limit_and_effort_completes,
    an_empty_answer_after_a_result_is_asked_for_again,
    a_closing_turn_after_a_result_is_accepted,
    tools_with_unusual_schemas_do_not_stop_a_run,
);

/// The program itself, with its own tools.
fn the_program_completes_a_loop(provider: Provider, stream: bool) {
    let fixture = Fixture::new();
    let server = Server::start(provider, "a", Script::four_turns());
    let more = json!({"tools": {"builtin": ["echo", "clock"]}, "sampling": {"stream": stream}});
    fixture.write(
        "c.yaml",
        &contract(&[(provider.name(), &server)], &more).to_string(),
    );
    let mut command = fixture.command(&["run", "--json", "--run-id", "r", "--contract", "c.yaml"]);
    for variable in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"] {
        command.env(variable, "sk-strict-5b1f0c77");
    }
    let ended: crate::fixture::Left = command.output().unwrap().into();
    let log = server.log();
    assert_eq!(log.refused, Vec::<String>::new());
    assert_eq!(ended.code, 0, "{}", ended.printed());
    assert_eq!(
        ended.document()["finalReport"]["content"],
        "It is done.",
        "{}",
        ended.out
    );
    assert_eq!(log.lost, Vec::<String>::new());
    for proof in ["verify", "replay"] {
        fixture.ok(&[proof, "r"]);
    }
}

#[test]
fn the_program_completes_a_loop_with_chat_completions() {
    the_program_completes_a_loop(Provider::Gpt, false);
}

#[test]
fn the_program_completes_a_streamed_loop_with_messages() {
    the_program_completes_a_loop(Provider::Opus, true);
}
