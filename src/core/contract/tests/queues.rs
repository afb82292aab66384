//! Queues of calls (000 §1, §7): which there are, who is in which, and what is refused at the start.

use serde_json::{Value, json};

use super::{make, manifest, spec};
use crate::contract::spec::tests::DEMO;
use crate::contract::*;

/// 000/7.queues.3
/// 001/6.servers.14
#[test]
fn the_default_queue_is_there_by_itself_where_there_are_queues() {
    let check = |sets: &[&str], queues: Value, bound: Value| {
        let contract = serde_json::to_value(&*make(sets)).unwrap();
        let found = contract.get("queues").cloned().unwrap_or_default();
        assert_eq!(found, queues, "{sets:?}");
        let servers = contract["servers"].as_object().unwrap();
        let named = servers.iter().filter_map(|(name, server)| {
            let queue = server.get("queue")?;
            Some((name.clone(), queue.clone()))
        });
        assert_eq!(Value::Object(named.collect()), bound, "{sets:?}");
    };
    let two = "tools.mcp={a: {command: x}, b: {url: 'http://127.0.0.1', queue: slow}}";
    check(&["tools.mcp.a={command: x}"], Value::Null, json!({}));
    check(
        &[two, "queues={slow: {concurrent: 1}}"],
        json!({"default": {"concurrent": 16}, "slow": {"concurrent": 1}}),
        json!({"a": "default", "b": "slow"}),
    );
    check(
        &["tools.mcp.a={command: x, queue: default}"],
        json!({"default": {"concurrent": 16}}),
        json!({"a": "default"}),
    );
    check(
        &[
            "tools.mcp.a={command: x}",
            "queues={default: {concurrent: 3}}",
        ],
        json!({"default": {"concurrent": 3}}),
        json!({"a": "default"}),
    );
}

/// 000/7.queues.1, 000/7.queues.2
#[test]
fn a_queue_that_is_not_there_is_refused_by_name() {
    let check = |sets: &[&str], expect: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let faults = ContractSpec::parse("c.yaml", DEMO, &sets)
            .unwrap_err()
            .errors;
        let reported: Vec<String> = faults
            .iter()
            .map(|e| format!("{}: {}", e.path, e.rule))
            .collect();
        assert_eq!(reported, expect);
    };
    check(
        &[
            "tools.mcp.a={command: x, queue: slwo}",
            "queues={slow: {concurrent: 1}}",
        ],
        &["tools.mcp.a.queue: no queue `slwo` is defined under `queues`"],
    );
    check(
        &["queues={slow: {concurrent: 0}, other: {}}"],
        &[
            "queues.slow.concurrent: a queue runs at least 1 call",
            "queues.other: the key `concurrent` is missing",
        ],
    );
}

#[test]
fn a_contract_without_queues_is_the_document_that_it_was() {
    let contract = ContractFactory.make(&spec(&[]), &manifest(), None).unwrap();
    assert!(!contract.canonical_text().contains("queue"));
}
