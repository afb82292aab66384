//! Advice for a failed run: it fits what the run did, and the commands that it names work.

use std::path::Path;
use std::process::Command;

use crate::fixture::{Fixture, Left, calls, says};
use crate::http::serving;
use crate::terminal::Terminal;

const REQUIRED: &str = "tool_policy: required\ntools: {builtin: [echo]}\n";
/// Advice for a model that made no call.
const NO_CALL: &str = "ask for something that needs a tool";

impl Fixture {
    /// Returns the output in a pipe and of `--why` about the failed run `r`.
    fn advice(&self, error: &Left) -> [String; 2] {
        let why = self.run(&["show", "r", "--why"]).out;
        [error.err.clone(), why]
    }
}

#[test]
fn a_call_that_did_not_come_back_names_its_tool_server() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped 1 case: python3 is not here");
        return;
    }
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/mcp_server.py");
    for tool in ["die_midway", "die"] {
        let fixture = Fixture::new();
        fixture.script(
            &format!(
                "tool_policy: required\ntools: {{workspace: ., mcp: {{odd: {{command: python3, args: [{}]}}}}}}\n",
                server.display()
            ),
            &[&calls(&format!("odd__{tool}"), "{}"), &says("I tried.")],
        );
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        for said in fixture.advice(&ended) {
            assert!(said.contains("connection lost"), "{said}");
            let starts = "monolith doctor --contract c.yaml starts it";
            assert!(said.contains(starts), "{said}");
            assert!(
                said.contains("its last output may name the fault"),
                "{said}"
            );
            assert!(said.contains("monolith continue r \"…\""), "{said}");
            assert!(!said.contains(NO_CALL), "{said}");
        }
    }
}

#[test]
fn refused_arguments_name_what_the_tool_takes() {
    let fixture = Fixture::new();
    fixture.script(
        REQUIRED,
        &[&calls("echo", "{\"file\":\"x\"}"), &says("I tried.")],
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    for said in fixture.advice(&ended) {
        assert!(
            said.contains("monolith tools c.yaml --schemas shows what each tool takes")
                && said.contains("monolith continue r \"…\" asks again")
                && !said.contains("allows more tries"),
            "{said}"
        );
        assert!(!said.contains(NO_CALL), "{said}");
    }
}

/// An agent takes arguments as a tool does.
#[test]
fn refused_arguments_of_an_agent_name_what_it_takes() {
    let fixture = Fixture::new();
    fixture.script("tool_policy: optional\n", &[&says("Never.")]);
    std::fs::rename(fixture.path("c.yaml"), fixture.path("child.yaml")).unwrap();
    fixture.script(
        "tool_policy: required\nagents: [child.yaml]\n",
        &[
            &calls("agent__child", "{\"task\":\"x\"}"),
            &says("I tried."),
        ],
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    for shown in fixture.advice(&ended) {
        assert!(shown.contains("invalid_parameters: "), "{shown}");
        let help = "monolith tools c.yaml --schemas shows what each tool takes";
        assert!(shown.contains(help) && !shown.contains(NO_CALL), "{shown}");
    }
}

#[test]
fn a_call_that_a_person_refused_is_not_called_missing() {
    let fixture = Fixture::new();
    fixture.script(
        &format!("{REQUIRED}require_approval: [echo]\n"),
        &[
            &calls("echo", "{\"text\":\"x\"}"),
            &says("I may not."),
            &calls("echo", "{\"text\":\"y\"}"),
            &says("Done."),
        ],
    );
    fixture.ends(&["run", "c.yaml", "--run-id", "r", "--no-wait"], 8);
    // There is nothing to continue as long as it has not ended.
    let left = fixture.ends(&["continue", "r", "And?"], 4);
    assert!(
        left.err.contains("monolith resume r brings it to its end"),
        "{}",
        left.err
    );
    let deny = ["deny", "r", "--reason", "not on a Friday"];
    let shown = fixture.ends(&deny, 4).err;
    let (_, hash) = shown.split_once("--arguments ").expect(&shown);
    let hash: String = hash.chars().take_while(char::is_ascii_hexdigit).collect();
    fixture.ok(&[&deny[..], &["--yes", "--arguments", &hash]].concat());
    let ended = fixture.ends(&["resume", "r"], 1);
    for said in fixture.advice(&ended) {
        assert!(
            said.contains("allow it when it is asked for again: monolith continue r \"…\""),
            "{said}"
        );
        assert!(!said.contains(NO_CALL), "{said}");
    }
}

/// Neither another model nor another task would make the call that the contract denies.
#[test]
fn a_call_that_a_rule_denies_names_the_rules() {
    let fixture = Fixture::new();
    fixture.script(
        &format!("{REQUIRED}approval: [{{tool: echo, action: deny}}]\n"),
        &[&calls("echo", "{\"text\":\"x\"}"), &says("I may not.")],
    );
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
    for shown in fixture.advice(&ended) {
        let help = "a rule in `approval` denies that call: ask for what the rules allow, or change the rule, then monolith continue r";
        assert!(shown.contains("approval.0 of the contract"), "{shown}");
        assert!(shown.contains(help) && !shown.contains(NO_CALL), "{shown}");
    }
}

#[test]
fn an_answer_that_is_cut_names_the_limit_and_a_higher_one() {
    let cut = |answer: String| {
        answer
            .replace("\"tool_calls\"}]", "\"length\"}]")
            .replace("\"stop\"", "\"length\"")
    };
    let check = |line: String, code: i32| {
        let fixture = Fixture::new();
        let line = cut(line);
        assert!(line.contains("length"), "{line}");
        let lines = [line.as_str(); 12];
        fixture.script(
            "tool_policy: optional\ntools: {builtin: [echo]}\nmax_turns: 2\nsampling: {max_output_tokens: 512}\n",
            &lines,
        );
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], code);
        for shown in fixture.advice(&ended) {
            assert!(shown.contains("was cut at `max_output_tokens`"), "{shown}");
            let set = "--contract c.yaml --set targets.0.sampling.max_output_tokens=1024";
            assert!(shown.contains(set), "{shown}");
            assert!(
                !shown.contains("strict_mode") && !shown.contains("max_turns="),
                "{shown}"
            );
        }
        // What is printed is taken.
        fixture.script(
            "tool_policy: optional\ntools: {builtin: [echo]}\nsampling: {max_output_tokens: 512}\n",
            &[&says("Done.")],
        );
        let set = "targets.0.sampling.max_output_tokens=1024";
        let ended = fixture.ends(&["run", "c.yaml", "--set", set, "--run-id", "more"], 0);
        assert!(ended.out.contains("Done."), "{}", ended.printed());
        let contract = fixture.ok(&["export", "more"]);
        let header: serde_json::Value =
            serde_json::from_str(contract.lines().next().unwrap()).unwrap();
        let contract = match header["contract"].as_str() {
            Some(text) => serde_json::from_str(text).unwrap(),
            None => header["contract"].clone(),
        };
        assert_eq!(
            contract["targets"][0]["sampling"]["max_output_tokens"],
            1024
        );
    };
    check(calls("echo", "{\"te"), 1);
    check(says("The first of many words"), 1);
}

/// The advice names the limit that the request stated, and the raised value has room in the context window.
#[test]
fn an_answer_that_is_cut_names_what_can_be_raised() {
    let line = says("The first of many words").replace("\"stop\"", "\"length\"");
    let fixture = Fixture::new();
    let advice = |limit: &str, expect: &str| {
        let contract = format!(
            "task: hi\ntargets: [{{provider: demo, model: script, context_window: 32768}}]\n\
             providers: {{demo: {{type: scripted, file: s.jsonl}}}}\nmax_turns: 2\n\
             sampling: {{max_output_tokens: {limit}}}\n"
        );
        fixture.write("c.yaml", &contract);
        fixture.write("s.jsonl", &[line.as_str(); 12].join("\n"));
        fixture.run(&["delete", "r", "--yes"]);
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        for shown in fixture.advice(&ended) {
            assert!(shown.contains(expect), "{limit}: {shown}");
            assert_eq!(
                shown.contains("max_output_tokens="),
                expect.contains("max_output_tokens="),
                "{shown}"
            );
        }
        fixture.advice(&ended)[0].clone()
    };
    let own = advice("off", "the server cut the answer at a server-side limit");
    let cut = "the server cut the last answer at a server-side limit";
    assert!(
        own.contains(cut) && !own.contains("at max_output_tokens"),
        "{own}"
    );
    advice("31500", "as high as `context_window: 32768` lets it be");
    // Twice as much would not fit, and what is printed does.
    let key = "targets.0.sampling.max_output_tokens=";
    let shown = advice("20000", key);
    let (_, value) = shown.split_once(key).unwrap();
    let value: String = value.chars().take_while(char::is_ascii_digit).collect();
    let more: u64 = value.parse().unwrap();
    assert!(more > 20_000 && more < 32_768, "{shown}");
    fixture.write("s.jsonl", &[says("Done.").as_str(); 12].join("\n"));
    let set = format!("{key}{value}");
    fixture.ends(
        &[
            "continue",
            "r",
            "On.",
            "--contract",
            "c.yaml",
            "--set",
            &set,
        ],
        0,
    );
}

/// A file whose name is that of a placeholder is named as it is.
#[test]
fn a_command_that_is_printed_names_the_file_of_the_run() {
    let fixture = Fixture::new();
    fixture.script(
        "tool_policy: optional\ntools: {builtin: [echo]}\nmax_inferences: 1\n",
        &[calls("echo", "{\"text\":\"x\"}").as_str(); 2],
    );
    std::fs::rename(fixture.path("c.yaml"), fixture.path("RUN-BOOK.yaml")).unwrap();
    let ended = fixture.ends(&["run", "RUN-BOOK.yaml", "--run-id", "r"], 1);
    for shown in fixture.advice(&ended) {
        let command = "continue r \"…\" --contract RUN-BOOK.yaml --set max_inferences=2";
        assert!(shown.contains(command), "{shown}");
    }
}

/// The number that is printed is one with which the run gets on.
#[test]
fn a_higher_limit_of_tokens_holds_the_request_that_did_not_fit() {
    let fixture = Fixture::new();
    fixture.script(
        "tools: {builtin: [echo]}\nsampling: {max_output_tokens: 512}\n",
        &[&calls("echo", "{\"text\":\"x\"}"), &says("Done.")],
    );
    let ended = fixture.ends(
        &[
            "run",
            "c.yaml",
            "--run-id",
            "r",
            "--set",
            "max_tokens_consumed=100",
        ],
        1,
    );
    let said = fixture.advice(&ended);
    let limit = |said: &str| -> u64 {
        let (_, rest) = said.split_once("--set max_tokens_consumed=").expect(said);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap()
    };
    let (here, why) = (limit(&said[0]), limit(&said[1]));
    assert_eq!(here, why);
    assert!(here > 200, "{here}");
    let set = format!("max_tokens_consumed={here}");
    fixture.ends(
        &[
            "continue",
            "r",
            "Go on.",
            "--contract",
            "c.yaml",
            "--set",
            &set,
        ],
        0,
    );
}

#[test]
fn a_key_that_is_refused_is_named_by_its_variable() {
    let port = serving(|_| {
        (
            "401 X\r\ncontent-type: application/json".to_owned(),
            "{}".to_owned(),
        )
    });
    let fixture = Fixture::new();
    fixture.write(
        "c.yaml",
        &format!(
            "task: hi\ntargets: [{{provider: web, model: m, context_window: 9000}}]\n\
             providers: {{web: {{type: openai, base_url: 'http://127.0.0.1:{port}/v1', api_key_env: MY_KEY}}}}\n"
        ),
    );
    let mut command = fixture.command(&["run", "c.yaml", "--run-id", "r"]);
    let ended = command
        .env("MY_KEY", "canary-key-0123456789")
        .output()
        .unwrap();
    for said in fixture.advice(&Left::from(ended)) {
        let way = "set MY_KEY to a key that the provider accepts, then monolith continue r \"…\"";
        assert!(said.contains(way), "{said}");
    }
}

/// The place in the file, and what may help: in a pipe, too.
#[test]
fn a_tool_server_that_does_not_come_up_has_its_line_and_the_way_out() {
    let fixture = Fixture::new();
    fixture.script("tools: {mcp: {near: {command: ./nope}}}\n", &[&says("x")]);
    let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 3);
    for part in [
        "= help: correct c.yaml:4:",
        "; install what `command` of tools.mcp.near names",
        "monolith doctor --contract c.yaml asks the server; more: monolith show r --why\n",
    ] {
        assert!(ended.err.contains(part), "{part}: {}", ended.err);
    }
    let left = fixture.ends(&["show", "r", "--step", "99"], 4);
    assert!(
        left.err.contains("monolith show r lists them"),
        "{}",
        left.err
    );
    // A web service has no command.
    fixture.script(
        "tools: {openapi: {svc: {spec: ./nope.json}}}\n",
        &[&says("x")],
    );
    let left = fixture.ends(&["run", "c.yaml"], 3);
    let help = "; correct what was wrong with tools.openapi.svc; monolith doctor";
    assert!(left.err.contains(help), "{}", left.err);
    // What the command line changes is a place, too.
    fixture.script(REQUIRED, &[&says("x")]);
    let left = fixture.ends(&["run", "c.yaml", "--set", "max_inferences=1"], 4);
    assert!(
        left.err
            .contains("correct --set max_inferences=1, c.yaml:4:14; "),
        "{}",
        left.err
    );
    // The check that is named has it, too: without it nothing is wrong.
    let check = "monolith contract check c.yaml --start-servers --set max_inferences=1 names";
    let why = fixture.run(&["show", "last", "--why"]).out;
    assert!(left.err.contains(check) && why.contains(check), "{why}");
    let check = "contract check c.yaml --start-servers --set max_inferences=1";
    let check: Vec<&str> = check.split(' ').collect();
    assert_ne!(fixture.run(&check).code, 0);
}

#[test]
fn a_terminal_that_cannot_wipe_a_line_is_shown_none_that_changes() {
    let shown = |term: &str| {
        let fixture = Fixture::new();
        fixture.script("", &[&says("x")]);
        let mut command = fixture.command(&["doctor", "--contract", "c.yaml"]);
        command.env("TERM", term);
        Terminal::sized(command, 100).end().1
    };
    assert!(shown("xterm").contains("\u{1b}[2K"));
    assert!(!shown("dumb").contains('\u{1b}'));
}

/// The printed command works, whichever limit was reached.
#[test]
fn a_limit_of_calls_has_a_command_with_a_higher_one() {
    let call = calls("echo", "{\"text\":\"x\"}");
    let check = |terms: &str, set: &str| {
        let fixture = Fixture::new();
        let lines = [call.as_str(), &call, &call, &says("Done.")];
        fixture.script(
            &format!("tool_policy: optional\ntools: {{builtin: [echo]}}\n{terms}"),
            &lines,
        );
        let ended = fixture.ends(&["run", "c.yaml", "--run-id", "r"], 1);
        let command = format!("monolith continue r \"…\" --contract c.yaml --set {set}");
        for shown in fixture.advice(&ended) {
            // Nothing stands behind it that would be copied with it.
            let (_, rest) = shown.split_once(&command).expect(&shown);
            assert!(rest.starts_with(['\n', ';']), "{shown}");
        }
        fixture.write("s.jsonl", &[says("Done.").as_str(); 12].join("\n"));
        let again = ["continue", "r", "On.", "--contract", "c.yaml", "--set", set];
        fixture.ends(&again, 0);
    };
    check("max_calls: 1\n", "max_calls=2");
    check("max_calls: 0\n", "max_calls=1");
    check(
        "max_calls: {run: 1, per_tool: {echo: 9}}\n",
        "max_calls.run=2",
    );
    check(
        "max_calls: {per_tool: {echo: 1}}\n",
        "max_calls.per_tool.echo=2",
    );
    check("max_identical_calls: 1\n", "max_identical_calls=2");
}

/// The prompt that a command would name is no file.
#[test]
fn a_run_of_a_typed_prompt_whose_server_is_down_has_advice_that_works_without_a_file() {
    let fixture = Fixture::new();
    let run = [
        "run",
        "--models",
        "ollama/foo",
        "sys",
        "task",
        "--run-id",
        "r",
    ];
    let mut command = fixture.command(&run);
    let ended = command.env("OLLAMA_HOST", "http://127.0.0.1:9");
    let ended = ended.output().unwrap();
    for shown in fixture.advice(&Left::from(ended)) {
        let way = "start the server of providers.ollama, or correct its `base_url` in \
                   .ai-agent.json; monolith doctor looks for the model servers of this machine";
        assert!(shown.contains(way), "{shown}");
        assert!(!shown.contains("--contract"), "{shown}");
    }
}

#[test]
fn no_advice_for_a_typed_prompt_takes_the_prompt_for_a_file() {
    let advice = |more: &[&str], lines: &[&str]| {
        let fixture = Fixture::new();
        fixture.script("", lines);
        let layer = r#"{"providers": {"demo": {"type": "scripted", "file": "s.jsonl"}}}"#;
        fixture.layer(layer);
        let prompt = [
            "run",
            "--models",
            "demo/script",
            "sys",
            "task",
            "--run-id",
            "r",
        ];
        let ended = fixture.run(&[&prompt[..], more].concat());
        let advice = fixture.advice(&ended);
        for shown in &advice {
            assert!(
                !shown.contains("check sys") && !shown.contains("tools sys"),
                "{shown}"
            );
        }
        (fixture, advice)
    };
    let (fixture, [said, why]) = advice(&["--set", "targets.0.context_window=600"], &[]);
    let judge = "monolith continue r \"…\" --dry-run has the figures";
    assert!(said.contains(judge), "{said}");
    assert!(why.contains(judge), "{why}");
    let judged = fixture
        .run(&["continue", "r", "go on", "--dry-run"])
        .printed();
    assert!(judged.contains("600"), "{judged}");

    let unknown = calls("nothing", "{}");
    let (_, [said, why]) = advice(&["--set", "max_invalid_turns=1"], &[&unknown, &unknown]);
    let offer = "offer it the tool that it asked for, or ask for what its tools can do";
    assert!(said.contains(offer), "{said}");
    assert!(why.contains(offer), "{why}");
}
