//! Tests of what bring-up found of tools: missing, changed, left out.

use serde_json::{Value, json};

use super::{make, manifest, spec, tool, tool_faults};
use crate::contract::*;
use crate::message::Digest;

fn faults_of(sets: &[&str], input_schema: Value) -> Vec<(ToolFault, String)> {
    tool_faults(&with_search(sets, input_schema))
}

const WEB: &str = "tools.mcp.web={url: 'https://example.org'}";

#[test]
fn a_missing_server_or_tool_is_unavailable_and_another_pin_is_a_change() {
    let pin = Digest::of(b"other");
    let pinned = format!("tools.mcp.web={{url: 'https://example.org', pin: '{pin}'}}");
    let faults = tool_faults(&make(&[
        &pinned,
        "tools.mcp.fs={command: x}",
        "allowed_tools=[read_file, fs__read]",
    ]));
    let found = make(&[&pinned]).servers["web"].pin.unwrap();
    assert_eq!(
        faults,
        [
            (
                ToolFault::Unavailable,
                "the tool server `fs` is not available".to_owned()
            ),
            (
                ToolFault::Unavailable,
                "allowed_tools names `fs__read`, which no server offers".to_owned()
            ),
            (
                ToolFault::Changed,
                format!("the tool server `web` has the pin {found}, expected {pin}")
            ),
        ]
    );
    let right = format!("tools.mcp.web={{url: 'https://example.org', pin: '{found}'}}");
    assert_eq!(tool_faults(&make(&[&right])), []);
}

#[test]
fn a_built_in_tool_that_this_build_lacks_is_unavailable() {
    let mut found = manifest();
    let builtin = found.servers.get_mut("builtin").unwrap();
    builtin.tools.retain(|tool| tool.name != "list_directory");
    let contract = ContractFactory
        .make(&spec(&["allowed_tools=null"]), &found, None)
        .unwrap();
    let text = "the tool server `builtin` is not available".to_owned();
    assert_eq!(tool_faults(&contract), [(ToolFault::Unavailable, text)]);
}

#[test]
fn required_without_any_offered_tool_is_unavailable() {
    let mut found = manifest();
    found.servers.get_mut("web").unwrap().tools.clear();
    let sets = ["tools.builtin=[]", "allowed_tools=null", WEB];
    let contract = ContractFactory.make(&spec(&sets), &found, None).unwrap();
    let text = "tool_policy required, but no server offers a tool".to_owned();
    assert_eq!(tool_faults(&contract), [(ToolFault::Unavailable, text)]);
}

/// 18 §3: it never refuses the run, and never silently.
#[test]
fn a_tool_whose_schema_cannot_be_used_is_left_out_with_the_reason() {
    let check = |schema: Value, expect: &str| {
        let contract = with_search(&[WEB], schema.clone());
        let line = format!("tool \"search\" left out: its input schema{expect}");
        assert_eq!(contract.left_out(), [("web".to_owned(), line)], "{schema}");
        assert_eq!(tool_faults(&contract), [], "{schema}");
        assert!(contract.tool("web__search").is_some());
        assert!(
            contract
                .exposed_tools()
                .all(|tool| tool.name != "web__search")
        );
        let back = ExecutionContract::decode(&contract.canonical_text()).unwrap();
        assert_eq!(back, contract);
        let hidden = [WEB, "page=null", "tool_policy=forbidden"];
        assert_eq!(with_search(&hidden, schema).left_out(), []);
    };
    check(Value::Null, " at \"\": it is not a JSON object");
    check(json!([]), " at \"\": it is not a JSON object");
    check(
        json!({"properties": {"a": {"$ref": "https://example.org/s.json"}}}),
        " at \"/properties/a/$ref\": a reference that leaves the schema",
    );
    check(
        json!({"allOf": [{"$ref": "#"}]}),
        " at \"\": it refers to itself without looking at a smaller value",
    );
    check(
        json!({"properties": {"p": {"pattern": "^(?!foo)"}}}),
        " at \"/properties/p/pattern\": its pattern cannot be matched in linear time: look-around, including look-ahead and look-behind, is not supported",
    );
    check(
        json!({"type": "object", "properties": null}),
        " at \"/properties\": type: value is not of type \"object\"",
    );
    check(
        json!({"type": "array"}),
        ": it takes no object, and arguments are one",
    );
}

#[test]
fn a_required_tool_that_is_left_out_for_every_target_is_unavailable() {
    let none = ["tools.builtin=[]", WEB, "tool_policy=required", "page=null"];
    let text = "tool_policy required, but no server offers a tool".to_owned();
    let contract = with_search(&none, json!({"type": "array"}));
    assert_eq!(tool_faults(&contract), [(ToolFault::Unavailable, text)]);
}

/// The contract of that file whose server `web` offers the tool `search` with that schema.
fn with_search(sets: &[&str], input_schema: Value) -> ExecutionContract {
    let mut found = manifest();
    let web = found.servers.get_mut("web").unwrap();
    web.tools = vec![tool("search", input_schema)];
    let spec: ContractSpec = spec(&[sets, &["allowed_tools=null"]].concat());
    ContractFactory.make(&spec, &found, None).unwrap()
}

#[test]
fn an_integer_without_exact_form_is_refused_in_every_tool_exposed_or_not() {
    let hidden = [WEB, "page=null", "tool_policy=forbidden"];
    let check = |schema: Value, expect: &str| {
        let rule = "an integer of 2^53 or more has no exact canonical form";
        let text = format!("the input schema of `web__search` at {expect}: {rule}");
        let faults = [(ToolFault::Unavailable, text)];
        assert_eq!(faults_of(&[WEB], schema.clone()), faults, "{schema}");
        assert_eq!(faults_of(&hidden, schema), faults);
    };
    check(
        json!({"properties": {"a/b": {"maximum": 9_007_199_254_740_993_u64}}}),
        "\"/properties/a~1b/maximum\"",
    );
    check(json!({"minimum": i64::MIN}), "\"/minimum\"");
    // Their canonical forms are integers, one of them beyond 2^64.
    check(json!({"maximum": 1e18}), "\"/maximum\"");
    check(json!({"enum": [1, 1e20]}), "\"/enum/1\"");
    for exact in [
        json!(9_007_199_254_740_991_u64),
        json!(f64::MAX),
        json!(0.5),
    ] {
        assert_eq!(faults_of(&[WEB], json!({"maximum": exact})), []);
    }

    let mut found = manifest();
    let search = &mut found.servers.get_mut("web").unwrap().tools[0];
    search.annotations = json!({"x": [u64::MAX]});
    let spec: ContractSpec = spec(&[WEB, "allowed_tools=[read_file]"]);
    let text = "the annotations of `web__search` at \"/x/0\": \
                an integer of 2^53 or more has no exact canonical form";
    assert_eq!(
        tool_faults(&ContractFactory.make(&spec, &found, None).unwrap()),
        [(ToolFault::Unavailable, text.to_owned())]
    );
}
