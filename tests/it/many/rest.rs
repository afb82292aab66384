//! The rest of a list that is left, as its messages name it, and a list that two processes have at once.

use super::*;

const FROM: &str = "monolith run --contracts list.jsonl --max-runs 2 --from";

/// A list of so many runs, two at once, whose model answers none of them.
fn held(fixture: &Fixture, model: &Model, tools: &str, runs: usize) -> Child {
    model.set(|counts| counts.held_from = Some(1));
    fixture.write("c.yaml", &model.contract(tools));
    fixture.list(runs);
    let child = fixture.many(&["run", "--contracts", "list.jsonl", "--max-runs", "2"]);
    model.has(2);
    child
}

#[test]
fn the_rest_of_a_list_is_named_where_its_reader_has_gone() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    let mut child = held(&fixture, &model, ECHO, 300);
    drop(child.stdout.take());
    model.set(|counts| counts.held_from = None);
    let left = left(child);
    assert!([8, 9].contains(&left.code), "{}", left.err);
    let broken = "write the results: Broken pipe";
    assert!(left.err.contains(broken), "{}", left.err);
    let rest = left
        .err
        .split("not started: the rest of the list, from line ");
    let from = rest.last().unwrap().split(' ').next().unwrap();
    assert!(
        left.err.contains(&format!("{FROM} {from} starts it")),
        "{}",
        left.err
    );
    // It is the first that has not begun.
    let begun = StoreReader::open(&fixture.path("home/runs.db")).unwrap();
    let begun = begun
        .list_runs(999, monolith_host::store::RunFilter::All)
        .unwrap();
    assert_eq!(from, (begun.len() + 1).to_string(), "{}", left.err);
}

#[test]
fn the_rest_of_a_list_is_named_where_it_is_left_at_once() {
    if !Harness::has_python() {
        return;
    }
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    // A server that ends by no signal that can be refused keeps its runs open for longer than is waited then.
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/mcp_server.py");
    let server = json!({"command": "python3", "args": [server, "stubborn"], "shared": false});
    let stubborn = format!("tools: {{workspace: ., mcp: {{odd: {server}}}}}\n");
    let mut child = held(&fixture, &model, &stubborn, 9);
    let pid = Pid::from_child(&child);
    while child.try_wait().unwrap().is_none() {
        // Two at the same moment are one.
        kill_process(pid, Signal::TERM).unwrap();
        thread::yield_now();
    }
    let left = left(child);
    assert_eq!(left.code, 8, "{}", left.err);
    let open = "2 runs are unfinished; continue with monolith resume --all";
    assert!(left.err.contains(open), "{}", left.err);
    let rest = format!("not started: the rest of the list, from line 3 on; {FROM} 3 starts it");
    assert!(left.err.contains(&rest), "{}", left.err);
    model.set(|counts| counts.held_from = None);
}

#[test]
fn a_list_that_another_process_has_says_which_process_and_repeats_nothing() {
    let (fixture, model) = (Fixture::new(), Model::serving("clock", 0));
    let first = held(&fixture, &model, ECHO, 2);
    let second = fixture.ends(&["run", "--contracts", "list.jsonl"], 1);
    let results = documents(&second.out);
    let errors = results
        .iter()
        .map(|result| result["error"].as_str().unwrap_or_default());
    let errors: BTreeSet<String> = errors.map(str::to_owned).collect();
    let expect = [(1, "r0"), (2, "r1")].map(|(line, run)| {
        let pid = first.id();
        format!("line {line}: process {pid} is already driving run {run}; once that has ended, run the list again for its result")
    });
    assert_eq!(errors, BTreeSet::from(expect), "{}", second.printed());
    assert!(results.iter().all(|result| result["exit_code"] == 1));
    model.set(|counts| counts.held_from = None);
    assert_eq!(left(first).code, 0);
    assert_eq!(model.see(|counts| counts.asked), 2);
    let again = fixture.ends(&["run", "--contracts", "list.jsonl"], 0);
    assert_eq!(ends(&again.out).len(), 2);
    assert_eq!(model.see(|counts| counts.asked), 2, "nothing is repeated");
}
