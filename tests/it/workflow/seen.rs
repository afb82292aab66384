//! A workflow as it is seen: listed with its steps, exported and imported, explained, drawn, and accounted for by step.

use serde_json::{Value, json};

use super::fixture;
use crate::browser::{body, opened, printed};
use crate::delegation::{asks, prompt};
use crate::fixture::Fixture;

/// A workflow of a step that calls an agent, and one that asks a model.
fn delegating() -> Fixture {
    let fixture =
        fixture("steps:\n- {id: ask, delegate: lead.yaml, task: go}\n- {id: say, prompt: ping}\n");
    fixture.worker("clock");
    let calls = asks(&[("agent__clock", prompt("What time is it?"))], "Late.");
    fixture.agent("lead", "agents: [clock.yaml]\n", &calls);
    assert_eq!(fixture.workflow().0, 0);
    fixture
}

/// A workflow whose second step fails, so that the first one is undone and the third never begins.
fn rolled_back() -> Fixture {
    let fixture = fixture(
        "on_failure: rollback
steps:
- {id: keep, tool: write_file, arguments: {path: a.txt, content: x}, compensate: undo}
- id: both
  parallel:
  - {id: well, prompt: ping}
  - {id: broken, tool: read_file, arguments: {path: none.txt}, depends_on: [well]}
- {id: never, prompt: ping}
compensations:
- {id: undo, tool: write_file, arguments: {path: a.txt, content: gone}}
",
    );
    let (code, result) = fixture.workflow();
    assert_eq!(
        (code, &result["outcome"]["class"]),
        (1, &json!("COMPENSATED")),
        "{result}"
    );
    fixture
}

#[test]
fn a_workflow_is_listed_and_shown_with_its_steps_and_what_is_below_them() {
    let fixture = delegating();
    let drawn = ["w ", "├─ w.1 ", "│  └─ w.1.1 ", "└─ w.2 "];
    for args in [&["list", "--tree"][..], &["show", "w.2", "--tree"]] {
        let out = fixture.ok(args);
        let mut rest = out.as_str();
        for name in drawn {
            let (_, after) = rest
                .split_once(name)
                .unwrap_or_else(|| panic!("{name}: {out}"));
            rest = after;
        }
        for link in ["step 1 ask: done", "call 1", "step 2 say: done"] {
            assert!(out.contains(link), "{link}: {out}");
        }
    }
    let (_, document) = fixture.json(&["list", "--tree"]);
    let workflow = &document["runs"][0];
    assert_eq!(
        (&workflow["run_id"], &workflow["workflow"]),
        (&json!("w"), &json!(true))
    );
    assert_eq!(workflow["below"][0]["below"][0]["run_id"], "w.1.1");
}

/// The export of a workflow makes the same workflow in an empty store, and each file proves the same by itself.
#[test]
fn a_workflow_goes_from_one_store_to_another_and_proves_the_same() {
    let fixture = delegating();
    fixture.ok(&["export", "w", "--tree", "-o", "out"]);
    let other = ["--store", "other.db"];
    let files = ["w.1.1", "w.2", "w", "w.1"].map(|run| format!("out/{run}.jsonl"));
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let imported = fixture.ok(&[&["import"][..], &files, &other].concat());
    assert!(imported.contains("imported: run w, "), "{imported}");
    for run in ["w", "w.1", "w.1.1", "w.2"] {
        for proof in ["verify", "replay"] {
            fixture.ok(&[&[proof, run][..], &other].concat());
        }
    }
    for args in [
        &["show", "w"][..],
        &["show", "w", "--tree"],
        &["show", "w", "--json"],
        &["show", "w", "--why"],
    ] {
        assert_eq!(
            fixture.ok(&[args, &other].concat()),
            fixture.ok(args),
            "{args:?}"
        );
    }
    // The file by itself.
    let file = "out/w.jsonl";
    assert!(fixture.ok(&["verify", file]).contains("verified"));
    assert!(fixture.ok(&["replay", file]).contains("all the same"));
    let shown = fixture.ok(&["show", file]);
    assert!(shown.contains("say  [prompt]  done"), "{shown}");
    let (_, of_file) = fixture.json(&["show", file]);
    assert_eq!(
        (&of_file["output"], &of_file["with_below"]),
        (&json!("pong"), &Value::Null)
    );
    // It is exported again as it was, byte for byte.
    fixture.ok(&[&["export", "w", "-o", "again.jsonl"][..], &other].concat());
    assert_eq!(fixture.read("again.jsonl"), fixture.read(file));
    // No byte of it can be another one.
    let text = fixture.read(file);
    for (old, new) in [
        ("\"place\":\"say\"", "\"place\":\"sae\""),
        ("\"id\":\"tried\"", "\"id\":\"tries\""),
        ("\"output\":\"pong\"", "\"output\":\"ping\""),
        ("\"kind\":\"seal\"", "\"kind\":\"noted\""),
    ] {
        assert!(text.contains(old), "{old}");
        fixture.write("bad.jsonl", &text.replacen(old, new, 1));
        assert_eq!(fixture.run(&["verify", "bad.jsonl"]).code, 7, "{old}");
        let import = ["import", "bad.jsonl", "--store", "third.db"];
        assert_eq!(fixture.run(&import).code, 7, "{old}");
    }
    // A cut file is no whole workflow; with --open it is one in progress, and can be extended.
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    fixture.write("cut.jsonl", &lines[..3].concat());
    assert_eq!(
        fixture
            .run(&["import", "cut.jsonl", "--store", "third.db"])
            .code,
        7
    );
    fixture.ok(&["import", "cut.jsonl", "--open", "--store", "third.db"]);
    let extended = fixture.ok(&["import", file, "--store", "third.db"]);
    assert!(
        extended.contains("extended: run w, from 2 to "),
        "{extended}"
    );
    fixture.ok(&["verify", "w", "--store", "third.db"]);
    // No trajectory is made of a workflow.
    let refused = fixture.ends(&["export", "w", "--format", "atif"], 4);
    assert!(
        refused
            .err
            .contains("a workflow cannot be exported as atif"),
        "{}",
        refused.err
    );
}

#[test]
fn why_a_workflow_ended_so_is_explained() {
    let fixture = rolled_back();
    let why = fixture.ok(&["show", "w", "--why"]);
    let mut rest = why.as_str();
    for part in [
        "COMPENSATED (tool_error)\n",
        "The tool of a step reported an error. Exit code 1.",
        "Decided in entry ",
        "What failed:",
        "both/broken  failed  run w.3",
        "What was compensated:",
        "step 1 keep  compensated  run w.1",
        "The last entries",
        "Used:\nsteps     3 of 100\n",
    ] {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part}: {why}"));
        rest = after;
    }
    let graph = fixture.ok(&["show", "w"]);
    for line in [
        "never  [prompt]  skipped",
        "undone by undo  done",
        "broken  [tool]  after well  failed",
    ] {
        assert!(graph.contains(line), "{line}: {graph}");
    }
    let (_, shown) = fixture.json(&["show", "w"]);
    assert_eq!(shown["counters"]["compensated"], 1, "{shown}");
    let used = shown["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["used"]["tokens"].as_u64().unwrap());
    assert_eq!(shown["with_below"]["tokens"], used.sum::<u64>(), "{shown}");
    let first = fixture.ok(&["show", "w", "--step", "0"]);
    assert!(first.contains("\"kind\": \"started\""), "{first}");
    assert_eq!(fixture.run(&["show", "w", "--step", "99"]).code, 4);
    // A workflow has no conversation.
    let refused = fixture.run(&["show", "w", "--conversation"]);
    assert!(
        refused.code != 0 && refused.err.contains("it is a workflow"),
        "{}",
        refused.printed()
    );
}

/// The page draws each step with where it stands, and leads to the pages of their runs.
#[test]
fn the_page_of_a_workflow_draws_its_graph() {
    let fixture = rolled_back();
    fixture.ok(&["export", "w", "--tree", "--format", "html", "-o", "pages"]);
    let page = fixture.read("pages/w.html");
    let Some(document) = opened(&page, "") else {
        return;
    };
    assert_eq!(printed(&document, "verdict"), "verified");
    let drawn = body(&document);
    let mut rest = drawn;
    for part in [
        "compensated: tool error<span id=\"cause\"> · both/broken ended: ",
        "aria-label=\"Steps of the workflow\"",
        ">keep</b>",
        ">compensated</b>",
        "href=\"w.1.html\"",
        "undone by ",
        "aria-label=\"both\"",
        ">well</b>",
        ">done</b>",
        ">broken</b>",
        ">failed</b>",
        "after well",
        ">never</b>",
        ">skipped</b>",
    ] {
        let (_, after) = rest
            .split_once(part)
            .unwrap_or_else(|| panic!("{part}: {drawn}"));
        rest = after;
    }
    // The page of a step leads back.
    let step = opened(&fixture.read("pages/w.1.html"), "#view=runs").unwrap();
    assert_eq!(printed(&step, "verdict"), "verified");
    assert!(body(&step).contains("href=\"w.html\""), "{}", body(&step));
    // A changed transcript is named at its entry.
    let open = "<script id=\"transcript\" type=\"application/octet-stream;base64\">";
    let (before, rest) = page.split_once(open).unwrap();
    let (data, after) = rest.split_once('<').unwrap();
    let engine = base64::engine::general_purpose::STANDARD;
    let text = String::from_utf8(base64::Engine::decode(&engine, data).unwrap()).unwrap();
    let changed = text.replacen("\"state\":\"", "\"state\":\"x", 1);
    let changed = if changed == text {
        text.replacen("\"step\":\"well\"", "\"step\":\"wall\"", 1)
    } else {
        changed
    };
    assert_ne!(changed, text);
    let page = format!(
        "{before}{open}{}<{after}",
        base64::Engine::encode(&engine, &changed)
    );
    let document = opened(&page, "").unwrap();
    assert_eq!(printed(&document, "verdict"), "tampered");
}

/// 000/4.llm.8, 000/4.tool.7
#[test]
fn accounting_has_the_requests_of_every_step_and_names_it() {
    let fixture = delegating();
    let bill = fixture.read("home/accounting.jsonl");
    let lines: Vec<Value> = bill
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of =
        |run: &str| -> Vec<&Value> { lines.iter().filter(|line| line["txnId"] == run).collect() };
    for (run, parent, agent, path) in [
        ("w.1", "w", "lead", "tried:ask:lead"),
        ("w.1.1", "w.1", "clock", "tried:ask:lead:clock"),
        ("w.2", "w", "say", "tried:say"),
    ] {
        let own = of(run);
        assert!(!own.is_empty(), "{run}: {bill}");
        for line in &own {
            assert_eq!(
                (&line["originTxnId"], &line["parentTxnId"]),
                (&json!("w"), &json!(parent)),
                "{line}"
            );
            assert_eq!(
                (&line["agentId"], &line["callPath"]),
                (&json!(agent), &json!(path)),
                "{line}"
            );
        }
        let (_, shown) = fixture.json(&["show", run]);
        assert_eq!(json!(own), shown["accounting"], "{run}");
    }
}
