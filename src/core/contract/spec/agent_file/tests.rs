//! Agents' files as the spec of a contract (001 §2, §3).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{AgentFiles, AgentForm, with_includes};
use crate::contract::spec::agent::AgentSource;
use crate::contract::spec::definitions::{Definition, DefinitionKind, Definitions};
use crate::contract::{Completion, ContractSpec, ReportFormat, Setting, SpecErrors, ToolTransport};

/// Files by path.
#[derive(Default)]
pub(super) struct Files(pub(super) BTreeMap<&'static str, &'static str>);

impl AgentFiles for Files {
    fn text(&self, path: &Path) -> Result<(PathBuf, String), String> {
        // As a file system without links does it.
        let mut real = PathBuf::new();
        for part in path.components() {
            match part {
                std::path::Component::ParentDir => drop(real.pop()),
                std::path::Component::CurDir => {}
                other => real.push(other),
            }
        }
        let text = real.to_str().and_then(|path| self.0.get(path));
        let text = text.ok_or("there is no such file")?;
        Ok((real, (*text).to_owned()))
    }

    fn schema(&self, path: &str) -> Result<Value, String> {
        let text = self.0.get(path).ok_or("there is no such file")?;
        serde_json::from_str(text).map_err(|fault| fault.to_string())
    }
}

/// A layer with one provider and two tool servers, of which one allows a single tool.
pub(super) struct Layer;

impl Definitions for Layer {
    fn find(&self, wanted: DefinitionKind, name: &str) -> Result<Option<Definition>, String> {
        let members = match (wanted, name) {
            (DefinitionKind::Provider, "openai") => json!({"type": "openai"}),
            (DefinitionKind::RestTool, "list" | "list_of_all") => {
                json!({"description": "d", "method": "get", "url": "https://h.example/"})
            }
            (DefinitionKind::Openapi, "shop" | "shop_a" | "list_of") => json!({"spec": "s.yaml"}),
            (DefinitionKind::Server, "files") => json!({"command": "files"}),
            (DefinitionKind::Server, "web") => {
                json!({"command": "web", "tools_allowed": ["fetch"], "tools_denied": []})
            }
            (DefinitionKind::Server, "safe") => {
                json!({"command": "safe", "tools_allowed": ["*"], "tools_denied": ["Write_File"]})
            }
            _ => return Ok(None),
        };
        let Value::Object(members) = members else {
            return Ok(None);
        };
        Ok(Some(Definition {
            members,
            ..Definition::default()
        }))
    }

    fn defaults(&self, _: bool) -> Result<Option<Definition>, String> {
        let mut members = Map::new();
        members.insert("max_turns".to_owned(), json!(6));
        Ok(Some(Definition {
            members,
            ..Definition::default()
        }))
    }
}

pub(super) fn parse_under(
    text: &str,
    sets: &[&str],
    format: ReportFormat,
) -> Result<ContractSpec, SpecErrors> {
    parse_beside(text, (sets, format), &Layer)
}

/// The same where that is defined elsewhere.
pub(super) fn parse_beside(
    text: &str,
    (sets, format): (&[&str], ReportFormat),
    known: &dyn Definitions,
) -> Result<ContractSpec, SpecErrors> {
    let variables = [("DAY".to_owned(), "Friday".to_owned())].into();
    let files = [
        ("report.json", r#"{"type":"object"}"#),
        ("broken.json", r#"{"type":"obejct"}"#),
    ];
    let files = Files(files.into());
    let source = AgentSource {
        beside: &files,
        file: "a.ai",
        form: AgentForm::FrontMatter,
        format,
        parts: &[],
        text,
        variables: &variables,
    };
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    ContractSpec::parse_agent(&source, &sets, known)
}

fn parse(text: &str) -> ContractSpec {
    parse_under(text, &[], ReportFormat::Markdown).unwrap_or_else(|errors| panic!("{errors}"))
}

pub(super) fn refused(text: &str) -> String {
    let parsed = parse_under(text, &[], ReportFormat::Markdown);
    parsed.map(|_| ()).unwrap_err().to_string()
}

const AGENT: &str = "#!/usr/bin/env monolith
---
description: Trend analyst
toolName: trend.analyzer
models:
  - openai/gpt-4o-mini
  - openai/org/other
tools: [files, web__fetch]
temperature: 0.2
toolResponseMaxBytes: 100
---

You have ${MAX_TURNS} turns. Answer in {{FORMAT}}. It is ${DAY}, ${day}, ${ELSE} and ${not a name}.
";

/// 001 §2: every key of the example, and where a contract has it.
/// 001/2.file.1
#[test]
fn front_matter_is_a_contract_file_that_is_written_otherwise() {
    let spec = parse(AGENT);
    let targets = spec.targets.iter();
    let targets: Vec<_> = targets
        .map(|t| (t.provider.as_str(), t.model.as_str()))
        .collect();
    assert_eq!(
        targets,
        [("openai", "gpt-4o-mini"), ("openai", "org/other")]
    );
    let servers: Vec<_> = spec.tools.servers.keys().map(String::as_str).collect();
    assert_eq!(servers, ["files", "web"]);
    assert_eq!(spec.tool_output_budget.max_bytes_per_call, Some(100));
    assert_eq!(spec.max_turns, Some(6), "a layer's default");
}

/// Semantics §4: the defaults of agents, which a change of the caller's overrides.
/// 001/1.prompt.2
/// 001/1.prompt.3
/// 001/1.internal.1
#[test]
fn an_agent_reports_as_a_tag_and_is_not_strict() {
    let spec = parse(AGENT);
    assert_eq!(spec.completion, Some(Completion::FinalReport));
    let usual = Some(ToolTransport::XmlFinal);
    assert_eq!((spec.tool_transport, spec.usual_transport), (None, usual));
    assert_eq!(spec.strict_mode, Some(false));
    assert_eq!(spec.context_budget.force_synthesis_at_ratio, Some(1.0));
    let sets = ["strict_mode=true", "tool_transport=native"];
    let native = parse_under(AGENT, &sets, ReportFormat::Markdown).unwrap();
    assert_eq!(native.tool_transport, Some(ToolTransport::Native));
    assert_eq!(native.strict_mode, Some(true));
    // The prompt describes the report once, and only where no request does.
    let [tagged, native] = [spec, native].map(|spec| spec.system.unwrap());
    assert_eq!(tagged.matches("agent__final_report").count(), 0, "{tagged}");
    assert_eq!(native.matches("agent__final_report").count(), 1, "{native}");
    let added = native.strip_prefix(&tagged).unwrap();
    assert!(!added.contains('{'), "no schema is in it: {added}");
}

/// 001 §3: both forms, case counts, what is not known stays.
/// 001/3.prompt.4
/// 001/3.prompt.8
#[test]
fn placeholders_that_are_known_are_replaced_and_no_others() {
    let spec = parse(AGENT);
    let expect = "You have 6 turns. Answer in GitHub-flavoured Markdown. It is Friday, ${day}, ${ELSE} and ${not a name}.";
    assert_eq!(spec.system.as_deref(), Some(expect));
    let sets = ["prompt.ELSE=Paris", "max_turns=3", "prompt.DAY=Monday"];
    let spec = parse_under(AGENT, &sets, ReportFormat::Tty).unwrap();
    let system = spec.system.unwrap();
    assert!(system.starts_with("You have 3 turns. Answer in plain text for a terminal"));
    assert!(system.ends_with("It is Monday, ${day}, Paris and ${not a name}."));
}

/// 001 §11: the place asks for its form, but an agent of JSON answers in JSON.
/// 001/11.direct.3
/// 001/2.file.10
#[test]
fn the_form_of_the_report_is_json_where_the_agent_says_so_else_the_places() {
    let check = |front: &str, sets: &[&str], expect: ReportFormat| {
        let text = format!("---\nmodels: [openai/m]\n{front}\n---\nHi");
        let spec = parse_under(&text, sets, ReportFormat::Tty).unwrap();
        assert_eq!(spec.final_report.format, Some(expect), "{front} {sets:?}");
    };
    check("", &[], ReportFormat::Tty);
    check("output: {format: markdown}", &[], ReportFormat::Tty);
    check("output: {format: json}", &[], ReportFormat::Json);
    check("output: {format: text}", &[], ReportFormat::Text);
    let set = ["final_report.format=markdown"];
    check("output: {format: json}", &set, ReportFormat::Markdown);
    check("", &set, ReportFormat::Markdown);
    check("", &["prompt.FORMAT=pipe"], ReportFormat::Pipe);
}

/// 001 §6: a server by its key gives all that its configuration allows, an id one tool of that.
/// 001/2.file.6
/// 001/2.file.11
#[test]
fn an_id_takes_one_tool_of_a_server_and_never_more_than_its_configuration_allows() {
    let allowed = |tools: &str, server: &str| {
        let text = format!("---\nmodels: [openai/m]\ntools: {tools}\n---\nHi");
        parse(&text).tools.servers[server].tools.allowed.clone()
    };
    let one = |name: &str| Some(vec![name.to_owned()]);
    assert_eq!(allowed("[files]", "files"), None);
    assert_eq!(allowed("[files__read]", "files"), one("read"));
    assert_eq!(allowed("[files, files__read]", "files"), None);
    assert_eq!(allowed("[web]", "web"), one("fetch"));
    assert_eq!(allowed("[web__FETCH]", "web"), one("FETCH"));
    let said = refused("---\nmodels: [openai/m]\ntools: [web__post]\n---\nHi");
    assert!(
        said.contains("`toolsAllowed` of the tool server `web` does not name `post`"),
        "{said}"
    );
    assert_eq!(allowed("[safe__read]", "safe"), one("read"));
    let said = refused("---\nmodels: [openai/m]\ntools: [safe__write_file]\n---\nHi");
    assert!(
        said.contains(
            "a.ai:3:9: tools: `toolsDenied` of the tool server `safe` denies `write_file`"
        ),
        "{said}"
    );
}

/// 001 §2, §6: a REST tool is taken by its id.
/// 001/2.file.6
/// 001/2.file.13
/// 001/1.internal.4
#[test]
fn a_rest_tool_is_taken_by_its_id() {
    let spec = parse("---\nmodels: [openai/m]\ntools: [rest__list, files]\n---\nHi");
    let names: Vec<&str> = spec.tools.servers.keys().map(String::as_str).collect();
    assert_eq!(names, ["files", "rest__list"]);
    assert_eq!(
        spec.tools.servers["rest__list"].place("rest__list"),
        "tools.rest.list"
    );
}

/// 001 §6: an operation of a described service is taken by its id, and no other one of that service with it.
/// 001/6.openapi.5
#[test]
fn an_operation_is_taken_by_its_id() {
    let spec = parse(
        "---\nmodels: [openai/m]\ntools: [rest__shop_getItem, rest__shop_add_item, rest__shop_a_get, rest__list_of_all]\n---\nHi",
    );
    let taken: Vec<_> = spec
        .tools
        .servers
        .iter()
        .map(|(name, server)| (server.place(name), server.tools.allowed.clone()))
        .collect();
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
    assert_eq!(
        taken,
        [
            ("tools.rest.list_of_all".to_owned(), None),
            (
                "tools.openapi.shop".to_owned(),
                words(&["getItem", "add_item"])
            ),
            // The longest name of a service that there is.
            ("tools.openapi.shop_a".to_owned(), words(&["get"])),
        ]
    );
    let said = refused("---\nmodels: [openai/m]\ntools: [rest__shop, rest__shop_]\n---\nHi");
    for id in ["shop", "shop_"] {
        assert!(
            said.contains(&format!("no REST tool `{id}` is configured")),
            "{said}"
        );
    }
}

/// 001 §2: a closed list of keys, all faults at once, with the line of the agent's file and its own names.
/// 001/2.file.2
#[test]
fn every_fault_is_found_at_once_under_the_name_that_it_has_in_the_file() {
    let said = refused(
        "#!/usr/bin/env monolith
---
modls: [openai/m]
models: [openai/m, nowhere/m, plain]
temperature: warm
maxToolTurn: 3
tools: [nothing, rest__x, agent__child]
agents: ./child.ai
output: {format: jsn, schma: {}}
---
Hi
",
    );
    insta::assert_snapshot!(said);
}

/// 001 §2: schemas are in the file or next to it. 001/2.file.4
#[test]
fn schemas_are_read_in_place_or_from_the_file_that_is_named() {
    let spec =
        parse("---\nmodels: [openai/m]\noutput: {format: json, schemaRef: report.json}\n---\nHi");
    assert_eq!(spec.final_report.schema, Some(json!({"type": "object"})));
    let spec = parse(
        "---\nmodels: [openai/m]\ninput: {format: json, schema: {type: object, required: [topic]}}\n---\nHi",
    );
    let input = spec.input.unwrap();
    let check = |task: &str| crate::contract::check_input(input.schema.as_ref(), task);
    assert_eq!(check(r#"{"topic":"x"}"#), Ok(()));
    assert!(
        check("x")
            .unwrap_err()
            .starts_with("the task is to be JSON")
    );
    assert!(check("{}").unwrap_err().contains("required"));
    let said =
        refused("---\nmodels: [openai/m]\noutput: {format: json, schemaRef: none.json}\n---\nHi");
    assert!(
        said.contains("output.schemaRef: invalid_parameters: `none.json`: there is no such file"),
        "{said}"
    );
}

/// 001 §2: a number may stand between quotes; models are a list.
#[test]
fn a_quoted_number_is_one_and_two_models_in_one_text_are_not() {
    let spec =
        parse("---\nmodels: openai/m\nreasoningTokens: '2048'\ntemperature: \"0.5\"\n---\nHi");
    assert_eq!(spec.sampling.temperature, Setting::Value(0.5));
    assert_eq!(spec.sampling.written(), ["reasoning_tokens", "temperature"]);
    let said = refused("---\nmodels: openai/m1, openai/m2\n---\nHi");
    assert!(
        said.contains("models.0: expected one provider/model"),
        "{said}"
    );
    assert!(
        said.contains("write a list: [openai/m1, openai/m2]"),
        "{said}"
    );
}

/// 001 §2: what is no schema is refused where the agent names it, and in the file that it stands in.
/// 001/2.file.16
/// Forms and keys of ai-agent's public files: an empty form is none, a schema in its place is JSON, and keys of theirs count for nothing.
/// 001/2.file.10
#[test]
fn forms_and_keys_of_public_files_are_read() {
    let front = "---\nmodels: [openai/m]\ntools:\nagents: []\ncache: 1h\nmaxConcurrentTools: 3\n";
    let spec = parse(&format!(
        "{front}output:\ninput: {{type: object, required: [topic], properties: {{topic: {{type: string}}}}}}\n---\nHi"
    ));
    assert_eq!(spec.final_report.format, Some(ReportFormat::Markdown));
    let input = spec.input.unwrap();
    assert!(crate::contract::check_input(input.schema.as_ref(), r#"{"topic":"x"}"#).is_ok());
    assert!(crate::contract::check_input(input.schema.as_ref(), "{}").is_err());
    assert_eq!(
        spec.clamped,
        [
            "cache is ignored: no answer of a model is taken from a cache",
            "maxConcurrentTools is ignored: `queues` in .ai-agent.json limits the calls that run at once",
        ]
    );
    assert_eq!(parse(&format!("{front}input:\n---\nHi")).input, None);
    // Of neither form nor schema.
    let said = refused("---\nmodels: [openai/m]\ninput: {typ: object}\n---\nHi");
    assert!(said.contains("unknown key `typ`"), "{said}");
}

/// 001/3.prompt.7
#[test]
fn a_prompt_that_keeps_a_placeholder_of_ai_agent_is_named_in_a_note() {
    let notes = |body: &str| parse(&format!("---\nmodels: [openai/m]\n---\n{body}")).clamped;
    assert_eq!(
        notes("It is ${TIMESTAMP}, for {{MAX_TOOLS}} calls of ${USER} in ${CD} on ${DAY}, ${mine}"),
        [
            "the prompt keeps ${CD}, ${MAX_TOOLS}, ${TIMESTAMP}, ${USER} as written; --set prompt.CD=VALUE gives a value"
        ]
    );
    assert!(notes("On ${DAY}, ${mine}").is_empty());
}

#[test]
fn what_is_no_schema_is_invalid_parameters_of_input_and_output() {
    for key in ["input", "output"] {
        let said = |form: &str| {
            refused(&format!(
                "---\nmodels: [openai/m]\n{key}: {{format: json, {form}}}\n---\nHi"
            ))
        };
        let here = said("schema: {properties: {a: {minimum: x}}}");
        let expect =
            format!("{key}.schema: invalid_parameters: the schema at \"/properties/a/minimum\": ");
        assert!(here.contains(&expect) && here.contains(":3:"), "{here}");
        let there = said("schemaRef: broken.json");
        let expect = format!(
            "{key}.schemaRef: invalid_parameters: `broken.json`: the schema at \"/type\": "
        );
        assert!(there.contains(&expect), "{there}");
    }
}

#[test]
fn front_matter_that_is_not_closed_is_refused_where_it_begins() {
    let said = refused("#!x\n---\nmodels: [openai/m]\nHi");
    assert!(said.contains("a.ai:2:1"), "{said}");
    assert!(said.contains("a second line `---` is missing"), "{said}");
}

/// 001 §3: relative to the file with the include, in both forms, in place.
/// 001/3.prompt.1
/// 001/3.prompt.9
#[test]
fn includes_are_put_in_their_places_before_anything_is_read() {
    let files = Files(
        [
            ("top/a.ai", "A ${include:sub/b.md} {{include: ../c.md }} E"),
            ("top/sub/b.md", "B ${include:d.md}"),
            ("top/sub/d.md", "D"),
            ("c.md", "C"),
            ("top/self.md", "${include:self.md}"),
            ("top/.env", "KEY=1"),
        ]
        .into(),
    );
    let flat = |text: &str| with_includes(Path::new("top/a.ai"), text, &files).map(|all| all.text);
    assert_eq!(flat(files.0["top/a.ai"]).unwrap(), "A B D C E");
    let refused = |text: &str| flat(text).unwrap_err().to_string();
    assert_eq!(
        refused("x\n${include:.env}"),
        "top/a.ai:2: `.env` is hidden: such files may hold secrets and are not read"
    );
    assert_eq!(
        refused("${include:none.md}"),
        "top/a.ai:1: `none.md` cannot be included: there is no such file"
    );
    assert_eq!(
        refused("${include:a.ai}"),
        "top/a.ai:1: `a.ai` includes itself"
    );
    assert_eq!(
        refused("${include:self.md}"),
        "top/self.md:1: `self.md` includes itself"
    );
    assert_eq!(
        refused("${include:x\n}"),
        "top/a.ai:1: `${include:` is not closed by `}`"
    );
    // All of them at once, and what is broken stays as it is written.
    let broken = flat("x ${include:none.md}\n${include:sub/b.md} {{include:.env}}");
    let broken = broken.unwrap_err();
    assert_eq!(
        broken.to_string(),
        "top/a.ai:1: `none.md` cannot be included: there is no such file; top/a.ai:2: `.env` is hidden: such files may hold secrets and are not read"
    );
    assert_eq!(
        broken.whole.text,
        "x ${include:none.md}\nB D {{include:.env}}"
    );
}

/// 001 §3: eight levels, and no more.
/// 001/3.prompt.2
#[test]
fn includes_nest_eight_levels_and_no_more() {
    const NAMES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
    const TEXTS: [&str; 10] = [
        "${include:1}",
        "${include:2}",
        "${include:3}",
        "${include:4}",
        "${include:5}",
        "${include:6}",
        "${include:7}",
        "${include:8}",
        "${include:9}",
        "end",
    ];
    let files = Files(NAMES.into_iter().zip(TEXTS).collect());
    let from =
        |name: &str| with_includes(Path::new(name), files.0[name], &files).map(|all| all.text);
    assert_eq!(from("1").unwrap(), "end");
    let fault = from("0").unwrap_err().to_string();
    assert_eq!(fault, "8:1: includes nest more than 8 levels");
}
