//! The contract of a step that is one call: a scripted model makes it. Does not run it.

use std::collections::BTreeMap;

use serde_json::json;

use crate::contract::spec::form::Setting;
use crate::contract::spec::keys::{
    ContextBudgetSpec, ContractSpec, FinalReportSpec, ProviderSpec, SamplingSpec, TargetSpec,
    ToolOutputBudgetSpec,
};
use crate::contract::{AGENT_PREFIX, Completion, ExecutionContract, ProviderType, ToolPolicy};

/// The provider whose script makes the call.
pub(super) const STEP_PROVIDER: &str = "workflow-step";
/// Its model.
pub(super) const STEP_MODEL: &str = "script";

/// The window of that model: it holds every call that a step may make, and every result that it may come to.
const STEP_WINDOW: u64 = 1 << 25;

/// Whether that is the contract of a step that calls one tool: no model writes its arguments, and no limit of the author's holds its turns.
pub fn is_tool_step(contract: &ExecutionContract) -> bool {
    let mut targets = contract.targets.iter();
    targets.any(|target| target.provider == STEP_PROVIDER)
}

/// What a step runs under that calls one tool: everything that `contract` says of tools and people, and a model that makes this one
/// call. The script is data of the contract: its fingerprint is what the contract holds.
///
/// No model reads the result, so what limits a conversation does not hold: a result of up to `most_bytes` is kept whole.
pub fn tool_spec(
    contract: &ContractSpec,
    (tool, arguments): (&str, &str),
    most_bytes: u64,
) -> ContractSpec {
    // What is asked of models meanwhile, by an agent or for a server, counts in the budgets of the contract.
    let asks_models = tool.starts_with(AGENT_PREFIX)
        || (contract.tools.servers.values()).any(|server| server.terms.sampling.is_some());
    let provider = ProviderSpec {
        file: Some(STEP_MODEL.to_owned()),
        provider_type: ProviderType::Scripted,
        ..ProviderSpec::default()
    };
    let target = TargetSpec {
        context_window: Some(STEP_WINDOW),
        model: STEP_MODEL.to_owned(),
        provider: STEP_PROVIDER.to_owned(),
        ..TargetSpec::default()
    };
    let scripts = BTreeMap::from([(STEP_PROVIDER.to_owned(), script(tool, arguments))]);
    ContractSpec {
        adapter_version: None,
        allowed_tools: Some(vec![tool.to_owned()]),
        batch: None,
        completion: Some(Completion::Message),
        context_budget: ContextBudgetSpec {
            context_window: Some(STEP_WINDOW),
            ..ContextBudgetSpec::default()
        },
        final_report: FinalReportSpec::default(),
        grammar: None,
        grammar_profile: None,
        logits_mask: None,
        max_cost_micro_usd: contract.max_cost_micro_usd.filter(|_| asks_models),
        max_inferences: contract.max_inferences.filter(|_| asks_models),
        max_tokens_consumed: if asks_models {
            contract.max_tokens_consumed
        } else {
            Some(STEP_WINDOW)
        },
        max_turns: Some(2),
        model_profile_id: None,
        page: None,
        prices: None,
        progress_report: None,
        providers: BTreeMap::from([(STEP_PROVIDER.to_owned(), provider)]),
        sampling: SamplingSpec::default(),
        scripts,
        system: None,
        targets: vec![target],
        task: Some(format!("call {tool}")),
        token_gate: None,
        tokenizer: Setting::Off,
        tool_output_budget: ToolOutputBudgetSpec {
            max_bytes_per_call: Some(most_bytes),
            ..ToolOutputBudgetSpec::default()
        },
        tool_policy: Some(ToolPolicy::Required),
        tool_transport: None,
        usual_transport: None,
        ..contract.clone()
    }
}

/// A message with the call, then one that ends the run.
fn script(tool: &str, arguments: &str) -> String {
    let function = json!({"name": tool, "arguments": arguments});
    let call = json!({"id": "call_1", "type": "function", "function": function});
    let messages = [
        (
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            "tool_calls",
        ),
        (json!({"role": "assistant", "content": "done"}), "stop"),
    ];
    let lines = messages.into_iter().map(|(message, reason)| {
        let choice = json!({"index": 0, "message": message, "finish_reason": reason});
        let usage = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
        let body = json!({
            "id": "step", "object": "chat.completion", "created": 0, "model": STEP_MODEL,
            "choices": [choice], "usage": usage,
        });
        let record = json!({
            "proto": "openai-chat", "stream": false, "status": 200,
            "headers": {"content-type": "application/json"}, "response": body.to_string(),
        });
        format!("{record}\n")
    });
    lines.collect()
}
