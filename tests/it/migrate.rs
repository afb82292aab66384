//! `migrate`, and what every command says of versions that it does not know. That a store of an older format is migrated, and that
//! nothing is lost where that is killed, is shown beside the store.

use std::path::PathBuf;

use serde_json::Value;

use crate::fixture::{Fixture, Left, says};

struct Scene(Fixture);

impl Scene {
    /// A state folder with a run that was signed and one that was not.
    fn new() -> Self {
        let scene = Self(Fixture::new());
        scene.0.script("", &[&says("all is well")]);
        let run = |name: &str, more: &[&str]| {
            let args = ["run", "--contract", "c.yaml", "--run-id", name];
            scene.0.ok(&[&args, more].concat());
        };
        run("chat-1", &[]);
        run("unsigned-1", &["--no-sign"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn command(&self, args: &[&str]) -> (i32, String, String) {
        let left = Left::from(self.0.command(args).output().unwrap());
        (left.code, left.out, left.err)
    }

    #[track_caller]
    fn ends(&self, args: &[&str], code: i32, says: &str) -> String {
        let (got, out, err) = self.command(args);
        assert_eq!(got, code, "{args:?}: {out}{err}");
        assert!(format!("{out}{err}").contains(says), "{args:?}: {out}{err}");
        out
    }

    /// Writes another number as the format of the store.
    fn claim_format(&self, format: i32) {
        let store = rusqlite::Connection::open(self.path(STORE)).unwrap();
        store.pragma_update(None, "user_version", format).unwrap();
    }
}

const STORE: &str = "home/runs.db";

#[test]
fn a_store_of_the_current_format_is_left_as_it_is() {
    let scene = Scene::new();
    let runs = || ["chat-1", "unsigned-1"].map(|run| scene.ends(&["export", run], 0, ""));
    let before = runs();
    for args in [
        &["migrate"][..],
        &["migrate", "--dry-run"],
        &["migrate", "--to", "2"],
    ] {
        scene.ends(args, 0, "nothing to do: ");
    }
    scene.ends(&["migrate", "--to", "3"], 4, "this build knows up to 2");
    let older = "nothing is migrated to an older format";
    scene.ends(&["migrate", "--to", "0"], 4, older);
    assert!(runs() == before);
    let copies = std::fs::read_dir(scene.path("home")).unwrap();
    let copies = copies.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let copies: Vec<String> = copies.filter(|name| name.contains("format")).collect();
    assert_eq!(copies, [""; 0]);
}

#[test]
fn what_is_no_store_and_states_no_version_is_told_what_to_do() {
    let scene = Scene::new();
    scene.ends(&["migrate", STORE], 4, "monolith migrate --store FILE");
    scene.ends(&["migrate", "nothing.jsonl"], 4, "nothing.jsonl");
    std::fs::write(scene.path("author.yaml"), "task: hi\n").unwrap();
    scene.ends(
        &["migrate", "author.yaml"],
        4,
        "monolith contract check FILE",
    );
    let file = scene.ends(&["export", "chat-1"], 0, "");
    for (from, to, says) in [
        (
            "\"adapter_version\":\"openai-chat/1\"",
            "\"adapter_version\":\"openai-chat/9\"",
            "its adapter is \"openai-chat/9\", and this build knows ",
        ),
        (
            "\"adapter_version\":\"openai-chat/1\"",
            "\"adapter_version\":\"openai-chat/0\"",
            "its adapter is \"openai-chat/0\", and this build knows ",
        ),
        (
            "\"semantics_version\":1",
            "\"semantics_version\":2",
            "its semantics_version is \"2\", and this build knows 1",
        ),
    ] {
        let edited = file.replace(from, to);
        assert_ne!(edited, file);
        std::fs::write(scene.path("edited.jsonl"), edited).unwrap();
        scene.ends(&["migrate", "edited.jsonl"], 4, says);
    }
}

#[test]
fn a_level_that_is_not_reached_says_what_is_missing() {
    let scene = Scene::new();
    scene.ends(
        &["verify", "chat-1", "--require", "L1"],
        0,
        "L1 is required",
    );
    let missing = "L2 is required, L1 was reached; pinned heads: no earlier head was given";
    scene.ends(&["verify", "chat-1", "--require", "L2"], 7, missing);
    let missing = "L1 is required, L0 was reached; signature: no signed checkpoint";
    let out = scene.ends(
        &["verify", "unsigned-1", "--require", "L1", "--json"],
        7,
        missing,
    );
    let report: Value = serde_json::from_str(&out).unwrap();
    let last = report["checks"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["name"], &last["ok"]),
        (&"required".into(), &false.into())
    );
    scene.ends(&["verify", "chat-1", "--write-pin", "heads"], 0, "");
    scene.ends(
        &["verify", "chat-1", "--pin", "heads", "--require", "L2"],
        0,
        "level L2",
    );
    scene.ends(
        &["verify", "chat-1", "--pin", "heads", "--require", "L3"],
        7,
        "witness: ",
    );
    scene.ends(&["verify", "chat-1", "--require", "L4"], 4, "");
}

/// Shows 002/6.open.4.
#[test]
fn versions_that_this_build_does_not_know_are_refused_by_name_everywhere() {
    let scene = Scene::new();
    let file = scene.ends(&["export", "chat-1"], 0, "");
    let listed = scene.ends(&["migrate", "--list"], 0, "monolith-transcript/1");
    for format in [
        "monolith-contract/1",
        "monolith-work-receipt/1",
        "openai-chat/1",
        "semantics 1",
    ] {
        assert!(listed.contains(format), "{listed}");
    }
    let store = listed.lines().last().unwrap().split_whitespace();
    assert_eq!(store.collect::<Vec<_>>(), ["store", "1", "to", "2", "2"]);
    std::fs::write(scene.path("ok.jsonl"), &file).unwrap();
    scene.ends(
        &["migrate", "ok.jsonl"],
        0,
        "nothing to do: ok.jsonl is monolith-transcript/1",
    );
    let contract: Value = serde_json::from_str(file.lines().next().unwrap()).unwrap();
    let contract = serde_json::to_string_pretty(&contract["contract"]).unwrap();
    std::fs::write(scene.path("ok.json"), &contract).unwrap();
    scene.ends(
        &["migrate", "ok.json"],
        0,
        "nothing to do: ok.json is monolith-contract/1",
    );
    let newer = contract.replace("monolith-contract/1", "monolith-contract/2");
    std::fs::write(scene.path("newer.json"), newer).unwrap();
    let says = "its format is monolith-contract/2, which is newer than monolith-contract/1";
    scene.ends(&["migrate", "newer.json"], 4, says);
    for (from, to) in [
        ("monolith-transcript/1", "monolith-transcript/2"),
        ("monolith-transcript/1", "monolith-transcript/0"),
        ("monolith-contract/1", "monolith-contract/2"),
    ] {
        std::fs::write(scene.path("other.jsonl"), file.replacen(from, to, 1)).unwrap();
        scene.ends(&["migrate", "other.jsonl"], 4, to);
        for args in [
            &["verify", "other.jsonl"][..],
            &["import", "other.jsonl", "--store", "new.db"][..],
            &["show", "other.jsonl"][..],
            &["replay", "other.jsonl"][..],
        ] {
            scene.ends(args, 7, to);
        }
    }
    for (format, expect) in [
        (9, "its format is 9, and this build reads up to 2"),
        (0, "its format 0 is unknown to every build"),
    ] {
        scene.claim_format(format);
        for args in [
            &["verify", "chat-1"][..],
            &["list"],
            &["show", "chat-1"],
            &["replay", "chat-1"],
            &["resume", "chat-1"],
            &["import", "ok.jsonl"],
            &["migrate"],
            &["migrate", "--to", "2"],
        ] {
            scene.ends(args, 1, expect);
        }
    }
    scene.claim_format(2);
    scene.ends(&["verify", "chat-1"], 0, "verified");
}

/// Before the first release a store of another build has the same number. It is named for what it is, and what is said of a way out is so.
#[test]
fn a_store_of_another_build_is_named_and_its_runs_are_taken_along() {
    let scene = Scene::new();
    let lacking = rusqlite::Connection::open(scene.path(STORE)).unwrap();
    lacking.execute_batch("DROP TABLE deletions").unwrap();
    drop(lacking);
    let run = ["run", "--contract", "c.yaml", "--run-id", "next"];
    for command in [
        &run[..],
        &["log", "prove", "chat-1"],
        &["delete", "chat-1", "--yes"],
    ] {
        let (code, out, err) = scene.command(command);
        let said = format!("{out}{err}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, 7, "{command:?}: {said}");
        for expect in [
            "has the table deletions, and this one does not: another build of monolith wrote it",
            "monolith export RUN --output FILE",
            "and the files next to it with that name aside",
        ] {
            assert!(said.contains(expect), "{command:?}: {expect}: {said}");
        }
        assert!(!said.contains("what still holds"), "{command:?}: {said}");
    }
    // What is said to work works.
    scene.ends(&["list"], 0, "unsigned-1");
    for name in ["chat-1", "unsigned-1"] {
        scene.ends(&["show", name], 7, "NOT VERIFIED");
        scene.ends(
            &["export", name, "--output", &format!("{name}.jsonl")],
            7,
            "NOT VERIFIED",
        );
    }
    for ending in ["", "-wal", "-shm"] {
        drop(std::fs::rename(
            scene.path(&format!("{STORE}{ending}")),
            scene.path(&format!("home/aside.db{ending}")),
        ));
    }
    scene.ends(
        &["import", "chat-1.jsonl", "unsigned-1.jsonl"],
        0,
        "imported",
    );
    scene.ends(
        &["verify", "chat-1", "--require", "L1"],
        0,
        "verified at level L1",
    );
    scene.ends(&run, 0, "");
}
