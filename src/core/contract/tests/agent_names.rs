//! The names of agents' tools: which are none, and which a host does not take.

use super::agents_folder::Folder;
use crate::contract::*;

const FILES: &[(&str, &str)] = &[
    (
        "lead.yaml",
        "task: Plan a day.\ntargets: [{provider: p, model: m, context_window: 9000}]\n\
         providers: {p: {type: scripted, file: lead.jsonl}}\nagents: [judge.ai, ./scout.ai]\n",
    ),
    ("scout.ai", "---\ntoolName: web.scout\n---\nYou look up.\n"),
    ("judge.ai", "---\n---\nYou judge.\n"),
];

#[test]
fn a_name_that_is_none_is_refused_where_it_stands() {
    let check = |name: &str, expect: &str| {
        let text = format!("---\ntoolName: {name}\n---\nx");
        let faults = Folder::of(&[("a.ai", &text)]).called().faults("a.ai");
        assert_eq!(faults, [format!("2: toolName: {expect}")]);
    };
    let rule = "expected 1 to 57 letters, digits, `.`, `_` and `-`, got";
    check("'web search'", &format!("{rule} the text \"web search\""));
    check("''", &format!("{rule} the text \"\""));
    for own in ["final_report", "progress_report", "batch"] {
        let rule = format!("`agent__{own}` is a tool of monolith's own, got `{own}`");
        check(own, &rule);
    }
}

/// 001/5.hierarchies.2: providers' rule is `^[a-zA-Z0-9_-]{1,64}$`; the error has the name that they take.
#[test]
fn a_name_that_a_host_does_not_take_is_refused_with_one_that_it_takes() {
    let check = |sets: &[&str], provider: Option<&str>| {
        let spec = Folder::of(FILES).spec("lead.yaml", sets);
        let found = CapabilityManifest {
            targets: vec![TargetCapability::default(); spec.targets.len()],
            ..CapabilityManifest::default()
        };
        let made = ContractFactory.make(&spec, &found, None);
        let expect = provider.map(|provider| {
            let refused = RefusedName {
                file: "./scout.ai".to_owned(),
                index: 1,
                name: "agent__web.scout".to_owned(),
                proposed: "web_scout".to_owned(),
                provider: provider.to_owned(),
            };
            FactoryError::AgentNameRefused(Box::new(refused))
        });
        assert_eq!(made.err(), expect, "{sets:?}");
    };
    let hosted = "providers={p: {type: anthropic}}";
    check(&[hosted], Some("p"));
    check(&["providers={p: {type: openai}}"], Some("p"));
    check(&[hosted, "tool_transport=xml"], None);
    check(&[hosted, "allowed_tools=[agent__judge]"], None);
    check(
        &["providers={p: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}"],
        None,
    );
    check(&["providers={p: {type: google}}"], None);
    check(&[], None);
    // A later target counts, too.
    check(
        &[
            "providers={p: {type: ollama}, q: {type: openai}}",
            "targets=[{provider: p, model: m, context_window: 9000}, {provider: q, model: m, context_window: 9000}]",
        ],
        Some("q"),
    );
}
