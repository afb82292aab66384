//! A folder with a contract file and files of agents, read as the command line reads them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::contract::*;

/// Files by name.
pub(super) struct Folder<'f> {
    /// `defaults` of a layer of configuration.
    pub(super) defaults: Value,
    pub(super) files: &'f [(&'f str, &'f str)],
    /// True if the file is a called agent.
    pub(super) is_called: bool,
    /// Values of placeholders.
    pub(super) variables: BTreeMap<String, String>,
}

impl<'f> Folder<'f> {
    pub(super) fn of(files: &'f [(&'f str, &'f str)]) -> Self {
        Self {
            defaults: Value::Null,
            files,
            is_called: false,
            variables: BTreeMap::new(),
        }
    }

    pub(super) fn called(self) -> Self {
        Self {
            is_called: true,
            ..self
        }
    }

    fn text(&self, name: &str) -> Option<&'f str> {
        let name = name.strip_prefix("./").unwrap_or(name);
        let mut found = self.files.iter().filter(|(known, _)| *known == name);
        found.next().map(|(_, text)| *text)
    }

    /// Reads a file.
    pub(super) fn read(&self, name: &str, sets: &[&str]) -> Result<ContractSpec, SpecErrors> {
        self.read_with(name, sets, self)
    }

    fn read_with(
        &self,
        name: &str,
        sets: &[&str],
        known: &dyn Definitions,
    ) -> Result<ContractSpec, SpecErrors> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let text = self.text(name).unwrap_or_else(|| panic!("no {name}"));
        let form = match name.split_once('.') {
            Some((_, "ai")) => AgentForm::FrontMatter,
            Some((_, "agent.yaml")) => AgentForm::Profile,
            _ => return ContractSpec::parse_with(name, text, &sets, known),
        };
        let source = AgentSource {
            beside: &NoFiles,
            file: name,
            form,
            format: ReportFormat::Markdown,
            parts: &[],
            text,
            variables: &self.variables,
        };
        ContractSpec::parse_agent(&source, &sets, known)
    }

    pub(super) fn spec(&self, name: &str, sets: &[&str]) -> ContractSpec {
        let read = self.read(name, sets);
        read.unwrap_or_else(|errors| panic!("{errors}"))
    }

    /// The faults of a file: where, and which rule.
    pub(super) fn faults(&self, name: &str) -> Vec<String> {
        let Err(errors) = self.read(name, &[]) else {
            panic!("{name} has no fault");
        };
        let faults = errors.errors.into_iter();
        let faults = faults.map(|e| format!("{}: {}: {}", e.line, e.path, e.rule));
        faults.collect()
    }

    /// The contract of a file.
    pub(super) fn contract(&self, name: &str, sets: &[&str]) -> ExecutionContract {
        contract_of(&self.spec(name, sets))
    }
}

pub(super) fn contract_of(spec: &ContractSpec) -> ExecutionContract {
    let found = CapabilityManifest {
        targets: vec![TargetCapability::default(); spec.targets.len()],
        ..CapabilityManifest::default()
    };
    let made = ContractFactory.make(spec, &found, None);
    made.unwrap_or_else(|fault| panic!("{fault}"))
}

impl Definitions for Folder<'_> {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let (DefinitionKind::Provider, "layer") = (wanted, name) else {
            return Ok(None);
        };
        let members = Map::from_iter([("type".to_owned(), json!("ollama"))]);
        Ok(Some(Definition {
            members,
            origins: origins(["type"]),
            ..Definition::default()
        }))
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        let Value::Object(members) = &self.defaults else {
            return Ok(None);
        };
        let sections = members.iter().flat_map(|(key, value)| match value {
            Value::Object(below) => below.keys().map(|own| format!("{key}.{own}")).collect(),
            _ => vec![key.clone()],
        });
        let paths: Vec<String> = sections.collect();
        Ok(Some(Definition {
            members: members.clone(),
            origins: origins(paths.iter().map(String::as_str)),
            ..Definition::default()
        }))
    }

    fn models_elsewhere(&self) -> bool {
        self.is_called
    }

    fn agent(&self, file: &str) -> Result<Option<AgentDefinition>, Vec<String>> {
        if self.text(file).is_none() {
            return Err(vec![format!("{file}: there is no such file")]);
        }
        let file = file.strip_prefix("./").unwrap_or(file);
        let read = self.read_with(file, &[], &Shallow(self));
        let spec = read.map_err(|errors| {
            let faults = errors.errors.into_iter();
            let faults = faults.map(|e| format!("{file}:{}: {}", e.line, e.rule));
            faults.collect::<Vec<_>>()
        })?;
        Ok(AgentDefinition::of(&spec, BTreeMap::new()))
    }
}

/// The same where the files of agents stay closed.
struct Shallow<'f>(&'f Folder<'f>);

impl Definitions for Shallow<'_> {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        self.0.find(wanted, name)
    }

    fn defaults(&self, uses_layers: bool) -> Result<Option<Definition>, String> {
        self.0.defaults(uses_layers)
    }

    fn models_elsewhere(&self) -> bool {
        true
    }
}

fn origins<'p>(paths: impl IntoIterator<Item = &'p str>) -> BTreeMap<String, ValueOrigin> {
    let file = Path::new("/layer.json").into();
    let origin = ValueOrigin::Layer { file };
    let paths = paths.into_iter();
    paths
        .map(|path| (path.to_owned(), origin.clone()))
        .collect()
}

struct NoFiles;

impl AgentFiles for NoFiles {
    fn text(&self, path: &Path) -> Result<(PathBuf, String), String> {
        Err(path.display().to_string())
    }

    fn schema(&self, path: &str) -> Result<Value, String> {
        Err(path.to_owned())
    }
}

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

/// 001/5.hierarchies.2: a provider takes `^[a-zA-Z0-9_-]{1,64}$`; the contract keeps the author's name.
#[test]
fn a_name_that_no_provider_takes_is_sent_in_a_form_that_all_take() {
    let spec = Folder::of(FILES).spec("lead.yaml", &["providers={p: {type: anthropic}}"]);
    let found = CapabilityManifest {
        targets: vec![TargetCapability::default(); spec.targets.len()],
        ..CapabilityManifest::default()
    };
    let contract = ContractFactory.make(&spec, &found, None).unwrap();
    assert!(contract.agents.contains_key("agent__web.scout"));
    let sent = contract.as_sent_to(0);
    let names: Vec<&str> = sent.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"agent__web_scout"), "{names:?}");
}
