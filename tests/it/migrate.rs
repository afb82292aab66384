//! `migrate`, and what every command says of versions that it does not know.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::desk::{Desk, Left};

struct Scene(Desk);

impl Scene {
    /// A folder with a store as version 0.1.0 wrote it.
    fn new() -> Self {
        let scene = Self(Desk::new());
        let kept = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/stores/format-1.db.gz"
        );
        let mut packed = flate2::read::GzDecoder::new(std::fs::File::open(kept).unwrap());
        let mut out = std::fs::File::create(scene.path("runs.db")).unwrap();
        std::io::copy(&mut packed, &mut out).unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn command(&self, args: &[&str]) -> (i32, String, String) {
        let left = Left::from(self.process(args).output().unwrap());
        (left.code, left.out, left.err)
    }

    /// The store lies in the folder itself.
    fn process(&self, args: &[&str]) -> Command {
        let mut command = self.0.command(args);
        command.env("MONOLITH_HOME", self.0.path(""));
        command
    }

    #[track_caller]
    fn ends(&self, args: &[&str], code: i32, says: &str) -> String {
        let (got, out, err) = self.command(args);
        assert_eq!(got, code, "{args:?}: {out}{err}");
        assert!(format!("{out}{err}").contains(says), "{args:?}: {out}{err}");
        out
    }
}

const KEYS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/fixtures/stores/format-1.keys"
);

#[test]
fn an_old_store_is_read_refused_for_writing_and_migrated_once() {
    let scene = Scene::new();
    let file = scene.ends(&["export", "tools-1"], 0, "");
    scene.ends(
        &["verify", "tools-1", "--key", KEYS],
        0,
        "verified at level L1",
    );
    scene.ends(&["list"], 0, "chat-1");
    let demo = scene.ends(&["demo"], 1, "its format is 1, and this build writes 2");
    assert_eq!(demo, "");
    scene.ends(&["resume", "open-1"], 1, "monolith migrate brings it up");
    scene.ends(
        &["migrate", "--dry-run"],
        0,
        "would be migrated from format 1 to 2",
    );
    scene.ends(&["migrate", "--to", "3"], 4, "this build knows up to 2");
    let told = scene.ends(&["migrate"], 0, "runs verified: 4, of which do not hold: 0");
    assert!(told.contains("the store as it was: "), "{told}");
    scene.ends(&["migrate"], 0, "nothing to do: ");
    scene.ends(
        &["migrate", "--to", "1"],
        4,
        "nothing is migrated to an older format",
    );
    scene.ends(
        &["verify", "tools-1", "--key", KEYS],
        0,
        "verified at level L1",
    );
    scene.ends(&["replay", "tools-1"], 0, "same");
    assert_eq!(scene.ends(&["export", "tools-1"], 0, ""), file);
    scene.ends(&["log", "verify"], 0, "with 3 runs");
}

/// Every run of a store as a file, and how many there are.
fn all_runs(scene: &Scene) -> Vec<String> {
    let runs = ["chat-1", "open-1", "tools-1", "unsigned-1"];
    runs.map(|run| scene.ends(&["export", run], 0, "")).into()
}

/// Whatever a migration that was cut off left: it is read as it was, and the next one goes through.
fn comes_through(scene: &Scene, held: &[String], when: &str) {
    assert_eq!(all_runs(scene), held, "{when}: as it was left");
    scene.ends(&["migrate"], 0, "");
    assert_eq!(all_runs(scene), held, "{when}: migrated");
    scene.ends(&["migrate"], 0, "has format 2");
    scene.ends(&["log", "verify"], 0, "with 3 runs");
    for run in ["chat-1", "tools-1"] {
        scene.ends(&["verify", run], 0, "verified");
    }
    scene.ends(&["verify", "open-1", "--open"], 0, "verified");
}

#[test]
fn a_migration_that_is_killed_at_any_moment_loses_nothing() {
    let held = all_runs(&Scene::new());
    let mut cut_off = 0;
    for moment in 0..24_u32 {
        let scene = Scene::new();
        let mut child = scene
            .process(&["migrate"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // At what can be seen from outside, and some time after it.
        let sign = [
            "runs.db.format-1.partial",
            "runs.db.format-1",
            "runs.db-wal",
        ];
        let sign = scene.path(sign[moment as usize % 3]);
        while !sign.exists() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        let until = Instant::now() + Duration::from_micros(u64::from(moment / 3) * 300);
        while Instant::now() < until {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        cut_off += u32::from(!child.wait().unwrap().success());
        comes_through(&scene, &held, &format!("moment {moment}"));
    }
    println!("{cut_off} of 24 migrations were killed before their end");
    assert!(cut_off > 0);
}

/// The shell's limit on the length of files: the system kills whoever writes past it, or refuses where the signal is ignored.
#[cfg(target_os = "linux")]
#[test]
fn a_migration_that_runs_out_of_room_or_is_stopped_at_a_write_loses_nothing() {
    let held = all_runs(&Scene::new());
    for (signal, blocks) in [
        ("trap '' XFSZ;", 8),
        ("", 8),
        ("trap '' XFSZ;", 60),
        ("", 60),
        ("trap '' XFSZ;", 120),
        ("", 120),
    ] {
        let scene = Scene::new();
        let line = format!(
            "{signal} ulimit -c 0; ulimit -f {blocks}; exec {} migrate",
            env!("CARGO_BIN_EXE_monolith")
        );
        let left = Command::new("sh")
            .args(["-c", &line])
            .current_dir(scene.path(""))
            .env("MONOLITH_HOME", scene.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&left.stderr);
        if !signal.is_empty() && !left.status.success() {
            assert_eq!(left.status.code(), Some(1), "{blocks}: {said}");
            assert!(said.contains("runs.db"), "{blocks}: {said}");
        }
        comes_through(
            &scene,
            &held,
            &format!("{blocks} blocks, {signal:?}: {said}"),
        );
    }
}

#[test]
fn what_is_no_store_and_states_no_version_is_told_what_to_do() {
    let scene = Scene::new();
    scene.ends(&["migrate", "runs.db"], 4, "monolith migrate --store FILE");
    scene.ends(&["migrate", "nothing.jsonl"], 4, "nothing.jsonl");
    std::fs::write(scene.path("c.yaml"), "task: hi\n").unwrap();
    scene.ends(&["migrate", "c.yaml"], 4, "monolith contract check FILE");
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
        &["verify", "tools-1", "--key", KEYS, "--require", "L1"],
        0,
        "L1 is required",
    );
    let missing = "L2 is required, L1 was reached; pinned heads: no earlier head was given";
    scene.ends(
        &["verify", "tools-1", "--key", KEYS, "--require", "L2"],
        7,
        missing,
    );
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
    scene.ends(&["verify", "tools-1", "--write-pin", "heads"], 0, "");
    scene.ends(
        &["verify", "tools-1", "--pin", "heads", "--require", "L2"],
        0,
        "level L2",
    );
    scene.ends(
        &["verify", "tools-1", "--pin", "heads", "--require", "L3"],
        7,
        "witness: ",
    );
    scene.ends(&["verify", "tools-1", "--require", "L4"], 4, "");
}

#[test]
fn versions_that_this_build_does_not_know_are_refused_by_name_everywhere() {
    let scene = Scene::new();
    let file = scene.ends(&["export", "chat-1"], 0, "");
    let listed = scene.ends(&["migrate", "--list"], 0, "monolith-transcript/1");
    for format in [
        "monolith-contract/1",
        "openai-chat/1",
        "semantics 1",
        "1 to 2",
    ] {
        assert!(listed.contains(format), "{listed}");
    }
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
    let store = rusqlite::Connection::open(scene.path("runs.db")).unwrap();
    store.pragma_update(None, "user_version", 9).unwrap();
    drop(store);
    for args in [
        &["verify", "chat-1"][..],
        &["list"][..],
        &["show", "chat-1"][..],
        &["replay", "chat-1"][..],
        &["resume", "open-1"][..],
        &["import", "ok.jsonl"][..],
        &["migrate"][..],
    ] {
        scene.ends(args, 1, "its format is 9, and this build reads up to 2");
    }
}
