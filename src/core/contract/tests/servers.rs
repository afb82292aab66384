//! Tests of the servers of a contract: which of their tools it takes, and when two offers are the same.

use std::collections::BTreeSet;

use serde_json::json;

use super::{
    ContractFactory, ExecutionContract, FactoryError, contract_warnings, manifest, spec, tool,
};
use crate::contract::{CapabilityManifest, ContractSpec};

/// Returns the manifest with more tools on its server `web`.
fn found() -> CapabilityManifest {
    let mut found = manifest();
    let web = found.servers.get_mut("web").unwrap();
    let more = ["read_file", "write_file"];
    web.tools
        .extend(more.map(|name| tool(name, json!({"type": "object"}))));
    found
}

fn with(server: &str) -> ContractSpec {
    spec(&[&format!("tools.mcp.web={{url: 'http://h/', {server}}}")])
}

fn make(server: &str) -> ExecutionContract {
    ContractFactory.make(&with(server), &found(), None).unwrap()
}

fn of_web(contract: &ExecutionContract) -> Vec<&str> {
    let tools = contract.tools.iter();
    let tools = tools.filter_map(|tool| tool.name.strip_prefix("web__"));
    tools.collect()
}

/// 001 §6
#[test]
fn a_contract_holds_the_tools_that_it_takes_and_pins_no_other() {
    let check = |server: &str, expect: &[&str]| {
        let contract = make(server);
        assert_eq!(of_web(&contract), expect, "{server}");
        let mut smaller = found();
        let web = smaller.servers.get_mut("web").unwrap();
        web.tools
            .retain(|tool| expect.contains(&tool.name.as_str()));
        let alone = ContractFactory.make(&with(server), &smaller, None).unwrap();
        assert_eq!(alone.contract_hash(), contract.contract_hash(), "{server}");
        assert_eq!(contract.pin_fault(), None);
    };
    check("type: http", &["read_file", "search", "write_file"]);
    check("tools_denied: [WRITE_file]", &["read_file", "search"]);
    check("tools_allowed: [any], tools_denied: ['*']", &[]);
    check(
        "tools_allowed: [search, write_file], tools_denied: [write_file]",
        &["search"],
    );
    let (all, fewer) = (make("type: http"), make("tools_denied: [write_file]"));
    assert_ne!(all.servers["web"].pin, fewer.servers["web"].pin);
    let back = ExecutionContract::decode(&fewer.canonical_text()).unwrap();
    assert_eq!(back, fewer);
}

#[test]
fn a_tool_that_is_to_be_taken_and_is_not_offered_is_a_warning() {
    let warnings = |server: &str| contract_warnings(&make(server));
    let missing = "tools.mcp.web.tools_allowed names `raed_file`, which the server does not offer";
    assert_eq!(
        warnings("tools_allowed: [raed_file, SEARCH, '*']"),
        [missing]
    );
    assert_eq!(warnings("type: http"), [""; 0]);
    let off = manifest();
    let mut off = off.clone();
    off.servers.get_mut("web").unwrap().available = false;
    let contract = ContractFactory
        .make(&with("tools_allowed: [gone]"), &off, None)
        .unwrap();
    assert_eq!(contract_warnings(&contract), [""; 0]);
}

/// 001 §6: what is named and loses every tool to its filters is hardly meant.
#[test]
fn filters_that_leave_nothing_of_a_server_are_a_warning() {
    let check = |server: &str, key: &str| {
        let expect = format!("tools.mcp.web: {key} no tool of the server");
        assert_eq!(contract_warnings(&make(server)), [expect], "{server}");
    };
    check("tools_allowed: []", "tools_allowed leaves");
    check("tools_denied: ['*']", "tools_denied leaves");
    check(
        "tools_allowed: [search], tools_denied: [SEARCH]",
        "tools_allowed and tools_denied leave",
    );
    let both = "tools_allowed and tools_denied leave";
    check("tools_allowed: [gone], tools_denied: [gone]", both);
}

/// Semantics §8: which key goes where is a term of the contract. So is where a login goes.
#[test]
fn a_contract_holds_as_what_it_comes_to_an_authorization_server() {
    let base = make("type: http");
    assert_eq!(make("oauth: {}").contract_hash(), base.contract_hash());
    let mut hashes = BTreeSet::from([base.contract_hash()]);
    for oauth in [
        "client_id: me",
        "client_id: you",
        "client_id: me, client_secret_env: S",
        "client_id: me, private_key_env: S",
        "client_id: me, client_secret_env: S, grant: client_credentials",
        "issuer: 'https://a/'",
        "issuer: 'https://b/'",
        "scopes: [read]",
        "client_id: me, grant: cross_app_access, id_token_env: T, idp_client_id: i, idp_token_endpoint: 'https://i/'",
        "client_id: me, grant: cross_app_access, id_token_env: T, idp_client_id: i, idp_token_endpoint: 'https://j/'",
    ] {
        let contract = make(&format!("oauth: {{{oauth}}}"));
        assert!(hashes.insert(contract.contract_hash()), "{oauth}");
        let back = ExecutionContract::decode(&contract.canonical_text()).unwrap();
        assert_eq!(back, contract, "{oauth}");
    }
    let secret = make("oauth: {issuer: 'https://a/?key=hunter2'}");
    assert!(!secret.canonical_text().contains("hunter2"));
}

/// Offers that a recorded contract did not take from a server remain unknown to another contract.
#[test]
fn an_offer_is_known_where_the_recorded_contract_took_all_of_it_or_the_same() {
    let check = |recorded: &str, now: &str, expect: bool| {
        let (recorded, now) = (make(recorded), make(now));
        let known = now.servers["web"].is_reached_like(&recorded.servers["web"]);
        assert_eq!(known, expect, "{:?}", now.servers["web"]);
    };
    check("type: http", "tools_denied: [search]", true);
    check("type: http", "health_probe: list_tools", true);
    check("tools_denied: [search]", "tools_denied: [search]", true);
    check("tools_denied: [search]", "type: http", false);
    check(
        "tools_allowed: [search]",
        "tools_allowed: [read_file]",
        false,
    );
    check("type: http", "headers: {A: b}", false);
    check("type: http", "oauth: {client_id: me}", false);
}

/// S3: two servers whose names meet: no tool takes the place of another.
#[test]
fn two_tools_that_would_be_called_the_same_are_refused() {
    let mut found = manifest();
    let server = |name: &str| {
        let mut server = found.servers["web"].clone();
        server.tools = vec![tool(name, json!({"type": "object"}))];
        server
    };
    let (one, other) = (server("b__c"), server("c"));
    found.servers.insert("a".to_owned(), one);
    found.servers.insert("a__b".to_owned(), other);
    let servers = |denied: &str| {
        spec(&[&format!(
            "tools.mcp={{a: {{url: 'http://a/', tools_denied: [{denied}]}}, a__b: {{url: 'http://b/'}}}}"
        )])
    };
    let fault = ContractFactory
        .make(&servers(""), &found, None)
        .unwrap_err();
    let FactoryError::ToolNameTwice {
        first,
        name,
        second,
    } = fault
    else {
        panic!("{fault}");
    };
    assert_eq!(
        (first.as_str(), name.as_str(), second.as_str()),
        ("mcp:a", "a__b__c", "mcp:a__b")
    );
    let contract = ContractFactory
        .make(&servers("b__c"), &found, None)
        .unwrap();
    let tools: Vec<&str> = contract
        .tools
        .iter()
        .map(|tool| tool.origin.as_str())
        .collect();
    assert!(
        tools.contains(&"mcp:a__b") && !tools.contains(&"mcp:a"),
        "{tools:?}"
    );
}
