//! The hashing of a turn: its new bytes, however long the run is.

use super::*;
use crate::message::hashed;

/// A run that calls `clock` again and again, under a protocol.
fn contract_of(provider: &str) -> Arc<ExecutionContract> {
    contract(&[
        &format!("providers={{p: {{type: {provider}}}}}"),
        "targets=[{provider: p, model: m, context_window: 9000000}]",
        "max_turns=1000",
        "max_calls=1000",
    ])
}

/// The response of this protocol that calls `clock`.
fn calls_clock(provider: &str) -> Value {
    match provider {
        "anthropic" => json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "c0", "name": "clock", "input": {}}]}),
        "google" => {
            json!({"candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model",
            "parts": [{"functionCall": {"name": "clock", "args": {}}}]}}]})
        }
        "ollama" => {
            json!({"done": true, "done_reason": "stop", "message": {"role": "assistant", "content": "",
            "tool_calls": [{"function": {"name": "clock", "arguments": {}}}]}})
        }
        "openai_responses" => json!({"object": "response", "status": "completed", "output": [
            {"type": "function_call", "call_id": "c0", "name": "clock", "arguments": "{}", "status": "completed"}]}),
        _ => call(&["clock"]),
    }
}

/// One turn: an answer that calls `clock`, and its result. The bytes that were hashed, and those of the request that followed.
fn turn(host: &mut Host, provider: &str, turn: u64) -> (u64, usize) {
    let before = hashed::bytes();
    host.outputs.clear();
    host.respond(turn, &calls_clock(provider));
    let outputs = host.hand_in(Input::ToolResult {
        call: CallSeq(turn),
        exchanges: Vec::new(),
        outcome: ToolOutcome::TimedOut,
    });
    let sent = outputs.iter().find_map(|output| match output {
        Output::Send(request) => Some(request.body.len()),
        _ => None,
    });
    (hashed::bytes() - before, sent.expect("the run goes on"))
}

#[test]
fn a_turn_hashes_as_much_late_in_a_run_as_early() {
    for provider in PROVIDERS {
        let mut host = Host::asking(&contract_of(provider), Arc::new(NoSecrets));
        let turns: Vec<(u64, usize)> = (1..=210).map(|at| turn(&mut host, provider, at)).collect();
        // Numbers of four digits are a byte longer than those of three, and so on.
        let sum = |turns: &[(u64, usize)]| turns.iter().map(|(hashed, _)| hashed).sum::<u64>();
        let (early, late) = (sum(&turns[100..110]), sum(&turns[200..210]));
        println!(
            "{provider}: {} bytes hashed a turn, late {}",
            early / 10,
            late / 10
        );
        assert!(
            late * 100 <= early * 101,
            "{provider}: {early} early, {late} late"
        );
        assert!(
            turns[209].1 > turns[109].1 + 1000,
            "{provider}: bodies grow"
        );
    }
}

const PROVIDERS: [&str; 5] = [
    "openai",
    "openai_responses",
    "anthropic",
    "google",
    "ollama",
];
