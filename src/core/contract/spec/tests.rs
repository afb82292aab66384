//! Tests of reading contract files: values, faults and their positions.

use super::{ContractSpec, McpTransport, Setting, SpecErrors};
use crate::contract::{Page, ProviderType, ToolPolicy};

/// The file that the documentation shows.
pub(in crate::contract) const DEMO: &str = "\
# the scripted model: its words are canned; the tool calls, the proof and the transcript are real
page: code                                   # chat | code; absent: tool_policy as given, else optional
system: You answer from the files of this folder.
task: Which licence does this repository use?
tool_policy: required
allowed_tools: [list_directory, read_file]   # null = every exposed tool, [] = none
targets: [{provider: demo, model: script}]
providers:
  demo: {type: scripted, file: demo.jsonl}
  # cloud: {type: openai, base_url: https://api.example/v1, api_key_env: OPENAI_API_KEY}
tools:
  builtin: [list_directory, read_file]
  workspace: .
  mcp: {}
sampling: {temperature: 0, seed: 7}
max_turns: 6
";

pub(super) fn parse(text: &str) -> Result<ContractSpec, SpecErrors> {
    ContractSpec::parse("contract.yaml", text, &[])
}

fn with_sets(text: &str, sets: &[&str]) -> Result<ContractSpec, SpecErrors> {
    let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
    ContractSpec::parse("contract.yaml", text, &sets)
}

/// The rules that a file breaks, as `path: rule`.
pub(super) fn rules(result: Result<ContractSpec, SpecErrors>) -> Vec<String> {
    let errors = result.err().map(|e| e.errors).unwrap_or_default();
    errors
        .into_iter()
        .map(|e| format!("{}: {}", e.path, e.rule))
        .collect()
}

/// Returns a complete file followed by `rest`.
pub(super) fn small(rest: &str) -> String {
    format!("targets: [{{provider: p, model: m}}]\nproviders: {{p: {{type: openai}}}}\n{rest}\n")
}

#[test]
fn the_documented_file_is_read() {
    let spec = parse(DEMO).unwrap();
    assert_eq!(spec.page, Some(Page::Code));
    assert_eq!(spec.tool_policy, Some(ToolPolicy::Required));
    assert_eq!(spec.targets[0].model, "script");
    assert_eq!(spec.providers["demo"].provider_type, ProviderType::Scripted);
    assert_eq!(spec.tools.builtin, ["list_directory", "read_file"]);
    assert_eq!(spec.tools.workspace.as_deref(), Some("."));
    assert_eq!(spec.sampling.temperature, Setting::Value(0.0));
    assert_eq!(spec.sampling.seed, Setting::Value(7));
    assert_eq!(spec.max_turns, Some(6));
    assert_eq!(spec.max_attempts_per_turn, None);
}

#[test]
fn json_is_read_as_yaml_is() {
    // What a file says is the same; which file says it is not.
    let said = |text: &str| ContractSpec {
        own: None,
        ..parse(text).unwrap()
    };
    let yaml = said(DEMO);
    let json = r#"{
    "page": "code",
    "system": "You answer from the files of this folder.",
    "task": "Which licence does this repository use?",
    "tool_policy": "required", "allowed_tools": ["list_directory", "read_file"],
    "targets": [{"provider": "demo", "model": "script"}],
    "providers": {"demo": {"type": "scripted", "file": "demo.jsonl"}},
    "tools": {"builtin": ["list_directory", "read_file"], "workspace": ".", "mcp": {}},
    "sampling": {"temperature": 0, "seed": 7},
    "max_turns": 6
}"#;
    assert_eq!(said(json), yaml);
    assert_eq!(said(&json.replace(['\n', '\t'], "")), yaml);
    assert_eq!(said(&json.replace('\n', "\r\n")), yaml);
    let escapes = small(r#""task": "a\/b \ud83d\ude00 \u00e9 \n""#);
    assert_eq!(
        parse(&escapes).unwrap().task.as_deref(),
        Some("a/b 😀 é \n")
    );
}

#[test]
fn every_fault_of_a_file_is_reported_at_once_with_its_place() {
    let text = "\
page: cod
tool_polcy: required
maxTurns: 6
temperature: 0.2
contract_id: c-1
targets:
  - {provider: dmo, model: script}
  - {provider: demo, modle: script}
providers:
  demo: {type: scriptd, file: demo.jsonl}
  cloud: {type: openai, file: x, base_url: https://u:p@example/v1}
  script: {type: scripted}
tools:
  builtin: [read_files, echo, echo]
  mcp:
    a b: {command: x}
    both: {command: x, url: https://example}
    none: {}
    web: {url: example.org, args: [1]}
    pinned: {command: x, pin: abc}
sampling: {temperature: warm, seed: -1, top_p: 7, reasoning: hihg}
max_turns: six
max_attempts_per_turn: 4294967296
max_inferences: 9007199254740992
max_cost_micro_usd: '01'
cycle_forbid: [[a], [a, b]]
strict_mode: yes
system: [1, 2]
max_turns: 7
";
    let errors = parse(text).unwrap_err();
    insta::assert_snapshot!(errors.to_string());
}

/// 001/2.file.12
#[test]
fn a_server_is_called_as_bring_up_will_take_it() {
    let found = |name: &str| {
        let text = small(&format!("tools: {{mcp: {{{name}: {{command: x}}}}}}"));
        let errors = parse(&text).err().map(|e| e.errors).unwrap_or_default();
        let reported = errors.into_iter().map(|e| (e.line, e.column, e.rule));
        reported.collect::<Vec<_>>()
    };
    let check = |name: &str, rule: &str| {
        assert_eq!(found(name), [(3, 15, rule.to_owned())], "{name}");
    };
    let form = "a server's name is 1 to 32 characters of A–Z a–z 0–9 _ -";
    let own = "tools that begin with agent__ are monolith's own; call the server otherwise";
    check("a b", form);
    check("é", form);
    check(&"x".repeat(33), form);
    check("agent", own);
    check("agent_", own);
    check("agent__x", own);
    check(
        "builtin",
        "`builtin` names the tools inside monolith; call the server otherwise",
    );
    for name in [&"x".repeat(32), "agents", "agent-x", "a_B-9"] {
        assert_eq!(found(name), []);
    }
}

#[test]
fn a_fault_of_syntax_is_one_error_with_its_place() {
    let check = |text: &str, line: usize| {
        let errors = parse(text).unwrap_err();
        assert_eq!(errors.errors.len(), 1, "{text}");
        assert_eq!(errors.errors[0].line, line, "{text}: {errors}");
        assert!(!errors.errors[0].rule.is_empty());
    };
    check("page: code\ntools: [a, b\nmax_turns: 6\n", 3);
    check("page: code\nsystem: \"open\n", 2);
    check("a: b: c", 1);
    check("page: code\n\tmax: 1\n", 2);
}

#[test]
fn a_file_is_bounded_in_size_depth_and_form() {
    let check = |text: &str, expect: &str| assert_eq!(rules(parse(text)).first().unwrap(), expect);
    check("", ": the file is empty");
    check("# nothing\n", ": the file is empty");
    check("- a\n", ": expected a mapping, got a list");
    check(
        &" ".repeat((1 << 20) + 1),
        ": a contract file holds at most 1048576 bytes",
    );
    let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
    check(&deep, ": nested deeper than 32 levels");
    let wide: Vec<String> = (0..90_000).map(|n| format!("k{n}: 1,\n")).collect();
    let wide = wide.concat();
    let wide = small(&format!(
        "tools: {{mcp: {{fs: {{command: x, env: {{\n{wide}}}}}}}}}"
    ));
    let errors = parse(&wide).unwrap_err().errors;
    let reported: Vec<_> = errors.iter().map(|e| (e.line, e.rule.as_str())).collect();
    assert_eq!(reported, [(4 + 4096, "a mapping has at most 4096 keys")]);
    let twice = format!("{}b:\n", "# x\n".repeat(100_000)) + &"b:\n".repeat(200_000);
    assert_eq!(parse(&twice).unwrap_err().errors.len(), 100);
    let bomb = format!("a: {}", "[".repeat(100_000));
    assert_eq!(rules(parse(&bomb)).len(), 1);
    check(
        &small("task: &x a\nsystem: *x"),
        ": anchors are not allowed",
    );
    check(&small("task: !!str x"), ": tags are not allowed");
    check(
        &format!("{}---\n{}", small(""), small("")),
        ": a file holds one document",
    );
    check(&small("? [a]\n: b"), ": a key must be text");
}

#[test]
fn faults_are_reported_in_bounded_number() {
    let many: Vec<String> = (0..5000).map(|n| format!("key{n}: 1")).collect();
    assert_eq!(
        parse(&small(&many.join("\n"))).unwrap_err().errors.len(),
        100
    );
}

#[test]
fn a_number_is_a_number_and_text_is_text() {
    let ok = |rest: &str| parse(&small(rest)).unwrap();
    let bad = |rest: &str, expect: &str| assert_eq!(rules(parse(&small(rest))), [expect], "{rest}");
    assert_eq!(ok("max_turns: +6").max_turns, Some(6));
    bad(
        "max_turns: 6.0",
        "max_turns: expected a whole number, got `6.0`",
    );
    bad(
        "max_turns: '6'",
        "max_turns: expected a whole number, got the text \"6\"",
    );
    bad(
        "max_turns: 0x10",
        "max_turns: expected a whole number, got `0x10`",
    );
    bad(
        "max_turns: null",
        "max_turns: expected a whole number, got null",
    );
    bad("max_turns:", "max_turns: expected a whole number, got null");
    bad(
        "max_turns: -1",
        "max_turns: out of range: `-1` is not from 0 to 4294967295",
    );
    bad("task: 42", "task: expected text, got `42`");
    bad("task: true", "task: expected text, got `true`");
    bad("task: .nan", "task: expected text, got `.nan`");
    assert_eq!(ok("task: \"42\"").task.as_deref(), Some("42"));
    assert_eq!(ok("task: yes").task.as_deref(), Some("yes"));
    assert_eq!(ok("task: 1.2.3").task.as_deref(), Some("1.2.3"));
    bad(
        "sampling: {temperature: .inf}",
        "sampling.temperature: expected a finite number, got `.inf`",
    );
    bad(
        "sampling: {temperature: 1e999}",
        "sampling.temperature: expected a finite number, got `1e999`",
    );
    bad(
        "parallel_tool_calls: 1",
        "parallel_tool_calls: expected true or false, got `1`",
    );
}

#[test]
fn counts_are_integers_below_two_to_the_53() {
    let max = 9_007_199_254_740_991;
    let spec = parse(&small(&format!(
        "max_tokens_consumed: {max}\nsampling: {{seed: {max}}}"
    )));
    let spec = spec.unwrap();
    assert_eq!(spec.max_tokens_consumed, Some(max));
    assert_eq!(spec.sampling.seed, Setting::Value(max));
    for bad in [
        "9007199254740992",
        "18446744073709551616",
        "'7'",
        "''",
        "1.5",
    ] {
        assert_eq!(
            rules(parse(&small(&format!("max_cost_micro_usd: {bad}")))).len(),
            1,
            "{bad}"
        );
    }
    assert_eq!(
        rules(parse(&small("step_timeout_ms: 9007199254740992"))).len(),
        1
    );
    let most = parse(&small("step_timeout_ms: 9007199254740991")).unwrap();
    assert_eq!(most.step_timeout_ms, Some(9_007_199_254_740_991));
}

#[test]
fn a_clamp_is_not_silent() {
    let clamped = |sampling: &str| {
        let file = format!(
            "targets: [{{provider: p, model: m}}]\nproviders: {{p: {{type: ollama}}}}\nsampling: {sampling}\n"
        );
        ContractSpec::parse("c.yaml", &file, &[]).unwrap().clamped
    };
    assert_eq!(
        clamped("{temperature: 3.5, top_p: -1}"),
        [
            "sampling.temperature is 3.5, and 2 is taken, the nearest that is allowed",
            "sampling.top_p is -1, and 0 is taken, the nearest that is allowed"
        ]
    );
    assert!(clamped("{temperature: 2, top_p: 0.5, repeat_penalty: -0.0}").is_empty());
}

#[test]
fn sampling_is_clamped_or_switched_off() {
    let check = |value: &str, expect: Setting<f64>| {
        let spec = parse(&small(&format!("sampling: {{temperature: {value}}}"))).unwrap();
        assert_eq!(spec.sampling.temperature, expect, "{value}");
    };
    check("0.3", Setting::Value(0.3));
    check("9", Setting::Value(2.0));
    check("-1", Setting::Value(0.0));
    for off in ["off", "none", "unset", "default", "null", "~"] {
        check(off, Setting::Off);
    }
    let spec = parse(&small(
        "sampling: {reasoning_tokens: \"disabled\", reasoning: low}",
    ))
    .unwrap();
    assert_eq!(spec.sampling.reasoning_tokens, Setting::Value(0));
    assert_eq!(spec.sampling.reasoning, Setting::Value("low".to_owned()));
}

#[test]
fn an_override_sets_the_value_at_its_key() {
    let set = |sets: &[&str]| with_sets(DEMO, sets).unwrap();
    assert_eq!(set(&["max_turns=3"]).max_turns, Some(3));
    assert_eq!(set(&["max_turns=3", "max_turns=4"]).max_turns, Some(4));
    assert_eq!(
        set(&["context_budget.buffer=9"]).context_budget.buffer,
        Some(9)
    );
    assert_eq!(set(&["targets.0.model=other"]).targets[0].model, "other");
    assert_eq!(set(&["allowed_tools=[]"]).allowed_tools, Some(vec![]));
    assert_eq!(set(&["allowed_tools=null"]).allowed_tools, None);
    let task = "Is a: b # c = d?";
    assert_eq!(set(&[&format!("task={task}")]).task.as_deref(), Some(task));
    assert_eq!(set(&["task='quo''ted'"]).task.as_deref(), Some("quo'ted"));
    let spec = set(&["tools.mcp.fs={command: npx, args: [-y, 8080]}"]);
    let McpTransport::Stdio { args, .. } = &spec.tools.servers["fs"].transport else {
        panic!("not stdio")
    };
    assert_eq!(args, &["-y", "8080"]);
}

#[test]
fn a_faulty_override_is_named_as_one() {
    let sets = [
        "max_turns",
        "max_turns=six",
        "targets.5.model=x",
        "max_inferences.deep=1",
        "a..b=1",
        "sampling.tempperature=0",
        "task={a: b",
        "metadata={cycle_exceptions: [{from: a, too: b, max: 1}]}",
        "max_inferences=1",
    ];
    let sets = [&["max_inferences=1"], sets.as_slice()].concat();
    let errors = with_sets(DEMO, &sets).unwrap_err();
    insta::assert_snapshot!(errors.to_string());
}

const SECRETS: &str = "
targets: [{provider: p, model: m}]
providers:
  p: {type: openai, headers: {X-Key: hunter2-a}, wrong: 1}
tools:
  mcp:
    fs: {command: npx, env: {TOKEN: hunter2-b, PORT: 80}}
    web: {url: https://example.org, headers: {Authorization: 'Bearer hunter2-c'}}
";

#[test]
fn values_of_headers_and_variables_are_read_and_never_shown() {
    let whole = SECRETS.replace(", wrong: 1", "");
    let spec = with_sets(&whole, &["tools.mcp.fs.env.MORE=hunter2-d"]).unwrap();
    assert_eq!(spec.providers["p"].headers["X-Key"], "hunter2-a");
    let McpTransport::Stdio { env, .. } = &spec.tools.servers["fs"].transport else {
        panic!("not stdio")
    };
    assert_eq!(env["TOKEN"], "hunter2-b");
    assert_eq!(env["PORT"], "80");
    assert_eq!(env["MORE"], "hunter2-d");
    let shown = format!("{spec:?} {spec:#?}");
    assert!(
        shown.contains("Authorization") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn errors_show_no_secret() {
    let sets = [
        "tools.mcp.fs.env=hunter2-d",
        "tolls.mcp.fs.headers.X=hunter2-e",
        "tools.mcp.web={url: 'https://u:hunter2-f@example.org', headers: [hunter2-g]}",
        "providers.p.api_key_env=hunter2-h",
        "providers.p.api_key=hunter2-i",
    ];
    let errors = with_sets(SECRETS, &sets).unwrap_err();
    let shown = format!("{errors} {errors:?}");
    assert!(errors.errors.len() >= 6, "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_fault_of_syntax_shows_no_secret_either() {
    let block = "
providers:
  p:
    headers:
      X-Key: 'hunter2-a

      X-Other: hunter2-b
    type: openai
tools: {mcp: {fs: {command: x, \"env\" : {TOKEN: hunter2-c
  MORE: hunter2-d
";
    let sets = ["tools.mcp.web={headers: {A: hunter2-e".to_owned()];
    for text in [
        block,
        &block.replace('\n', "\r\n"),
        &SECRETS.replace("PORT: 80}", "PORT: ["),
    ] {
        let errors = ContractSpec::parse("contract.yaml", text, &sets).unwrap_err();
        let shown = format!("{errors} {errors:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(errors.text.len(), text.len());
    }
    let errors = with_sets(DEMO, &[&sets[0]]).unwrap_err();
    assert!(
        !format!("{errors} {errors:?}").contains("hunter2"),
        "{errors}"
    );
}

#[test]
fn a_word_that_is_nearly_right_is_suggested() {
    let check = |rest: &str, expect: &str| {
        let errors = parse(&small(rest)).unwrap_err();
        assert_eq!(errors.errors[0].help.as_deref(), Some(expect), "{rest}");
    };
    check("max_turn: 1", "did you mean `max_turns`?");
    check("maxFormatRetries: 1", "did you mean `max_format_retries`?");
    check("allowed-tools: []", "did you mean `allowed_tools`?");
    check("temperature: 1", "it belongs under `sampling`");
    check("page: caht", "did you mean `chat`?");
    check("tools: {builtin: [readfile]}", "did you mean `read_file`?");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z:\\[\\]{},\"'#&*!|>\\- \n\t0-9é😀]{0,200}", set in ".{0,40}") {
            if let Err(errors) = with_sets(&text, &[&set]) {
                prop_assert!(!errors.errors.is_empty());
                prop_assert!(errors.to_string().contains(": "));
            }
        }

        #[test]
        fn a_damaged_file_is_read_or_refused_with_places_inside_it(at in 0..DEMO.len(), with in "[\\x00-\\x7fé]{0,3}") {
            let mut text = DEMO.to_owned();
            text.replace_range(at..=at, &with);
            if let Err(errors) = parse(&text) {
                for error in &errors.errors {
                    prop_assert!(error.offset <= text.len() && error.line <= text.lines().count() + 1);
                }
            }
        }
    }
}
