//! Tests of the checks over a whole contract.

use super::{make, profile_faults, structure_faults};
use crate::contract::*;

const OPTIONAL: [&str; 2] = ["page=null", "tool_policy=optional"];

/// The faults of the demo under the given changes.
fn check(faults: fn(&Terms) -> Vec<String>, sets: &[&str], expect: &[&str]) {
    assert_eq!(faults(&make(sets)), expect, "{sets:?}");
}

#[test]
fn terms_that_contradict_themselves_are_contracts_with_faults() {
    let check = |sets: &[&str], expect: &[&str]| check(structure_faults, sets, expect);
    check(
        &["max_turns=1"],
        &["tool_policy required needs max_turns of at least 2, got 1"],
    );
    check(&["max_turns=2"], &[]);
    check(&["max_turns=0", "max_inferences=9"], &["max_turns is 0"]);
    check(
        &["max_inferences=1"],
        &["tool_policy required needs max_inferences of at least 2, got 1"],
    );
    let loose = [OPTIONAL.as_slice(), &["max_turns=1", "max_inferences=1"]].concat();
    check(&loose, &[]);
    let cloud = [
        "providers={cloud: {type: openai}}",
        "targets=[{provider: cloud, model: our-own, context_window: 8192}]",
    ];
    let unpriced = "max_cost_micro_usd needs the price of targets.0, the model `our-own` of provider `cloud`: state it under prices";
    let priced = |model: &str| {
        format!("prices={{version: a, models: {{cloud: {{{model}: {{input: 0, output: 0}}}}}}}}")
    };
    check(
        &[cloud.as_slice(), &["max_cost_micro_usd=1"]].concat(),
        &[unpriced],
    );
    for (model, expect) in [("our", &[unpriced][..]), ("our-own", &[])] {
        let priced = priced(model);
        check(
            &[cloud.as_slice(), &["max_cost_micro_usd=1", &priced]].concat(),
            expect,
        );
    }
    check(&cloud, &[]);
    check(&["max_cost_micro_usd=1"], &[]);
    check(
        &["max_format_retries=2"],
        &["strict_mode allows max_format_retries of at most 1, got 2"],
    );
    check(&["max_format_retries=3", "strict_mode=false"], &[]);
    for strict in ["strict_mode=false", "strict_mode=true"] {
        check(
            &["max_format_retries=4", strict],
            &["max_format_retries is at most 3, got 4"],
        );
    }
    for ratio in ["-0.1", "1.1", "85"] {
        let set = format!("context_budget.force_synthesis_at_ratio={ratio}");
        let text = "context_budget.force_synthesis_at_ratio is from 0 to 1, got ";
        check(&[&set], &[&format!("{text}{ratio}")]);
    }
    check(&["context_budget.force_synthesis_at_ratio=0"], &[]);
    check(&["context_budget.force_synthesis_at_ratio=1"], &[]);
    check(
        &["model_profile_id=unknown"],
        &[
            "context_budget.context_window is 0: the catalogue does not know the model; add its window at the target, such as `context_window: 32768`",
        ],
    );
    check(
        &[
            "targets.0.context_window=0",
            "context_budget.context_window=9000",
        ],
        &[
            "targets.0.context_window is 0: the catalogue does not know the model; add its window at the target, such as `context_window: 32768`",
        ],
    );
    check(
        &["sampling.max_output_tokens=0"],
        &["targets.0.sampling.max_output_tokens is 0"],
    );
    check(
        &["allowed_tools=[]"],
        &["tool_policy required needs a tool, but allowed_tools is empty"],
    );
    check(
        &["tools.builtin=[]", "allowed_tools=null"],
        &["tool_policy required needs a tool, but the contract names no server"],
    );
    check(
        &[
            "cycle_forbid=[[read_file, write_file]]",
            "require_approval=[reed_file]",
        ],
        &[
            "cycle_forbid names `write_file`, which no server offers",
            "require_approval names `reed_file`, which no server offers; did you mean `read_file`?",
        ],
    );
    check(
        &["metadata.cycle_exceptions=[{from: read_file, to: read_file, max: 1}]"],
        &[
            "metadata.cycle_exceptions names read_file → read_file, which cycle_forbid does not forbid",
        ],
    );
    // What the missing server would have offered is not known, so no name is blamed.
    check(
        &["require_approval=[fs__read]", "tools.mcp.fs={command: x}"],
        &[],
    );
}

#[test]
fn every_limit_of_zero_is_a_fault_and_all_are_reported_at_once() {
    let mut terms = (*make(&[])).clone();
    terms.approval_timeout_ms = 0;
    terms.checkpoint_every = 0;
    terms.llm_timeout_ms = 0;
    terms.max_attempts_per_turn = 0;
    terms.max_inferences = 0;
    terms.max_tokens_consumed = BigCount(0);
    terms.max_tool_calls_per_turn = 0;
    terms.max_turns = 0;
    terms.step_timeout_ms = 0;
    terms.tool_output_budget.max_bytes_per_call = 0;
    terms.tool_timeout_ms = 0;
    terms.total_timeout_ms = 0;
    terms.targets.clear();
    terms.policy_decision.policy = ToolPolicy::Optional;
    terms.tools.reverse();
    assert_eq!(
        structure_faults(&terms).len(),
        15,
        "{:#?}",
        structure_faults(&terms)
    );
}

/// Shows 002/6.factory.4.
#[test]
fn a_document_whose_parts_disagree_is_a_fault() {
    let mut terms = (*make(&[])).clone();
    terms.adapter_version = "other/1".to_owned();
    terms.model_profile_id = "other".to_owned();
    terms.context_budget.force_synthesis_at_ratio = f64::NAN;
    terms.providers.clear();
    assert_eq!(
        structure_faults(&terms),
        [
            "context_budget.force_synthesis_at_ratio is from 0 to 1, got NaN",
            "targets.0.provider names `demo`, which is no provider",
            "adapter_version is not the first target's",
            "model_profile_id is not the first target's",
        ]
    );
}

/// Shows 002/4.runtime.5.
#[test]
fn a_missing_feature_is_incompatible_with_a_reason() {
    let check = |sets: &[&str], expect: &[&str]| check(profile_faults, sets, expect);
    check(&["completion=final_report"], &[]);
    for transport in ["tool_transport=xml", "tool_transport=xml-final"] {
        check(&[transport, "completion=final_report"], &[]);
    }
    check(&["speculative_exec=true"], &[]);
    let in_tags = "speculative_exec true: calls in tags are known once the message is complete; set tool_transport: native";
    let tags = "tool_transport=xml";
    check(&["speculative_exec=true", tags], &[in_tags]);
    check(
        &["speculative_exec=true", tags, "tokenizer=o200k"],
        &[
            in_tags,
            "tokenizer o200k: this version knows cl100k_base/1, model/1, o200k_base/1, and the names of models such as gpt-4o; \
             null estimates bytes / 4",
        ],
    );
    check(&["tokenizer=gpt-4o"], &[]);
    check(&["tokenizer=cl100k_base"], &[]);
    check(&["model_profile_id=openai-o200k"], &[]);
    check(
        &["tokenizer=o200k_base/2"],
        &[
            "tokenizer o200k_base/2: this version knows cl100k_base/1, model/1, o200k_base/1, and the names of models such as \
             gpt-4o; null estimates bytes / 4",
        ],
    );
    check(
        &["tokenizer=model"],
        &["tokenizer model/1: no target is an embedded model, whose vocabulary it would be"],
    );
    check(
        &["logits_mask=[0]"],
        &["logits_mask: targets.0 is remote, a mask needs a local model"],
    );
    check(
        &["grammar=x"],
        &["grammar without grammar_profile: nothing says how to read it"],
    );
    check(
        &["grammar=x", "grammar_profile=g"],
        &["grammar_profile g: targets.0, profile scripted, supports none of it"],
    );
    let gbnf = "grammar_profile=gbnf/1";
    let none = "grammar_profile gbnf/1: targets.0, profile scripted, supports none of it; it needs text_profile hermes or qwen";
    check(&[gbnf], &[none]);
    check(&[gbnf, "targets.0.text_profile=llama3"], &[none]);
    check(&[gbnf, "targets.0.text_profile=qwen"], &[]);
    check(&[gbnf, "page=null", "tool_policy=forbidden"], &[]);
    let small = "model_profile_id=smollm2-135m";
    check(
        &[small, "targets.0.text_profile=none"],
        &["tool_transport native: targets.0, profile smollm2-135m, has no calls of its own"],
    );
    check(&[small], &[]);
    // Tags need no calls of the model's own, and replace the text profile that it would have.
    check(
        &[small, "tool_transport=xml", "completion=final_report"],
        &[],
    );
    check(&[small, "page=null", "tool_policy=forbidden"], &[]);
    let mut terms = (*make(&[])).clone();
    terms.targets[0].model_profile_id = "future".to_owned();
    assert_eq!(
        profile_faults(&terms),
        ["targets.0: this build has no model profile `future`"]
    );
}

#[test]
fn an_embedded_model_whose_profile_wants_another_layout_needs_a_template_of_its_own() {
    let sets = |model: &str| {
        [
            "providers={here: {type: local}}".to_owned(),
            format!("targets=[{{provider: here, model: {model}, context_window: 8192}}]"),
        ]
    };
    let faults = |model: &str, prompt_layout: Option<PromptLayout>| {
        let sets = sets(model);
        let mut terms = (*make(&[&sets[0], &sets[1]])).clone();
        terms.targets[0].prompt_layout = prompt_layout;
        profile_faults(&terms)
    };
    let wants = |profile: &str, template: &str| {
        vec![format!(
            "targets.0: profile {profile} expects its prompts as {template}, the embedded engine lays out chatml, and the \
             model's file has no template that knows tools"
        )]
    };
    for model in ["smollm2-135m", "qwen2.5-7b", "hermes-3", "unheard-of"] {
        assert_eq!(faults(model, None), Vec::<String>::new(), "{model}");
    }
    assert_eq!(faults("llama3.1-8b", None), wants("llama-3", "llama3"));
    assert_eq!(faults("mistral-7b", None), wants("mistral", "mistral"));
    let own = Some(PromptLayout::Template);
    assert_eq!(faults("llama3.1-8b", own), Vec::<String>::new());
    // A server lays out its model's prompts itself.
    let remote = "targets=[{provider: cloud, model: llama3.1-8b, context_window: 8192}]";
    let sets = ["providers={cloud: {type: ollama}}", remote];
    assert_eq!(profile_faults(&make(&sets)), Vec::<String>::new());
}

#[test]
fn adapter_profile_provider_and_transport_fit_or_the_fault_names_what_does_not() {
    let check = |sets: &[&str], expect: &[&str]| check(profile_faults, sets, expect);
    for form in ["hermes", "llama3", "qwen", "none"] {
        check(&[&format!("targets.0.text_profile={form}")], &[]);
    }
    let native = "model_profile_id=openai-chat-default";
    check(&[native], &[]);
    check(
        &[native, "targets.0.text_profile=hermes"],
        &[
            "text_profile hermes: targets.0, profile openai-chat-default, calls tools only through its provider",
        ],
    );
    let qwen = "model_profile_id=qwen";
    check(&[qwen, "targets.0.text_profile=hermes"], &[]);
    check(
        &[qwen, "targets.0.text_profile=llama3"],
        &["text_profile llama3: targets.0, profile qwen, calls tools in text as qwen or hermes"],
    );
    check(
        &["targets.0.text_profile=qwen", "tool_transport=xml"],
        &[
            "text_profile qwen: targets.0 would carry calls in two forms, its own and the tags of tool_transport xml",
        ],
    );
    // Where no tool is offered nothing is read, so nothing can disagree.
    let forbidden = ["page=null", "tool_policy=forbidden"];
    check(
        &[&forbidden[..], &[native, "targets.0.text_profile=hermes"]].concat(),
        &[],
    );

    let mut terms = (*make(&[])).clone();
    let provider = terms.providers.get_mut("demo").unwrap();
    provider.provider_type = ProviderType::Openai;
    assert_eq!(profile_faults(&terms), [""; 0]);
    terms.targets[0].adapter_version = "gemini/9".to_owned();
    assert_eq!(
        profile_faults(&terms),
        ["targets.0: the adapter gemini/9 does not speak the protocol of type openai"]
    );
    // Nor does one of an edition that is not known.
    terms.targets[0].adapter_version = "openai-chat/2".to_owned();
    assert_eq!(
        profile_faults(&terms),
        ["targets.0: the adapter openai-chat/2 does not speak the protocol of type openai"]
    );
}

#[test]
fn a_target_is_given_the_adapter_of_its_text_profile() {
    let check = |sets: &[&str], expect: &str| {
        let terms = make(sets);
        assert_eq!(terms.targets[0].adapter_version, expect, "{sets:?}");
        assert_eq!(terms.adapter_version, expect);
    };
    let small = "model_profile_id=smollm2-135m";
    let forbidden = ["page=null", "tool_policy=forbidden"];
    check(&[], "openai-chat/1");
    check(&[small], "openai-chat+hermes/1");
    check(&[small, "targets.0.text_profile=none"], "openai-chat/1");
    check(&["targets.0.text_profile=llama3"], "openai-chat+llama3/1");
    check(
        &[
            "model_profile_id=qwen",
            "context_budget.context_window=9000",
        ],
        "openai-chat/1",
    );
    check(&[&[small][..], &forbidden].concat(), "openai-chat/1");
    check(
        &[&[small, "allowed_tools=[]"][..], &OPTIONAL].concat(),
        "openai-chat/1",
    );
}

#[test]
fn the_reserves_may_fill_the_window_and_not_pass_it() {
    let reserves = [
        "context_budget.reserved_system=88",
        "context_budget.reserved_synthesis=400",
    ];
    let window = |window: &str| {
        let set = format!("context_budget.context_window={window}");
        context_feasible(&make(&[reserves.as_slice(), &[&set]].concat()))
    };
    assert_eq!(window("1000"), Ok(()));
    let text = "reserved_system 88 + reserved_synthesis 400 + minimum_loop_margin 512 = 1000 tokens, \
                but the largest context window has 999; raise context_window, or lower sampling.max_output_tokens, \
                which reserved_synthesis follows where it is not written";
    assert_eq!(
        window("999").map_err(|fault| fault.text),
        Err(text.to_owned())
    );
    let mut terms = (*make(&[])).clone();
    terms.context_budget.reserved_system = u64::MAX;
    assert!(context_feasible(&terms).is_err());
}
