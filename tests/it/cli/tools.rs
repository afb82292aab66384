//! `monolith tools`: what a contract's servers offer.

use crate::fixture::Fixture;

const CONTRACT: &str = "
task: hi
targets: [{provider: p, model: m, context_window: 32000}]
providers: {p: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
allowed_tools: [read_file]
tools: {builtin: [read_file, echo]}
";

#[test]
fn tools_are_listed_with_their_arguments_and_the_pins_of_the_contract() {
    let fixture = Fixture::new();
    fixture.write("agent.yaml", CONTRACT);
    let shown = fixture.ok(&["tools"]);
    assert!(
        shown.starts_with("builtin  inside monolith  pin "),
        "{shown}"
    );
    assert!(
        shown.contains("  echo (not in allowed_tools)  Returns the given text unchanged."),
        "{shown}"
    );
    assert!(
        shown.contains("    limit?: integer  Lines to return."),
        "{shown}"
    );
    assert!(
        shown.contains("    path: string  Path of the file"),
        "{shown}"
    );
    let schemas = fixture.ok(&["tools", "--schemas"]);
    assert!(
        schemas.contains("    {\"additionalProperties\":false,"),
        "{schemas}"
    );

    let (_, listed) = fixture.json(&["tools", "agent.yaml"]);
    let contract = fixture.ok(&["contract", "show", "agent.yaml"]);
    let contract: serde_json::Value = serde_json::from_str(&contract).unwrap();
    for (listed, pinned) in listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .zip(contract["tools"].as_array().unwrap())
    {
        for key in ["name", "pin", "input_schema", "description"] {
            assert_eq!(listed[key], pinned[key], "{key}");
        }
        assert_eq!(listed["exposed"], listed["name"] == "read_file");
    }
}

#[test]
fn a_server_that_does_not_come_up_is_named_and_the_command_fails() {
    let fixture = Fixture::new();
    fixture.write(
        "agent.yaml",
        &CONTRACT.replace("echo]", "echo], mcp: {gone: {command: no-such-command}}"),
    );
    let left = fixture.ends(&["tools", "agent.yaml"], 3);
    assert!(
        left.out
            .contains("gone  no-such-command  did not come up\n"),
        "{}",
        left.out
    );
    assert!(
        left.err
            .contains("failed to find the command \"no-such-command\""),
        "{}",
        left.err
    );
}
