//! Files of workflows: what is one, what is none, and that the schema for editors says the same.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::definitions::NoDefinitions;
use super::form::Read as _;
use super::reporter::Reporter;
use super::{WorkflowSpec, error, tool_spec, tree, workflow_file_schema};
use crate::contract::{FailureStrategy, Work, WorkflowDefinition};
use crate::message::Digest;

const FILE_NAME: &str = "contracts/workflow-file.schema.json";

/// A workflow with every key.
const WHOLE: &str = "
workflow: whole
input: nothing
contract:
  targets: [{provider: demo, model: one}]
  providers: {demo: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}
  tools: {builtin: [read_file]}
limits: {max_steps: 7, total_timeout_ms: 1000}
on_failure: rollback
steps:
- {id: a, prompt: 'x ${input}', compensate: undo}
- {id: b, tool: read_file, arguments: {path: '${steps.a.output}'}}
- {id: c, delegate: other.ai, task: go}
- id: d
  if: {step: a, matches: '^x'}
  then: [{id: e, prompt: x}]
  else: [{id: f, prompt: x}]
- {id: g, for_each: '[1]', max_iterations: 2, steps: [{id: h, prompt: '${item} ${index}'}]}
- {id: i, while: {step: j, not_contains: done}, max_iterations: 2, steps: [{id: j, prompt: x}]}
- id: k
  parallel: [{id: l, prompt: x}, {id: m, prompt: x, depends_on: [l]}]
  max_concurrency: 2
  on_failure: continueOnError
compensations:
- {id: undo, prompt: 'undo ${output}'}
";

fn parse(text: &str) -> Result<WorkflowSpec, super::SpecErrors> {
    WorkflowSpec::parse("w.yaml", text, &NoDefinitions)
}

/// The faults of a file, each with its line and path.
fn faults(text: &str) -> Vec<String> {
    let errors = parse(text).unwrap_err().errors.into_iter();
    errors
        .map(|error| format!("{} {}: {}", error.line, error.path, error.rule))
        .collect()
}

/// True if the schema accepts a file, typed by YAML's core schema.
fn fits(text: &str) -> bool {
    let findings = error::Findings::new(text, &[]);
    let root = tree::parse(text, error::Origin::File, &findings).unwrap();
    let reporter = Reporter {
        findings: &findings,
        path: String::new(),
    };
    let document = Value::read(&root, &reporter).unwrap();
    let options = jsonschema::options().offline();
    let schema = options.build(&workflow_file_schema()).unwrap();
    schema.is_valid(&document)
}

#[test]
fn the_shipped_schema_is_the_one_that_the_table_gives() {
    let schema = workflow_file_schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(FILE_NAME);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let shipped = fs::read_to_string(path).unwrap_or_default();
    assert!(
        shipped == generated,
        "{FILE_NAME} is not what the table of keys gives: run the tests with UPDATE_SCHEMAS=1",
    );
}

#[test]
fn the_workflows_that_are_shipped_and_documented_are_ones() {
    let read = |name| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name);
        fs::read_to_string(path).unwrap()
    };
    let page = read("docs/workflows.md");
    let block = page.split_once("```yaml\n").unwrap().1;
    let (documented, _) = block.split_once("```").unwrap();
    for text in [read("contracts/workflow.yaml").as_str(), documented] {
        assert!(WorkflowSpec::is_one(text) && fits(text), "{text}");
        parse(text).unwrap();
    }
}

#[test]
fn every_key_is_read_and_the_schema_takes_it() {
    let spec = parse(WHOLE).unwrap();
    assert!(fits(WHOLE));
    let definition = &spec.definition;
    assert_eq!(
        (definition.max_steps, definition.total_timeout_ms),
        (7, 1_000)
    );
    assert_eq!(definition.on_failure, FailureStrategy::Rollback);
    let kinds = definition.steps.iter().map(|step| step.work.kind());
    let expected = [
        "prompt", "tool", "delegate", "if", "for_each", "while", "parallel",
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    assert_eq!(spec.input.as_deref(), Some("nothing"));
    assert_eq!(definition.file_digest, Digest::of(WHOLE.as_bytes()));
    let text = definition.canonical_text();
    assert_eq!(WorkflowDefinition::decode(&text).as_ref(), Ok(definition));
}

#[test]
fn a_file_is_a_workflow_by_its_keys() {
    assert!(WorkflowSpec::is_one(WHOLE));
    assert!(!WorkflowSpec::is_one("task: hi\ntargets: []"));
    // A profile says in words how its work goes.
    assert!(!WorkflowSpec::is_one(
        "id: a\nversion: '1'\nworkflow: Read first."
    ));
    // One of the two keys is missing, and nothing else says what the file is.
    let whole = "workflow: w\ncontract: {tools: {builtin: [clock]}}\n";
    assert!(WorkflowSpec::is_one(whole));
    assert_eq!(faults(whole), ["1 : the key `steps` is missing"]);
    let steps = "steps: [{id: a, delegate: a.ai, task: go}]\n";
    assert!(WorkflowSpec::is_one(steps));
    assert_eq!(faults(steps), ["1 : the key `workflow` is missing"]);
    assert!(WorkflowSpec::is_one("workflow: w\nstep: []\n"));
    assert!(!WorkflowSpec::is_one(&format!("targets: []\n{steps}")));
}

#[test]
fn a_step_does_one_thing_and_has_the_keys_of_it() {
    let steps = |steps: &str| format!("workflow: w\nsteps:\n{steps}");
    assert_eq!(
        faults(&steps(
            "- {id: a}\n- {id: b, delegate: x, task: y, prompt: z}\n"
        )),
        [
            "3 steps.0: nothing says what the step does",
            "4 steps.1.delegate: a step does one thing"
        ]
    );
    assert_eq!(
        faults(&steps(
            "- {id: a, delegate: x}\n- {id: b, delegate: x, task: y, arguments: {}}\n"
        )),
        [
            "3 steps.0: the key `task` is missing",
            "4 steps.1.arguments: a step with `delegate` has no `arguments`",
        ]
    );
}

#[test]
fn a_rule_of_the_definition_is_shown_where_the_file_breaks_it() {
    let text = "workflow: w\nlimits: {max_steps: 0}\nsteps:\n- {id: a, delegate: x, task: '${steps.b.output}'}\n";
    assert_eq!(
        faults(text),
        [
            "2 limits.max_steps: expected 1 to 1000, got 0",
            "4 steps.0.task: there is no step `b`",
        ]
    );
}

#[test]
fn a_prompt_needs_a_model_and_a_tool_does_not() {
    let prompt = "workflow: w\nsteps: [{id: a, prompt: x}]\n";
    let said = faults(prompt);
    assert!(
        said.iter().any(|fault| fault.contains("targets")),
        "{said:?}"
    );
    let tool = "workflow: w\ncontract: {tools: {builtin: [read_file]}}\nsteps: [{id: a, tool: read_file}]\n";
    let contract = parse(tool).unwrap().contract.unwrap();
    let called = tool_spec(&contract, "read_file", 1_000);
    assert_eq!(called.allowed_tools, Some(vec!["read_file".to_owned()]));
    assert_eq!(called.tools, contract.tools);
    assert_eq!((called.targets.len(), called.providers.len()), (0, 0));
    assert!(
        parse("workflow: w\nsteps: [{id: a, delegate: x.ai, task: y}]\n")
            .unwrap()
            .contract
            .is_none()
    );
}

/// Its rules about other servers' tools go with those servers; a misspelled name of this server stays, and is refused.
#[test]
fn a_tool_step_has_the_server_and_the_rules_of_its_tool() {
    let text = "workflow: w
contract:
  tools:
    builtin: [clock]
    mcp: {bank: {command: bank}, mail: {command: mail}}
  require_approval: [bank__pay, mail__send, clok]
  labels: [{tool: 'mail__*', labels: [private]}, {tool: 'bank__*', labels: [private]}]
  flow: [{from: [private], to: 'mail__send', action: deny}, {from: [private], action: ask}]
steps: [{id: a, tool: bank__pay}]
";
    let contract = parse(text).unwrap().contract.unwrap();
    let pay = tool_spec(&contract, "bank__pay", 1_000);
    assert_eq!(pay.tools.servers.keys().collect::<Vec<_>>(), ["bank"]);
    assert_eq!(pay.require_approval, ["bank__pay", "clok"]);
    assert_eq!(pay.labels.len(), 1);
    assert_eq!(pay.flow.len(), 1);
    let clock = tool_spec(&contract, "clock", 1_000);
    assert!(clock.tools.servers.is_empty());
    assert_eq!(clock.require_approval, ["clok"]);
    // The run of an agent obeys every rule.
    assert_eq!(tool_spec(&contract, "agent__a", 1_000).flow.len(), 2);
}

#[test]
fn each_agent_is_known_by_the_digest_of_its_file() {
    let text = "workflow: w\nsteps: [{id: g, parallel: [{id: a, delegate: x.ai, task: y}]}]\n";
    let spec = parse(text).unwrap();
    let filled = spec.with_agents(&mut |agent| Ok::<_, ()>(Digest::of(agent.as_bytes())));
    let steps = filled.unwrap().definition.steps;
    let Work::Parallel(group) = &steps[0].work else {
        panic!("{steps:?}");
    };
    let Work::Delegate(delegate) = &group.steps[0].work else {
        panic!("{steps:?}");
    };
    assert_eq!(delegate.agent_digest, Digest::of(b"x.ai"));
}
