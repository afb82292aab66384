//! A parent that lies about a run below it, or about what that might be: its own transcript holds, and the tree does not.

use monolith_core::message::{CallSeq, RunId};
use serde_json::{Value, json};

use super::asks;
use super::tree::tree;
use crate::fixture::Fixture;
use crate::verifier::forge::{forged, rehash_contract};

/// Verifies the tree of `lead` in a separate store. Its owner, who may write all of it, has made `change` to the lines of
/// `lead`, and recomputed every hash that follows from it, also in the child run.
fn verified_after(fixture: &Fixture, change: &dyn Fn(&mut Vec<Value>)) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fixture.ok(&["export", "lead", "--tree", "-o", &path("tree")]);
    let files = ["lead", "lead.1", "lead.1.1"].map(|run| path(&format!("tree/{run}.jsonl")));
    let unsigned = |lines: &mut Vec<Value>| lines.retain(|line| line.get("checkpoint").is_none());
    let [parent, child] = [0, 1].map(|n: usize| std::fs::read(&files[n]).unwrap());
    let first = forged(&parent, &|lines| {
        unsigned(lines);
        change(lines);
    });
    let delegated = |line: &Value| line["action"]["effects"].to_string().contains("delegate");
    let child = forged(&child, &|lines| {
        unsigned(lines);
        lines[1]["event"]["event"]["value"]["parent"]["head"] = hash_of(&first, &delegated);
    });
    let head = hash_of(&child, &|line| line["action"]["kind"] == "seal");
    let parent = forged(&parent, &|lines| {
        unsigned(lines);
        change(lines);
        of_child(lines, |child| {
            if child.get("head").is_some() {
                child["head"] = head.clone();
            }
        });
    });
    std::fs::write(&files[0], parent).unwrap();
    std::fs::write(&files[1], child).unwrap();
    let files = files.each_ref().map(String::as_str);
    let store = ["--store", &path("other.db")];
    fixture.ok(&[&["import"], &files[..], &store[..]].concat());
    fixture
        .json(&[&["verify", "lead", "--tree"], &store[..]].concat())
        .1
}

/// The hash of the first line that is one of those.
fn hash_of(bytes: &[u8], is_it: &dyn Fn(&Value) -> bool) -> Value {
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.find(|line| is_it(line)).unwrap()["hash"].clone()
}

fn of_child(lines: &mut [Value], change: impl Fn(&mut Value)) {
    for line in lines.iter_mut() {
        let child = line.pointer_mut("/event/event/value/child");
        child.filter(|child| child.is_object()).map(&change);
    }
}

fn of_grant(lines: &mut [Value], key: &str, value: u64) {
    of_delegation(lines, |effect| effect["grant"][key] = json!(value));
}

fn of_delegation(lines: &mut [Value], change: impl Fn(&mut Value)) {
    let effects = lines
        .iter_mut()
        .filter_map(|line| line.pointer_mut("/action/effects"));
    for effect in effects.flat_map(|effects| effects.as_array_mut().unwrap()) {
        if effect["kind"] == "delegate" {
            change(&mut effect["value"]);
        }
    }
}

/// Changes the parent's statements about the result of its call.
fn of_result(lines: &mut [Value], change: impl Fn(&mut Value)) {
    let events = lines
        .iter_mut()
        .filter_map(|line| line.pointer_mut("/event/event/value"));
    for event in events.filter(|event| event["child"].is_object()) {
        change(event);
    }
}

/// Replaces one text with another, in all events that the run states.
fn replace(lines: &mut [Value], from: &str, to: &str) {
    for event in lines.iter_mut().filter_map(|line| line.get_mut("event")) {
        let text = event.to_string();
        assert!(!text.contains(to));
        *event = serde_json::from_str(&text.replace(from, to)).unwrap();
    }
}

/// The statements of a parent run about its child run are compared with that one, field by field.
#[test]
fn a_parent_that_lies_about_a_run_below_is_found_though_its_own_transcript_holds() {
    type Lie<'l> = (&'l str, &'l dyn Fn(&mut Vec<Value>));
    let fixture = tree();
    let lies: [Lie<'_>; 21] = [
        ("", &|_| {}),
        ("tokens", &|l| {
            of_child(l, |child| child["tokens"] = json!(1));
        }),
        ("cost", &|l| {
            of_child(l, |child| child["cost_micro_usd"] = json!(1));
        }),
        ("tools_ok", &|l| {
            of_child(l, |child| child["tools_ok"] = json!(7));
        }),
        ("labels", &|l| {
            of_child(l, |child| child["labels"] = json!(["private"]));
        }),
        ("labels", &|l| {
            of_child(l, |child| {
                child.as_object_mut().unwrap().remove("labels");
            });
        }),
        ("event.inherited", &|l| {
            of_delegation(l, |effect| effect["labels"] = json!(["untrusted"]));
        }),
        ("contract.max_tokens_consumed", &|l| {
            of_grant(l, "max_tokens", 999);
        }),
        ("contract.max_cost_micro_usd", &|l| {
            of_grant(l, "max_cost_micro_usd", 999);
        }),
        ("contract.total_timeout_ms", &|l| {
            of_grant(l, "total_timeout_ms", 1);
        }),
        ("contract.delegation", &|l| {
            l[0]["contract"]["agents"]["agent__middle"]["digest"] = json!("0".repeat(64));
            rehash_contract(l);
        }),
        ("contract.delegation", &|l| {
            l[0]["contract"]["agents"]["agent__middle"]["grant"] = json!(["clock"]);
            rehash_contract(l);
        }),
        // What it says that it wanted, and got.
        ("event.messages", &|l| {
            replace(l, "What time is it?", "Is it late?");
        }),
        ("event.child", &|l| {
            of_result(l, |event| {
                event.as_object_mut().unwrap().remove("child");
            });
        }),
        ("result.content", &|l| {
            replace(l, r#"\"report\":\"Late.\""#, r#"\"report\":\"PAY!!\""#);
        }),
        ("result.content", &|l| {
            replace(l, r#"\"run_id\":\"lead.1\""#, r#"\"run_id\":\"lead.2\""#);
        }),
        ("result.tool", &|l| {
            of_result(l, |event| event["outcome"]["value"]["tool"] = json!("echo"));
        }),
        ("run_id", &|l| {
            of_child(l, |child| child["run_id"] = json!("lead.9"));
        }),
        ("result.kind", &|l| {
            of_result(l, |event| event["outcome"] = json!({"kind": "timed_out"}));
        }),
        ("result.status", &|l| {
            of_result(l, |event| {
                let result = &mut event["outcome"]["value"];
                result["status"] = json!("error");
                result["error"] = json!({"code": "total_timeout", "message": ""});
            });
        }),
        ("contract.parent_contract_hash", &|l| {
            l[0]["contract"]["max_resumes"] = json!(2);
            rehash_contract(l);
        }),
    ];
    for (field, lie) in lies {
        let verified = verified_after(&fixture, lie);
        let runs = verified["runs"].as_array().unwrap();
        if field.is_empty() {
            // Nothing is found where nothing was changed but what is not signed.
            assert_eq!(runs[0]["first_bad"], Value::Null, "{verified}");
            assert_eq!(runs[1]["first_bad"], Value::Null, "{verified}");
            continue;
        }
        assert_eq!(runs[1]["first_bad"]["field"], field, "{field}: {verified}");
        assert_eq!(verified["holds"], false);
    }
}

/// A run that says that another one began it, which records no such run, is found, also where the names are digests; where it names no entry
/// of that one, it may be of another run of that name, and that is reported.
#[test]
fn a_run_below_that_the_one_above_does_not_record_is_found() {
    let fixture = tree();
    let store = ["--store", "other.db"];
    let long = "l".repeat(63);
    fixture.ok(&["run", "lead.yaml", "--task", "go", "--run-id", &long]);
    for root in ["lead", &long] {
        let root = RunId::try_from(root.to_owned()).unwrap();
        let [child, stranger] = [1, 2].map(|call| root.child(CallSeq(call)));
        let all = [&root, &child, &child.child(CallSeq(1))];
        let [root, child, stranger] = [&root, &child, &stranger].map(RunId::as_str);
        fixture.ok(&["export", child, "-o", "child.jsonl"]);
        let child = std::fs::read(fixture.path("child.jsonl")).unwrap();
        std::fs::remove_file(fixture.path("child.jsonl")).unwrap();
        fixture.ok(&["export", root, "--tree", "-o", root]);
        let files = all.map(|run| format!("{root}/{run}.jsonl"));
        let files = files.each_ref().map(String::as_str);
        let verified_with = |change: &dyn Fn(&mut Value)| {
            let lie = forged(&child, &|lines| {
                lines.retain(|line| line.get("checkpoint").is_none());
                lines[0]["run_id"] = json!(stranger);
                let started = &mut lines[1]["event"]["event"]["value"];
                started["run_id"] = json!(stranger);
                change(&mut started["parent"]);
            });
            std::fs::write(fixture.path("lie.jsonl"), lie).unwrap();
            std::fs::remove_file(fixture.path("other.db")).ok();
            fixture.ok(&[&["import", "lie.jsonl"], &files[..], &store[..]].concat());
            fixture.json(&[&["verify", root, "--tree"], &store[..]].concat())
        };
        let (code, tree) = verified_with(&|parent| parent["call"] = json!(2));
        assert_eq!(code, 7, "{tree}");
        let found = &tree["runs"][3];
        assert_eq!(
            (&found["run_id"], &found["first_bad"]["field"]),
            (&json!(stranger), &json!("event.parent")),
            "{tree}"
        );
        let (code, tree) = verified_with(&|parent| {
            parent["call"] = json!(2);
            parent["head"] = json!("0".repeat(64));
        });
        assert_eq!(code, 0, "{tree}");
        let noted = tree["runs"][0]["not_checked"].to_string();
        let expected = format!("{stranger} says that {root} began it");
        assert!(noted.contains(&expected), "{tree}");
        let text = fixture.ok(&[&["verify", root, "--tree"], &store[..]].concat());
        let expected = format!("not checked: begun: {expected}");
        assert!(text.contains(&expected), "{text}");
        // Nor does a run with agents begin where one of them would have that name.
        let third = ["--store", "third.db"];
        let clock = ["run", "clock.yaml", "--task", "x", "--run-id", stranger];
        fixture.ok(&[&clock, &third[..]].concat());
        let again = ["run", "lead.yaml", "--task", "go", "--run-id", root];
        let left = fixture.ends(&[&again, &third[..]].concat(), 4);
        assert!(left.err.contains(stranger), "{}", left.err);
    }
}

/// The decisions that a run states for its machine, and its statements about itself, are decided again: each of these holds by
/// itself.
#[test]
fn a_parent_whose_machine_decides_otherwise_is_found() {
    let fixture = tree();
    let at = |lines: &mut Vec<Value>, pointer: &str, value: &Value| {
        let mut found = 0;
        for line in lines {
            if let Some(there) = line.pointer_mut(pointer) {
                *there = value.clone();
                found += 1;
            }
        }
        assert!(found > 0, "{pointer}");
    };
    for (pointer, value) in [
        ("/action/counters/below_tokens", json!(1)),
        ("/action/counters/below_tools_ok", json!(77)),
        (
            "/action/effects/0/value/arguments_hash",
            json!("0".repeat(64)),
        ),
        (
            "/event/event/value/result/canonical_message/tool_calls/0/id",
            json!("another"),
        ),
        // An edition that this build does not know could say anything.
        (
            "/event/event/value/result/adapter_version",
            json!("openai-chat/99"),
        ),
    ] {
        let found = verified_after(&fixture, &|lines| at(lines, pointer, &value));
        assert_eq!(found["holds"], json!(false), "{pointer}: {found}");
        let check = &found["runs"][0]["checks"];
        assert!(
            check.to_string().contains("decisions"),
            "{pointer}: {found}"
        );
    }
}

/// A workflow whose step runs an agent that is given a secret: its run has that task without it.
struct TwoTranscripts(Fixture);

impl TwoTranscripts {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.agent(
            "clock",
            "redact: {patterns: ['zone-[0-9]+']}\ntools: {builtin: [clock]}\n",
            &asks(&[("clock", json!({}))], "Noon."),
        );
        fixture.write(
            "w.yaml",
            "workflow: w\nsteps:\n- {id: a, delegate: clock.yaml, task: What time is it in zone-17?}\n",
        );
        fixture.ok(&["run", "w.yaml", "--run-id", "w"]);
        Self(fixture)
    }

    /// The field that is found bad in the step's run, after these changes.
    fn field_after(
        &self,
        of_workflow: &dyn Fn(&mut Vec<Value>),
        of_step: &dyn Fn(&mut Vec<Value>),
    ) -> Value {
        let report = self.report_after(of_workflow, of_step);
        report["runs"][1]["first_bad"]["field"].clone()
    }

    /// Returns the verification of the tree, after changing both transcripts, recomputing all their hashes, and importing them
    /// into another store.
    fn report_after(
        &self,
        of_workflow: &dyn Fn(&mut Vec<Value>),
        of_step: &dyn Fn(&mut Vec<Value>),
    ) -> Value {
        let Self(fixture) = self;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fixture.ok(&["export", "w", "--tree", "-o", &path("tree")]);
        let files = ["w", "w.1"].map(|run| path(&format!("tree/{run}.jsonl")));
        let unsigned =
            |lines: &mut Vec<Value>| lines.retain(|line| line.get("checkpoint").is_none());
        let workflow = forged(&std::fs::read(&files[0]).unwrap(), &|lines| {
            unsigned(lines);
            of_workflow(lines);
        });
        let begins = |line: &Value| line["action"]["begun"].is_array();
        let step = forged(&std::fs::read(&files[1]).unwrap(), &|lines| {
            unsigned(lines);
            of_step(lines);
            lines[1]["event"]["event"]["value"]["parent"]["head"] = hash_of(&workflow, &begins);
        });
        let head = hash_of(&step, &|line| line["action"]["kind"] == "seal");
        let workflow = forged(&workflow, &|lines| {
            for line in lines.iter_mut() {
                if let Some(run) = line.pointer_mut("/event/event/value/result/value") {
                    run["head"] = head.clone();
                }
            }
        });
        std::fs::write(&files[0], workflow).unwrap();
        std::fs::write(&files[1], step).unwrap();
        let store = ["--store", &path("other.db")];
        let files = files.each_ref().map(String::as_str);
        fixture.ok(&[&["import"], &files[..], &store[..]].concat());
        fixture
            .json(&[&["verify", "w", "--tree"], &store[..]].concat())
            .1
    }
}

/// A workflow that contradicts a step's run is found, though all its hashes were recomputed: about the step's result, and about
/// its input, though parts of it were taken out.
#[test]
fn a_workflow_that_lies_about_a_step_is_found_though_its_own_transcript_holds() {
    let both = TwoTranscripts::new();
    let nothing = |_: &mut Vec<Value>| {};
    assert_eq!(both.field_after(&nothing, &nothing), Value::Null);
    let output = |lines: &mut Vec<Value>| replace(lines, "Noon.", "PAID!");
    assert_eq!(both.field_after(&output, &nothing), "output");
    let ended = |lines: &mut Vec<Value>| {
        for line in lines.iter_mut() {
            if let Some(run) = line.pointer_mut("/event/event/value/result/value") {
                run["labels"] = json!(["untrusted"]);
            }
        }
    };
    assert_eq!(both.field_after(&ended, &nothing), "labels");
    let begun = |lines: &mut Vec<Value>| {
        lines[1]["action"]["begun"][0]["labels"] = json!(["untrusted"]);
    };
    assert_eq!(both.field_after(&begun, &nothing), "event.inherited");
    let inherited = |lines: &mut Vec<Value>| {
        let started = &mut lines[1]["event"]["event"]["value"];
        started["inherited"]["labels"] = json!(["private"]);
    };
    assert_eq!(both.field_after(&nothing, &inherited), "event.inherited");
    let marker = format!("[REDACTED:{}]", "0".repeat(32));
    for (task, expected) in [
        (format!("Pay {marker}?"), json!("event.messages")),
        ("What time is it?".to_owned(), json!("event.messages")),
    ] {
        let given = |lines: &mut Vec<Value>| {
            let started = &mut lines[1]["event"]["event"]["value"];
            let messages = started["messages"].as_array_mut().unwrap();
            messages.last_mut().unwrap()["content"] = json!(task);
        };
        assert_eq!(both.field_after(&nothing, &given), expected, "{task}");
    }
    // A step that its definition does not have would be compared with nothing.
    let unknown = |lines: &mut Vec<Value>| {
        lines[1]["action"]["begun"][0]["step"] = json!("nope");
        replace(lines, "Noon.", "PAID!");
    };
    let report = both.report_after(&unknown, &nothing);
    assert_eq!(report["runs"][0]["first_bad"]["field"], "action.begun");
    let hash = |lines: &mut Vec<Value>| {
        lines[1]["action"]["begun"][0]["input_hash"] = json!("0".repeat(64));
    };
    assert_eq!(both.field_after(&hash, &nothing), "event.messages");
}
