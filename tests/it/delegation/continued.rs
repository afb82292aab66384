//! Runs below a run and `continue`: it is refused with its reason, and the command that is named instead works.

use super::{asks, prompt};
use crate::fixture::Fixture;

/// The command that the help of a fault begins with, without the program: `continue lead.1 … --contract FILE`.
#[track_caller]
fn named<'h>(said: &'h str, ends: &str) -> Vec<&'h str> {
    let (_, command) = said.split_once("= help: ").expect(said);
    let (_, command) = command.split_once("monolith ").expect(said);
    let (command, _) = command.split_once(ends).expect(said);
    let words = command.split_whitespace();
    words.map(|word| word.trim_matches('"')).collect()
}

#[test]
fn the_run_of_an_agent_is_not_continued_and_what_is_named_instead_works() {
    let fixture = Fixture::new();
    let mut says = asks(&[], "found");
    says.push(says[1].clone());
    fixture.agent("scout", "", &says[1..]);
    // One that cannot be run alone: its model is the caller's.
    fixture.write(
        "bare.ai",
        "---\noutput: {format: text}\n---\nYou are bare.\n",
    );
    let calls = [
        ("agent__scout", prompt("go")),
        ("agent__bare", prompt("go")),
    ];
    let mut says = asks(&calls, "answered");
    says.push(says[1].clone());
    fixture.agent("lead", "agents: [scout.yaml, bare.ai]\n", &says);
    fixture.leads();

    let refused = |run: &str| {
        let left = fixture.ends(&["continue", run, "more"], 4);
        let reason = format!("continue run {run}: lead called it as an agent");
        assert!(left.err.contains(&reason), "{}", left.err);
        left.err
    };
    let said = refused("lead.1");
    let go_on = named(&said, " continues it in a separate run");
    assert_eq!(
        go_on,
        ["continue", "lead.1", "…", "--contract", "scout.yaml"]
    );
    fixture.ok(&go_on);
    let said = refused("lead.2");
    assert!(said.contains("bare.ai cannot be run alone: "), "{said}");
    assert!(said.contains("no model is named"), "{said}");
    let go_on = named(&said, " continues the first run of its tree");
    assert_eq!(go_on, ["continue", "lead", "…"]);
    fixture.ok(&go_on);
    // A fork would use what the call gave beside the call, too.
    let fork = fixture.ends(&["replay", "lead.1", "--fork-at", "1"], 4).err;
    let reason = "fork run lead.1: lead called it as an agent";
    assert!(fork.contains(reason), "{fork}");

    // The hint is there where the command works, and nowhere else.
    let hint = |run: &str| fixture.ok(&["show", run]).contains("Continue it: ");
    assert_eq!(["lead", "lead.1"].map(hint), [true, false]);
}

#[test]
fn a_step_of_a_workflow_is_continued_where_it_has_a_file_of_its_own() {
    let fixture = Fixture::new();
    let mut says = asks(&[], "found");
    says.push(says[1].clone());
    fixture.agent("scout", "", &says[1..]);
    let contract = "  targets: [{provider: demo, model: script, context_window: 32768}]\n\
                    \x20 providers: {demo: {type: scripted, file: scout.jsonl}}\n";
    let steps = "steps: [{id: ask, prompt: hi}, {id: give, delegate: scout.yaml, task: go}]\n";
    fixture.write(
        "w.yaml",
        &format!("workflow: tried\ncontract:\n{contract}{steps}"),
    );
    fixture.ok(&["run", "w.yaml", "--run-id", "w"]);

    let left = fixture.ends(&["continue", "w.1", "more"], 4);
    let reason =
        "continue run w.1: it is a step of the workflow w, and its contract is not a separate file";
    assert!(left.err.contains(reason), "{}", left.err);
    assert!(
        left.err.contains("copy the section `contract` of "),
        "{}",
        left.err
    );
    let mut go_on = named(&left.err, "\n");
    assert_eq!(go_on, ["continue", "w.1", "…", "--contract", "FILE"]);
    fixture.write("own.yaml", contract.replace("\n  ", "\n").trim_start());
    go_on[4] = "own.yaml";
    fixture.ok(&go_on);
    fixture.ok(&["continue", "w.2", "more"]);

    let hint = |run: &str| fixture.ok(&["show", run]).contains("Continue it: ");
    assert_eq!(["w.1", "w.2"].map(hint), [false, true]);
}

/// The run of an agent whose caller is not in the store: that one is named, and what brings it back.
#[test]
fn a_run_whose_caller_is_not_in_the_store_names_the_caller() {
    let fixture = Fixture::new();
    fixture.write(
        "bare.ai",
        "---\noutput: {format: text}\n---\nYou are bare.\n",
    );
    let calls = [("agent__bare", prompt("go"))];
    let mut says = asks(&calls, "answered");
    says.push(says[1].clone());
    fixture.agent("lead", "agents: [bare.ai]\n", &says);
    fixture.leads();
    fixture.ok(&["export", "lead.1", "-o", "below.jsonl"]);
    let other = ["--store", "other.db"];
    fixture.ok(&[&["import", "below.jsonl"], &other[..]].concat());
    let said = fixture
        .ends(&[&["continue", "lead.1", "more"], &other[..]].concat(), 4)
        .err;
    assert!(
        said.contains("parent run lead of lead.1 is not in this store")
            && said.contains("import FILE"),
        "{said}"
    );
}
