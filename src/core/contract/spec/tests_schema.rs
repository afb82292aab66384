//! The schema of contract files against the reader, and against every file that is shown.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use super::error::{Findings, Origin};
use super::form::{Form, Read, RenderedDefault};
use super::keys::FORMS;
use super::reporter::{ELSEWHERE, Reporter};
use super::tests::{parse, small};
use super::tree;
use super::{WorkflowSpec, contract_file_schema};
use crate::contract::ContractSpec;
use crate::contract::tests_document_schema::is_shipped;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const FILE_NAME: &str = "contracts/contract-file.schema.json";

fn validator() -> Validator {
    let schema = contract_file_schema();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::options().offline().build(&schema).unwrap()
}

/// A file as an editor sees it: typed as YAML's core schema types it.
fn document(text: &str) -> Value {
    let findings = Findings::new(text, &[]);
    let root = tree::parse(text, Origin::File, &findings).unwrap();
    let reporter = Reporter {
        findings: &findings,
        path: String::new(),
    };
    Value::read(&root, &reporter).unwrap()
}

fn refusals(validator: &Validator, text: &str) -> Vec<String> {
    let document = document(text);
    let errors = validator.iter_errors(&document);
    errors
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

#[test]
fn the_shipped_schema_is_the_one_that_the_table_gives() {
    is_shipped(FILE_NAME, &contract_file_schema());
}

/// The contract files in a document: its blocks of YAML that name targets.
fn whole_files(text: &str) -> Vec<String> {
    let blocks = text.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split_once("```"));
    let blocks = blocks.map(|(block, _)| block.to_owned());
    blocks
        .filter(|block| block.lines().any(|line| line.starts_with("targets:")))
        .collect()
}

#[test]
fn every_contract_that_is_shipped_or_shown_fits_the_schema() {
    let validator = validator();
    let mut files = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("contracts")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.push((name, fs::read_to_string(path).unwrap()));
        }
    }
    // Workflows have a separate schema (`tests_workflow`).
    files.retain(|(_, text)| !WorkflowSpec::is_one(text));
    assert!(files.len() >= 4);
    let mut pages = vec![Path::new(ROOT).join("README.md")];
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).unwrap();
    pages.extend(
        docs.map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file()),
    );
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
        files.extend(
            whole_files(&text)
                .into_iter()
                .map(|text| (name.clone(), text)),
        );
    }
    let rendered = |page: &str| files.iter().any(|(name, _)| name == page);
    assert!(rendered("README.md") && rendered("contract-file.md") && rendered("local.md"));
    for (name, text) in files {
        assert_eq!(refusals(&validator, &text), [""; 0], "{name}: {text}");
        assert!(parse(&text).is_ok(), "{name}");
    }
}

#[test]
fn what_the_reader_takes_the_schema_takes() {
    let validator = validator();
    for rest in [
        "",
        "task: \"42\"\nsystem: yes",
        "max_calls: 5",
        "max_calls: {run: null, per_tool: {a: 1}}",
        "max_calls: null",
        "allowed_tools: null",
        "allowed_tools: []",
        "tokenizer: null",
        "page: null\nprices: null\nmax_identical_calls: null",
        "max_tokens_consumed: 9007199254740991\nmax_cost_micro_usd: 7",
        "sampling: {temperature: 9, top_p: -1, repeat_penalty: off, seed: 7, stop: [a], stream: true}",
        "sampling: {max_output_tokens: default, reasoning: high, reasoning_tokens: disabled, caching: none, stop: null}",
        "cycle_forbid: [[a, b]]\nmetadata: {cycle_exceptions: [{from: a, to: b, max: 1}]}",
        "prices: {version: a, models: {p: {m: {input: 2.50, output: '10', unit: per_1k, cache_read: 0}}}}",
        "tools: {mcp: {fs: {command: npx, args: [-y, 8080, true], env: {PORT: 80}}}}",
        "tools: {mcp: {web: {url: 'https://example.org/mcp?a=b', headers: {X-Key: '${KEY}'}, pin: null, queue: null, shared: null}}}",
        "tools: {mcp: {fs: {command: npx, args: [], shared: false}}}",
        "tools: {mcp: {web: {url: 'wss://example.org/mcp', elicitation: defaults, type: null}, old: {url: 'http://h/sse', type: sse}}}",
        "tools: {mcp: {fs: {command: npx, queue: slow}}}\nqueues: {slow: {concurrent: 1}}",
        "final_report: {format: json, schema: {type: object}}\ncompletion: final_report",
        "redact: {env: [TOKEN], headers: [X-Key], patterns: ['sk-[a-z]{20}']}",
        "model_profiles: [{id: a, match: [{models: ['*'], providers: [openai]}], sampling: {top_p: null}, template: null}]",
        "logits_mask: [0, -1e9, 0.5]",
        "tool_output_budget: {summarizer_model: null, truncation_marker: '{kept}'}",
    ] {
        let text = small(rest);
        assert!(
            parse(&text).is_ok(),
            "{rest}: {}",
            parse(&text).unwrap_err()
        );
        assert_eq!(refusals(&validator, &text), [""; 0], "{rest}");
    }
    for provider in [
        "{type: scripted, file: a.jsonl, provider_options: {a: 1}}",
        "{type: local, file: a.gguf}",
        "{type: ollama, provider_options: {options: {num_ctx: 8192}}, models: {m: {tokenizer: null, context_window: 1}}}",
        "{type: anthropic, reasoning: [null, low, 1024, high], overrides: {seed: off}}",
        "{type: google, reasoning: 1024, api_key_env: MY_KEY, base_url: 'http://127.0.0.1:1/v1', headers: {A: b}}",
    ] {
        let text = format!("targets: [{{provider: p, model: m}}]\nproviders: {{p: {provider}}}\n");
        assert!(
            parse(&text).is_ok(),
            "{provider}: {}",
            parse(&text).unwrap_err()
        );
        assert_eq!(refusals(&validator, &text), [""; 0], "{provider}");
    }
}

#[test]
fn what_a_definition_outside_the_file_completes_the_schema_takes() {
    let validator = validator();
    for text in [
        "targets: [{provider: cloud, model: m}]\ntools: {mcp: {fs: }}\n",
        "targets: [{provider: cloud, model: m}]\nproviders: {cloud: {models: {m: {context_window: 1}}}}\n",
        "targets: [{provider: cloud, model: m}]\nproviders: {cloud: }\ntools: {mcp: {fs: {env: {A: b}, queue: slow}}}\n",
    ] {
        assert_eq!(refusals(&validator, text), [""; 0], "{text}");
    }
}

#[test]
fn what_is_faulty_in_one_place_both_refuse() {
    let validator = validator();
    let check = |text: &str| {
        assert!(parse(text).is_err(), "the reader takes {text}");
        assert_ne!(
            refusals(&validator, text),
            [""; 0],
            "the schema takes {text}"
        );
    };
    for text in [
        "task: a\n",
        "targets: []\nproviders: {}\n",
        "targets: [{model: m}]\nproviders: {p: {type: openai}}\n",
        "targets: [{provider: p, model: m, modle: x}]\nproviders: {p: {type: openai}}\n",
        "targets: [{provider: p, model: m, text_profile: llama}]\nproviders: {p: {type: openai}}\n",
        "targets: {provider: p, model: m}\nproviders: {p: {type: openai}}\n",
    ] {
        check(text);
    }
    for rest in [
        "max_turn: 1",
        "temperature: 1",
        "max_turns: six",
        "max_turns: '6'",
        "max_turns: null",
        "max_turns: -1",
        "max_turns: 4294967296",
        "max_inferences: 9007199254740992",
        "max_cost_micro_usd: '7'",
        "max_tokens_consumed: 9007199254740992",
        "strict_mode: yes",
        "task: 42",
        "system: [1, 2]",
        "page: caht",
        "tool_policy: always",
        "tool_proof: failed",
        "completion: done",
        "tool_transport: json",
        "allowed_tools: read_file",
        "cycle_forbid: [[a]]",
        "metadata: {cycle_exceptions: [{from: a, to: b}]}",
        "metadata: {more: 1}",
        "sampling: {tempperature: 1}",
        "sampling: {temperature: warm}",
        "sampling: {seed: -1}",
        "sampling: {reasoning: hihg}",
        "sampling: {caching: some}",
        "sampling: {stop: [a, b, c, d, e]}",
        "sampling: {stop: ['']}",
        "sampling: {stream: off}",
        "context_budget: {buffer: 1.5}",
        "context_budget: {window: 1}",
        "tool_output_budget: {max_bytes: 1}",
        "queues: {slow: {concurrent: many}}",
        "queues: {slow: {}}",
        "max_calls: {tools: 1}",
        "max_calls: {per_tool: {a: many}}",
        "final_report: {format: html}",
        "redact: {env: ['a b']}",
        "redact: {headers: ['a b']}",
        "prices: {models: {}}",
        "prices: {version: a, models: {p: {m: {input: 1}}}}",
        "prices: {version: a, models: {p: {m: {input: free, output: 1}}}}",
        "model_profiles: [{context_window: 1}]",
        "model_profiles: [{id: a, text_profiles: [llama]}]",
        "tools: {builtin: [readfile]}",
        "tools: {servers: {}}",
        "tools: {mcp: {'a b': {command: x}}}",
        "tools: {mcp: {agent_: {command: x}}}",
        "tools: {mcp: {builtin: {command: x}}}",
        "tools: {mcp: {fs: {command: x, url: 'https://example.org'}}}",
        "tools: {mcp: {fs: {command: x, headers: {A: b}}}}",
        "tools: {mcp: {fs: {url: 'https://example.org', args: [a]}}}",
        "tools: {mcp: {fs: {url: example.org}}}",
        "tools: {mcp: {fs: {url: 'https://u:p@example.org'}}}",
        "tools: {mcp: {fs: {command: x, pin: abc}}}",
        "tools: {mcp: {fs: {command: x, env: {1A: b}}}}",
    ] {
        check(&small(rest));
    }
    for provider in [
        "{type: opnai}",
        "{type: openai, file: x}",
        "{type: scripted, file: x, base_url: 'https://example.org'}",
        "{type: local, provider_options: {a: 1}}",
        "{type: openai, api_key: abc}",
        "{type: openai, api_key_env: 'sk-1'}",
        "{type: openai, provider_options: {model: m}}",
        "{type: anthropic, reasoning: [low, high]}",
        "{type: openai, models: {m: {window: 1}}}",
        "{type: openai, models: [m]}",
    ] {
        check(&format!(
            "targets: [{{provider: p, model: m}}]\nproviders: {{p: {provider}}}\n"
        ));
    }
}

#[test]
fn every_form_is_described_once_and_refuses_what_it_does_not_know() {
    let schema = contract_file_schema();
    let definitions = schema["$defs"].as_object().unwrap();
    assert_eq!(definitions.len() + 1, FORMS.len());
    for form in FORMS {
        let described = definitions.get(form.id()).unwrap_or(&schema);
        assert_eq!(described["additionalProperties"], false, "{}", form.id());
        let properties = described["properties"].as_object().unwrap();
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(names, form.names(), "{}", form.id());
        for row in form.rows() {
            let property = &properties[row.name];
            assert!(property["description"].is_string(), "{}", row.name);
            let stated = match &row.default_value {
                RenderedDefault::Value(default_value) => Some(default_value),
                RenderedDefault::Text(_) => None,
            };
            assert_eq!(property.get("default"), stated, "{}", row.name);
        }
    }
}

/// The path of a form's keys, as an override names it.
fn dotted(form: &dyn Form) -> Option<&'static str> {
    Some(match form.id() {
        "file" => "",
        "target" => "targets.0.",
        "provider" => "providers.p.",
        "model" => "providers.p.models.m.",
        "sampling" => "sampling.",
        "prices" => "prices.",
        "price" => "prices.models.p.m.",
        "tools" => "tools.",
        "sandbox" => "tools.sandbox.",
        "http-get" => "tools.http_get.",
        "server" => "tools.mcp.fs.",
        "oauth" => "tools.mcp.fs.oauth.",
        "rest-tool" => "tools.rest.list.",
        "streaming" => "tools.rest.list.streaming.",
        "openapi" => "tools.openapi.shop.",
        "queue" => "queues.slow.",
        "max-calls" => "max_calls.",
        "metadata" => "metadata.",
        "tool-output-budget" => "tool_output_budget.",
        "context-budget" => "context_budget.",
        "final-report" => "final_report.",
        "redact" => "redact.",
        // In a list that an override cannot lengthen: it is given as a whole.
        "approval-rule" | "profile" | "profile-sampling" | "match" | "cycle-exception"
        | "label-rule" | "flow-rule" | "agent" => {
            return None;
        }
        other => panic!("where does {other} stand?"),
    })
}

/// True if an override is refused because the table has no such key.
fn is_unknown(set: String) -> bool {
    let read = ContractSpec::parse("contract.yaml", &small(""), &[set]);
    let errors = read.err().map(|errors| errors.errors).unwrap_or_default();
    errors
        .iter()
        .any(|error| error.rule.starts_with("unknown key"))
}

#[test]
fn every_key_of_the_table_is_one_for_an_override_and_no_other_is() {
    for form in FORMS {
        let Some(path) = dotted(*form) else { continue };
        for name in form.names() {
            assert!(!is_unknown(format!("{path}{name}=x")), "{path}{name}");
        }
        assert!(is_unknown(format!("{path}zzqqzz=x")), "{path}");
    }
}

#[test]
fn what_a_help_sends_elsewhere_the_table_has_there() {
    let mut sent = 0;
    for (key, help) in ELSEWHERE {
        let Some(path) = help.strip_prefix("it belongs under `") else {
            continue;
        };
        let path = path.split('`').next().unwrap().replace("<server>", "fs");
        assert!(!is_unknown(format!("{path}.{key}=x")), "{path}.{key}");
        sent += 1;
    }
    assert!(sent > 10);
}
