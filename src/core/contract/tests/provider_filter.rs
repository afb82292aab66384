//! Tests of filters of tools at providers: which tools a target is offered, and what a filter that leaves none comes to.

use super::{ContractFactory, ExecutionContract, contract_warnings, manifest, spec, tool_faults};

/// A contract with the tool `web__search` and a second target, whose provider has that filter.
fn made(filter: &str, sets: &[&str]) -> ExecutionContract {
    let provider = format!("providers.second={{type: openai, base_url: 'http://h/v1', {filter}}}");
    let mut all = vec![
        provider.as_str(),
        "targets=[{provider: demo, model: script, context_window: 9000}, {provider: second, model: m, context_window: 9000}]",
        "tools.mcp.web={url: 'http://h/'}",
        "page=null",
        "allowed_tools=null",
        "tool_policy=optional",
    ];
    all.extend(sets);
    let mut found = manifest();
    let more = found.targets.first().cloned().unwrap_or_default();
    found.targets.push(more);
    ContractFactory.make(&spec(&all), &found, None).unwrap()
}

/// 001 §6: names without regard to case, as the model or as the server has them; what is denied is denied.
/// 001/6.providers.9
#[test]
fn a_target_is_offered_what_the_filter_of_its_provider_leaves() {
    let check = |filter: &str, expect: &[&str]| {
        let contract = made(filter, &[]);
        let names = |target: usize| -> Vec<&str> {
            let offered = contract.offered_to(target, false);
            offered.map(|tool| tool.name.as_str()).collect()
        };
        let all: Vec<&str> = contract.exposed_tools().map(|t| t.name.as_str()).collect();
        assert_eq!(names(0), all, "another provider is not filtered");
        assert_eq!(names(1), expect, "{filter}");
        let narrowed = contract.as_sent_to(1);
        let tools: Vec<&str> = narrowed.tools.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(tools, expect, "{filter}");
        let back = ExecutionContract::decode(&contract.canonical_text()).unwrap();
        assert_eq!(back, contract);
    };
    let contract = made("", &[]);
    let all: Vec<&str> = contract.exposed_tools().map(|t| t.name.as_str()).collect();
    let rest: Vec<&str> = all
        .iter()
        .copied()
        .filter(|t| *t != "web__search")
        .collect();
    assert!(all.contains(&"web__search") && !rest.is_empty());
    check("tools_denied: [WEB__Search]", &rest);
    check("tools_denied: [search]", &rest);
    check("tools_allowed: [Search]", &["web__search"]);
    check("tools_allowed: ['*'], tools_denied: [search]", &rest);
    check("tools_allowed: [any]", &all);
    check("tools_allowed: []", &[]);
    check("tools_denied: ['*']", &[]);
}

#[test]
fn a_filter_that_leaves_no_tool_is_a_fault_where_one_is_required_and_else_a_warning() {
    let text = "targets.1 is offered no tool: that is what tools_denied of the provider `second` leaves of them";
    let optional = made("tools_denied: [any]", &["tool_policy=optional"]);
    assert_eq!(tool_faults(&optional), []);
    assert_eq!(contract_warnings(&optional), [text]);
    let required = made("tools_denied: [any]", &["tool_policy=required"]);
    let faults = tool_faults(&required);
    let texts: Vec<&str> = faults.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, [format!("{text}, but tool_policy is required")]);
}

/// The session's own tools pass every filter.
#[test]
fn the_final_report_is_offered_whatever_a_provider_denies() {
    let contract = made("tools_denied: ['*']", &["completion=final_report"]);
    let offered = contract.offered_to(1, false);
    let names: Vec<&str> = offered.map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["agent__final_report"]);
}
