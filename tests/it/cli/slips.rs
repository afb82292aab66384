//! Mistakes that a person types or writes, and the binary's messages: what is wrong, where, and the remedy.

use serde_json::{Value, json};

use crate::fixture::{Fixture, calls, says};
use crate::terminal::Terminal;

/// A contract whose tools all come from a server, behind the token gate.
const GATED: &str = "task: hi\ntool_policy: required\ngrammar_profile: gbnf/1\n\
    targets: [{provider: p, model: m, text_profile: hermes, context_window: 8192}]\n\
    providers: {p: {type: openai, base_url: 'http://127.0.0.1:1/v1'}}\n\
    tools: {mcp: {fs: {command: no-such-command-anywhere}}}\n";

#[test]
fn a_gate_over_tools_that_are_not_known_is_no_fault() {
    let fixture = Fixture::new();
    fixture.write("c.yaml", GATED);
    let out = fixture.ok(&["contract", "check", "c.yaml"]);
    assert!(!out.contains("FAILED"), "{out}");
    assert!(
        out.contains("?       the token gate is made of the tools"),
        "{out}"
    );
    let (code, report) = fixture.json(&["contract", "check", "c.yaml"]);
    let checks = report["checks"].as_array().unwrap();
    let gate = checks
        .iter()
        .find(|check| check["name"] == "profile")
        .unwrap();
    assert_eq!((code, &gate["ok"]), (0, &Value::Null), "{report}");
    // What is wrong whatever the tools are stays wrong.
    let plain = GATED.replace("text_profile: hermes, ", "");
    let plain = plain.replace("tools: {", "tools: {builtin: [echo], ");
    fixture.write("c.yaml", &plain);
    let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
    assert!(
        left.out.contains("FAILED  grammar_profile gbnf/1"),
        "{}",
        left.out
    );
}

#[test]
fn a_path_that_leads_to_no_contract_is_never_the_task_of_another() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    std::fs::rename(fixture.path("c.yaml"), fixture.path("agent.yaml")).unwrap();
    fixture.write("bad/notes.txt", "x");
    let check = |given: &str, why: &str| {
        let left = fixture.ends(&["run", given], 4);
        let said = left.err;
        assert!(said.contains(&format!("run {given}: {why}")), "{said}");
        assert!(said.contains("--task"), "{said}");
    };
    check("nosuch.yaml", "there is no such file");
    check("nosuch.yml", "there is no such file");
    check("bad/nosuch/agent.yaml", "there is no such file");
    check(
        "bad/notes.txt",
        "it is not a .yaml, .yml, .json or .ai file",
    );
    check("bad", "it is a folder");
    assert!(fixture.ok(&["list"]).is_empty() || !fixture.ok(&["list"]).contains("COMPLETED"));
    fixture.ok(&["run", "--task", "bad"]);
    fixture.ok(&["run", "Is it this and/or that?"]);
    std::fs::rename(fixture.path("agent.yaml"), fixture.path("contract.yml")).unwrap();
    fixture.ok(&["run", "contract.yml", "bye"]);
}

#[test]
fn a_change_that_the_recorded_run_says_nothing_of_is_refused() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    let check = |set: &str, why: &str| {
        let left = fixture.ends(&["replay", "r1", "--set", set], 4);
        assert!(left.err.contains(why), "{}", left.err);
    };
    check("task=foo", "answers to the recorded task");
    check("tools.workspace=sub", "of the recorded folder");
    check("providers.demo.api_key_env=K", "the recorded key");
    fixture.ok(&["replay", "r1", "--set", "max_turns=9"]);
}

#[test]
fn a_verification_below_the_required_level_ends_with_that_word() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "--contract", "c.yaml", "--run-id", "r1"]);
    let left = fixture.ends(&["verify", "r1", "--require", "L2"], 7);
    let last = left.out.lines().last().unwrap();
    assert!(
        last.starts_with("FAILED: not the required level; verified at level L1: "),
        "{last}"
    );
    let out = fixture.ok(&["verify", "r1", "--require", "L1"]);
    assert!(
        out.lines()
            .last()
            .unwrap()
            .starts_with("verified at level L1"),
        "{out}"
    );
}

#[test]
fn a_fault_of_the_surroundings_is_at_its_line_of_the_file() {
    let check = |line: &str, command: &[&str], expect: &[&str]| {
        let fixture = Fixture::new();
        fixture.script(line, &[&says("Hello.")]);
        let left = fixture.ends(command, 4);
        for part in expect {
            assert!(left.err.contains(part), "{part:?} in {}", left.err);
        }
    };
    let folder = "tools: {workspace: nosuchdir}\n";
    let expect = [
        "error: tools.workspace: ",
        "[c.yaml:4:20]",
        "workspace: nosuchdir",
        "= help: name an existing folder",
    ];
    check(folder, &["contract", "check", "c.yaml"], &expect);
    check(folder, &["run", "c.yaml"], &expect);
    let fixture = Fixture::new();
    fixture.script(folder, &[]);
    let (_, report) = fixture.json(&["contract", "check", "c.yaml"]);
    let fault = &report["errors"][0];
    assert_eq!(
        (&fault["line"], &fault["path"]),
        (&json!(4), &json!("tools.workspace")),
        "{report}"
    );
    let fixture = Fixture::new();
    let contract = GATED.replace("/v1'", "/v1', api_key_env: NO_SUCH_KEY_HERE");
    fixture.write(
        "c.yaml",
        &contract.replace(
            "tools: {mcp: {fs: {command: no-such-command-anywhere}}}",
            "tools: {builtin: [echo]}",
        ),
    );
    let left = fixture.ends(&["run", "c.yaml"], 4);
    for part in [
        "providers.p.api_key_env: ",
        "NO_SUCH_KEY_HERE is not set",
        "[c.yaml:5:",
        "= help: set the variable",
    ] {
        assert!(left.err.contains(part), "{part:?} in {}", left.err);
    }
    let left = fixture.ends(&["run", "--contract", "nosuch.yaml"], 4);
    assert!(
        left.err.contains("monolith init writes one"),
        "{}",
        left.err
    );
}

#[test]
fn every_fault_of_a_file_has_its_way_out() {
    let check = |text: &str, rule: &str, help: &str| {
        let fixture = Fixture::new();
        fixture.write("c.yaml", text);
        let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
        assert!(left.err.contains(rule), "{rule:?} in {}", left.err);
        assert!(
            left.err.contains(&format!("= help: {help}")),
            "{help:?} in {}",
            left.err
        );
    };
    check(
        &GATED.replace("8192", "8k"),
        "got `8k`",
        "write it in digits",
    );
    let hot = format!("{GATED}sampling: {{temperature: hot}}\n");
    check(&hot, "got `hot`", "write it in digits");
    check("task: \"a\nb: c\n", "the quote is not closed", "close it");
    check(&GATED.replace("tools:", "tools"), "error: ", "");
    check(
        "task: a\ntools\ntargets: []\n",
        "a key without `:` after it",
        "write `key: value`",
    );
    check("", "the file is empty", "monolith init writes");
}

#[test]
fn a_tool_that_waits_for_approval_and_is_not_offered_is_suggested() {
    let fixture = Fixture::new();
    let more = "tools: {builtin: [echo]}\nrequire_approval: [ehco]\n";
    fixture.script(more, &[&calls("echo", "{}")]);
    let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
    assert!(left.out.contains("did you mean `echo`?"), "{}", left.out);
}

#[test]
fn a_window_that_is_too_small_names_the_keys_that_the_author_can_change() {
    let fixture = Fixture::new();
    fixture.write("c.yaml", &GATED.replace("8192", "512"));
    let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
    for part in ["raise context_window", "sampling.max_output_tokens"] {
        assert!(left.out.contains(part), "{part:?} in {}", left.out);
    }
}

#[test]
fn an_option_like_a_key_of_the_contract_is_a_change_of_it() {
    let fixture = Fixture::new();
    let left = fixture.ends(&["run", "a.yaml", "--maxturns", "3"], 4);
    assert!(left.err.contains("'--set max_turns=3'"), "{}", left.err);
    assert!(!left.err.contains("-- --maxturns"), "{}", left.err);
    let left = fixture.ends(&["chekc", "a.yaml"], 4);
    assert!(
        left.err.contains("'monolith contract check'"),
        "{}",
        left.err
    );
}

/// A tool server that cannot be started says nothing: everything here is found without one.
#[test]
fn what_names_a_server_or_a_variable_that_is_not_there_is_found_before_a_server_starts() {
    let fixture = Fixture::new();
    let contract = GATED.replace("grammar_profile: gbnf/1\n", "");
    let server =
        "{command: no-such-command-anywhere, env: {T: 'a ${NO_SUCH_VARIABLE}', U: '${NOR_THIS}'}}";
    let rules =
        "require_approval:\n  - fs__write\n  - nope__x\nallowed_tools: [fs__read, gone__y]\n";
    let faulty = contract.replace("{command: no-such-command-anywhere}", server) + rules;
    fixture.write("c.yaml", &faulty);
    let check = fixture.ends(&["contract", "check", "c.yaml"], 4);
    for part in [
        "require_approval.1: `nope__x` is a tool of the server `nope`, and tools.mcp defines fs alone",
        "allowed_tools.1: `gone__y`",
        "[c.yaml:8:5]",
        "tools of a server are called SERVER__TOOL",
        "tools.mcp.fs.env.T: the environment variable NO_SUCH_VARIABLE is not set",
        "tools.mcp.fs.env.U: the environment variable NOR_THIS is not set",
        "set the variable, or remove its name from the file",
    ] {
        assert!(check.err.contains(part), "{part}: {}", check.err);
    }
    assert!(!check.err.contains(": `fs__"), "{}", check.err);
    assert!(
        check.out.contains("?       tool servers were not started"),
        "{}",
        check.out
    );
    let (code, report) = fixture.json(&["contract", "check", "c.yaml"]);
    assert_eq!((code, &report["ok"]), (4, &json!(false)), "{report}");
    let errors = report["errors"].as_array().unwrap();
    let lines: Vec<_> = errors
        .iter()
        .map(|error| error["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [9, 8, 5, 5], "{report}");
    let run = fixture.ends(&["run", "c.yaml"], 4);
    assert!(
        run.err.contains("allowed_tools.1: `gone__y`"),
        "{}",
        run.err
    );
    assert!(fixture.ok(&["list", "--json"]).contains("\"runs\":[]"));
}

#[test]
fn a_command_line_in_the_place_of_a_command_is_refused_with_its_arguments() {
    let fixture = Fixture::new();
    let check = |server: &str, code: i32| {
        fixture.write(
            "c.yaml",
            &GATED.replace("command: no-such-command-anywhere", server),
        );
        fixture.ends(&["contract", "check", "c.yaml"], code).err
    };
    let said = check("command: npx -y foo", 4);
    let help = "command: npx, args: [\"-y\",\"foo\"]";
    assert!(said.contains("c.yaml:6:") && said.contains(help), "{said}");
    check("command: ./server --port 1", 4);
    check("command: /opt/My Programs/server", 0);
    check("command: my server, args: []", 0);
}

#[test]
fn a_chat_without_a_contract_names_its_own_command() {
    let fixture = Fixture::new();
    let said = fixture.ends(&["chat"], 4).err;
    assert!(said.contains("monolith chat FILE"), "{said}");
}

/// A server that speaks no MCP: what it wrote is quoted, and its last words are.
#[cfg(unix)]
#[test]
fn a_tool_server_that_writes_something_else_is_quoted_and_the_way_to_see_more_starts_it() {
    let fixture = Fixture::new();
    fixture.write(
        "server.sh",
        "printf 'Listening on \\033[1mport 80\\n'; echo 'no token' >&2; exit 3\n",
    );
    let command = "command: sh, args: [server.sh]";
    fixture.write(
        "c.yaml",
        &GATED.replace("command: no-such-command-anywhere", command),
    );
    let checked = fixture.run(&["contract", "check", "c.yaml", "--start-servers"]);
    let quoted =
        "it wrote \"Listening on [1mport 80\" to its standard output, which is for MCP alone";
    assert!(checked.err.contains(quoted), "{}", checked.err);
    let set = ["--set", "max_turns=3"];
    let doctor = fixture.run(&[&["doctor", "--contract", "c.yaml"][..], &set].concat());
    let hint = "monolith contract check c.yaml --set max_turns=3 --start-servers says more";
    assert!(doctor.out.contains(hint), "{}", doctor.out);
    assert!(
        doctor
            .out
            .contains("its standard error ended with: no token"),
        "{}",
        doctor.out
    );

    fixture.write("server.sh", "exec sleep 60\n");
    let slow = ["--set", "total_timeout_ms=900"];
    let check = ["contract", "check", "c.yaml", "--start-servers"];
    let said = fixture.run(&[&check[..], &slow].concat()).err;
    assert!(
        said.contains("within 600 ms (total_timeout_ms allows it, at most 60000)"),
        "{said}"
    );
}

/// The author's fault, so no server is started for it and no run is recorded.
#[test]
fn a_target_without_a_known_window_is_a_fault_of_the_file_at_its_line() {
    let fixture = Fixture::new();
    let contract = GATED.replace(", context_window: 8192", "");
    let contract = contract.replace("grammar_profile: gbnf/1\n", "");
    let contract = contract.replace(", text_profile: hermes", "");
    let starts = fixture.path("started").display().to_string();
    let server = format!("{{command: sh, args: [-c, 'touch {starts}; cat']}}");
    fixture.write(
        "c.yaml",
        &contract.replace("{command: no-such-command-anywhere}", &server),
    );
    let expect = [
        "error: targets.0: the context window of the model `m` is not known",
        "[c.yaml:3:11]",
        "= help: write beside the model how many tokens it takes in",
        "context_window: 32768",
        "qwen (32768)",
    ];
    for command in [&["run", "c.yaml"][..], &["contract", "check", "c.yaml"]] {
        let left = fixture.ends(command, 4);
        for part in expect {
            assert!(left.err.contains(part), "{part:?} in {}", left.err);
        }
        // It is one fault, reported once.
        assert!(!left.out.contains("FAILED"), "{}", left.out);
        assert!(!fixture.path("started").exists(), "a server was started");
    }
    let (code, report) = fixture.json(&["contract", "check", "c.yaml"]);
    assert_eq!((code, &report["ok"]), (4, &json!(false)), "{report}");
    assert_eq!(report["errors"][0]["path"], "targets.0", "{report}");
    assert!(fixture.ok(&["list", "--json"]).contains("\"runs\":[]"));
    fixture.write("c.yaml", &contract.replace("model: m", "model: qwen2.5-7b"));
    fixture.ends(&["contract", "check", "c.yaml"], 0);
}

/// The text of a fault does not name its place.
#[test]
fn a_failed_check_names_the_line_of_what_it_is_about_and_no_other() {
    let check = |more: &str, expect: &[&str]| {
        let fixture = Fixture::new();
        let more = format!("max_turns: 3\ntools: {{builtin: [echo]}}\n{more}");
        fixture.script(&more, &[&says("Hello.")]);
        let left = fixture.ends(&["contract", "check", "c.yaml"], 4);
        let places = left
            .out
            .lines()
            .filter_map(|line| line.trim().strip_prefix("at "));
        assert_eq!(places.collect::<Vec<_>>(), expect, "{}", left.out);
        let run = fixture.ends(&["run", "c.yaml"], 4);
        for place in expect {
            assert!(run.err.contains(place), "{place} in {}", run.err);
        }
    };
    check("require_approval: ['x; max_turns 3']\n", &["c.yaml:6:19"]);
    check("grammar_profile: gbnf/1\n", &["c.yaml:6:18"]);
}

#[test]
fn a_check_warns_of_a_budget_that_the_first_request_exceeds_and_the_run_says_so() {
    let fixture = Fixture::new();
    let budget = |tokens: u8| {
        let contract = format!(
            "task: Say hello.\nmax_tokens_consumed: {tokens}\ntargets: [{{provider: demo, model: script}}]\n\
             providers: {{demo: {{type: scripted, file: s.jsonl}}}}\n"
        );
        fixture.write("c.yaml", &contract);
    };
    fixture.write("s.jsonl", &says("Hello."));
    budget(2);
    let check = ["contract", "check", "c.yaml"];
    let expect = "max_tokens_consumed is 2, and the first request needs more before its answer: no model would be asked";
    let left = fixture.ends(&check, 0);
    assert!(left.err.contains(expect), "{}", left.err);
    let (_, report) = fixture.json(&check);
    assert_eq!(report["warnings"], json!([expect]));
    let (_, shown) = Terminal::start(fixture.command(&["run", "c.yaml"])).end();
    let line = "PRECHECK → TERMINATE   the next request would exceed a budget";
    assert!(shown.contains(line), "{shown}");
    budget(3);
    let (_, report) = fixture.json(&check);
    assert_eq!(report["warnings"], json!([]));
}

#[test]
fn a_call_that_a_limit_keeps_from_starting_is_not_nothing() {
    let fixture = Fixture::new();
    let echo = calls("echo", "{\"text\": \"x\"}");
    let more = "tools: {builtin: [echo]}\nmax_calls: {run: 1}\n";
    fixture.script(more, &[&echo, &echo]);
    let (_, shown) = Terminal::start(fixture.command(&["run", "c.yaml"])).end();
    assert!(
        shown.contains("VALIDATE_CALLS → COMMIT   no call is started"),
        "{shown}"
    );
    assert!(!shown.contains("nothing to execute"), "{shown}");
}

#[test]
fn a_page_is_not_printed_on_a_terminal() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let page = ["export", "r1", "--format", "html"];
    let (code, shown) = Terminal::start(fixture.command(&page)).end();
    assert_eq!(code, 4, "{shown}");
    assert!(shown.contains("-o run.html"), "{shown}");
    assert!(fixture.ok(&page).contains("<html"));
}

#[test]
fn a_message_without_a_run_says_which_run_could_be_meant() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("Hello.")]);
    fixture.ok(&["run", "c.yaml", "--run-id", "r1"]);
    let left = fixture.ends(&["continue", "And then?"], 4);
    for said in [
        "is not a run",
        "monolith continue last 'And then?'",
        "the newest run is r1",
    ] {
        assert!(left.err.contains(said), "{}", left.err);
    }
    let left = fixture.ends(&["continue", "nosuch", "And then?"], 4);
    assert!(!left.err.contains("comes first"), "{}", left.err);
}

#[test]
fn an_address_in_the_place_of_the_file_names_its_option() {
    let fixture = Fixture::new();
    let left = fixture.ends(&["init", "http://127.0.0.1:1/v1"], 4);
    let option = "--base-url http://127.0.0.1:1/v1";
    assert!(left.err.contains(option), "{}", left.err);
}

#[test]
fn an_option_that_is_unknown_is_never_offered_as_a_text() {
    let fixture = Fixture::new();
    for (args, tip) in [
        (&["export", "last", "--html"][..], "'--format html'"),
        (&["run", "--tool-polcy", "x"], "'--set tool_policy=x'"),
        (&["show", "last", "--frobnicate"], ""),
    ] {
        let left = fixture.ends(args, 4);
        assert!(left.err.contains(tip), "{args:?}: {}", left.err);
        assert!(!left.err.contains("use '-- "), "{args:?}: {}", left.err);
    }
}

#[test]
fn short_help_has_the_options_of_a_run_and_the_terms_of_evidence() {
    let fixture = Fixture::new();
    let check = |command: &str, words: &[&str]| {
        let page = fixture.ok(&[command, "-h"]);
        for word in words {
            assert!(page.contains(word), "{command}: {word}: {page}");
        }
    };
    check(
        "run",
        &[
            "--run-id",
            "--max-runs",
            "--max-inferences",
            "--grace",
            "--contract <FILE>",
            "--from <LINE|FILE>",
        ],
    );
    let page = fixture.ok(&["run", "-h"]);
    assert!(page.lines().count() <= 24, "it fits a screen: {page}");
    check("export", &["atif", "trajectory", "cast", "held back"]);
    check("verify", &["The head is", "A witness is", "L2:"]);
}

#[test]
fn tools_of_servers_that_were_not_started_are_not_counted_as_none() {
    let fixture = Fixture::new();
    fixture.write("c.yaml", GATED);
    let out = fixture.ok(&["contract", "check", "c.yaml"]);
    assert!(!out.contains("0 tools"), "{out}");
    assert!(out.contains("not started (fs)"), "{out}");
}

#[test]
fn doctor_names_on_a_terminal_what_it_waits_for() {
    let fixture = Fixture::new();
    fixture.write("c.yaml", GATED);
    let command = fixture.command(&["doctor", "--contract", "c.yaml"]);
    let (_, shown) = Terminal::start(command).end();
    let at = |text: &str| shown.find(text).expect(&shown);
    assert!(at("looking for model servers") < at("starting tool servers: fs"));
    assert!(at("starting tool servers: fs") < at("asking the servers of its models"));
    assert!(
        !fixture
            .run(&["doctor", "--contract", "c.yaml"])
            .err
            .contains("starting")
    );
}

#[test]
fn an_entry_stands_once_in_the_reasons() {
    let fixture = Fixture::new();
    let hang = "{\"fault\":\"refused\"}";
    fixture.script("max_attempts_per_turn: 1\n", &[hang]);
    fixture.ends(&["run", "c.yaml", "--run-id", "r1"], 1);
    let why = fixture.ok(&["show", "r1", "--why"]);
    let failed = why.lines().filter(|line| line.contains("INFER → COMMIT"));
    assert_eq!(failed.count(), 1, "{why}");
}

#[test]
fn on_a_narrow_terminal_what_commands_are_for_stays_in_its_column() {
    let fixture = Fixture::new();
    let (code, shown) = Terminal::sized(fixture.command(&["-h"]), 60).end();
    assert_eq!(code, 0, "{shown}");
    let (_, commands) = shown.split_once("monolith --help):").unwrap();
    let (commands, _) = commands.split_once("Options:").unwrap();
    let rows = commands.lines().filter(|line| !line.trim().is_empty());
    let (begun, gone_on): (Vec<&str>, Vec<&str>) = rows.partition(|row| !row.starts_with("   "));
    assert_eq!(begun.len(), 12, "{shown}");
    assert!(gone_on.len() > 3, "{shown}");
    let column = " ".repeat(15);
    for row in gone_on {
        assert_eq!(row.find(|c| c != ' '), Some(column.len()), "{row:?}");
    }
    assert!(
        commands.lines().all(|line| line.trim_end().len() <= 60),
        "{shown}"
    );
}

#[test]
fn a_run_in_the_place_of_a_contract_is_named_with_its_option() {
    let fixture = Fixture::new();
    fixture.script("", &[&says("One.")]);
    fixture.ends(&["run", "c.yaml", "--run-id", "nightly"], 0);
    let left = fixture.ends(&["chat", "nightly"], 4);
    assert!(
        left.err.contains("monolith chat --run nightly"),
        "{}",
        left.err
    );
    // A file of that name is a file.
    fixture.write("nightly", &fixture.read("c.yaml"));
    fixture.ends(&["chat", "nightly"], 0);
}

#[test]
fn the_doctor_states_first_what_the_contract_needs_and_its_commands_can_be_copied() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    fixture.script("", &[&says("One.")]);
    fixture.ok(&["run", "c.yaml"]);
    let key = fixture.path("home/keys/local.key");
    assert!(key.exists());
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let command = fixture.command(&["doctor", "--contract", "c.yaml"]);
    let (code, shown) = Terminal::sized(command, 80).end();
    assert_eq!(code, 1, "{shown}");
    let at = |text: &str| {
        shown
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {shown}"))
    };
    let passes = at("it passes monolith contract check");
    assert!(at("c.yaml needs:") < passes && passes < at("this machine:"));
    assert!(passes < at("state folder"), "{shown}");
    // A command is never broken over lines, however long it is.
    at(&format!("chmod 600 {}", key.display()));
    at(&format!("chmod go-rwx {}", key.display()));
    let (_, document) = fixture.json(&["doctor", "--contract", "c.yaml"]);
    assert!(!document.to_string().contains("\\u001f"), "{document}");
}
