//! From the text of a workflow's file to its definition and the contract of its steps. Opens no file.

use super::keys::{WORKFLOW_FILE, WorkflowEntry};
use crate::contract::spec::agent_file::AGENT_PROFILE;
use crate::contract::spec::definitions::Definitions;
use crate::contract::spec::error::{Findings, Origin, SpecErrors};
use crate::contract::spec::fill::{child, fill, no_targets};
use crate::contract::spec::form::{Form as _, Read as _};
use crate::contract::spec::keys::{ContractSpec, FILE};
use crate::contract::spec::parse::Whole;
use crate::contract::spec::reporter::Reporter;
use crate::contract::spec::section::Section;
use crate::contract::spec::tree::{Kind, Node};
use crate::contract::spec::{secrets, tree};
use crate::contract::{
    FailureStrategy, Step, WORKFLOW_FORMAT, Work, WorkflowDefinition, WorkflowFault,
};
use crate::message::{Digest, without_bom};

/// A workflow's file as it was read.
#[derive(Clone, Debug)]
pub struct WorkflowSpec {
    /// Contract of its prompts and tools; `None` if every step is a delegate.
    pub contract: Option<ContractSpec>,
    /// The workflow, the digests of its agents left open.
    pub definition: WorkflowDefinition,
    /// Default of `${input}` if the caller gives nothing.
    pub input: Option<String>,
}

impl WorkflowSpec {
    /// True if a text is a workflow file: it has the keys `workflow` and `steps`, or one of them and no key that only contract
    /// files or profiles have. Its missing keys are then reported as a workflow's.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        let text = without_bom(text);
        let findings = Findings::new(text, &[]);
        let root = tree::parse(text, Origin::File, &findings);
        let Some(Kind::Map(entries)) = root.map(|root| root.kind) else {
            return false;
        };
        let has = |key: &str| entries.iter().any(|(own, _)| own.text == key);
        let (workflow, steps) = (WORKFLOW_FILE.workflow.name, WORKFLOW_FILE.steps.name);
        let is_anothers = |key: &str| {
            let of = |names: &[&str]| names.contains(&key);
            !of(WORKFLOW_FILE.names()) && (of(FILE.names()) || of(AGENT_PROFILE.names()))
        };
        match (has(workflow), has(steps)) {
            (true, true) => true,
            (false, false) => false,
            _ => !entries.iter().any(|(key, _)| is_anothers(&key.text)),
        }
    }

    /// Reads the file; `known` has the definitions of what its contract names and does not define.
    ///
    /// # Errors
    /// Every fault of the file at once, except that a fault of syntax hides everything after it.
    pub fn parse(file: &str, text: &str, known: &dyn Definitions) -> Result<Self, SpecErrors> {
        let text = without_bom(text);
        let findings = Findings::new(text, &[]);
        let whole = Whole {
            file,
            text,
            sets: &[],
        };
        if let Some(errors) = whole.too_long(&findings) {
            return Err(errors);
        }
        let root = tree::parse(text, Origin::File, &findings);
        let secret = root.as_ref().map(secrets::places).unwrap_or_default();
        let refused = |root: Option<&Node>| {
            let (mut text, _) = secrets::masked(&secret, text, &[]);
            if root.is_none() {
                text = secrets::masked_blindly(&text);
            }
            findings.errors(file, &text, &[])
        };
        let Some(root) = root else {
            return Err(refused(None));
        };
        let reporter = Reporter {
            findings: &findings,
            path: String::new(),
        };
        let digest = Digest::of(text.as_bytes());
        let read = read(&root, &reporter, digest);
        if let Some((definition, _)) = &read {
            for fault in definition.faults() {
                refuse(&root, &fault, &findings);
            }
        }
        let all = read.as_ref().map(|(definition, _)| definition.all_steps());
        let all = all.unwrap_or_default();
        let contract = contract(&root, &reporter, known, &all);
        match read {
            Some((definition, input)) if findings.is_empty() => Ok(Self {
                contract: contract.map(|contract| ContractSpec {
                    clamped: findings.take_clamped(),
                    ..contract
                }),
                definition,
                input,
            }),
            _ => Err(refused(Some(&root))),
        }
    }

    /// The same with the digest of each file that a step delegates to.
    ///
    /// # Errors
    /// What `digest` says of a file that cannot be read.
    pub fn with_agents<E>(
        mut self,
        digest: &mut dyn FnMut(&str) -> Result<Digest, E>,
    ) -> Result<Self, E> {
        for step in &mut self.definition.steps {
            step.fill_agents(digest)?;
        }
        for step in &mut self.definition.compensations {
            step.fill_agents(digest)?;
        }
        Ok(self)
    }
}

impl Step {
    fn fill_agents<E>(
        &mut self,
        digest: &mut dyn FnMut(&str) -> Result<Digest, E>,
    ) -> Result<(), E> {
        let mut all = |steps: &mut Vec<Self>| {
            let mut steps = steps.iter_mut();
            steps.try_for_each(|step| step.fill_agents(digest))
        };
        match &mut self.work {
            Work::Prompt(_) | Work::Tool(_) => Ok(()),
            Work::Delegate(delegate) => {
                delegate.agent_digest = digest(&delegate.agent)?;
                Ok(())
            }
            Work::If(held) => {
                all(&mut held.then)?;
                all(&mut held.otherwise)
            }
            Work::ForEach(held) => all(&mut held.steps),
            Work::While(held) => all(&mut held.steps),
            Work::Parallel(held) => all(&mut held.steps),
        }
    }
}

/// The definition that a file states, and its input; what it refers to is not judged yet.
fn read(
    root: &Node,
    reporter: &Reporter<'_>,
    file_digest: Digest,
) -> Option<(WorkflowDefinition, Option<String>)> {
    let entry: WorkflowEntry = Section::of(root, reporter, &WORKFLOW_FILE)?;
    let definition = WorkflowDefinition {
        compensations: entry.compensations,
        file_digest,
        format: WORKFLOW_FORMAT.to_owned(),
        id: entry.workflow,
        max_steps: entry
            .limits
            .max_steps
            .unwrap_or(WorkflowDefinition::MAX_STEPS),
        on_failure: entry.on_failure.unwrap_or(FailureStrategy::FailFast),
        steps: entry.steps,
        total_timeout_ms: entry
            .limits
            .total_timeout_ms
            .unwrap_or(WorkflowDefinition::TOTAL_TIMEOUT_MS),
    };
    Some((definition, entry.input))
}

/// Shows a fault of the definition where the file has what it is about.
fn refuse(root: &Node, fault: &WorkflowFault, findings: &Findings<'_>) {
    let mut node = root;
    for key in fault.place.split('.') {
        match node.below(key) {
            Some(below) => node = below,
            None => break,
        }
    }
    let help = fault.rule.help().map(str::to_owned);
    findings.add(&node.place, &fault.place, fault.rule.to_string(), help);
}

/// Reads the contract of prompts and tools; `None` if there are none, or if it cannot be read.
fn contract(
    root: &Node,
    reporter: &Reporter<'_>,
    known: &dyn Definitions,
    steps: &[&Step],
) -> Option<ContractSpec> {
    let asks = steps
        .iter()
        .any(|step| matches!(step.work, Work::Prompt(_)));
    let calls = steps.iter().any(|step| matches!(step.work, Work::Tool(_)));
    let written = child(root, WORKFLOW_FILE.contract.name);
    if !asks && !calls && written.is_none() {
        return None;
    }
    let mut contract = match written {
        Some(node) if matches!(node.kind, Kind::Map(_)) => node.clone(),
        Some(_) => return None,
        None => Node {
            kind: Kind::Map(Vec::new()),
            place: root.place.clone(),
        },
    };
    let origins = fill(&mut contract, known, reporter.findings);
    if !asks {
        reporter
            .findings
            .waive(WORKFLOW_FILE.contract.name, no_targets());
    }
    let reporter = reporter.below(WORKFLOW_FILE.contract.name);
    let spec = ContractSpec::read(&contract, &reporter)?;
    if spec.task.is_some() {
        let rule = "the task of a step is its prompt";
        let place = child(&contract, FILE.task.name).unwrap_or(&contract);
        reporter.below(FILE.task.name).refuse(place, rule, None);
    }
    Some(ContractSpec { origins, ..spec })
}
