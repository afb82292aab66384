//! Names in the errors of a failed run and a refused command: the call, the variable, the report that never came, the command
//! that works.

use serde_json::{Value, json};

use crate::fixture::{Fixture, calls, says};
use crate::http::serving;

/// A line of a script: the model asks for these calls in one message.
fn several(asked: &[(&str, Value)]) -> String {
    let calls = asked.iter().zip(1..).map(|((name, arguments), n)| {
        json!({"id": format!("c{n}"), "type": "function",
            "function": {"name": name, "arguments": arguments.to_string()}})
    });
    let message =
        json!({"role": "assistant", "content": null, "tool_calls": calls.collect::<Vec<_>>()});
    let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
    json!({"response": {"choices": [choice]}}).to_string()
}

const TOOLS: &str = "tools: {workspace: ., builtin: [echo, list_directory, read_file]}\n";

/// A failed run of `c.yaml` with these terms and answers: what the error says, and what `--why` does.
fn failed(more: &str, lines: &[&str]) -> (Fixture, [String; 2]) {
    let fixture = Fixture::new();
    fixture.script(more, lines);
    let ended = fixture.run(&["run", "c.yaml", "--run-id", "r"]);
    assert_ne!(ended.code, 0, "{}", ended.printed());
    let why = fixture.run(&["show", "r", "--why"]).out;
    (fixture, [ended.err, why])
}

#[test]
fn every_call_of_a_message_shows_its_arguments_when_it_starts() {
    let fixture = Fixture::new();
    let both = several(&[
        ("echo", json!({"text": "one"})),
        ("echo", json!({"text": "two"})),
    ]);
    fixture.script(TOOLS, &[&both, &says("done")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    let shown = fixture.ok(&["show", "r"]);
    for arguments in ["{\"text\":\"one\"}", "{\"text\":\"two\"}"] {
        let is_shown = shown
            .lines()
            .any(|row| row.contains("EXECUTE") && row.contains(arguments));
        assert!(is_shown, "{arguments}: {shown}");
    }
}

#[test]
fn a_call_that_breaks_the_contract_is_named_with_the_key_that_it_breaks() {
    let check = |more: &str, lines: &[&str], expect: &str| {
        let (_, said) = failed(&format!("{TOOLS}{more}"), lines);
        for said in said {
            assert!(said.contains(expect), "{expect}: {said}");
        }
    };
    let three = several(&[
        ("read_file", json!({"path": "c.yaml"})),
        ("list_directory", json!({"path": "."})),
        ("echo", json!({"text": "x"})),
    ]);
    check(
        "allowed_tools: [read_file]\n",
        &[&three],
        "(list_directory is not in allowed_tools; echo is not in allowed_tools)",
    );
    check(
        "cycle_forbid: [[read_file, list_directory]]\n",
        &[&three],
        "(list_directory after read_file, which cycle_forbid has)",
    );
    check(
        "tool_policy: forbidden\n",
        &[&calls("echo", "{\"text\":\"x\"}")],
        "(echo, and tool_policy is forbidden)",
    );
    let again = calls("echo", "{\"text\":\"x\"}");
    check(
        "max_identical_calls: 1\n",
        &[&again, &again],
        "(echo {\"text\":\"x\"}: asked for twice, max_identical_calls: 1)",
    );
}

#[test]
fn a_refused_report_stands_under_what_failed_with_its_field() {
    let report = calls(
        "agent__final_report",
        "{\"report_format\":\"json\",\"content_json\":{\"dai\":\"T\"}}",
    );
    let schema = "final_report: {format: json, schema: {type: object, required: [day], properties: {day: {type: string}}}}\n";
    let (_, [_, why]) = failed(
        &format!("completion: final_report\nmax_turns: 3\n{schema}"),
        &[report.as_str(); 40],
    );
    let (_, rest) = why.split_once("\nWhat failed").expect(&why);
    assert!(rest.contains("the final report is refused: "), "{why}");
    assert!(rest.contains("day"), "{why}");
    assert!(!why.contains("nothing to execute"), "{why}");
}

#[test]
fn a_report_that_never_came_is_said_with_what_came_instead() {
    let lines: Vec<String> = (0..30).map(|_| says("bye")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let schema = "final_report: {format: json, schema: {type: object, required: [day]}}\n";
    let terms = format!("completion: final_report\nmax_turns: 2\n{schema}");
    let (fixture, said) = failed(&terms, &lines);
    for said in said {
        assert!(
            said.contains("(no report came: the model answered without one, "),
            "{said}"
        );
        assert!(said.contains("completion: message"), "{said}");
        assert!(!said.contains("a simpler form"), "{said}");
        assert!(!said.contains(": : "), "{said}");
    }
    let full = fixture.run(&["show", "r", "--full"]).out;
    assert!(
        full.contains("model (discarded: the attempt failed)\n  bye\n"),
        "{full}"
    );
}

#[test]
fn a_model_that_answers_with_nothing_is_said_to_and_more_turns_are_not_the_advice() {
    let lines: Vec<String> = (0..40).map(|_| says("")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    for policy in ["optional", "required"] {
        let (_, said) = failed(&format!("{TOOLS}tool_policy: {policy}\n"), &lines);
        for said in said {
            assert!(said.contains("answers were empty"), "{policy}: {said}");
            assert!(
                said.contains("More turns change nothing"),
                "{policy}: {said}"
            );
            assert!(!said.contains("answered without one"), "{policy}: {said}");
            assert!(!said.contains("max_turns="), "{policy}: {said}");
        }
    }
}

#[test]
fn a_header_whose_variable_is_not_set_is_refused_with_the_name_of_the_variable() {
    let fixture = Fixture::new();
    fixture.script(
        "tools: {mcp: {web: {url: \"http://127.0.0.1:9/mcp\", headers: {Authorization: \"Bearer ${NO_SUCH_TOKEN}\"}}}}\n",
        &[&says("x")],
    );
    let run = fixture.ends(&["run", "c.yaml"], 4).err;
    let doctor = fixture.run(&["doctor", "--contract", "c.yaml"]).printed();
    for said in [run, doctor] {
        assert!(
            said.contains(
                "headers.Authorization: the environment variable NO_SUCH_TOKEN is not set"
            ),
            "{said}"
        );
    }
}

#[test]
fn the_contract_of_the_folder_is_trusted_without_its_name() {
    let fixture = Fixture::new();
    let left = fixture.ends(&["trust"], 4);
    assert!(left.err.contains("monolith trust FILE"), "{}", left.err);
    fixture.script("tools: {builtin: [shell]}\n", &[&says("x")]);
    std::fs::rename(fixture.path("c.yaml"), fixture.path("agent.yaml")).unwrap();
    let left = fixture.ends(&["tools"], 4);
    assert!(
        left.err.contains("failed to use the contract agent.yaml"),
        "{}",
        left.err
    );
    assert!(
        fixture
            .ok(&["trust"])
            .contains("trusted as it is now: agent.yaml")
    );
    fixture.ok(&["tools"]);
    assert!(fixture.ok(&["trust", "--list"]).contains("as trusted"));
    fixture.ok(&["trust", "--remove"]);
}

#[test]
fn prune_takes_the_outcomes_that_list_takes_and_no_other() {
    let (fixture, _) = failed(
        "tool_policy: required\ntools: {builtin: [echo]}\n",
        &[&says("no")],
    );
    let prune = |outcome| {
        [
            "prune",
            "--older-than",
            "2999-01-01",
            "--outcome",
            outcome,
            "--dry-run",
        ]
    };
    let left = fixture.ends(&prune("nonsense"), 4);
    assert!(left.err.contains("no run ends so"), "{}", left.err);
    for outcome in ["failed", "protocol", "no_call_response"] {
        let out = fixture.ok(&prune(outcome));
        assert!(out.contains("1 run would be deleted"), "{outcome}: {out}");
    }
    let out = fixture.ok(&prune("completed"));
    assert!(out.contains("0 runs would be deleted"), "{out}");
    let left = fixture.ends(&["list", "--outcome", "suspended"], 4);
    assert!(left.err.contains("monolith list --open"), "{}", left.err);
}

#[test]
fn a_tool_server_that_starts_and_ends_is_not_to_be_installed() {
    let server = |more: &str| format!("tools: {{mcp: {{near: {more}}}}}\n");
    let crash = server("{command: sh, args: [-c, \"echo cannot open it >&2; exit 3\"]}");
    let (_, said) = failed(&crash, &[&says("x")]);
    for said in said {
        assert!(
            said.contains("`command` of tools.mcp.near starts and ends"),
            "{said}"
        );
        assert!(!said.contains("install what"), "{said}");
    }
    let silent = server("{command: sleep, args: [\"100\"]}");
    let (_, said) = failed(&format!("total_timeout_ms: 1500\n{silent}"), &[&says("x")]);
    for said in said {
        assert!(
            said.contains("starts and does not answer as a tool server"),
            "{said}"
        );
    }
    // One that closes the connection has its address and the cause.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let (_, said) = failed(&server(&format!("{{url: \"{address}\"}}")), &[&says("x")]);
    for said in said {
        assert!(said.contains(&format!("{address}: ")), "{said}");
        assert!(said.contains("closed the connection"), "{said}");
        assert!(
            said.contains("start the server of tools.mcp.near, or correct its `url`"),
            "{said}"
        );
    }
}

#[test]
fn init_says_what_a_server_that_lists_no_models_answered() {
    let fixture = Fixture::new();
    let at = |status: &'static str, body: &'static str| {
        let port = serving(move |_| {
            let head = format!("{status}\r\ncontent-type: application/json");
            (head, body.to_owned())
        });
        format!("http://127.0.0.1:{port}")
    };
    let loading = at("503 X", "{\"error\": {\"message\": \"Loading model\"}}");
    let left = fixture.ends(&["init", "--base-url", &loading], 3);
    assert!(
        left.err.contains("answers HTTP 503 (Loading model)"),
        "{}",
        left.err
    );
    let typed = [
        "init",
        "--llama-server",
        &loading,
        "--ollama",
        "none",
        "--lm-studio",
        "none",
    ];
    let left = fixture.ends(&typed, 3);
    assert!(
        left.err.contains("answers HTTP 503 (Loading model)"),
        "{}",
        left.err
    );
    let broken = at("500 X", "{}");
    let left = fixture.ends(&["init", "--base-url", &broken], 3);
    assert!(left.err.contains("answers HTTP 500"), "{}", left.err);
    let keyed = at("401 X", "{}");
    let left = fixture.ends(&["init", "--base-url", &keyed, "--key-env", "SOME_KEY"], 3);
    assert!(
        left.err.contains("wants the key for its list (HTTP 401)"),
        "{}",
        left.err
    );
}

#[test]
fn init_takes_the_window_that_a_server_states_and_says_how_many_models_it_does_not_show() {
    let fixture = Fixture::new();
    let list = |models: Vec<Value>| {
        let body = json!({"data": models}).to_string();
        let port = serving(move |asked| {
            let is_list = asked.head.starts_with("GET /v1/models");
            let status = if is_list { "200 OK" } else { "404 X" };
            let head = format!("{status}\r\ncontent-type: application/json");
            (
                head,
                if is_list {
                    body.clone()
                } else {
                    "{}".to_owned()
                },
            )
        });
        format!("http://127.0.0.1:{port}/v1")
    };
    let one = list(vec![json!({"id": "m", "max_model_len": 16_384})]);
    fixture.ok(&["init", "--base-url", &one]);
    let text = fixture.read("agent.yaml");
    assert!(text.contains("context_window: 16384"), "{text}");
    assert!(!text.contains("a guess"), "{text}");
    let many = list((1..=60).map(|n| json!({"id": format!("m{n}")})).collect());
    let left = fixture.run(&["init", "--force", "--base-url", &many]);
    assert!(
        left.err.contains("and 40 more, by name"),
        "{}",
        left.printed()
    );
}

/// The difference is in a key that follows from the model's name: the line that was changed is shown.
#[test]
fn a_corrected_model_is_shown_at_its_own_line() {
    let fixture = Fixture::new();
    let said: Value = serde_json::from_str(&says("x")).unwrap();
    let body = said["response"].to_string();
    let port = serving(move |_| {
        let head = "200 OK\r\ncontent-type: application/json".to_owned();
        (head, body.clone())
    });
    let contract = |model: &str| {
        format!(
            "task: hi\ntargets: [{{provider: web, model: {model}, context_window: 9000}}]\n\
             providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}}}\n"
        )
    };
    fixture.write("c.yaml", &contract("m"));
    fixture.ok(&["run", "c.yaml", "--run-id", "r"]);
    fixture.write("c.yaml", &contract("qwen3-8b"));
    let left = fixture.ends(&["continue", "r", "Again."], 4);
    assert!(left.err.contains("/model_profile_id is "), "{}", left.err);
    assert!(left.err.contains("c.yaml:2:34"), "{}", left.err);
    assert!(
        !left.err.contains("--set that is not recorded"),
        "{}",
        left.err
    );
}

/// Its call stays executed, so the run may succeed: that the model did not see the result is said wherever the end is.
#[test]
fn a_result_that_did_not_fit_the_context_is_named_although_the_run_succeeded() {
    let fixture = Fixture::new();
    fixture.write("long.txt", &"word ".repeat(2_400));
    let read = calls("read_file", "{\"path\":\"long.txt\"}");
    fixture.script(TOOLS, &[&read, &says("I could not read it.")]);
    let contract = fixture.read("c.yaml");
    let narrow = contract.replace("model: script}", "model: script, context_window: 3000}");
    assert_ne!(narrow, contract);
    let small = "sampling: {max_output_tokens: 200}\n";
    fixture.write("c.yaml", &format!("{narrow}{small}"));
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 0);
    let shown = fixture.ok(&["show", "r"]);
    let why = fixture.ok(&["show", "r", "--why"]);
    for said in [&ended.err, &shown, &why] {
        assert!(said.contains("COMPLETED_WITH_TOOLS (synthesis)"), "{said}");
        assert!(
            said.contains(
                "result of call 1 (read_file) did not fit the context, and the model did not see it"
            ),
            "{said}"
        );
        for helps in ["context_window", "tool_output_budget.max_bytes_per_call"] {
            assert!(said.contains(helps), "{helps}: {said}");
        }
    }
}

/// The error of a run with a target for each of these servers, which gives every request that answer, and the
/// advice of `--why`. Each head is a status with further lines.
fn refused_by(answers: &[(&'static str, &'static str)], more: &str) -> [String; 2] {
    let (targets, providers): (Vec<String>, Vec<String>) = answers
        .iter()
        .zip(1..)
        .map(|(&(head, body), n)| {
            let head = format!("{head}\r\ncontent-type: application/json");
            let port = serving(move |_| (head.clone(), body.to_owned()));
            (
                format!("{{provider: p{n}, model: m{n}, context_window: 9000}}"),
                format!("p{n}: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}"),
            )
        })
        .unzip();
    let fixture = Fixture::new();
    let (targets, providers) = (targets.join(", "), providers.join(", "));
    fixture.write(
        "c.yaml",
        &format!("task: hi\ntargets: [{targets}]\nproviders: {{{providers}}}\n{more}"),
    );
    let ended = fixture.run(&["run", "c.yaml", "--run-id", "r"]);
    assert_ne!(ended.code, 0, "{}", ended.printed());
    [ended.err, fixture.run(&["show", "r", "--why"]).out]
}

#[test]
fn a_wait_beyond_a_limit_is_advised_a_limit_that_holds_it() {
    let slow = (
        "429 X\r\nretry-after: 360",
        r#"{"error": {"message": "slow down"}}"#,
    );
    let limited = "total_timeout_ms: 8000\nstep_timeout_ms: 900000\n";
    for said in refused_by(&[slow], limited) {
        let (_, advised) = said.split_once("total_timeout_ms=").expect(&said);
        let digits = advised.split(|c: char| !c.is_ascii_digit());
        let advised: u64 = digits.take(1).collect::<String>().parse().unwrap();
        assert!((368_000..=380_000).contains(&advised), "{said}");
    }
}

#[test]
fn a_used_up_quota_is_not_advised_a_second_target() {
    let used_up = ("402 X", r#"{"error": {"message": "no credits"}}"#);
    for said in refused_by(&[used_up, used_up], "") {
        assert!(said.contains("no other target is asked"), "{said}");
        assert!(!said.contains("second target"), "{said}");
    }
}

#[test]
fn a_refused_parameter_that_nobody_stated_is_not_to_be_removed() {
    let refusal = (
        "400 X",
        r#"{"error": {"message": "Unsupported parameter: 'stream_options'", "param": "stream_options"}}"#,
    );
    for said in refused_by(&[refusal], "sampling: {stream: true}\n") {
        assert!(
            said.contains("does not take `stream_options`, which you did not state"),
            "{said}"
        );
        assert!(!said.contains("remove it"), "{said}");
    }
    let refusal = (
        "400 X",
        r#"{"error": {"message": "Unsupported parameter: 'temperature'", "param": "temperature"}}"#,
    );
    for said in refused_by(&[refusal], "sampling: {temperature: 0.3}\n") {
        assert!(
            said.contains("does not take `temperature` as stated: remove it"),
            "{said}"
        );
    }
}

#[test]
fn another_protocol_at_the_address_is_no_wrong_model() {
    for said in refused_by(&[("101 X\r\nupgrade: x", "")], "") {
        assert!(
            said.contains("correct `base_url` of providers.p1"),
            "{said}"
        );
        assert!(!said.contains("correct `model`"), "{said}");
    }
}

#[test]
fn a_context_that_no_target_holds_names_the_fault_of_each() {
    let too_long = (
        "400 X",
        r#"{"error": {"code": "context_length_exceeded", "message": "8192 tokens at most"}}"#,
    );
    let broken = (
        "400 X",
        r#"{"error": {"message": "the field y is unknown"}}"#,
    );
    for said in refused_by(&[too_long, broken], "") {
        assert!(said.contains("p1/m1: context_overflow:"), "{said}");
        assert!(
            said.contains("p2/m2: model: the field y is unknown"),
            "{said}"
        );
    }
}

#[test]
fn a_request_that_is_refused_after_a_success_is_no_failure_of_the_server() {
    let asked = std::sync::atomic::AtomicU32::new(0);
    let line: Value = serde_json::from_str(&calls("echo", "{\"text\":\"x\"}")).unwrap();
    let call = line["response"].to_string();
    let port = serving(move |request| {
        let is_first = request.head.starts_with("POST")
            && asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        let (status, body) = if is_first {
            ("200 OK", call.clone())
        } else {
            ("400 X", r#"{"error": {"message": "no"}}"#.to_owned())
        };
        (format!("{status}\r\ncontent-type: application/json"), body)
    });
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntargets: [{{provider: p, model: m, context_window: 9000}}]\n{TOOLS}\
             providers: {{p: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1'}}}}\n"
        ),
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    for said in [ended.err, fixture.run(&["show", "r", "--why"]).out] {
        assert!(said.contains("the provider refused the request"), "{said}");
        assert!(!said.contains("failed at every attempt"), "{said}");
    }
}
