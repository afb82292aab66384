//! The six cases of 002 §9 against each provider, blocking and streamed.

use monolith::host::HostTool;
use serde_json::{Value, json};

use super::contract::{Played, clock, contract, echo, for_each_provider, play};
use super::provider::Provider;
use super::script::{Said, Script};
use super::server::{Log, Server};

/// Plays a case blocking and streamed; both end in the same way.
async fn case(
    provider: Provider,
    rounds: &[Said],
    more: &Value,
    tools: fn() -> Vec<HostTool>,
    end: &str,
) -> [(Played, Log); 2] {
    let one = |stream: bool| async move {
        let server = Server::start(provider, "a", Script::of(rounds));
        let mut contract = contract(&[(provider.name(), &server)], more);
        contract["sampling"] = json!({"stream": stream});
        let played = play(&contract, tools()).await;
        let log = server.log();
        assert_eq!(
            played.outcome, end,
            "streamed {stream}, refused {:?}",
            log.refused
        );
        (played, log)
    };
    [one(false).await, one(true).await]
}

fn tools() -> Vec<HostTool> {
    vec![echo(), clock()]
}

fn required() -> Value {
    json!({"tool_policy": "required"})
}

async fn case_1_a_valid_call_completes_with_tools(provider: Provider) {
    let rounds = [
        Said::calls(&[("echo", json!({"text": "one"}))]),
        Said::text("It is done."),
    ];
    case(
        provider,
        &rounds,
        &required(),
        tools,
        "COMPLETED_WITH_TOOLS (final_message)",
    )
    .await;
}

async fn case_2_malformed_output_is_rejected(provider: Provider) {
    let end = "FAILED_PROTOCOL_MALFORMED (format_retries_exhausted)";
    let ended = case(
        provider,
        &[Said::Malformed("echo")],
        &required(),
        tools,
        end,
    )
    .await;
    for (played, log) in ended {
        assert!(
            played
                .conversation
                .iter()
                .all(|message| message.tool_calls.is_empty())
        );
        let answered = log.requests.iter().filter(|(_, status)| *status == 200);
        assert_eq!(answered.count(), 2, "one format retry");
    }
}

async fn case_3_narration_is_no_success(provider: Provider) {
    let rounds = [Said::text("I have called the tool.")];
    case(
        provider,
        &rounds,
        &required(),
        tools,
        "FAILED_PROTOCOL_NO_TOOLS (no_call_response)",
    )
    .await;
}

async fn case_4_a_forbidden_call_is_a_violation(provider: Provider) {
    let rounds = [Said::calls(&[("host__echo", json!({"text": "one"}))])];
    let forbidden = json!({"tool_policy": "forbidden"});
    case(
        provider,
        &rounds,
        &forbidden,
        tools,
        "FAILED_CONTRACT_VIOLATION (forbidden_call)",
    )
    .await;
}

async fn case_5_a_result_that_is_too_large_is_cut(provider: Provider) {
    let large = json!({"text": "large ", "times": 20_000});
    let rounds = [Said::calls(&[("echo", large)]), Said::text("It is done.")];
    let ended = case(
        provider,
        &rounds,
        &required(),
        tools,
        "COMPLETED_WITH_TOOLS (final_message)",
    )
    .await;
    for (played, _) in ended {
        let result = played
            .conversation
            .iter()
            .find(|message| message.tool_call_id.is_some());
        let result = &result.unwrap().content;
        assert!(
            result.starts_with("[TRUNCATED] Original size 120000 bytes"),
            "{result}"
        );
        assert!(result.len() <= 12_288);
    }
}

async fn case_6_a_tool_that_times_out_proves_nothing(provider: Provider) {
    fn tools() -> Vec<HostTool> {
        let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
        let never = HostTool::new("echo", "Never ends.", schema, |_| async {
            std::future::pending::<Result<String, String>>().await
        });
        vec![never, clock()]
    }
    let rounds = [
        Said::calls(&[("echo", json!({"text": "one"}))]),
        Said::text("It is done."),
    ];
    let more = json!({"tool_policy": "required", "tool_timeout_ms": 20});
    let ended = case(
        provider,
        &rounds,
        &more,
        tools,
        "FAILED_PROTOCOL_NO_TOOLS (no_call_response)",
    )
    .await;
    for (played, _) in ended {
        let result = played
            .conversation
            .iter()
            .find(|message| message.tool_call_id.is_some());
        assert_eq!(result.unwrap().content, "(tool failed: timeout)");
    }
}

for_each_provider!(
    case_1_a_valid_call_completes_with_tools,
    case_2_malformed_output_is_rejected,
    case_3_narration_is_no_success,
    case_4_a_forbidden_call_is_a_violation,
    case_5_a_result_that_is_too_large_is_cut,
    case_6_a_tool_that_times_out_proves_nothing,
);
