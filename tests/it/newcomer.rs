//! A newcomer's commands in the first hour, and the answers they must get: what confines a command, that a task is one
//! argument, why a run failed and what may help.

use std::path::Path;

use serde_json::{Value, json};

use crate::fixture::{Fixture, Left, calls, says};
use crate::http::serving;

const JSON: &str = "content-type: application/json";

/// A server on loopback that has the model `m`, and gives each request to it this answer: a status and a body.
fn model_server(status: &'static str, body: &str) -> String {
    let body = body.to_owned();
    let port = serving(move |request| {
        if request.head.starts_with("GET") {
            let list = json!({"object": "list", "data": [{"id": "m"}]});
            return (format!("200 OK\r\n{JSON}"), list.to_string());
        }
        (format!("{status}\r\n{JSON}"), body.clone())
    });
    format!("http://127.0.0.1:{port}/v1")
}

impl Fixture {
    /// `c.yaml` for a server at that address.
    fn asks(&self, address: &str, more: &str) {
        self.write(
            "c.yaml",
            &format!(
                "task: hi\ntargets: [{{provider: web, model: m, context_window: 9000}}]\n\
                 providers: {{web: {{type: openai, base_url: '{address}'}}}}\n{more}"
            ),
        );
    }

    /// Returns the help of a run in a pipe at its end, and the output of `show --why` for it.
    #[track_caller]
    fn fails(&self, code: i32) -> (String, String) {
        let left = self.ends(&["run", "c.yaml", "--run-id", "r"], code);
        let help = left.err.split_once("= help: ").expect(&left.err).1;
        (help.to_owned(), self.ok(&["show", "r", "--why"]))
    }
}

#[track_caller]
fn help_in(said: &(String, String), expect: &str) {
    let (help, why) = said;
    assert!(help.contains(expect), "{expect}: {help}");
    let (_, why) = why.split_once("What may help: ").expect(why);
    assert!(why.contains(expect), "{expect}: {why}");
}

#[test]
fn a_run_that_failed_names_its_remedy_in_a_pipe_and_where_it_is_asked_why() {
    let echo = "tools: {builtin: [echo]}\n";
    let call = calls("echo", r#"{"text": "x"}"#);
    let again = |key: &str| format!("monolith continue r \"…\" --contract c.yaml --set {key}");

    let fixture = Fixture::new();
    let usage = r#""usage":{"prompt_tokens":300,"completion_tokens":20}}}"#;
    let counted = format!("{},{usage}", call.strip_suffix("}}").unwrap());
    let more = format!("{echo}tool_policy: required\nmax_tokens_consumed: 500\n");
    fixture.script(&more, &[&counted, &counted]);
    let said = fixture.fails(1);
    help_in(&said, &again("max_tokens_consumed=5000"));
    assert!(
        said.1.contains("max_tokens_consumed: 320 of 500 used"),
        "{}",
        said.1
    );
    assert!(said.1.contains("the next request has "), "{}", said.1);

    let fixture = Fixture::new();
    fixture.script(
        &format!("{echo}tool_policy: required\nmax_turns: 2\n"),
        &[&calls("echo", r#"{"text": 1}"#), &says("no")],
    );
    let said = fixture.fails(1);
    help_in(&said, &again("max_turns=4"));
    help_in(&said, "the last of which offers no tools");
    let reason = "The last of 2 turns is kept for the closing answer";
    assert!(said.1.contains(reason), "{}", said.1);
    assert!(said.1.contains("max_turns: "), "{}", said.1);

    let fixture = Fixture::new();
    let wrong = calls("echo", r#"{"text": 1}"#);
    fixture.script(
        &format!("{echo}tool_policy: optional\n"),
        &[&wrong, &wrong, &wrong],
    );
    help_in(
        &fixture.fails(5),
        "monolith tools c.yaml --schemas shows what each tool takes",
    );
    fixture.ok(&["tools", "c.yaml", "--schemas"]);

    let fixture = Fixture::new();
    let boom = r#"{"error": {"message": "boom"}}"#;
    fixture.asks(&model_server("500 X", boom), "");
    let said = fixture.fails(1);
    help_in(
        &said,
        "its log says why, and monolith doctor --contract c.yaml asks it",
    );
    help_in(&said, "monolith continue r \"…\"");

    let fixture = Fixture::new();
    let unknown = r#"{"error": {"message": "no such model", "code": "model_not_found"}}"#;
    fixture.asks(&model_server("404 X", unknown), "");
    let said = fixture.fails(4);
    help_in(&said, "monolith doctor --contract c.yaml");
}

#[test]
fn a_run_whose_time_is_over_names_what_had_not_answered() {
    let fixture = Fixture::new();
    let port = serving(|request| {
        if request.head.starts_with("POST") {
            loop {
                std::thread::park();
            }
        }
        let list = json!({"object": "list", "data": [{"id": "m"}]});
        (format!("200 OK\r\n{JSON}"), list.to_string())
    });
    fixture.asks(
        &format!("http://127.0.0.1:{port}/v1"),
        "total_timeout_ms: 1000\n",
    );
    let said = fixture.fails(1);
    help_in(
        &said,
        "monolith continue r \"…\" --contract c.yaml --set total_timeout_ms=2000",
    );
    let reason = "The run took longer than total_timeout_ms. (web/m had not answered)";
    assert!(said.1.contains(reason), "{}", said.1);
}

#[test]
fn an_answer_without_a_call_has_the_same_help_in_a_pipe_as_on_a_terminal() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[&says("Done.")],
    );
    let said = fixture.fails(1);
    help_in(
        &said,
        "allow an answer without one: monolith continue r \"…\" --contract c.yaml --set tool_policy=optional",
    );
    assert!(said.0.contains("5 bytes were withheld"), "{}", said.0);
    assert!(said.0.contains("monolith show r --withheld"), "{}", said.0);
}

#[test]
fn a_tool_server_is_listed_with_what_confines_it_on_this_machine() {
    let fixture = Fixture::new();
    fixture.script(
        "tools:\n  mcp:\n    none: {command: a}\n    some: {command: b, sandbox: {}}\n    off: {command: c, sandbox: off}\n",
        &[&says("hi")],
    );
    let listed = fixture.run(&["contract", "check", "c.yaml"]).out;
    let doctor = fixture.run(&["doctor"]).out;
    let has_sandbox = doctor.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("ok") && words.next() == Some("sandbox")
    });
    let (none, some) = if has_sandbox {
        (
            "in the sandbox where the system can (here: yes), with the network)",
            "in the sandbox, with the network)",
        )
    } else {
        (
            "in the sandbox where the system can (here: ",
            "in the sandbox, with the network",
        )
    };
    for (command, expect) in [
        ("a   (tools.mcp.none; ", none),
        ("b   (tools.mcp.some; ", some),
        (
            "c   (tools.mcp.off; ",
            "without a sandbox: it may do whatever you may)",
        ),
    ] {
        let line = format!("  command   {command}{expect}");
        assert!(listed.contains(&line), "{line}: {listed}");
    }
    let (_, report) = fixture.json(&["contract", "check", "c.yaml"]);
    let confined = report["reaches"]["commands"].as_array().unwrap();
    let confined: Vec<&Value> = confined
        .iter()
        .map(|command| &command["confined"])
        .collect();
    assert_eq!(confined, ["where_possible", "never", "always"]);
}

/// The question whether a contract is trusted and its check list the same.
#[test]
fn a_check_lists_what_the_agents_below_reach_as_the_question_of_trust_does() {
    let fixture = Fixture::new();
    fixture.script(
        "agents: [agents/s.yaml]\ntool_policy: optional\n",
        &[&says("hi")],
    );
    fixture.write(
        "agents/s.yaml",
        "system: You look.\ntargets: [{provider: demo, model: script}]\n\
         providers: {demo: {type: scripted, file: ../s.jsonl}}\ntools: {mcp: {sh: {command: sh, args: [-c, nope]}}}\n",
    );
    let checked = fixture.run(&["contract", "check", "c.yaml"]).out;
    let below = "the agent agents/s.yaml reaches:\n  command   sh -c nope   (tools.mcp.sh; ";
    assert!(checked.contains(below), "{checked}");
    let (_, listed) = checked.split_once("reaches:\n").unwrap();
    let trusted = fixture.ok(&["trust", "c.yaml"]);
    assert!(
        trusted.ends_with(&format!("reaches:\n{listed}")),
        "{trusted}"
    );
    let (_, report) = fixture.json(&["contract", "check", "c.yaml"]);
    assert_eq!(report["agents_below"][0]["file"], "agents/s.yaml");
    let commands = &report["agents_below"][0]["reaches"]["commands"];
    assert_eq!(commands[0]["command"], json!(["sh", "-c", "nope"]));
}

/// 001 §2: the first line of an agent's file may name the program that runs it.
#[cfg(unix)]
#[test]
fn an_agents_file_that_begins_with_the_line_of_a_script_runs_as_one() {
    use std::os::unix::fs::PermissionsExt as _;

    let fixture = Fixture::new();
    let layer = r#"{"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}}"#;
    fixture.write(".ai-agent.json", layer);
    fixture.write(
        "x.ai",
        "#!/usr/bin/env monolith\n---\nmodels: [demo/script]\n---\nYou help.\n",
    );
    fixture.write("s.jsonl", &says("Here."));
    fixture.ok(&["trust", "x.ai"]);
    let path = fixture.path("x.ai");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_monolith"));
    let folders = std::env::var("PATH").unwrap_or_default();
    let folders = format!("{}:{folders}", program.parent().unwrap().display());
    let mut script = std::process::Command::new(&path);
    let script = script
        .args(["What is here?", "--run-id", "r"])
        .current_dir(fixture.path(""))
        .env("MONOLITH_HOME", fixture.path("home"))
        .env("PATH", folders);
    let left = Left::from(script.output().unwrap());
    assert_eq!(
        fixture.json(&["show", "r"]).1["run_id"],
        "r",
        "{}",
        left.printed()
    );
    // A misspelt file is found out at once, with the one that may be meant.
    for (typed, meant) in [("agnt.ai", "agent.ai"), ("agnt.yaml", "agent.yaml")] {
        fixture.write(meant, "---\n---\n");
        let left = fixture.ends(&[typed, "hi there"], 4);
        let error = format!("error: failed to run {typed}: there is no such file\n");
        let help = format!("did you mean monolith run {meant}?");
        assert!(left.err.contains(&error), "{}", left.err);
        assert!(left.err.contains(&help), "{}", left.err);
    }
}

#[test]
fn a_task_in_a_file_is_read_and_a_task_without_quotes_is_explained() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("Yes.")]);
    fixture.write("t.txt", "What is planned?\n");
    fixture.write("agent.yaml", &fixture.read("c.yaml"));
    fixture.ok(&["run", "@t.txt", "--run-id", "r"]);
    let shown = fixture.ok(&["show", "r"]);
    assert!(shown.contains("What is planned?"), "{shown}");
    assert!(!shown.contains("@t.txt"), "{shown}");
    let left = fixture.ends(&["run", "@gone.txt"], 4);
    assert!(
        left.err.contains("read the task from gone.txt"),
        "{}",
        left.err
    );
    assert!(
        left.err.contains("a word that starts with @ names a file"),
        "{}",
        left.err
    );
    fixture.ok(&["run", "@anna asks: what is planned?", "--run-id", "r2"]);
    let shown = fixture.ok(&["show", "r2"]);
    assert!(shown.contains("@anna asks"), "{shown}");

    let left = fixture.ends(&["run", "read", "plan"], 4);
    let quotes = "a task is one argument: put it in quotes";
    assert!(left.err.contains(quotes), "{}", left.err);
    let left = fixture.ends(&["run", "read", "the", "plan"], 4);
    let quotes = "tip: one task is one argument, in quotes: monolith run 'read the plan'";
    assert!(left.err.contains(quotes), "{}", left.err);
}

#[test]
fn a_provider_that_a_prompt_of_the_command_line_lacks_is_to_be_defined() {
    let fixture = Fixture::new();
    let left = fixture.ends(&["run", "You help.", "Hi", "--models", "home/q"], 4);
    assert!(
        left.err.contains("no provider `home` is defined"),
        "{}",
        left.err
    );
    let help = "define it under `providers` in .ai-agent.json";
    assert!(left.err.contains(help), "{}", left.err);
}

#[test]
fn a_copy_that_the_demo_changed_before_is_replaced() {
    let fixture = Fixture::new();
    fixture.ok(&["demo"]);
    let first = fixture.ok(&["demo", "tamper"]);
    assert_eq!(fixture.ok(&["demo", "tamper"]), first);
    let path = first
        .split_whitespace()
        .find(|word| Path::new(word).extension() == Some("jsonl".as_ref()));
    std::fs::remove_file(path.expect(&first)).unwrap();
}

#[test]
fn thanks_to_a_demo_are_refused_in_a_whole_sentence_with_the_contract_where_it_is() {
    let fixture = Fixture::new();
    fixture.ok(&["demo"]);
    let left = fixture.ends(&["continue", "last", "Thanks"], 4);
    assert!(
        left.err
            .starts_with("error: tool_policy is required, but page: code makes it optional"),
        "{}",
        left.err
    );
    let (_, rest) = left.err.split_once("--contract ").expect(&left.err);
    let file = rest.split_whitespace().next().unwrap();
    assert!(fixture.path(file).is_file(), "{file}: {}", left.err);
}

#[test]
fn a_line_of_a_script_in_another_form_is_refused_with_one_that_is_taken() {
    let fixture = Fixture::new();
    fixture.script("", &[r#"{"content": "hello"}"#]);
    let left = fixture.ends(&["run", "c.yaml"], 4);
    let example = r#"{"response": {"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}}"#;
    assert!(left.err.contains(example), "{}", left.err);
    assert!(left.err.contains("docs/contract-file.md"), "{}", left.err);
    fixture.script("", &[example]);
    assert!(fixture.ok(&["run", "c.yaml"]).contains("hello"));
}

#[test]
fn a_server_that_init_cannot_use_is_explained() {
    let fixture = Fixture::new();
    let none = ["--ollama", "none", "--lm-studio", "none"];
    let address = model_server("404 X", "{}");
    let root = address.trim_end_matches("/v1");
    let typed = [&["init", "--llama-server", root][..], &none].concat();
    let left = fixture.ends(&typed, 3);
    let help = format!("if it speaks as OpenAI does: --base-url {address}");
    assert!(left.err.contains(&help), "{}", left.err);

    let port = serving(|_| {
        let head = "200 OK\r\ncontent-type: text/html".to_owned();
        (head, "<!doctype html><title>Hi</title>".to_owned())
    });
    let page = format!("http://127.0.0.1:{port}/v1");
    let typed = ["init", "--base-url", &page, "--model", "m"];
    for typed in [&typed[..3], &typed] {
        let left = fixture.ends(typed, 3);
        assert!(
            left.err.contains("its answer is a web page"),
            "{}",
            left.err
        );
        assert!(left.err.contains("leads to something else"), "{}", left.err);
    }
    assert!(!fixture.path("agent.yaml").exists());
}

#[test]
fn what_ended_in_time_is_listed_by_a_word_and_other_words_are_refused_shortly() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[&says("no")],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    let listed = |word: &str| {
        let listed = fixture.ok(&["list", "--outcome", word]);
        listed.lines().any(|line| line.starts_with("r "))
    };
    assert!(listed("protocol") && listed("failed"));
    assert!(!listed("timeout") && !listed("budget"));
    // What a model's silence ends in is another word.
    let help = fixture.ok(&["list", "--help"]);
    assert!(help.contains("attempts_exhausted"), "{help}");
    let left = fixture.ends(&["list", "--outcome", "foo"], 4);
    assert!(!left.err.contains("may be meant"), "{}", left.err);
    let left = fixture.ends(&["list", "--limit", "x"], 4);
    assert!(
        left.err.contains("expected a number, such as 20"),
        "{}",
        left.err
    );
}

#[test]
fn a_contract_is_shown_for_people_in_a_pipe_where_that_is_asked() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("hi")]);
    let json = fixture.ok(&["contract", "show", "c.yaml"]);
    assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
    let yaml = fixture.ok(&["contract", "show", "c.yaml", "--yaml"]);
    assert!(
        yaml.lines().any(|line| line == "tool_policy: optional"),
        "{yaml}"
    );
    fixture.ends(&["contract", "show", "c.yaml", "--yaml", "--json"], 4);
}

#[test]
fn a_workflow_is_listed_by_its_name_with_its_time_and_found_by_it() {
    let fixture = Fixture::new();
    fixture.write(
        "w.yaml",
        "workflow: review-notes\ncontract:\n  targets: [{provider: demo, model: script}]\n  \
         providers: {demo: {type: scripted, file: s.jsonl}}\n  tool_policy: optional\nsteps: [{id: ask, prompt: Well}]\n",
    );
    fixture.write("s.jsonl", &says("pong"));
    fixture.ok(&["run", "w.yaml", "the notes", "--run-id", "w"]);
    let listed = fixture.ok(&["list", "review-notes"]);
    let mut lines = listed.lines().skip_while(|line| !line.starts_with("w "));
    let (first, second) = (lines.next().expect(&listed), lines.next().expect(&listed));
    assert!(
        first.contains("s ") && first.contains("COMPLETED"),
        "{first}"
    );
    assert_eq!(second.trim(), "review-notes: the notes");
    let (_, listed) = fixture.json(&["list", "review-notes"]);
    assert_eq!(listed["runs"][0]["run_id"], "w");
    assert!(listed["runs"][0]["elapsed_ms"].is_u64(), "{listed}");
}

/// Two texts are run without a file: what `init` knows needs no definition, and every other name is shown the one that it lacks.
#[test]
fn a_provider_that_init_knows_needs_no_definition_on_the_command_line() {
    let fixture = Fixture::new();
    let two_texts = ["run", "You help.", "Hi", "--models"];
    let ollama = |more: &[&str]| -> Left {
        let mut command = fixture.command(&[&two_texts[..], &["ollama/qwen3"], more].concat());
        command
            .env("OLLAMA_HOST", "127.0.0.1:9")
            .output()
            .unwrap()
            .into()
    };
    let left = ollama(&["--dry-run"]);
    assert!(!left.err.contains("no provider"), "{}", left.printed());
    let origin = "providers.ollama.base_url is from what is built into monolith";
    assert!(left.err.contains(origin), "{}", left.printed());
    let left = ollama(&[]);
    assert_eq!(left.code, 3, "{}", left.printed());
    assert!(left.err.contains("127.0.0.1:9"), "{}", left.err);

    let openai = ["openai/gpt-4o-mini", "--dry-run"];
    let mut command = fixture.command(&[&two_texts[..], &openai].concat());
    let command = command.env("OPENAI_API_KEY", "canary-key-0123456789");
    let left: Left = command.output().unwrap().into();
    assert_eq!(left.code, 0, "{}", left.printed());
    let origin = "providers.openai.api_key_env is from what is built into monolith";
    assert!(left.err.contains(origin), "{}", left.err);

    let left = fixture.ends(&[&two_texts[..], &["home/q"]].concat(), 4);
    for help in [
        "{\"providers\": {\"NAME\": {\"type\": \"openai\", \"baseUrl\": \"http://HOST/v1\"}}}",
        "Without that there are anthropic, openai, google, openrouter, llama-server",
    ] {
        assert!(left.err.contains(help), "{}", left.err);
    }
    // A definition of the layers counts alone.
    fixture.layer("{\"providers\": {\"ollama\": {\"type\": \"openai\", \"baseUrl\": \"http://127.0.0.1:7/v1\", \"contextWindow\": 9000}}}",
    );
    let left = fixture.run(&[&two_texts[..], &["ollama/qwen3", "--dry-run"]].concat());
    assert!(!left.err.contains("built into"), "{}", left.printed());
    // A contract file says itself what its providers are.
    let contract = "task: hi\ntargets: [{provider: openai, model: gpt-4o-mini}]\n";
    fixture.write("c.yaml", contract);
    let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
    assert!(
        left.printed().contains("no provider `openai`"),
        "{}",
        left.printed()
    );
}

/// A pipe, too, gets the subject of a question, and why nothing was done.
#[test]
fn a_question_that_no_terminal_shows_is_printed_with_what_it_kept_from_being_done() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let left = fixture.ends(&["delete", "r"], 4);
    for expect in [
        "Delete run r for good?",
        "failed to delete: not confirmed, and there is no terminal to ask at",
        "--yes confirms it without a question",
    ] {
        assert!(left.err.contains(expect), "{expect}: {}", left.err);
    }
    fixture.ok(&["show", "r"]);
    // Nor is a configuration without files shown without a word.
    let left = fixture.run(&["config", "show"]);
    assert_eq!((left.code, left.out.as_str()), (0, "{}\n"));
    let none = "note: no .ai-agent.json was found here";
    assert!(left.err.contains(none), "{}", left.err);
}
