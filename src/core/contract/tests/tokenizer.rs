//! Tests of contracts that name a tokenizer.

use std::sync::Arc;

use super::fixture::{make, manifest, spec};
use crate::contract::*;
use crate::message::{TokenCounter, TokenCounters};

/// Counts bytes, so that a count differs from an estimate.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn count(&self, text: &str) -> u64 {
        u64::try_from(text.len()).unwrap()
    }
}

/// Has one tokenizer.
struct Only(&'static str);

impl TokenCounters for Only {
    fn counter(&self, tokenizer: &str) -> Result<Arc<dyn TokenCounter>, String> {
        let known = tokenizer == self.0;
        known
            .then(|| Arc::new(Bytes) as Arc<dyn TokenCounter>)
            .ok_or_else(|| "unknown".to_owned())
    }
}

fn counted(sets: &[&str], tokenizers: &Only) -> ExecutionContract {
    counted_from(sets, &manifest(), tokenizers)
}

fn counted_from(
    sets: &[&str],
    manifest: &CapabilityManifest,
    tokenizers: &Only,
) -> ExecutionContract {
    let spec = spec(sets);
    let mut draft = ContractFactory::draft(&spec, &manifest.targets).unwrap();
    draft.decide(spec.task.as_deref()).unwrap();
    let made = draft.complete(&manifest.servers, None, tokenizers);
    made.unwrap()
}

fn tokens(contract: &ExecutionContract) -> Vec<u64> {
    let tools = contract.tools.iter().chain(&contract.session_tools);
    tools.map(|tool| tool.schema_tokens).collect()
}

#[test]
fn the_contract_names_the_encoder_and_its_version_whatever_the_author_wrote() {
    let check = |sets: &[&str], expect: Option<&str>| {
        assert_eq!(make(sets).tokenizer.as_deref(), expect, "{sets:?}");
    };
    let model =
        |tokenizer: &str| format!("providers.demo.models={{script: {{tokenizer: {tokenizer}}}}}");
    check(&[], None);
    check(&["tokenizer=null"], None);
    check(&["tokenizer=gpt-4o"], Some("o200k_base/1"));
    check(&["tokenizer=gpt-4"], Some("cl100k_base/1"));
    check(&["tokenizer=o200k_base/1"], Some("o200k_base/1"));
    check(&["tokenizer=x"], Some("x"));
    check(&["model_profile_id=openai-o200k"], Some("o200k_base/1"));
    check(&[&model("gpt-4")], Some("cl100k_base/1"));
    // Null counts as a value: the first layer with it decides that there is none.
    check(&["tokenizer=null", &model("gpt-4")], None);
    check(&["tokenizer=null", "model_profile_id=openai-o200k"], None);
    check(&["model_profile_id=openai-o200k", &model("null")], None);
    check(&["tokenizer=gpt-4o", &model("null")], Some("o200k_base/1"));
    check(
        &["model_profile_id=openai-o200k", &model("gpt-4")],
        Some("cl100k_base/1"),
    );
    check(
        &["tokenizer=gpt-5-mini", &model("gpt-4")],
        Some("o200k_base/1"),
    );
}

#[test]
fn definitions_are_counted_by_the_tokenizer_where_it_is_there() {
    let sets = ["tokenizer=gpt-4o", "completion=final_report"];
    let estimated = tokens(&make(&sets));
    let here = tokens(&counted(&sets, &Only("o200k_base/1")));
    assert!(
        here.iter().zip(&estimated).all(|(here, less)| here > less),
        "{here:?} {estimated:?}"
    );
    assert_eq!(tokens(&counted(&sets, &Only("cl100k_base/1"))), estimated);
    assert_eq!(
        tokens(&counted(
            &["completion=final_report"],
            &Only("o200k_base/1")
        )),
        estimated
    );
}

/// A resumed run must come to the contract that it was begun with, even if its servers send the keys of a schema in another order.
#[test]
fn what_a_contract_recorded_is_counted_as_what_the_server_offered() {
    let here = Only("o200k_base/1");
    let sets = ["tokenizer=gpt-4o"];
    let original = counted(&sets, &here);
    let manifest = CapabilityManifest {
        targets: manifest().targets,
        ..CapabilityManifest::recorded_in(&original)
    };
    let again = counted_from(&sets, &manifest, &here);
    assert_eq!(again.contract_hash(), original.contract_hash());
    // Under a contract without a tokenizer nothing of what was counted is left.
    let without = ContractFactory.make(&spec(&[]), &manifest, None).unwrap();
    assert!(
        tokens(&without)
            .iter()
            .zip(tokens(&original))
            .all(|(less, more)| *less == more.div_ceil(4))
    );
}
