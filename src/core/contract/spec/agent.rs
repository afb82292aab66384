//! From the text of an agent's file to the spec of a contract. Opens no file.

use std::collections::BTreeMap;

use super::agent_file::{
    AgentFiles, AgentForm, BrokenIncludes, Front, IncludedPart, Parts, Translator, expanded,
    format_words, kept_names, knob_before, narrowed, place_in, shown_path, split, translated,
    with_tool_instructions,
};
use super::contract_spec::OfferedAs;
use super::definitions::{Definition, DefinitionKind, Definitions};
use super::error::{Findings, IncludedPlace, Origin, SourceRange, SpecErrors};
use super::file::NO_PROVIDER;
use super::fill::{child, fill, no_targets, target};
use super::form::Choice;
use super::keys::{CONTEXT_BUDGET, ContractSpec, FILE, FINAL_REPORT, TARGET, TOOLS};
use super::parse::{Whole, apply_some, file_stem};
use super::reporter::{Reporter, suggest};
use super::tree::{Kind, Node};
use super::{secrets, tree};
use crate::contract::{AgentLink, AgentProfile, Completion, ReportFormat, ToolTransport};
use crate::message::{Digest, estimate_tokens, without_bom};

/// The rule that an agent breaks which names no model.
pub const NO_MODEL: &str = "no model is named";
/// Help on where to define an agent's providers.
pub const OF_PROVIDERS: &str = "define it under `providers` in .ai-agent.json, beside the agent or where you stand: {\"providers\": {\"NAME\": {\"type\": \"openai\", \"baseUrl\": \"http://HOST/v1\"}}}";
/// Prefix of an override that sets a placeholder of the prompt: `prompt.DAY=Friday`.
pub const PROMPT_SET: &str = "prompt.";
/// Prefix of an override that changes a front matter key: `agent.maxToolTurns=3`.
pub const AGENT_SET: &str = "agent.";

/// Prefix of an override that says how an agent is run: it changes nothing in the contract file.
pub const PROFILE_SET: &str = "profile.";

/// The placeholder of the turns that there are.
pub(super) const MAX_TURNS: &str = "MAX_TURNS";

/// The placeholder of the form that the report must have; as an override, that form where neither file nor caller say another.
pub const FORMAT: &str = "FORMAT";

/// An agent's file with the inputs of its reader.
pub struct AgentSource<'a> {
    /// The files that it refers to.
    pub beside: &'a dyn AgentFiles,
    /// As messages call it.
    pub file: &'a str,
    /// Form of the file.
    pub form: AgentForm,
    /// The form of the report where neither file nor layer ask for another.
    pub format: ReportFormat,
    /// Source of each part of the text.
    pub parts: &'a [IncludedPart],
    /// Content with all includes.
    pub text: &'a str,
    /// Values of placeholders.
    pub variables: &'a BTreeMap<String, String>,
}

/// The tree of the contract file that an agent's file is, and what it says besides.
struct Tree<'t> {
    body: &'t str,
    front: Front,
    root: Option<Node>,
    secret: Vec<SourceRange>,
}

impl ContractSpec {
    /// Reads an agent's file: as [`Self::parse_with`], with the defaults of agents (semantics §4). An override `prompt.NAME=…` is the
    /// value of a placeholder, any other changes a key of the contract file that the agent is.
    ///
    /// # Errors
    /// Every fault of the file at once, under the names that it has there.
    pub fn parse_agent(
        source: &AgentSource<'_>,
        sets: &[String],
        known: &dyn Definitions,
    ) -> Result<Self, SpecErrors> {
        let of_prompt = values_of_prompt(sets);
        let text = without_bom(source.text);
        let findings = Findings::new(text, sets);
        let whole = Whole {
            file: source.file,
            text,
            sets,
        };
        if let Some(errors) = whole.too_long(&findings) {
            return Err(errors);
        }
        let mut read = source.tree(text, sets, known, &findings);
        let place = Origin::File.place(0, 0);
        let wanted = known.report_format().unwrap_or_else(|rule| {
            findings.add(&place, "", rule, None);
            None
        });
        let kept = of_prompt.get(FORMAT).map(|word| (*word).to_owned());
        let kept = kept.filter(|word| {
            let is_known = format_named(word).is_some();
            if !is_known {
                refuse_format(sets, word, &findings);
            }
            is_known
        });
        let format = kept
            .or(wanted)
            .unwrap_or_else(|| source.format.as_str().to_owned());
        let origins = read.root.as_mut().map(|root| {
            let origins = fill(root, known, &findings);
            narrowed(root, &read.front, &findings);
            fill_in(root, &format);
            origins
        });
        let origins = origins.unwrap_or_default();
        let read_root = (read.root.as_ref(), read.secret.as_slice());
        let spec = whole.spec(&findings, read_root, known, origins);
        let mut spec = spec.map_err(|errors| source.renamed(errors))?;
        let named = read.front.single.into_iter();
        // Set last: what the file or an override states comes before it.
        spec.usual_transport = Some(ToolTransport::XmlFinal);
        spec.sends_defaults = true;
        spec.named_tools = named.map(|(server, tool, _)| (server, tool)).collect();
        spec.clamped.extend(read.front.notes);
        spec.input = read.front.input;
        spec.profile = read.front.profile.map(Box::new);
        for clamped in &mut spec.clamped {
            let path = clamped.split_once(" is ");
            if let Some((path, rest)) = path.filter(|(path, _)| !path.contains(' ')) {
                *clamped = format!("{} is {rest}", shown_path(path, source.form));
            }
        }
        let body = read.front.system.as_deref().unwrap_or(read.body);
        spec.offered_as = OfferedAs {
            prompt_tokens: estimate_tokens(spec.system.as_deref().unwrap_or(body)),
            ..read.front.offered_as
        };
        let profile = spec.profile.as_ref();
        let name = spec.offered_as.tool_name.clone();
        let name = name.or_else(|| profile.map(|profile| profile.id.to_string()));
        spec.own = Some(AgentLink {
            digest: Digest::of(text.as_bytes()),
            id: read.front.id,
            name: name.unwrap_or_else(|| file_stem(source.file).to_owned()),
        });
        if spec.system.is_none() {
            let value = |name: &str| match name {
                FORMAT => {
                    let report = &spec.final_report;
                    let format = report.format.or_else(|| format_named(&format));
                    let format = format.unwrap_or(source.format);
                    Some(format_words(format, report.schema.is_some()))
                }
                // Of an agent that is called, they are known with its caller.
                MAX_TURNS => (!known.models_elsewhere()).then(|| {
                    let turns = spec.max_turns.unwrap_or(FILE.max_turns.default_value);
                    turns.to_string()
                }),
                name => {
                    let given = of_prompt.get(name).map(|value| (*value).to_owned());
                    given.or_else(|| source.variables.get(name).cloned())
                }
            };
            let system = expanded(body, &value);
            spec.clamped.extend(kept_names(&system));
            spec.system = Some(system).filter(|system| !system.is_empty());
        }
        // Under the tags of 000 §11 each request describes the report.
        let is_native = spec.tool_transport == Some(ToolTransport::Native);
        if is_native && spec.completion == Some(Completion::FinalReport) {
            spec.system = spec.system.as_deref().map(with_tool_instructions);
        }
        Ok(spec)
    }

    /// The profile of an agent's file that is wholly valid, but that it may leave the models to those who run it.
    ///
    /// # Errors
    /// Every other fault of the file at once.
    pub fn agent_profile(
        source: &AgentSource<'_>,
        known: &dyn Definitions,
    ) -> Result<AgentProfile, SpecErrors> {
        let mut errors = match Self::parse_agent(source, &[], known) {
            Ok(Self {
                profile: Some(profile),
                ..
            }) => return Ok(*profile),
            Ok(_) => {
                let findings = Findings::new(source.text, &[]);
                let rule = "a file without front matter is no agent that can be registered";
                findings.add(&Origin::File.place(0, 0), "", rule, None);
                return Err(findings.errors(source.file, source.text, &[]));
            }
            Err(errors) => errors,
        };
        let text = without_bom(source.text);
        let findings = Findings::new(text, &[]);
        errors.errors.retain(|error| error.rule != NO_MODEL);
        if errors.errors.is_empty()
            && let Some(profile) = source.tree(text, &[], known, &findings).front.profile
        {
            return Ok(profile);
        }
        Err(errors)
    }

    /// A fault of the value that the agent's file, with `sets`, has at a dotted path of a contract file; none if it has no such value.
    pub fn agent_fault_at(
        source: &AgentSource<'_>,
        sets: &[String],
        path: &str,
        (rule, help): (String, Option<String>),
    ) -> Option<SpecErrors> {
        let text = without_bom(source.text);
        let read = source.tree(text, sets, &AnyServer(path), &Findings::new(text, sets));
        let root = read.root.as_ref()?;
        let found = path.split('.').try_fold(root, Node::below);
        // What is wrong with a provider is at the model that is asked there.
        let node = found.or_else(|| model_of(root, path))?;
        let findings = Findings::new(text, sets);
        findings.add(&node.place, path, rule, help);
        let (text, sets) = secrets::masked(&read.secret, text, sets);
        Some(source.renamed(findings.errors(source.file, &text, &sets)))
    }
}

impl AgentSource<'_> {
    fn parts<'t>(&self, text: &'t str) -> Result<Parts<'t>, usize> {
        match self.form {
            AgentForm::FrontMatter => split(text),
            AgentForm::Profile => Ok(Parts {
                body: "",
                front: Some(text.to_owned()),
            }),
            AgentForm::Text => Ok(Parts {
                body: text.trim(),
                front: None,
            }),
        }
    }

    /// The errors under the names that the file has.
    pub(super) fn renamed(&self, mut errors: SpecErrors) -> SpecErrors {
        let no_targets = no_targets();
        for error in &mut errors.errors {
            if error.help.is_none() && error.rule.starts_with(NO_PROVIDER) {
                error.help = Some(OF_PROVIDERS.to_owned());
            }
        }
        for error in errors.errors.iter_mut().filter(|e| e.set.is_none()) {
            let written = knob_before(self.text, error.offset, &error.path);
            let written = written.filter(|_| self.form == AgentForm::FrontMatter);
            error.path = written.map_or_else(|| shown_path(&error.path, self.form), str::to_owned);
            let place = place_in(self.parts, self.text, error.offset);
            error.included = place.map(|(file, line, column)| IncludedPlace {
                column,
                file: file.map(|file| file.display().to_string()),
                line,
            });
            if error.rule == no_targets {
                NO_MODEL.clone_into(&mut error.rule);
                let help = "write `models: [provider/model]`, or name them with --models";
                error.help = Some(help.to_owned());
            }
        }
        // Models that cannot be read were named.
        if errors
            .errors
            .iter()
            .any(|error| error.path.starts_with("models."))
        {
            errors.errors.retain(|error| error.rule != NO_MODEL);
        }
        errors
    }

    fn tree<'t>(
        &self,
        text: &'t str,
        sets: &[String],
        known: &dyn Definitions,
        findings: &Findings<'_>,
    ) -> Tree<'t> {
        let parts = match self.parts(text) {
            Ok(parts) => parts,
            Err(at) => {
                let rule = "the front matter is not closed: a second line `---` is missing";
                findings.add(&Origin::File.place(at, "---".len()), "", rule, None);
                return Tree {
                    body: "",
                    front: Front::default(),
                    root: None,
                    secret: Vec::new(),
                };
            }
        };
        let written = parts.front.filter(|front| !front.trim().is_empty());
        let front = written
            .as_deref()
            .map(|front| tree::parse(front, Origin::File, findings));
        let secret = front.iter().flatten().flat_map(secrets::places);
        let mut secret: Vec<_> = secret.collect();
        let is_broken = matches!(front, Some(None));
        let mut front = front.flatten();
        let begin = Origin::File.place(0, 0);
        if sets.iter().any(|set| set.starts_with(AGENT_SET)) {
            let front = front.get_or_insert_with(|| Node::null(begin.clone()));
            let own = |set| str::strip_prefix(set, AGENT_SET);
            apply_some(front, sets, findings, own);
        }
        let reporter = Reporter {
            findings,
            path: String::new(),
        };
        let translator = Translator {
            beside: self.beside,
            digest: Digest::of(text.as_bytes()),
            file: self.file,
            form: self.form,
            known,
            reporter: &reporter,
        };
        let (mut root, said) = translated(front, begin, &translator);
        let of_contract = |set| {
            let other = [AGENT_SET, PROFILE_SET, PROMPT_SET];
            let is_own = !other.iter().any(|prefix| str::starts_with(set, prefix));
            is_own.then_some(set)
        };
        apply_some(&mut root, sets, findings, of_contract);
        secret.extend(secrets::places(&root));
        Tree {
            body: parts.body,
            front: said,
            root: (!is_broken).then_some(root),
            secret,
        }
    }
}

/// The first model of the provider that a path leads to.
fn model_of<'n>(root: &'n Node, path: &str) -> Option<&'n Node> {
    let below = path.strip_prefix(FILE.providers.name)?.strip_prefix('.')?;
    let provider = below.split('.').next()?;
    let Kind::List(targets) = &child(root, FILE.targets.name)?.kind else {
        return None;
    };
    targets.iter().find(|target| {
        let named = child(target, TARGET.provider.name).map(|node| &node.kind);
        matches!(named, Some(Kind::Scalar { text, .. }) if text == provider)
    })
}

/// Fills in what an agent has and neither its file nor a layer says (semantics §4).
fn fill_in(root: &mut Node, format: &str) {
    let defaults = [
        (FILE.completion.name, word(Completion::FinalReport)),
        (FILE.strict_mode.name, Some("false")),
    ];
    for (key, text) in defaults {
        if let Some(text) = text {
            missing(root, &[key], text);
        }
    }
    // 000 §2 has no ratio: its guard alone decides.
    let ratio = [
        FILE.context_budget.name,
        CONTEXT_BUDGET.force_synthesis_at_ratio.name,
    ];
    missing(root, &ratio, "1");
    // A run that ends with a message has no report.
    let ends_with = child(root, FILE.completion.name).map(|node| &node.kind);
    if matches!(ends_with, Some(Kind::Scalar { text, .. }) if Some(text.as_str()) == word(Completion::FinalReport))
    {
        let path = [FILE.final_report.name, FINAL_REPORT.format.name];
        missing(root, &path, format);
    }
}

fn format_named(word: &str) -> Option<ReportFormat> {
    let mut all = ReportFormat::ALL.into_iter();
    all.find(|format| format.as_str() == word)
}

/// Refuses a form that an override gives and that is none.
fn refuse_format(sets: &[String], word: &str, findings: &Findings<'_>) {
    let begin = format!("{PROMPT_SET}{FORMAT}=");
    let is_it = |set: &String| set.starts_with(&begin);
    let Some(index) = sets.iter().rposition(is_it) else {
        return;
    };
    let base = begin.len();
    let place = Origin::Set { index, base }.place(0, word.len());
    let known = ReportFormat::ALL.map(ReportFormat::as_str);
    let rule = format!("expected one of {}", known.join(", "));
    findings.add(
        &place,
        begin.trim_end_matches('='),
        rule,
        suggest(word, known.into_iter()),
    );
}

/// The word that a file has for a value.
fn word<T: Choice + PartialEq>(value: T) -> Option<&'static str> {
    let found = T::WORDS.iter().find(|(_, known)| *known == value);
    found.map(|(word, _)| *word)
}

/// Puts a word where there is none.
fn missing(root: &mut Node, path: &[&str], text: &str) {
    if path
        .iter()
        .try_fold(&*root, |node, key| child(node, key))
        .is_some()
    {
        return;
    }
    let place = Origin::File.place(0, 0);
    if let Some(target) = target(root, path, &place) {
        target.kind = Kind::Scalar {
            text: text.to_owned(),
            plain: true,
        };
    }
}

/// The values of placeholders among the overrides.
fn values_of_prompt(sets: &[String]) -> BTreeMap<&str, &str> {
    let values = sets.iter();
    let values = values.filter_map(|set| set.strip_prefix(PROMPT_SET)?.split_once('='));
    values.collect()
}

/// Accepts every name as a tool server's, but of web services only the one this path leads to.
struct AnyServer<'p>(&'p str);

impl Definitions for AnyServer<'_> {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let section = match wanted {
            DefinitionKind::RestTool => TOOLS.rest.name,
            DefinitionKind::Openapi => TOOLS.openapi.name,
            _ => return Ok(Some(Definition::default())),
        };
        let tools = self.0.strip_prefix(FILE.tools.name);
        let of_kind = tools.and_then(|path| path.strip_prefix('.')?.strip_prefix(section));
        let below = of_kind.and_then(|path| path.strip_prefix('.')?.strip_prefix(name));
        let is_it = below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        Ok(is_it.then(Definition::default))
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        Ok(None)
    }
}

impl ContractSpec {
    /// The faults of such a file: its includes, and what else is wrong with it where they all stand in the prompt. `source` has the text of
    /// `broken`.
    pub fn broken_agent(
        source: &AgentSource<'_>,
        broken: &BrokenIncludes,
        sets: &[String],
        known: &dyn Definitions,
    ) -> SpecErrors {
        let findings = Findings::new(source.text, &[]);
        for (offset, len, rule) in broken.places() {
            findings.add(&Origin::File.place(offset, len), "", rule.to_owned(), None);
        }
        let errors = source.renamed(findings.errors(source.file, source.text, &[]));
        // Of front matter that is not whole nothing is known.
        let prompt = prompt_of(source);
        if broken.places().any(|(offset, ..)| offset < prompt) {
            return errors;
        }
        match Self::parse_agent(source, sets, known) {
            Ok(_) => errors,
            Err(mut all) => {
                all.errors.extend(errors.errors);
                all.errors
                    .sort_by_key(|error| (error.set.is_some(), error.offset));
                all
            }
        }
    }
}

/// The byte at which the prompt begins.
fn prompt_of(source: &AgentSource<'_>) -> usize {
    let text = source.text;
    match source.form {
        AgentForm::FrontMatter => split(text).map_or(text.len(), |parts| parts.body_at(text)),
        AgentForm::Profile => text.len(),
        AgentForm::Text => 0,
    }
}
