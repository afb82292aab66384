//! The meaning of the arguments of `run`: which contract, and which task (shapes.md).

use std::io::Write as _;
use std::process::Stdio;

use crate::fixture::{Fixture, Left, says};

/// Creates a fixture with `agent.yaml` and `c.yaml`, both without a task.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let lines = [says("One."), says("Two.")];
    fixture.script("", &[&lines[0], &lines[1]]);
    let contract = fixture.read("c.yaml").replace("task: hi\n", "");
    fixture.write("c.yaml", &contract);
    fixture.write("agent.yaml", &contract);
    fixture
}

/// Runs a command with that on its standard input.
fn piped(fixture: &Fixture, args: &[&str], input: &str) -> Left {
    let mut child = fixture
        .command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that needs no input may have ended.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap().into()
}

/// The task of the last run.
fn task(fixture: &Fixture) -> String {
    let (_, result) = fixture.json(&["show", "last"]);
    result["conversation"][0]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn an_existing_contract_file_is_the_contract_and_any_other_text_is_the_task() {
    let fixture = fixture();
    let check = |args: &[&str], expect: &str| {
        fixture.ends(&[&["run"], args].concat(), 0);
        assert_eq!(task(&fixture), expect, "{args:?}");
    };
    check(&["Which licence is this?"], "Which licence is this?");
    check(&["c.yaml", "Why?"], "Why?");
    check(&["c.yaml", "--task", "How?"], "How?");
    check(&["--contract", "c.yaml", "Who?"], "Who?");
    check(&["--task", "When?"], "When?");
    fixture.write("t.txt", "From a file.\n");
    check(&["c.yaml", "--task", "@t.txt"], "From a file.");
    check(&["c.yaml", "@t.txt"], "From a file.");
    let left = fixture.ends(&["run", "agnet.yaml"], 4);
    let why = "run agnet.yaml: there is no such file";
    assert!(left.err.contains(why), "{}", left.err);
    // The nearest file is named, where one is near.
    assert!(
        left.err.contains("did you mean monolith run agent.yaml?"),
        "{}",
        left.err
    );
    let left = fixture.ends(&["run", "elsewhere.yaml"], 4);
    assert!(!left.err.contains("did you mean"), "{}", left.err);
}

/// A slash is no path, and an address is none.
#[test]
fn only_a_word_that_leads_somewhere_is_a_slip_in_a_file_name() {
    let fixture = fixture();
    fixture.write("here/file", "");
    for task in ["TCP/IP", "and/or?", "https://example.org/a/b"] {
        fixture.ends(&["run", task], 0);
        assert_eq!(self::task(&fixture), task);
    }
    for path in [
        "here/nosuch",
        "./nosuch",
        "../nosuch",
        "/nosuch",
        "no/such.yaml",
    ] {
        let left = fixture.ends(&["run", path], 4);
        let why = format!("run {path}: there is no such file");
        assert!(left.err.contains(&why), "{path}: {}", left.err);
    }
}

#[test]
fn the_contract_of_a_folder_may_end_in_yml_and_agent_yaml_comes_first() {
    let fixture = fixture();
    let contract = fixture.read("agent.yaml");
    fixture.write("agent.yml", &format!("task: Of yml.\n{contract}"));
    fixture.write("agent.yaml", &format!("task: Of yaml.\n{contract}"));
    fixture.ends(&["run"], 0);
    assert_eq!(task(&fixture), "Of yaml.");
    std::fs::remove_file(fixture.path("agent.yaml")).unwrap();
    fixture.ends(&["run"], 0);
    assert_eq!(task(&fixture), "Of yml.");
    fixture.ends(&["contract", "check"], 0);
}

#[test]
fn a_pipe_is_the_task_where_none_is_given() {
    let fixture = fixture();
    let check = |args: &[&str], expect: &str| {
        let left = piped(&fixture, &[&["run"], args].concat(), "From a pipe.\n");
        assert_eq!(left.code, 0, "{args:?}: {}", left.err);
        assert_eq!(task(&fixture), expect, "{args:?}");
    };
    check(&[], "From a pipe.");
    check(&["c.yaml"], "From a pipe.");
    check(&["c.yaml", "-"], "From a pipe.");
    check(&["--task", "-"], "From a pipe.");
    check(&["c.yaml", "Mine."], "Mine.");
    let contract = fixture.read("c.yaml");
    fixture.write("own.yaml", &format!("task: Its own.\n{contract}"));
    check(&["own.yaml"], "Its own.");
    let left = piped(&fixture, &["run", "c.yaml"], " \n");
    assert_eq!(left.code, 4, "{}", left.err);
    assert!(left.err.contains("no task given"), "{}", left.err);
}

#[test]
fn what_cannot_be_run_is_named_with_the_way_out() {
    let fixture = fixture();
    fixture.write("x.ai", "---\ndescription: x\n---\nHello.\n");
    let check = |args: &[&str], parts: &[&str]| {
        let left = fixture.ends(&[&["run"], args].concat(), 4);
        for part in parts {
            assert!(left.err.contains(part), "{part}: {}", left.err);
        }
        let (code, result) = fixture.json(&[&["run"], args].concat());
        assert_eq!(
            (code, result["exit_code"].as_u64()),
            (4, Some(4)),
            "{result}"
        );
    };
    let no_model = ["no model is named", "--models"];
    check(&["x.ai"], &no_model);
    check(&["x.ai", "Go."], &no_model);
    check(&["--contract", "x.ai"], &no_model);
    check(&["You are brief.", "Go."], &no_model);
    check(&["c.yaml", "--contract", "agent.yaml"], &["both name one"]);
    check(&["c.yaml", "Go.", "--task", "Go."], &["two were given"]);
    check(&["--task", "@none.txt"], &["none.txt"]);
    check(&["a", "b", "c"], &[]);
    let bare = Fixture::new();
    let left = bare.ends(&["run", "Which licence?"], 4);
    for part in ["no agent.yaml", "`Which licence?`", "monolith init"] {
        assert!(left.err.contains(part), "{part}: {}", left.err);
    }
}

/// `x.jsonl` is a file wherever a run or a file may be named, and `last` is the newest run.
#[test]
fn no_run_is_given_a_name_that_means_something_else() {
    let fixture = fixture();
    fixture.ok(&["run", "c.yaml", "Why?", "--run-id", "r"]);
    for name in ["x.jsonl", "a.b.jsonl", "last"] {
        let commands: [&[&str]; 3] = [
            &["run", "c.yaml", "Why?", "--run-id", name],
            &["continue", "r", "Why?", "--run-id", name],
            &["replay", "r", "--fork-at", "0", "--run-id", name],
        ];
        for command in commands {
            let left = fixture.ends(command, 4);
            assert!(left.err.contains(name), "{command:?}: {}", left.err);
        }
    }
    for name in ["jsonl", "x.jsonl.2", "last-one"] {
        fixture.ok(&["run", "c.yaml", "Why?", "--run-id", name]);
        fixture.ok(&["verify", name]);
    }
}

/// `agent.yaml` would run the word as its task, and the contract that is named would not run.
#[test]
fn a_word_that_is_the_name_of_a_contract_file_without_its_ending_is_refused() {
    let fixture = fixture();
    fixture.write("git.yaml", &fixture.read("agent.yaml"));
    let check = |args: &[&str], file: &str| {
        let left = fixture.ends(&[&["run"], args].concat(), 4);
        for way in [file, "monolith run --task git"] {
            assert!(left.err.contains(way), "{way}: {}", left.err);
        }
    };
    check(&["git"], "monolith run git.yaml;");
    check(
        &["git", "Which branch?"],
        "monolith run git.yaml 'Which branch?';",
    );
    for args in [
        &["run", "--task", "git"][..],
        &["run", "--contract", "agent.yaml", "git"],
        &["run", "gin"],
    ] {
        fixture.ends(args, 0);
    }
}
