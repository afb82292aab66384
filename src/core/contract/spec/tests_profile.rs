//! Profiles of agents: what is one, what is none, and that the schema for editors says the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{AgentFiles, AgentForm, AgentSource, agent_profile_schema};
use crate::contract::spec::definitions::{Definition, DefinitionKind, Definitions};
use crate::contract::spec::error::{Findings, Origin};
use crate::contract::spec::form::Read as _;
use crate::contract::spec::reporter::Reporter;
use crate::contract::spec::{SpecErrors, tree};
use crate::contract::{AgentProfile, ContractSpec, ReportFormat};

const FILE_NAME: &str = "contracts/agent-profile.schema.json";

/// A profile with every key.
const WHOLE: &str = "
id: code-reviewer
version: 1.2.0
description: Reviews changes
enabled: true
capabilities: [code-review, rust]
exampleTasks: [review this change]
notForTasks: [write documentation]
coreAbilities: [style]
abilities: [sql]
abilityTokens: 500
workflow: Read first. Then judge.
system: You review, in ${FORMAT}.
models: [demo/one, demo/two]
tools: [files]
contract: {max_turns: 4, sampling: {temperature: 0}}
";

struct NoFiles;

impl AgentFiles for NoFiles {
    fn text(&self, path: &Path) -> Result<(PathBuf, String), String> {
        Err(path.display().to_string())
    }

    fn schema(&self, path: &str) -> Result<Value, String> {
        Err(path.to_owned())
    }
}

/// A layer that defines a provider and a server.
struct Layer;

impl Definitions for Layer {
    fn find(&self, kind: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let members = match (kind, name) {
            (DefinitionKind::Provider, "demo") => r#"{"type":"scripted","file":"s.jsonl"}"#,
            (DefinitionKind::Server, "files") => r#"{"command":"files"}"#,
            _ => return Ok(None),
        };
        Ok(Some(Definition {
            members: serde_json::from_str(members).unwrap(),
            ..Definition::default()
        }))
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        Ok(None)
    }
}

fn source<'a>(
    text: &'a str,
    form: AgentForm,
    variables: &'a BTreeMap<String, String>,
) -> AgentSource<'a> {
    AgentSource {
        beside: &NoFiles,
        file: "dir/a b.ai",
        form,
        format: ReportFormat::Markdown,
        parts: &[],
        text,
        variables,
    }
}

fn profile(text: &str, form: AgentForm) -> Result<AgentProfile, SpecErrors> {
    ContractSpec::agent_profile(&source(text, form, &BTreeMap::new()), &Layer)
}

fn contract(text: &str) -> ContractSpec {
    let variables = BTreeMap::new();
    let source = source(text, AgentForm::Profile, &variables);
    ContractSpec::parse_agent(&source, &[], &Layer).unwrap_or_else(|fault| panic!("{fault}"))
}

/// True if the schema accepts a file, typed by YAML's core schema.
fn fits(text: &str) -> bool {
    let findings = Findings::new(text, &[]);
    let root = tree::parse(text, Origin::File, &findings).unwrap();
    let reporter = Reporter {
        findings: &findings,
        path: String::new(),
    };
    let document = Value::read(&root, &reporter).unwrap();
    let options = jsonschema::options().offline();
    options
        .build(&agent_profile_schema())
        .unwrap()
        .is_valid(&document)
}

#[test]
fn the_shipped_schema_is_the_one_that_the_table_gives() {
    let schema = agent_profile_schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(FILE_NAME);
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    let shipped = fs::read_to_string(path).unwrap();
    assert!(
        shipped == generated,
        "{FILE_NAME} is not what the table of keys gives: run the tests with UPDATE_SCHEMAS=1",
    );
}

#[test]
fn a_profile_is_a_contract_that_is_written_otherwise() {
    let spec = contract(WHOLE);
    assert_eq!(spec.max_turns, Some(4));
    assert_eq!(spec.sampling.temperature, super::Setting::Value(0.0));
    let models = spec.targets.iter().map(|target| target.model.as_str());
    assert_eq!(models.collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(spec.tools.servers.keys().collect::<Vec<_>>(), ["files"]);
    let system = spec.system.unwrap();
    assert!(
        system.starts_with("You review, in ") && !system.contains("${"),
        "{system}"
    );
    // As every agent, unless its `contract` says otherwise.
    assert_eq!(spec.strict_mode, Some(false));
    let profile = spec.profile.unwrap();
    assert_eq!(profile.id.as_str(), "code-reviewer");
    assert_eq!(
        (profile.version.as_str(), profile.ability_tokens),
        ("1.2.0", 500)
    );
    assert!(fits(WHOLE));
}

/// Front matter has the same keys; the file's name stands for an id that it does not state.
#[test]
fn a_file_with_front_matter_is_a_profile_too() {
    let text = "---\nmodels: [demo/one]\nexampleTasks: [look]\n---\nYou look.";
    let read = profile(text, AgentForm::FrontMatter).unwrap();
    assert_eq!((read.id.as_str(), read.version.as_str()), ("a-b", "0"));
    assert_eq!(read.example_tasks, ["look"]);
    let text = "---\nid: other\nversion: 2-rc\nmodels: [demo/one]\n---\n";
    let read = profile(text, AgentForm::FrontMatter).unwrap();
    assert_eq!((read.id.as_str(), read.version.as_str()), ("other", "2-rc"));
    assert!(profile("You look.", AgentForm::FrontMatter).is_err());
}

/// A profile without a model is whole: the caller names one. Everything else must be there.
#[test]
fn a_profile_may_leave_the_models_open_and_nothing_else() {
    assert!(profile("id: a\nversion: v1\n", AgentForm::Profile).is_ok());
    let fault = profile("id: a\nversion: v1\ntools: [nowhere]\n", AgentForm::Profile);
    let fault = fault.unwrap_err().to_string();
    assert!(fault.contains("no tool server `nowhere`"), "{fault}");
}

/// 003/INV-AGT-001: what does not pass is refused with the key and the rule, every fault at once, and the schema refuses it, too.
#[test]
fn an_invalid_profile_is_refused_with_what_is_wrong() {
    let check = |extra: &str, expect: &str| {
        let text = format!("id: a\nversion: v1\nmodels: [demo/one]\n{extra}\n");
        let fault = profile(&text, AgentForm::Profile).unwrap_err().to_string();
        assert!(fault.contains(expect), "{extra}: {fault}");
        assert!(!fits(&text), "the schema takes {extra}");
    };
    check("capabilities: [Code Review]", "code-review");
    check("coreAbilities: [a, a]", "twice");
    check("exampleTasks: ['']", "1 to 4096 characters");
    check("abilityTokens: many", "abilityTokens");
    check("enabled: perhaps", "enabled");
    check("notForTask: [x]", "notForTasks");
    check("contract: [x]", "a mapping");
    check("contract: {max_turn: 3}", "max_turns");
    check("contract: {max_turns: three}", "max_turns");
    check("workflow: ' '", "1 to 4096 characters");
    for (text, expect) in [
        ("version: v1\n", "the key `id` is missing"),
        ("id: a\n", "the key `version` is missing"),
        ("id: A b\nversion: v1\n", "such as `a-b`"),
        ("id: a\nversion: a b\n", "without a space"),
    ] {
        let fault = profile(text, AgentForm::Profile).unwrap_err().to_string();
        assert!(fault.contains(expect), "{fault}");
    }
    let both = profile("id: A\nversion: v1\nenabled: 7\n", AgentForm::Profile);
    assert_eq!(both.unwrap_err().errors.len(), 2);
}

/// Only the reader checks rules across several keys.
#[test]
fn what_stands_at_two_places_of_a_profile_is_refused() {
    let check = |extra: &str, expect: &str| {
        let text = format!("id: a\nversion: v1\n{extra}\n");
        let fault = profile(&text, AgentForm::Profile).unwrap_err().to_string();
        assert!(fault.contains(expect), "{extra}: {fault}");
    };
    let targets = "contract: {targets: [{provider: demo, model: one}], system: S}";
    check(&format!("models: [demo/one]\n{targets}"), "not both");
    check(&format!("system: T\n{targets}"), "not both");
    check("exampleTasks: [Do it., 'do  IT']", "twice");
    check("coreAbilities: [x]\nabilities: [x]", "always there");
    let standard = profile(
        "id: standard\nversion: v1\nenabled: false\n",
        AgentForm::Profile,
    );
    // 003 INV-AGT-SEL-004
    assert!(
        standard
            .unwrap_err()
            .to_string()
            .contains("cannot be disabled")
    );
}
