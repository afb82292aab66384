//! The embedded model from outside: builds without it say how to get it, files that are no model end a run before its first
//! inference, and with a model (`MONOLITH_TEST_MODEL`, a GGUF file in ChatML) the same seed gives the same conversation.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use crate::fixture;

const CONTRACT: &str = "\
system: Use the tools.
task: Which files are in this folder?
tool_policy: required
targets: [{provider: m, model: smollm2-135m, context_window: 2048}]
providers: {m: {type: local}}
tools: {builtin: [list_directory], workspace: .}
sampling: {temperature: 0.8, seed: 5, max_output_tokens: 120}
max_turns: 2
max_attempts_per_turn: 1
";

/// The smallest file that is a model by its header.
fn header_only() -> Vec<u8> {
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend([0; 16]);
    bytes
}

/// A header that says of itself: a family, the tokens that it was made for, and a vocabulary of three words.
fn small_header(made_for: u32) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let kind = u32::to_le_bytes;
    [
        b"GGUF\x03\0\0\0".to_vec(),
        0_u64.to_le_bytes().to_vec(),
        3_u64.to_le_bytes().to_vec(),
        text("general.architecture"),
        kind(8).to_vec(),
        text("llama"),
        text("llama.context_length"),
        kind(4).to_vec(),
        made_for.to_le_bytes().to_vec(),
        text("tokenizer.ggml.tokens"),
        [kind(9), kind(8)].concat(),
        3_u64.to_le_bytes().to_vec(),
        [text("a"), text("b"), text("c")].concat(),
    ]
    .concat()
}

/// The model to test with, where there is one and this build runs it; else says how many cases are skipped.
fn model(cases: usize) -> Option<String> {
    let model = std::env::var("MONOLITH_TEST_MODEL")
        .ok()
        .filter(|_| cfg!(feature = "local"));
    match &model {
        Some(path) => assert!(Path::new(path).is_file(), "{path}"),
        None => {
            println!(
                "skipped {cases}: MONOLITH_TEST_MODEL names no model, or this build runs none"
            );
        }
    }
    model
}

fn monolith(folder: &TempDir, arguments: &[&str]) -> Command {
    Command::from_std(fixture::monolith(folder.path(), arguments))
}

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
    folder
}

/// The same, with the model's file named in the contract.
fn folder_with_file() -> TempDir {
    let folder = folder();
    let contract = CONTRACT.replace("{type: local}", "{type: local, file: m.gguf}");
    fs::write(folder.path().join("contract.yaml"), contract).unwrap();
    folder
}

/// The run's result, and what its probe said.
fn run(folder: &TempDir, sets: &[&str], variables: &[(&str, &str)]) -> (Value, Value) {
    let mut arguments = vec!["run", "contract.yaml", "--json"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    let mut command = monolith(folder, &arguments);
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    (result["outcome"].clone(), result)
}

fn refused(folder: &TempDir, sets: &[&str]) -> String {
    let (outcome, result) = run(folder, sets, &[]);
    assert_eq!(outcome["class"], "FAILED_PREFLIGHT", "{result}");
    assert_eq!(outcome["code"], "backend_unavailable", "{result}");
    assert_eq!(result["exit_code"], 3, "{result}");
    assert_eq!(result["counters"]["inferences"], 0, "{result}");
    let verified = monolith(folder, &["verify", "last"]).output().unwrap();
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
    result["error"].to_string()
}

#[test]
fn files_that_are_no_model_and_names_that_are_not_stored_end_before_the_first_inference() {
    let folder = folder();
    let check = |sets: &[&str], expect: &str| {
        let said = refused(&folder, sets);
        assert!(said.contains(expect), "{said}");
    };
    // Without the engine its own lack comes first: a model alone would be of no use.
    let expect = if cfg!(feature = "local") {
        "no model `smollm2-135m` is stored here: `monolith model pull smollm2-135m`"
    } else {
        "cargo build --release --features local` makes one that has; `monolith model pull smollm2-135m`"
    };
    check(&[], expect);
    let file = "providers.m.file=m.gguf";
    check(&[file], "m.gguf: it cannot be read");
    fs::write(folder.path().join("m.gguf"), "<html>not found</html>").unwrap();
    check(&[file], "m.gguf: it is no GGUF file");
    let absurd = [b"GGUF\x03\0\0\0".as_slice(), &[0xff; 64]].concat();
    fs::write(folder.path().join("m.gguf"), absurd).unwrap();
    check(
        &[file],
        "m.gguf: the number of tensors at byte 8 is 18446744073709551615",
    );
    let whole = header_only();
    fs::write(folder.path().join("m.gguf"), &whole[..20]).unwrap();
    check(&[file], "m.gguf: it is cut off");
    fs::write(folder.path().join("m.gguf"), &whole).unwrap();
    // If the contract states no window and the file shows none, the file is still what is wrong.
    let unstated = CONTRACT.replace(", context_window: 2048", "");
    assert_ne!(unstated, CONTRACT);
    fs::write(folder.path().join("contract.yaml"), unstated).unwrap();
    fs::write(folder.path().join("m.gguf"), &whole[..20]).unwrap();
    check(&[file], "m.gguf: it is cut off");
    fs::write(folder.path().join("contract.yaml"), CONTRACT).unwrap();
    fs::write(folder.path().join("m.gguf"), &whole).unwrap();
    // By its header it is a model: now it is the engine's turn, where there is one.
    let expect = if cfg!(feature = "local") {
        "llama.cpp does not load it"
    } else {
        "cargo build --release --features local"
    };
    check(&[file], expect);
}

/// Runs a program on a separate terminal, answers the question that it asks, and forwards what the terminal shows.
const ON_A_TERMINAL: &str = "\
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown, asked = b'', False
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if not asked and b'[y/N]' in shown:
        asked = True
        os.write(terminal, sys.argv[1].encode() + b'\\n')
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
";

#[cfg(unix)]
#[test]
fn a_known_model_that_is_not_here_is_offered_on_a_terminal_and_named_in_a_pipe() {
    if cfg!(not(feature = "local")) {
        println!("skipped 3 cases: this build has no use for a model");
        return;
    }
    let folder = folder();
    let program = Command::cargo_bin("monolith").unwrap();
    let program = program.get_program().to_owned();
    let on_a_terminal = |answer: &str| {
        let output = std::process::Command::new("/usr/bin/env")
            .args(["python3", "-c", ON_A_TERMINAL, answer])
            .arg(&program)
            .args(["run", "contract.yaml"])
            .current_dir(folder.path())
            .env("MONOLITH_HOME", folder.path().join("home"))
            // Where nothing is that could fetch a model.
            .env("PIP_NO_INDEX", "1")
            .output()
            .unwrap();
        // Without the ends of lines: a terminal breaks them where they are too long for it.
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let words: Vec<&str> = shown.split_whitespace().collect();
        (output.status.code(), words.join(" "))
    };
    let (code, shown) = on_a_terminal("n");
    assert_eq!(code, Some(3), "{shown}");
    for expect in [
        "the model `smollm2-135m` is not stored here",
        "licence Apache-2.0; 98,362,432 bytes",
        "fetch it now? [y/N]",
        "FAILED_PREFLIGHT (backend_unavailable)",
    ] {
        assert!(shown.contains(expect), "{expect}: {shown}");
    }
    let (code, shown) = on_a_terminal("y");
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("pip ended with"), "{shown}");
    let piped = refused(&folder, &[]);
    assert!(
        piped.contains("`monolith model pull smollm2-135m`"),
        "{piped}"
    );
}

#[test]
fn the_gates_grammar_is_part_of_the_contract_and_what_it_cannot_say_is_refused_by_name() {
    let folder = folder();
    fs::write(folder.path().join("m.gguf"), header_only()).unwrap();
    let show = |sets: &[&str]| {
        let mut arguments = vec![
            "contract",
            "show",
            "contract.yaml",
            "--set",
            "providers.m.file=m.gguf",
        ];
        for set in sets {
            arguments.extend(["--set", set]);
        }
        String::from_utf8(monolith(&folder, &arguments).output().unwrap().stdout).unwrap()
    };
    let contract = show(&[]);
    assert!(contract.contains("\"grammar_profile\""), "{contract}");
    assert!(contract.contains("<tool_call>"), "{contract}");
    assert!(
        contract.contains("gguf:"),
        "the file's hash is the fingerprint: {contract}"
    );
    assert!(!show(&["token_gate=false"]).contains("<tool_call>"));
    let (outcome, result) = run(
        &folder,
        &["providers.m.file=m.gguf", "sampling.max_output_tokens=30"],
        &[],
    );
    assert_eq!(outcome["code"], "profile_incompatible", "{result}");
    assert!(
        result["error"]
            .to_string()
            .contains("ending a call may take"),
        "{result}"
    );
}

#[test]
fn models_are_stored_listed_checked_and_removed() {
    let folder = folder();
    fs::write(folder.path().join("m.gguf"), header_only()).unwrap();
    let check = |arguments: &[&str], code: i32, expect: &str| {
        let output = monolith(&folder, arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(expect), "{arguments:?}: {said}");
    };
    check(
        &["model", "list"],
        0,
        "not here: monolith model pull smollm2-135m",
    );
    check(
        &["model", "add", "mine", "m.gguf"],
        0,
        "stored: mine 24 bytes, blake3 ",
    );
    check(&["model", "list"], 0, "licence unknown, from a file");
    check(&["model", "verify", "mine"], 0, "unchanged: mine");
    check(&["model", "add", "a/b", "m.gguf"], 4, "is no model's name");
    check(
        &["model", "pull", "nothing"],
        4,
        "only smollm2-135m can be pulled by name",
    );
    let long = folder.path().join("long.gguf");
    fs::write(&long, header_only()).unwrap();
    let file = fs::File::options().write(true).open(&long).unwrap();
    file.set_len(100 << 30).unwrap();
    check(
        &["model", "add", "long", "long.gguf"],
        4,
        "it has 107374182400 bytes, and what its header tells of ends at byte 24",
    );
    check(
        &["model", "prove", "nope"],
        4,
        "no model of that name is stored here, and no file",
    );
    check(&["model", "remove", "mine"], 0, "removed: mine");
    check(
        &["model", "remove", "mine"],
        4,
        "no model `mine` is stored here",
    );
    let blobs = folder.path().join("home/models/blobs");
    assert_eq!(fs::read_dir(blobs).unwrap().count(), 0);
}

#[test]
fn what_a_model_cannot_be_is_said_before_its_first_inference() {
    let folder = folder();
    let path = folder.path().join("m.gguf");
    let file = "providers.m.file=m.gguf";
    fs::write(&path, small_header(1024)).unwrap();
    let said = refused(&folder, &[file]);
    let expect = "m.gguf: it was made for 1024 tokens, the contract's context_window is 2048";
    assert!(said.contains(expect), "{said}");
    fs::write(&path, small_header(4096)).unwrap();
    let check = |sets: &[&str], expect: &str| {
        let (outcome, result) = run(&folder, &[sets, &[file]].concat(), &[]);
        assert_eq!(outcome["code"], "profile_incompatible", "{result}");
        assert!(result["error"].to_string().contains(expect), "{result}");
    };
    check(
        &["logits_mask=[0, 0]"],
        "logits_mask has 2 values, but the vocabulary of targets.0 3 tokens",
    );
    // What is not finite has no place in a contract.
    let (outcome, result) = run(&folder, &["logits_mask=[0, .inf, 0]", file], &[]);
    assert_eq!(outcome["code"], "contract_invalid", "{result}");
    check(
        &["speculative_exec=true", "tool_transport=xml"],
        "speculative_exec true",
    );
    let (outcome, result) = run(&folder, &[file], &[("MONOLITH_LOCAL_THREADS", "many")]);
    assert_eq!(outcome["code"], "backend_unavailable", "{result}");
    let expect = "MONOLITH_LOCAL_THREADS is a number from 1 to 256";
    assert!(result["error"].to_string().contains(expect), "{result}");
}

/// A header with a chat template, and the words in it that tell that it knows tools.
fn with_template(template: &str) -> Vec<u8> {
    let text = |text: &str| [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
    let template = format!("{{# tools, tool_calls, <tool_call> #}}{template}");
    [
        b"GGUF\x03\0\0\0".to_vec(),
        0_u64.to_le_bytes().to_vec(),
        1_u64.to_le_bytes().to_vec(),
        text("tokenizer.chat_template"),
        8_u32.to_le_bytes().to_vec(),
        text(&template),
    ]
    .concat()
}

#[test]
fn a_template_that_loops_allocates_or_loses_something_ends_before_the_first_inference() {
    if cfg!(not(feature = "local")) {
        println!("skipped 5 cases: this build runs no template");
        return;
    }
    let folder = folder();
    let check = |template: &str, expect: &str| {
        fs::write(folder.path().join("m.gguf"), with_template(template)).unwrap();
        let began = Instant::now();
        let said = refused(&folder, &["providers.m.file=m.gguf"]);
        // A busy machine may give it no 2 s of processor time within the 10 s of a probe.
        let late = "whether it can be used was not found out in time";
        assert!(
            said.contains(expect) || said.contains(late),
            "{template}: {said}"
        );
        let took = began.elapsed();
        assert!(took < Duration::from_secs(120), "{template}: {took:?}");
    };
    check(
        "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}",
        "its template fails: engine ran out of fuel",
    );
    // Ten gigabytes and more, in few instructions.
    check(
        "{% set n = namespace(x='aaaaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}",
        "its template takes more than",
    );
    // Lists of lists: small in memory, without end when they are written or compared.
    check(
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == [n.x] }}{{ n.x }}",
        "its template takes more than",
    );
    check("{% for %}", "its template fails: syntax error");
    check(
        "{{ messages[0].content }}",
        "its template leaves out \\\"What is a heron?\\\" of a conversation",
    );
}

/// Returns the model with another template: as long as the old one except for a multiple of the tensor alignment.
fn model_with(model: &str, template: &str) -> Vec<u8> {
    let bytes = fs::read(model).unwrap();
    let key = b"tokenizer.chat_template";
    let at = bytes.windows(key.len()).position(|window| window == key);
    let at = at.unwrap() + key.len() + 4;
    let old = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let old = usize::try_from(old).unwrap();
    let mut template = template.to_owned();
    while !template.len().abs_diff(old).is_multiple_of(32) {
        template.insert_str(0, "{#- -#}");
    }
    let length = (template.len() as u64).to_le_bytes();
    let (before, after) = (&bytes[..at], &bytes[at + 8 + old..]);
    [before, &length, template.as_bytes(), after].concat()
}

const TEMPLATE: &str = r"{%- for message in messages %}
{{- '<|im_start|>' + (message.role if message.role != 'tool' else 'user') + '\n' + message.content }}
{%- if loop.first and tools %}{{ '\n<tools>' }}{% for tool in tools %}{{ '\n' + tool | tojson }}{% endfor %}{{ '\n</tools>' }}{% endif %}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\n' + (call.function | tojson) + '\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{% endif %}";

#[test]
fn a_template_that_knows_tools_lays_out_the_prompts_and_the_contract_says_so() {
    let Some(model) = model(1) else { return };
    let folder = folder_with_file();
    let path = folder.path().join("m.gguf");
    fs::write(&path, model_with(&model, TEMPLATE)).unwrap();
    let arguments = ["contract", "show", "contract.yaml"];
    let shown = monolith(&folder, &arguments).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("\"prompt_layout\""), "{shown}");
    let (_, result) = run(&folder, &[], &[]);
    assert_eq!(result["counters"]["inferences"], 2, "{result}");
    let calls = &result["conversation"][2]["tool_calls"];
    assert_eq!(calls[0]["name"], "list_directory", "{result}");
    for arguments in [
        &["replay", "last"][..],
        &["replay", "last", "--live", "inference"],
    ] {
        let replayed = monolith(&folder, arguments).output().unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
    }
}

#[test]
fn the_same_run_comes_out_the_same_in_five_processes_whatever_the_threads_and_what_is_kept() {
    let Some(model) = model(5) else { return };
    let file = format!("providers.m.file={model}");
    let mut seen: Vec<(Value, Value, Value)> = Vec::new();
    for (reuse, threads) in [("1", "1"), ("0", "1"), ("1", "2"), ("0", "2"), ("1", "1")] {
        let folder = folder();
        let variables = [
            ("MONOLITH_LOCAL_REUSE", reuse),
            ("MONOLITH_LOCAL_THREADS", threads),
        ];
        let arguments = [
            "run",
            "contract.yaml",
            "--json",
            "--run-id",
            "same",
            "--set",
            &file,
        ];
        let mut command = monolith(&folder, &arguments);
        let output = command.envs(variables).output().unwrap();
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["counters"]["inferences"], 2, "{result}");
        let calls = &result["conversation"][2]["tool_calls"];
        assert_eq!(calls[0]["name"], "list_directory", "{result}");
        let replayed = monolith(&folder, &["replay", "same"]).output().unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
        let mut counters = result["counters"].clone();
        counters["elapsed_ms"] = Value::Null;
        let (outcome, conversation) = (result["outcome"].clone(), result["conversation"].clone());
        seen.push((outcome, conversation, counters));
    }
    for one in &seen {
        assert_eq!(*one, seen[0]);
    }
}

#[test]
fn a_run_is_inferred_again_to_the_same_bytes_and_another_file_is_named() {
    let Some(model) = model(1) else { return };
    let folder = folder_with_file();
    let path = folder.path().join("m.gguf");
    fs::copy(model, &path).unwrap();
    let (_, result) = run(&folder, &[], &[]);
    assert_eq!(result["counters"]["inferences"], 2, "{result}");
    let live = || {
        let arguments = ["replay", "last", "--live", "inference"];
        let output = monolith(&folder, &arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = live();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("2 requests sent again"), "{said}");
    // One bit of the weights.
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let (code, said) = live();
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("model_fingerprint"), "{said}");
    // What was recorded still holds: it needs no model.
    let replayed = monolith(&folder, &["replay", "last"]).output().unwrap();
    assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
}

/// The model with other bytes behind a key of its header.
fn model_saying(model: &str, key: &str, bytes: [u8; 4]) -> Vec<u8> {
    let mut whole = fs::read(model).unwrap();
    let at = whole.windows(key.len()).position(|w| w == key.as_bytes());
    // Behind the key its type, then the value.
    let at = at.unwrap() + key.len() + 4;
    whole[at..at + 4].copy_from_slice(&bytes);
    whole
}

/// A file whose header is in order, and on which llama.cpp ends its process: that is another one than monolith's.
#[test]
fn a_file_that_llama_cpp_aborts_on_is_refused_with_its_words_and_a_good_one_is_tried_once() {
    let Some(model) = model(4) else { return };
    let folder = folder();
    let path = folder.path().join("m.gguf");
    let file = "providers.m.file=m.gguf";
    for (key, bytes, expect) in [
        (
            "llama.attention.layer_norm_rms_epsilon",
            (-1.0_f32).to_le_bytes(),
            "GGML_ASSERT(eps >= 0.0f)",
        ),
        (
            "llama.attention.layer_norm_rms_epsilon",
            f32::NAN.to_le_bytes(),
            "GGML_ASSERT(eps >= 0.0f)",
        ),
        (
            "llama.embedding_length",
            577_u32.to_le_bytes(),
            "llama.cpp does not load it",
        ),
    ] {
        fs::write(&path, model_saying(&model, key, bytes)).unwrap();
        let said = refused(&folder, &[file]);
        assert!(said.contains(expect), "{key}: {said}");
        assert!(!said.contains("/src/"), "{said}");
    }
    let tried = folder.path().join("home/models/tried");
    assert!(!tried.exists(), "what did not pass is not noted");
    fs::copy(&model, &path).unwrap();
    for _ in 0..2 {
        // What the model then makes of the task does not matter here.
        let (_, result) = run(&folder, &[file], &[]);
        assert_eq!(result["counters"]["inferences"], 2, "{result}");
        assert_eq!(fs::read_dir(&tried).unwrap().count(), 1);
    }
}

/// The report is no call of the gate's: it comes after one, and in the closing turn nothing else can be written.
#[test]
fn behind_the_gate_a_report_comes_after_a_call_and_fits_its_schema() {
    let Some(model) = model(3) else { return };
    let folder = folder();
    let file = format!("providers.m.file={model}");
    let schema = "{type: object, properties: {files: {type: array, maxItems: 3, items: {type: string, maxLength: 20}}}, \
                  required: [files], additionalProperties: false}";
    let report = format!("final_report={{format: json, schema: {schema}}}");
    for seed in ["5", "6", "7"] {
        let seed = format!("sampling.seed={seed}");
        let sets = [
            &file,
            "completion=final_report",
            "progress_report=true",
            &report,
            "sampling.temperature=1.5",
            "sampling.max_output_tokens=200",
            &seed,
        ];
        let (outcome, result) = run(&folder, &sets, &[]);
        assert_eq!(outcome["class"], "COMPLETED_WITH_TOOLS", "{result}");
        assert_eq!(outcome["code"], "final_report", "{result}");
        let first = &result["conversation"][2]["tool_calls"];
        assert_eq!(first[0]["name"], "list_directory", "{result}");
        assert_eq!(result["counters"]["inferences"], 2, "{result}");
        let content = &result["finalReport"]["content_json"];
        assert!(content["files"].is_array(), "{result}");
        let replayed = monolith(&folder, &["replay", "last"]).output().unwrap();
        assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
    }
}

#[test]
fn with_the_gate_every_seed_begins_with_a_valid_call() {
    let Some(model) = model(4) else { return };
    let folder = folder();
    let arguments = ["model", "prove", &model, "--seeds", "4", "--json"];
    let output = monolith(&folder, &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["gate"]["valid"], 4, "{document}");
    assert!(
        document["no_gate"]["valid"].as_u64() < Some(4),
        "{document}"
    );
}

/// Three levels, each a call that the gate asks for: whatever so small a model says in them, each run ends, the tree verifies, and every run
/// of it replays.
#[test]
fn three_levels_of_agents_end_verify_and_replay() {
    let Some(model) = model(1) else { return };
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    // Model, limits and sampling of the first are those of the others, too.
    let first = CONTRACT.replace(
        "tools: {builtin: [list_directory], workspace: .}",
        "agents: [middle.yaml]",
    );
    write("contract.yaml", &first);
    write(
        "middle.yaml",
        "system: Ask the worker.\ntool_policy: required\nagents: [worker.yaml]\n",
    );
    let tools = "tools: {builtin: [list_directory], workspace: .}";
    write(
        "worker.yaml",
        &format!("system: Use the tools.\ntool_policy: required\n{tools}\n"),
    );
    let file = format!("providers.m.file={model}");
    let arguments = [
        "run",
        "contract.yaml",
        "--json",
        "--run-id",
        "lead",
        "--set",
        &file,
    ];
    let output = monolith(&folder, &arguments).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();

    let json = |arguments: &[&str]| -> Value {
        let output = monolith(&folder, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let tree = json(&["verify", "lead", "--tree", "--json"]);
    let runs = tree["runs"].as_array().unwrap();
    let names: Vec<&str> = runs
        .iter()
        .map(|one| one["run_id"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["lead", "lead.1", "lead.1.1"], "{result}");
    for (name, tool) in names
        .into_iter()
        .zip(["agent__middle", "agent__worker", "list_directory"])
    {
        let shown = json(&["show", name, "--json"]);
        assert!(shown["outcome"]["class"].is_string(), "{shown}");
        assert_eq!(shown["counters"]["tools_executed"], 1, "{name}: {shown}");
        let calls = &shown["conversation"][2]["tool_calls"];
        assert_eq!(calls[0]["name"], tool, "{name}: {shown}");
        json(&["replay", name, "--json"]);
    }
}
