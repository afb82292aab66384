//! Obstacles for a new user: a run that fails for want of a setting names the setting, and `continue` continues as it was
//! begun.

use std::io::Write as _;

use crate::fixture::{Fixture, calls, says};
use crate::http::serving;
use crate::terminal::Terminal;

const JSON: &str = "application/json";

/// A server on loopback that gives every request the same answer; its address, without a path.
fn answering(status: &'static str, body: &str) -> String {
    let body = body.to_owned();
    let port = serving(move |_| (format!("{status}\r\ncontent-type: {JSON}"), body.clone()));
    format!("http://127.0.0.1:{port}")
}

/// The body of an answer in which a model says that.
fn body_of(content: &str) -> String {
    let line: serde_json::Value = serde_json::from_str(&says(content)).unwrap();
    line["response"].to_string()
}

impl Fixture {
    /// `c.yaml` for a provider `web` of that form.
    fn web(&self, provider: &str, more: &str) {
        self.write(
            "c.yaml",
            &format!(
                "task: hi\ntargets: [{{provider: web, model: m, context_window: 9000}}]\n\
                 providers: {{web: {{type: openai, {provider}}}}}\n{more}"
            ),
        );
    }
}

const DOCTOR: &str = "monolith doctor --contract c.yaml asks the server";

#[test]
fn a_request_without_a_key_that_is_refused_says_that_none_was_sent_and_how_one_is_named() {
    let body = r#"{"error": {"message": "invalid api key"}}"#;
    for (status, body) in [("401 X", "{}"), ("403 X", body)] {
        let address = answering(status, body);
        let fixture = Fixture::new();
        fixture.web(&format!("base_url: '{address}/v1'"), "");
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        let why = fixture.run(&["show", "r", "--why"]).out;
        for said in [&ended.err, &why] {
            assert!(said.contains("no key was sent"), "{said}");
            assert!(!said.contains("did not accept the key"), "{said}");
            assert!(said.contains("`api_key_env` of providers.web"), "{said}");
            assert!(said.contains(DOCTOR), "{said}");
        }
        // A key that was sent, and a header that may hold one.
        let with = |provider: &str| {
            fixture.web(&format!("base_url: '{address}/v1', {provider}"), "");
            let mut command = fixture.command(&["run", "c.yaml"]);
            let ended = command
                .env("A_KEY", "canary-key-0123456789")
                .output()
                .unwrap();
            let said = crate::fixture::Left::from(ended).err;
            assert!(said.contains("did not accept the key"), "{said}");
            assert!(!said.contains("doctor"), "{said}");
        };
        with("api_key_env: A_KEY");
        with("headers: {x-key: '${A_KEY}'}");
    }
}

#[test]
fn a_server_without_anything_at_the_address_is_named_with_what_the_address_lacks() {
    let address = answering("404 X", r#"{"error": {"message": "Not Found"}}"#);
    let fixture = Fixture::new();
    fixture.web(&format!("base_url: '{address}'"), "");
    let lacks = format!("HTTP 404 from {address}, which does not end in /v1");
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 4);
    let why = fixture.run(&["show", "r", "--why"]).out;
    for said in [&ended.err, &why] {
        assert!(said.contains(&lacks), "{said}");
        assert!(
            said.contains("correct `base_url` of providers.web"),
            "{said}"
        );
        assert!(said.contains(DOCTOR), "{said}");
    }
    let doctor = fixture.run(&["doctor", "--contract", "c.yaml"]);
    assert_eq!(doctor.code, 1, "{}", doctor.out);
    let wrong = doctor.out.lines().find(|line| line.contains("HTTP 404"));
    let wrong = wrong.expect(&doctor.out);
    assert!(wrong.starts_with("wrong "), "{wrong}");
    assert!(
        wrong.contains(&format!("{address}, which does not end in /v1")),
        "{wrong}"
    );
    // With it the address alone is named; a server may list no models.
    fixture.web(&format!("base_url: '{address}/v1'"), "");
    let said = fixture.ends(&["run", "c.yaml"], 4).err;
    assert!(
        said.starts_with(&format!(
            "error: FAILED_PREFLIGHT (model_unavailable): HTTP 404 from {address}/v1 ("
        )),
        "{said}"
    );
}

#[test]
fn a_run_that_a_corrected_contract_lets_go_on_names_the_file_to_continue_under() {
    let address = answering("404 X", r#"{"error": {"message": "Not Found"}}"#);
    let fixture = Fixture::new();
    fixture.web(&format!("base_url: '{address}'"), "");
    let command = fixture.command(&["run", "c.yaml", "--run-id", "r"]);
    let (code, shown) = Terminal::sized(command, 200).end();
    assert_eq!(code, 4, "{shown}");
    // What happened comes first, the code behind it.
    let at = |text: &str| shown.find(text).expect(&shown);
    let class = at("        FAILED_PREFLIGHT (model_unavailable): No provider has the model");
    assert!(at("HTTP 404 from") < class, "{shown}");
    at("monolith continue r \"…\" --contract c.yaml");
}

#[test]
fn a_server_that_refuses_the_connection_is_to_be_started_or_its_address_corrected() {
    let fixture = Fixture::new();
    fixture.web("base_url: 'http://127.0.0.1:9/v1'", "");
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 3);
    let why = fixture.run(&["show", "r", "--why"]).out;
    for said in [&ended.err, &why] {
        assert!(said.contains("start the server of providers.web"), "{said}");
        assert!(said.contains(DOCTOR), "{said}");
    }
}

#[test]
fn a_run_without_a_call_that_succeeded_names_the_way_out() {
    let fixture = Fixture::new();
    let call = calls("read_file", r#"{"path": "nope.txt"}"#);
    fixture.script(
        "tool_policy: required\ntool_proof: succeeded\n\
         tools: {builtin: [read_file], workspace: .}\n",
        &[&call, &says("It is not there.")],
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    assert!(ended.err.contains("proof_not_succeeded"), "{}", ended.err);
    let way = "monolith continue r \"…\" --contract c.yaml --set tool_proof=executed";
    assert!(ended.err.contains(way), "{}", ended.err);
}

#[test]
fn a_held_back_text_in_the_form_of_a_call_names_the_text_profile() {
    let fixture = Fixture::new();
    let held = |text: &str| {
        fixture.script(
            "tool_policy: required\ntools: {builtin: [echo]}\n",
            &[&says(text)],
        );
        let ended = fixture.run(&["run", "c.yaml"]);
        assert_eq!(ended.code, 1, "{}", ended.err);
        format!(
            "{}{}",
            ended.err,
            fixture.run(&["show", "last", "--why"]).out
        )
    };
    let call = "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"x\"}}\n</tool_call>";
    let said = held(call);
    let advice = "`text_profile: hermes` or `qwen` at the target reads it";
    assert_eq!(said.matches(advice).count(), 2, "{said}");
    // What was the matter comes before what else would do.
    let first = "the text that was held back has the form of a call";
    for begin in [" = help: ", "What may help: "] {
        assert!(said.contains(&format!("{begin}{first}")), "{said}");
    }
    assert!(
        said.contains("reads it. Otherwise: tool_policy: "),
        "{said}"
    );
    let said = held("<tool_call>\n<function=echo>\n</function>\n</tool_call>");
    assert_eq!(said.matches("`text_profile: qwen`").count(), 2, "{said}");
    let said = held("{\"name\": \"echo\", \"parameters\": {}}");
    assert_eq!(said.matches("`text_profile: llama3`").count(), 2, "{said}");
    assert!(
        !held("No tool for me.").contains("text_profile"),
        "words are no call"
    );
}

#[test]
fn turns_that_are_used_up_by_failing_calls_name_the_calls() {
    let fixture = Fixture::new();
    let call = calls("read_file", r#"{"path": "nope.txt"}"#);
    fixture.script(
        "tool_policy: required\ntool_proof: succeeded\nmax_turns: 3\nmax_identical_calls: 9\n\
         tools: {builtin: [read_file], workspace: .}\n",
        &[&call, &call, &call],
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    let why = fixture.run(&["show", "r", "--why"]).out;
    for said in [&ended.err, &why] {
        assert!(said.contains("synthesis_without_tools"), "{said}");
        assert!(
            said.contains("turns that offer tools were used up"),
            "{said}"
        );
        assert!(said.contains("every call failed. (read_file: "), "{said}");
        assert!(!said.contains("closing turn was due before"), "{said}");
    }
}

#[test]
fn a_run_that_was_begun_with_changed_values_is_continued_with_them() {
    let address = answering("200 OK", &body_of("Yes."));
    let fixture = Fixture::new();
    fixture.web(
        "base_url: 'http://127.0.0.1:9/v1'",
        "tool_policy: optional\n",
    );
    let set = format!("providers.web.base_url={address}/v1");
    fixture.ends(
        &[
            "run",
            "c.yaml",
            "--set",
            &set,
            "--set",
            "max_turns=4",
            "--run-id",
            "r1",
        ],
        0,
    );
    let left = fixture.ends(&["continue", "r1", "And then?", "--run-id", "r2"], 0);
    assert!(left.out.contains("Yes."), "{}", left.printed());
    // What may hold a secret is not recorded, and the fault says so.
    let whole = format!("providers={{web: {{type: openai, base_url: '{address}/v1'}}}}");
    fixture.ends(&["run", "c.yaml", "--set", &whole, "--run-id", "r3"], 0);
    let left = fixture.ends(&["continue", "r3", "And then?"], 4);
    assert!(
        left.err
            .contains("give again each --set that is not recorded"),
        "{}",
        left.err
    );
    fixture.ends(&["continue", "r3", "And then?", "--set", &whole], 0);
}

#[cfg(unix)]
#[test]
fn a_piped_task_beside_the_files_is_noted_and_swapped_arguments_are_named() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Yes.")]);
    let piped = |args: &[&str], text: &str| {
        // What is in the pipe before the program begins is there when it looks.
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        drop(writer);
        let mut command = fixture.command(args);
        crate::fixture::Left::from(command.stdin(reader).output().unwrap())
    };
    let note = "note: standard input is ignored because the task is in c.yaml";
    let left = piped(&["run", "c.yaml"], "another task\n");
    assert_eq!(left.code, 0, "{}", left.err);
    assert!(left.err.contains(note), "{}", left.err);
    let left = piped(&["run", "c.yaml"], "");
    assert!(!left.err.contains("standard input"), "{}", left.err);
    let left = piped(&["run", "c.yaml", "--quiet"], "another task\n");
    assert!(!left.err.contains("standard input"), "{}", left.err);
    let left = fixture.ends(&["run", "Say hi to me.", "c.yaml"], 4);
    assert!(left.err.contains("the file comes first"), "{}", left.err);
    assert!(
        left.err.contains("monolith run c.yaml 'Say hi to me.'"),
        "{}",
        left.err
    );
}

#[test]
fn a_tool_server_that_is_not_there_is_refused_at_its_address() {
    let address = answering("200 OK", "{}");
    let https = address.replace("http:", "https:");
    let fixture = Fixture::new();
    fixture.script(
        &format!(
            "tools: {{mcp: {{gone: {{url: 'http://127.0.0.1:1/mcp'}}, plain: {{url: '{https}/mcp'}}}}}}\n"
        ),
        &[&says("Yes.")],
    );
    let said = fixture.run(&["run", "c.yaml"]).err;
    assert!(
        said.contains("http://127.0.0.1:1/mcp: connection refused"),
        "{said}"
    );
    let plain = format!(
        "{https}/mcp: the server does not speak TLS there: an address with http may be meant"
    );
    assert!(said.contains(&plain), "{said}");
}

#[cfg(unix)]
#[test]
fn the_commands_of_completions_help_are_whole_lines_on_a_terminal_of_80_columns() {
    let fixture = Fixture::new();
    let command = fixture.command(&["completions", "--help"]);
    let (_, shown) = Terminal::sized(command, 80).end();
    let whole = "monolith completions bash > ~/.local/share/bash-completion/completions/monolith";
    assert!(shown.lines().any(|line| line.trim() == whole), "{shown}");
}

#[test]
fn a_run_that_did_not_begin_for_its_servers_names_the_file_to_continue_under() {
    let check = |more: &str, way: &str| {
        let fixture = Fixture::new();
        fixture.web("base_url: 'http://127.0.0.1:9/v1'", more);
        let command = fixture.command(&["run", "c.yaml", "--run-id", "r"]);
        let (code, shown) = Terminal::sized(command, 200).end();
        assert_eq!(code, 3, "{shown}");
        let next = "monolith show r --why   ·   monolith continue r \"…\" --contract c.yaml";
        for expect in [way, DOCTOR, next] {
            assert!(shown.contains(expect), "{expect}: {shown}");
        }
        let why = fixture.ok(&["show", "r", "--why"]);
        let helps = format!("\nWhat may help: {way}");
        assert!(why.contains(&helps), "{why}");
        assert!(why.contains(DOCTOR), "{why}");
        // What is named works once the file is corrected.
        fixture.script("", &[&says("Here.")]);
        fixture.ends(&["continue", "r", "Again.", "--contract", "c.yaml"], 0);
    };
    check("", "start the server of providers.web");
    check(
        "tools: {mcp: {near: {command: ./nope}}}\n",
        "install what `command` of tools.mcp.near names, or correct it",
    );
    check(
        "tools: {mcp: {near: {command: '~/bin/nope'}}}\n",
        "`~` is not expanded in `command` of tools.mcp.near: write the whole path",
    );
}

/// Each server has one clause, its cause in it.
#[test]
fn a_server_that_did_not_come_up_is_named_once_with_its_cause() {
    let fixture = Fixture::new();
    fixture.script(
        "tools: {mcp: {near: {command: no-near}, far: {command: no-far}}}\n",
        &[&says("Here.")],
    );
    let left = fixture.ends(&["run", "c.yaml", "--run-id", "r", "--json"], 3);
    let message = left.document()["error"].to_string();
    let expect = "the tool server `far` is not available: failed to find the command \\\"no-far\\\"; \
                  the tool server `near` is not available: failed to find the command \\\"no-near\\\"";
    assert!(message.contains(expect), "{message}");
    assert!(!message.contains("far: failed"), "{message}");
}

/// Something else than a model's API answers: what it sent is no model's fault, and a page is not quoted.
#[test]
fn a_web_server_in_the_place_of_a_models_is_named_with_what_the_address_lacks() {
    let page = "<!DOCTYPE HTML>\n<html><body>Unsupported method ('POST')</body></html>";
    for (status, code) in [("501 X", 4), ("405 X", 4), ("200 X", 1), ("302 X", 4)] {
        let address = answering(status, page);
        let fixture = Fixture::new();
        fixture.web(&format!("base_url: '{address}'"), "");
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], code);
        let (status, _) = status.split_once(' ').unwrap();
        let lacks = format!("HTTP {status} from {address}, which does not end in /v1 (a web page)");
        let help = "correct `base_url` of providers.web";
        for said in [&ended.err, &fixture.run(&["show", "r", "--why"]).out] {
            assert!(said.contains(&lacks) && said.contains(help), "{said}");
        }
        assert!(!ended.err.contains("Unsupported"), "{}", ended.err);
    }
}

/// The address is right: the server behind it is down, or limits what it takes. Nor is an answer that comes at once a slow one.
#[test]
fn a_server_that_is_down_behind_a_proxy_is_at_no_wrong_address_and_is_not_slow() {
    let page = "<html><body><h1>it is down</h1></body></html>";
    let report = r#"{"error": {"message": "upstream timed out"}}"#;
    let log = "the model's server failed at every attempt: its log says why";
    let limits = "the provider limits the rate of requests: wait, or name another target";
    for (status, body, help) in [
        ("502 X", page, log),
        ("504 X", page, log),
        ("429 X", page, limits),
        ("504 X", report, log),
        ("408 X", report, log),
    ] {
        let address = format!("{}/v1", answering(status, body));
        let fixture = Fixture::new();
        fixture.web(
            &format!("base_url: '{address}'"),
            "max_attempts_per_turn: 1\n",
        );
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        let (status, _) = status.split_once(' ').unwrap();
        for shown in [&ended.err, &fixture.run(&["show", "r", "--why"]).out] {
            assert!(shown.contains(help), "{shown}");
            assert!(shown.contains("monolith continue r \"…\""), "{shown}");
            assert!(!shown.contains("correct `base_url`"), "{shown}");
            assert!(!shown.contains("llm_timeout_ms"), "{shown}");
        }
        let quoted = format!("HTTP {status} from {address} (a web page)");
        assert_eq!(ended.err.contains(&quoted), body == page, "{}", ended.err);
        assert!(!ended.err.contains("it is down"), "{}", ended.err);
    }
}

#[test]
fn an_answer_that_breaks_off_sends_to_the_server_and_not_to_the_model() {
    for body in [
        r#"{"choices": [{"message": {"content": "hi""#,
        r#"{"id": "x"}"#,
    ] {
        let address = answering("200 OK", body);
        let fixture = Fixture::new();
        fixture.web(&format!("base_url: '{address}/v1'"), "");
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        for shown in [&ended.err, &fixture.run(&["show", "r", "--why"]).out] {
            assert!(
                shown.contains("the server's answer broke off, or"),
                "{shown}"
            );
            assert!(
                shown.contains("doctor --contract c.yaml asks it"),
                "{shown}"
            );
            assert!(shown.contains("monolith continue r \"…\""), "{shown}");
            assert!(!shown.contains("strict_mode"), "{shown}");
        }
    }
}

/// No turn was used up, and no call that the model might have made would have helped.
#[test]
fn a_request_that_the_server_refuses_as_too_large_names_the_window_of_its_target() {
    let report =
        r#"{"error": {"code": "context_length_exceeded", "message": "8192 tokens at most"}}"#;
    let address = answering("400 X", report);
    let check = |policy: &str, class: &str| {
        let fixture = Fixture::new();
        let more = format!("tool_policy: {policy}\ntools: {{builtin: [echo]}}\n");
        fixture.web(&format!("base_url: '{address}/v1'"), &more);
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        assert!(ended.err.contains(class), "{}", ended.err);
        for shown in [&ended.err, &fixture.run(&["show", "r", "--why"]).out] {
            let cause = "(context_overflow: context_length_exceeded: 8192 tokens at most)";
            assert!(shown.contains(cause), "{shown}");
            let help = "less than `context_window: 9000` of the target lets through";
            assert!(shown.contains(help), "{shown}");
            let next = "monolith continue r \"…\" --contract c.yaml";
            assert!(shown.contains(next), "{shown}");
            for other in ["No turn that offers tools", "needs a tool", "max_turns="] {
                assert!(!shown.contains(other), "{other}: {shown}");
            }
        }
    };
    check("required", "(synthesis_without_tools)");
    check("optional", "(context)");
}

#[test]
fn a_model_that_is_slower_than_the_contract_allows_names_the_limit() {
    let fixture = Fixture::new();
    fixture.script("", &["{\"fault\":\"hang\"}"]);
    let more = [
        "--set",
        "max_attempts_per_turn=1",
        "--set",
        "llm_timeout_ms=50",
    ];
    let run = ["run", "c.yaml", "--run-id", "r"];
    let ended = fixture.ends(&[&run[..], &more].concat(), 1);
    let way = "monolith continue r \"…\" --contract c.yaml --set llm_timeout_ms=100";
    assert!(ended.err.contains(way), "{}", ended.err);
    let first = "error: FAILED_BUDGET_EXHAUSTED (attempts_exhausted): ";
    assert!(ended.err.starts_with(first), "{}", ended.err);
}

/// `doctor` cannot list the models of a server that wants a key.
#[test]
fn a_model_that_a_server_with_a_key_does_not_have_is_to_be_corrected_and_the_run_goes_on() {
    let body = r#"{"error": {"code": "model_not_found", "message": "no such model"}}"#;
    let address = answering("404 X", body);
    let fixture = Fixture::new();
    let ends = |provider: &str| {
        fixture.web(&format!("base_url: '{address}/v1'{provider}"), "");
        let mut command = fixture.command(&["run", "c.yaml", "--run-id", "r"]);
        command.env("A_KEY", "canary-key-0123456789");
        let (code, shown) = Terminal::sized(command, 200).end();
        assert_eq!(code, 4, "{shown}");
        let next = "monolith continue r \"…\" --contract c.yaml";
        assert!(shown.contains(next), "{shown}");
        fixture.ok(&["delete", "r", "--yes"]);
        shown
    };
    let shown = ends(", api_key_env: A_KEY");
    let way = "the server does not know the model: correct `model` of the target";
    assert!(shown.contains(way) && !shown.contains("doctor"), "{shown}");
    assert!(ends("").contains("lists the models that the server has"));
}

#[test]
fn a_call_that_was_refused_is_among_what_failed() {
    let fixture = Fixture::new();
    let tools = "tool_policy: optional\ntools: {builtin: [echo]}\n";
    fixture.script(tools, &[&calls("ekko", "{}"), &says("Never mind.")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let why = fixture.ok(&["show", "r", "--why"]);
    let (_, failed) = why.split_once("\nWhat failed:\n").expect(&why);
    let (failed, _) = failed.split_once("\n\n").unwrap();
    assert!(failed.contains("TOOL_NOT_FOUND: ekko"), "{why}");
    // What is noted of a call that was made is no failure.
    let progress = calls("agent__progress_report", "{\"progress\":\"half\"}");
    fixture.script(
        &format!("{tools}progress_report: true\n"),
        &[&progress, &says("Done.")],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r2"], 0);
    let why = fixture.ok(&["show", "r2", "--why"]);
    assert!(why.contains("progress: "), "{why}");
    assert!(!why.contains("What failed"), "{why}");
}

/// The first thing that a person continues may be the demo, whose script knows one task.
#[test]
fn a_script_without_a_line_left_says_what_it_is_and_how_a_contract_with_a_model_is_had() {
    let fixture = Fixture::new();
    fixture.ok(&["demo"]);
    let ended = fixture.ends(&["continue", "last", "And which file says so?"], 1);
    let said = "the script of providers.demo has a line for each answer, and none is left";
    assert!(ended.err.contains(said), "{}", ended.err);
    assert!(ended.err.contains("monolith init writes"), "{}", ended.err);
    let why = fixture.ok(&["show", "last", "--why"]);
    assert!(why.contains(said), "{why}");
}

/// The reason names the tool, the command line what the tools are.
#[test]
fn a_tool_that_is_not_there_is_named_by_the_end_of_the_run() {
    let check = |more: &str, lines: &[&str], code: i32| {
        let fixture = Fixture::new();
        let contract = format!("tools: {{builtin: [echo]}}\n{more}");
        fixture.script(&contract, lines);
        let left = fixture.ends(&["run", "c.yaml", "--run-id", "r"], code);
        let reason = "TOOL_NOT_FOUND: git__push (nearest: echo)";
        assert!(left.err.contains(reason), "{}", left.err);
        let why = fixture.ok(&["show", "r", "--why"]);
        let helps = "\nWhat may help: monolith tools c.yaml lists what the model may call";
        for expect in [helps, &format!("({reason}")] {
            let expect = expect.replace("(TOOL", "(refused git__push: TOOL");
            assert!(why.contains(&expect), "{expect}: {why}");
        }
        fixture.ok(&["tools", "c.yaml"]);
    };
    let push = calls("git__push", "{}");
    let gives_up = says("I cannot push.");
    check("tool_policy: required\n", &[&push, &gives_up], 1);
    check("tool_policy: optional\n", &[&push, &push, &push], 5);
}

/// In the closing turn the text stands in for the report: the reason is what is wrong with it.
#[test]
fn text_in_the_place_of_a_json_report_is_why_the_run_failed() {
    let fixture = Fixture::new();
    let report = "final_report: {format: json, schema: {type: object}}\n";
    let terms = "tool_policy: optional\ncompletion: final_report\nmax_turns: 1\n";
    let attempts = "max_attempts_per_turn: 1\n";
    fixture.script(
        &format!("{terms}{attempts}{report}"),
        &[&says("Plain words.")],
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r", "--verbose"], 5);
    let why = fixture.ok(&["show", "r", "--why"]);
    let reason = "(no report came: the model answered without one, once)";
    let entry = "the text is not a report: not valid JSON: line 1, column 1";
    for said in [&ended.err, &why] {
        assert!(said.contains(reason), "{said}");
        assert!(said.contains(entry), "{said}");
    }
}

/// Attempts that reach no server follow each other at once, so the run ends soon: `continue` keeps what it has done.
#[test]
fn a_server_that_went_away_in_the_middle_is_waited_for_and_the_run_gone_on_with() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let call: serde_json::Value = serde_json::from_str(&calls("echo", r#"{"text": "x"}"#)).unwrap();
    let body = call["response"].to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = std::io::BufReader::new(stream);
            let request = crate::http::HttpRequest::read(&mut reader);
            let length = body.len();
            let _ = write!(
                reader.into_inner(),
                "HTTP/1.1 200 OK\r\ncontent-type: {JSON}\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            if request.head.starts_with("POST") {
                break;
            }
        }
    });
    let fixture = Fixture::new();
    let provider = format!("base_url: 'http://{address}/v1'");
    fixture.web(&provider, "tools: {builtin: [echo]}\n");
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    let why = fixture.run(&["show", "r", "--why"]).out;
    for said in [&ended.err, &why] {
        assert!(said.contains("attempts_exhausted"), "{said}");
        assert!(said.contains("start the server of providers.web"), "{said}");
        let goes_on = "It answered earlier in this run: once it answers again, \
             run monolith continue r \"…\"";
        assert!(said.contains(goes_on), "{said}");
    }
}
