//! A tree of runs as it is seen: listed, exported and imported, with what all of it used, and accounted for by agent.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{asks, prompt, tree::tree};
use crate::browser::{body, opened, printed};
use crate::fixture::{Fixture, says};
use crate::kept::snapshot;

/// The text before each run of the tree, and its name.
const DRAWN: [&str; 3] = ["lead ", "└─ lead.1 ", "   └─ lead.1.1 "];

/// The files of a folder, sorted.
fn files(fixture: &Fixture, folder: &str) -> Vec<String> {
    let files = std::fs::read_dir(fixture.path(folder)).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_tree_is_listed_as_it_is_shown() {
    let fixture = tree();
    let shown = fixture.ok(&["show", "lead", "--tree"]);
    let listed = fixture.ok(&["list", "--tree"]);
    let lines = |text: &str| -> Vec<String> {
        let of_run = |line: &&str| DRAWN.iter().any(|drawn| line.starts_with(drawn));
        text.lines().filter(of_run).map(str::to_owned).collect()
    };
    for drawn in [lines(&shown), lines(&listed)] {
        assert_eq!(drawn.len(), 3, "{shown}{listed}");
        for (line, expect) in drawn.iter().zip(DRAWN) {
            assert!(line.starts_with(expect), "{expect}: {line}");
        }
        assert!(drawn[1].contains(", call 1"), "{drawn:?}");
    }
    // As a document each has its link, and the runs below it.
    let (_, document) = fixture.json(&["list", "--tree"]);
    let lead = &document["runs"][0];
    assert_eq!(document["runs"].as_array().unwrap().len(), 1, "{document}");
    assert_eq!(
        (&lead["run_id"], &lead["link"]),
        (&json!("lead"), &Value::Null)
    );
    let below = &lead["below"][0]["below"][0];
    assert_eq!(
        (&below["run_id"], &below["link"]),
        (&json!("lead.1.1"), &json!("call 1"))
    );
    // A filter keeps what fits, and the runs above it.
    let (_, document) = fixture.json(&["list", "--tree", "lead.1.1"]);
    let lead = &document["runs"][0];
    let below = &lead["below"][0]["below"][0];
    assert_eq!(
        (&lead["only_above"], &below["only_above"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        fixture.json(&["list", "--tree", "--open"]).1["runs"],
        json!([])
    );
    // Without it the list is as it was.
    let (_, document) = fixture.json(&["list"]);
    let names: Vec<&Value> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["run_id"])
        .collect();
    assert_eq!(names.len(), 3, "{document}");
    assert_eq!(document["runs"][0]["below"], Value::Null);
    assert!(fixture.ok(&["list"]).contains("delegated by lead (call 1)"));
}

/// The limit counts trees, and the newest tree comes first.
#[test]
fn a_limit_of_trees_cuts_no_tree() {
    let fixture = tree();
    fixture.write("s.jsonl", &says("pong"));
    fixture.write(
        "alone.yaml",
        "targets: [{provider: demo, model: script}]\nproviders: {demo: {type: scripted, file: s.jsonl}}\n",
    );
    fixture.ok(&["run", "alone.yaml", "--task", "go", "--run-id", "alone"]);
    let names = |limit: &str| -> Vec<String> {
        let (_, document) = fixture.json(&["list", "--tree", "--limit", limit]);
        let runs = document["runs"].as_array().unwrap();
        runs.iter()
            .map(|run| run["run_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("1"), ["alone"]);
    assert_eq!(names("2"), ["alone", "lead"]);
    let listed = fixture.ok(&["list", "--tree", "--limit", "2"]);
    assert!(listed.contains("   └─ lead.1.1 "), "{listed}");
}

/// The export of a tree makes the same tree in an empty store: it verifies, replays and is shown as it was.
#[test]
fn a_tree_goes_from_one_store_to_another() {
    let fixture = tree();
    fixture.ok(&["export", "lead", "--tree", "-o", "out"]);
    assert_eq!(
        files(&fixture, "out"),
        ["lead.1.1.jsonl", "lead.1.jsonl", "lead.jsonl"]
    );
    let other = ["--store", "other.db"];
    // In any order.
    let import = [
        "import",
        "out/lead.1.1.jsonl",
        "out/lead.jsonl",
        "out/lead.1.jsonl",
    ];
    fixture.ok(&[&import[..], &other].concat());
    let verified = fixture.ok(&[&["verify", "lead", "--tree"][..], &other].concat());
    assert!(verified.contains("verified: 3 runs"), "{verified}");
    for run in ["lead", "lead.1", "lead.1.1"] {
        fixture.ok(&[&["replay", run][..], &other].concat());
    }
    let shown = fixture.ok(&["show", "lead", "--tree"]);
    assert_eq!(
        fixture.ok(&[&["show", "lead", "--tree"][..], &other].concat()),
        shown
    );
    // What is there is not written over, and one file more than once is no new run.
    let again = fixture.ends(&["export", "lead", "--tree", "-o", "out"], 4);
    assert!(
        again.err.contains("the file already exists"),
        "{}",
        again.err
    );
    assert!(
        fixture
            .ok(&[&import[..], &other].concat())
            .contains("already here: run lead.1.1")
    );
    let refused = fixture.ends(&["export", "lead", "--tree"], 4);
    assert!(refused.err.contains("--output"), "{}", refused.err);
}

/// A page shows the runs above and below; those of one export lead to each other, and each verifies in the browser.
#[test]
fn pages_of_a_tree_lead_to_each_other() {
    let fixture = tree();
    fixture.ok(&[
        "export", "lead", "--tree", "--format", "html", "-o", "pages",
    ]);
    let page = fixture.read("pages/lead.1.html");
    let Some(document) = opened(&page, "#view=runs") else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified");
    let body_of = body(&document);
    for part in [
        "href=\"lead.html\"",
        "this page</span>",
        "href=\"lead.1.1.html\"",
        "call 1, agent__clock · COMPLETED_WITH_TOOLS (final_message)",
    ] {
        assert!(body_of.contains(part), "{part}: {body_of}");
    }
    assert!(
        !body_of.contains("another run than was recorded"),
        "{body_of}"
    );
    // A page by itself knows what its own entries say, and has no link.
    let alone = opened(
        &fixture.ok(&["export", "lead.1", "--format", "html"]),
        "#view=runs",
    )
    .unwrap();
    let body_of = body(&alone);
    assert!(
        body_of.contains("lead.1.1</b>") && body_of.contains("not in this file"),
        "{body_of}"
    );
    assert!(!body_of.contains("href="), "{body_of}");
    // What another store says of a run below does not count against what is recorded here.
    let (before, after) = page.split_once("\"run_id\":\"lead.1.1\"").unwrap();
    let (start, head) = before.rsplit_once("\"head\":\"").unwrap();
    let other = if head.starts_with('0') { '1' } else { '0' };
    let changed = format!(
        "{start}\"head\":\"{other}{}\"run_id\":\"lead.1.1\"{after}",
        &head[1..]
    );
    let document = opened(&changed, "#view=runs").unwrap();
    assert!(body(&document).contains("another run than was recorded"));
}

/// The usage of child runs counts in their parent's budget, and is shown apart from the parent's own usage.
#[test]
fn what_runs_below_used_is_shown_apart() {
    let fixture = tree();
    let (_, shown) = fixture.json(&["show", "lead"]);
    let counters = &shown["counters"];
    // Two requests of 60 tokens in each of the three runs.
    assert_eq!(
        counters["tokens_in"].as_u64().unwrap() + counters["tokens_out"].as_u64().unwrap(),
        120
    );
    assert_eq!(counters["below"]["tokens"], 240, "{counters}");
    assert_eq!(counters["with_below"]["tokens"], 360, "{counters}");
    assert_eq!(counters["with_below"]["tools_ok"], 1, "{counters}");
    let (_, shown) = fixture.json(&["show", "lead.1.1"]);
    assert_eq!(shown["counters"]["below"], Value::Null);
    let why = fixture.ok(&["show", "lead", "--why"]);
    assert!(
        why.contains("360 of ") && why.contains(": 120 by this run, 240 by those below it"),
        "{why}"
    );
    let shown = fixture.ok(&["show", "lead"]);
    assert!(
        shown.contains("with what is below it: 360 tokens"),
        "{shown}"
    );
    let shown = fixture.ok(&["show", "lead.1.1"]);
    assert!(!shown.contains("below it"), "{shown}");
}

/// 000/4.llm.8, 000/4.tool.7
#[test]
fn accounting_names_the_agent_and_the_agents_that_called_it() {
    let fixture = tree();
    let bill = fixture.read("home/accounting.jsonl");
    let lines: Vec<Value> = bill
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut names = BTreeMap::new();
    for line in &lines {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let known = names
            .entry(text("txnId"))
            .or_insert_with(|| (text("agentId"), text("callPath")));
        assert_eq!(*known, (text("agentId"), text("callPath")), "{line}");
        assert_eq!(line["originTxnId"], "lead", "{line}");
    }
    let of = |run: &str| names[run].clone();
    let pair = |agent: &str, path: &str| (agent.to_owned(), path.to_owned());
    assert_eq!(of("lead"), pair("lead", "lead"), "{bill}");
    assert_eq!(of("lead.1"), pair("middle", "lead:middle"), "{bill}");
    assert_eq!(of("lead.1.1"), pair("clock", "lead:middle:clock"), "{bill}");
    // The transcripts say the same.
    for run in ["lead", "lead.1", "lead.1.1"] {
        let (_, shown) = fixture.json(&["show", run]);
        let mut own: Vec<&Value> = lines.iter().filter(|line| line["txnId"] == run).collect();
        own.sort_by_key(|line| line["index"].as_u64());
        assert_eq!(json!(own), shown["accounting"], "{run}");
    }
}

/// Returns the op that is a separate session.
fn session_in(tree: &Value) -> &Value {
    let turns = tree["turns"].as_array().unwrap().iter();
    let mut ops = turns.flat_map(|turn| turn["ops"].as_array().unwrap());
    let op = ops.find(|op| op["kind"] == "session").unwrap();
    &op["childSession"]
}

/// 001/12.snapshots.4
#[test]
fn a_snapshot_has_the_sessions_of_the_agents_that_were_called() {
    let fixture = Fixture::new();
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("middle", "agents: [clock.yaml]\n", &calls);
    // The lead calls an agent, and then a tool that a person has to allow.
    let mut says = asks(&[("agent__middle", prompt("What time is it?"))], "");
    says.truncate(1);
    says.extend(asks(&[("clock", json!({}))], "Late."));
    let more = "agents: [middle.yaml]\ntools: {builtin: [clock]}\nrequire_approval: [clock]\n";
    fixture.agent("lead", more, &says);
    let kept = ["--sessions-dir", "sessions", "--save-all", "all"];
    let run = [&["--no-wait", "--json"], &kept[..]].concat();
    let left = fixture.ends(&super::lead(&run), 8);
    let hash = left.document()["waits_for"]["arguments_hash"].clone();
    // After the agent, while the session continues.
    let left = snapshot(&fixture, "lead");
    assert_eq!(left["reason"], "subagent_finish", "{left}");
    let tree = &left["opTree"];
    assert_eq!(
        (&tree["success"], &tree["endedAt"]),
        (&json!(false), &Value::Null)
    );
    let middle = session_in(tree);
    assert_eq!(
        (&middle["id"], &middle["success"]),
        (&json!("lead.1"), &json!(true))
    );
    // What is under way is no part of it.
    assert_eq!(tree["totals"]["tokensIn"], 50 * 5, "{tree}");
    assert!(!left.to_string().contains("\"failed\""), "{left}");
    assert!(!fixture.path("all").exists(), "the run has no end");
    let hash = hash.as_str().unwrap();
    fixture.ok(&["approve", "lead", "--yes", "--arguments", hash]);
    fixture.ok(&[&["resume", "lead"][..], &kept].concat());
    let ended = snapshot(&fixture, "lead");
    assert_eq!(ended["reason"], "final", "{ended}");
    let tree = &ended["opTree"];
    let middle = session_in(tree);
    let clock = session_in(middle);
    assert_eq!(
        (&clock["id"], &clock["agentId"]),
        (&json!("lead.1.1"), &json!("clock"))
    );
    assert_eq!(clock["callPath"], "lead:middle:clock");
    assert_eq!(middle["traceId"], tree["traceId"]);
    assert_eq!(middle["attributes"]["origin"], "lead");
    // The totals are those of all sessions.
    assert_eq!(tree["totals"]["tokensIn"], 50 * 7, "{tree}");
    assert_eq!(
        (&tree["totals"]["agentsRun"], &tree["totals"]["toolsRun"]),
        (&json!(2), &json!(2))
    );
    // Each run's conversation stands with that of the first.
    assert_eq!(
        files(&fixture, "all/lead"),
        ["lead.1.1.json", "lead.1.json", "lead.json"]
    );
    let (_, shown) = fixture.json(&["show", "lead.1"]);
    let saved: Value = serde_json::from_str(&fixture.read("all/lead/lead.1.json")).unwrap();
    assert_eq!(saved, shown["conversation"]);
}
