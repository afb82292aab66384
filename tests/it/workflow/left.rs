//! A workflow that is left and resumed: by name, with `resume --all`, with calls that wait for a person, and without runs that
//! somebody deleted.

use rusqlite::Connection;
use serde_json::{Value, json};

use super::{fixture, steps_of};
use crate::delegation::{asks, lead, prompt};
use crate::fixture::Fixture;
use crate::harness::MEETING_SERVER;

/// A workflow whose second step waits for a person: a tool step, or an agent below an agent.
fn waiting(below: bool) -> Fixture {
    let fixture = fixture(if below {
        "steps: [{id: before, prompt: ping}, {id: give, delegate: lead.yaml, task: go}]\n"
    } else {
        "steps:
- {id: before, prompt: ping}
- {id: ask, tool: write_file, arguments: {path: asked.txt, content: yes}}
"
    });
    fixture.asks_before_writing();
    let says = asks(&[("clock", json!({}))], "Noon.");
    fixture.agent(
        "clock",
        "tools: {builtin: [clock]}\nrequire_approval: [clock]\n",
        &says,
    );
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("middle", "agents: [clock.yaml]\n", &calls);
    let calls = asks(&[("agent__middle", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [middle.yaml]\n", &calls);
    fixture
}

/// A person who looks at any run of the tree is led to the call that waits, and then to the workflow.
#[test]
fn a_workflow_that_waits_names_the_call_and_what_goes_on() {
    for (below, asking, tool) in [(false, "w.2", "write_file"), (true, "w.2.1.1", "clock")] {
        let fixture = waiting(below);
        let left = fixture.ends(&["run", "w.yaml", "--json", "--run-id", "w"], 8);
        let approve = format!("monolith approve {asking}");
        let says =
            format!("call 1 of run {asking}, {tool}, waits for an approval: {approve} answers it");
        assert!(left.err.contains(&says), "{}", left.printed());
        assert!(
            left.err.contains("then monolith resume w continues it"),
            "{}",
            left.printed()
        );
        let awaited = &left.document()["waits_for"][0];
        assert_eq!(
            (&awaited["run_id"], &awaited["name"]),
            (&json!(asking), &json!(tool))
        );
        let shown = fixture.ok(&["show", "w"]);
        assert!(
            shown.contains(&says) && shown.contains("Resume it: monolith resume w\n"),
            "{shown}"
        );

        let listed = fixture.ok(&["list"]);
        assert!(!listed.contains("resume w."), "{listed}");
        let own = listed.lines().find(|line| line.starts_with("w ")).unwrap();
        assert!(own.contains(&approve), "{own}");
        let pointed = fixture.ends(&["approve", "w"], 4).err;
        assert!(pointed.contains(&approve), "{pointed}");

        // A process that resumes it would only leave it again: nothing is recorded.
        let entries = fixture.json(&["show", "w"]).1["entries"].clone();
        for resume in [&["resume", "w"][..], &["resume", "--all"]] {
            let left = fixture.ends(resume, 8);
            assert!(left.printed().contains(&approve), "{}", left.printed());
        }
        assert_eq!(fixture.json(&["show", "w"]).1["entries"], entries);

        let next = fixture.answers("approve", asking);
        assert!(next.contains("Now: monolith resume w\n"), "{next}");
        let inbox = fixture.ok(&["approvals"]);
        assert!(inbox.contains("monolith resume w\n"), "{inbox}");
        let refused = fixture.ends(&["resume", asking], 4).err;
        assert!(
            refused.contains("it resumes with its parent run w"),
            "{refused}"
        );
        let listed = fixture.ok(&["list"]);
        let own = listed
            .lines()
            .find(|line| line.starts_with(asking))
            .unwrap();
        assert!(own.contains("monolith resume w)"), "{own}");

        // One result for the tree.
        let ended = fixture.ends(&["resume", "--all", "--json"], 0).document();
        assert_eq!(
            (&ended["run_id"], &ended["success"]),
            (&json!("w"), &json!(true))
        );
        fixture.proves_tree("w");
    }
}

/// A run that an unfinished tree needs is not deleted; if somebody forces it, nothing starts over in silence.
#[test]
fn a_run_below_an_open_tree_is_not_deleted_and_not_begun_anew_where_it_was() {
    let fixture = waiting(true);
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    for run in ["w.1", "w.2", "w.2.1.1"] {
        let said = fixture.ends(&["delete", run, "--yes"], 4).err;
        assert!(
            said.contains("it belongs to the tree of w, which has not ended")
                && said.contains("monolith resume w"),
            "{said}"
        );
    }
    fixture.ok(&[
        "delete",
        "w.2.1.1",
        "--yes",
        "--force",
        "--reason",
        "by mistake",
    ]);
    let said = fixture.ends(&["resume", "w"], 7).err;
    assert!(
        said.contains("resume run w.2.1: its child run w.2.1.1 was deleted: by mistake")
            && said.contains("monolith delete w --force"),
        "{said}"
    );
    fixture.ok(&["delete", "w.2", "--yes", "--force"]);
    // No clock decides: neither one that went back before the deletion, nor one that stood far ahead.
    let begun = Connection::open(fixture.path("home/runs.db")).unwrap();
    let far = "UPDATE runs SET created_unix_ms = 9000000000000 WHERE run_id = 'w'";
    assert_eq!(begun.execute(far, []).unwrap(), 1);
    let said = fixture.ends(&["resume", "w"], 7).err;
    assert!(
        said.contains("resume run w: its child run w.2 was deleted"),
        "{said}"
    );
    assert_eq!(
        fixture.json(&["list"]).1["runs"].as_array().unwrap().len(),
        2
    );
    // The whole can go, and the name is free again. The deletions below the first `w` do not count for the second, even where that
    // seems to be the older one.
    fixture.ok(&["delete", "w", "--yes", "--force"]);
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    let old = "UPDATE runs SET created_unix_ms = 1 WHERE run_id = 'w'";
    assert_eq!(begun.execute(old, []).unwrap(), 1);
    fixture.ends(&["resume", "w"], 8);

    // The same of a run that called agents.
    fixture.ends(&lead(&["--no-wait"]), 8);
    let said = fixture.ends(&["delete", "lead.1", "--yes"], 4).err;
    assert!(
        said.contains("it belongs to the tree of lead, which has not ended"),
        "{said}"
    );
    fixture.ok(&["delete", "lead.1", "--yes", "--force"]);
    let said = fixture.ends(&["resume", "lead"], 7).err;
    assert!(said.contains("its child run lead.1 was deleted"), "{said}");
}

/// A step that had ended and was deleted is named, and its result is recorded: the workflow continues.
#[test]
fn a_step_that_had_ended_and_is_gone_is_named_by_the_resume() {
    let fixture = waiting(false);
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.ok(&["delete", "w.1", "--yes", "--force"]);
    fixture.answers("approve", "w.2");
    let ended = fixture.ends(&["resume", "w"], 0);
    assert!(
        ended
            .err
            .contains("run w.1, a finished step of w, is no longer in this store"),
        "{}",
        ended.printed()
    );
    let said = fixture.ends(&["verify", "w", "--tree"], 7).out;
    assert!(said.contains("not verified: run w.1"), "{said}");
}

/// The file that is another one now is named, however deep its agent stands.
#[test]
fn a_changed_file_of_an_agent_is_named_two_levels_down() {
    let fixture = waiting(true);
    fixture.ends(&["run", "w.yaml", "--run-id", "w"], 8);
    fixture.answers("approve", "w.2.1.1");
    let changes = |file: &str, whole: &str| {
        let text = fixture.read(file);
        fixture.write(file, &text.replace("You are", "You were"));
        let said = fixture.ends(&["resume", "w"], 4).err;
        assert!(said.contains(whole), "{file}: {said}");
        fixture.write(file, &text);
    };
    changes(
        "clock.yaml",
        "/lead.yaml gives another contract, for its agent middle.yaml (clock.yaml below it) has changed",
    );
    changes(
        "middle.yaml",
        "/lead.yaml gives another contract, for its agent middle.yaml has changed",
    );
    changes(
        "lead.yaml",
        "lead.yaml, the agent of step `give`, has changed since it started",
    );
    // One that is not there is not the fault of the agent above it.
    let text = fixture.read("clock.yaml");
    std::fs::remove_file(fixture.path("clock.yaml")).unwrap();
    let said = fixture.ends(&["resume", "w"], 4).err;
    let whole = "contract, for clock.yaml, below its agent middle.yaml, cannot be read: /agents/";
    assert!(said.contains(whole), "{said}");
    fixture.write("clock.yaml", &text);
    fixture.ok(&["resume", "w"]);
}

/// Workflows are runs of a list as contracts are: one result each, under the name that the list gives, and the same again where the list
/// is run again.
#[test]
fn workflows_are_jobs_of_a_list() {
    let fixture = fixture(
        "input: nothing\nsteps: [{id: ask, prompt: 'about ${input}'}, {id: list, tool: read_file, arguments: {path: in.txt}}]\n",
    );
    fixture.write(
        "list",
        "{\"contract\": \"w.yaml\", \"run_id\": \"one\", \"task\": \"fish\"}\n\
         {\"contract\": \"agent.yaml\", \"run_id\": \"two\", \"task\": \"hi\"}\n\
         {\"contract\": \"w.yaml\", \"run_id\": \"three\"}\n",
    );
    let run = ["run", "--contracts", "list", "--json"];
    let results = |left: &crate::fixture::Left| -> Vec<Value> {
        let lines = left
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    };
    let first = fixture.ends(&run, 0);
    let mut ended = results(&first);
    ended.sort_by_key(|result| result["run_id"].as_str().unwrap().to_owned());
    let names: Vec<&Value> = ended.iter().map(|result| &result["run_id"]).collect();
    assert_eq!(names, ["one", "three", "two"]);
    assert_eq!(ended[0]["format"], "monolith-workflow-result/1");
    assert_eq!(steps_of(&ended[0]).len(), 2);
    let asked = fixture.json(&["show", "one.1"]).1;
    assert_eq!(asked["conversation"][0]["content"], "about fish");
    let asked = fixture.json(&["show", "three.1"]).1;
    assert_eq!(asked["conversation"][0]["content"], "about nothing");
    for workflow in ["one", "three"] {
        fixture.proves_tree(workflow);
    }
    let mut again = results(&fixture.ends(&run, 0));
    again.sort_by_key(|result| result["run_id"].as_str().unwrap().to_owned());
    let heads = |results: &[Value]| -> Vec<Value> {
        let heads = results.iter().map(|result| result["head"].clone());
        heads.collect()
    };
    assert_eq!(heads(&ended), heads(&again));
    // A workflow is run as it is written.
    let changed = fixture.ends(
        &[
            "run",
            "--contracts",
            "list",
            "--json",
            "--set",
            "max_turns=3",
            "--from",
            "3",
        ],
        1,
    );
    assert!(
        changed.printed().contains("it is run as it is written"),
        "{}",
        changed.printed()
    );
}

/// One that waits among many is left, and the list says what answers it.
#[test]
fn a_workflow_of_a_list_that_waits_is_left_with_what_answers_it() {
    let fixture = waiting(false);
    fixture.write("list", "{\"contract\": \"w.yaml\", \"run_id\": \"one\"}\n");
    let left = fixture.ends(&["run", "--contracts", "list"], 8);
    assert!(
        left.err.contains("monolith approve one.2"),
        "{}",
        left.printed()
    );
    fixture.answers("approve", "one.2");
    let ended = fixture.ends(&["run", "--contracts", "list"], 0);
    assert!(
        ended.out.contains("\"success\":true"),
        "{}",
        ended.printed()
    );
    assert!(fixture.path("w/asked.txt").exists());
}

/// A workflow of one call, which its server writes down and never answers.
pub(super) fn stuck() -> Fixture {
    let fixture = fixture("steps: [{id: call, tool: fs__meet}]\n");
    let server = format!(
        "  tools: {{mcp: {{fs: {{command: python3, args: ['{MEETING_SERVER}', '', called, never]}}}}, builtin"
    );
    let text = fixture.read("w.yaml");
    fixture.write("w.yaml", &text.replace("  tools: {builtin", &server));
    fixture
}

/// The call of a step whose process was killed: its result is lost, and `show` and the end of the workflow say so.
#[test]
fn a_call_whose_process_was_killed_is_said_to_be_unknown() {
    if !crate::harness::Harness::has_python() {
        return;
    }
    let fixture = stuck();
    let mut running = fixture
        .command(&["run", "w.yaml", "--run-id", "w"])
        .spawn()
        .unwrap();
    while !fixture.path("w/called").exists() {
        assert!(
            running.try_wait().unwrap().is_none(),
            "it ended and called nothing"
        );
        std::thread::yield_now();
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let shown = fixture.ok(&["show", "w"]);
    let says = "run w.1: the result of fs__meet is lost: resume does not make the call again \
                because its tool is not in `idempotent`, and records its effect as unknown\n";
    assert!(
        shown.contains(says) && shown.contains("monolith resume w"),
        "{shown}"
    );
    let ended = fixture.ends(&["resume", "w"], 1);
    assert!(ended.err.contains("effect unknown"), "{}", ended.printed());
    let shown = fixture.ok(&["show", "w"]);
    assert!(shown.contains("effect unknown"), "{shown}");
}
