//! Evidence that somebody keeps elsewhere: files of pins, named keys, witnesses; and a store that lost what it should hold.

use super::*;

#[test]
fn a_file_of_pins_is_only_ever_added_to() {
    let scene = Scene::new();
    let heads = scene.read("heads");
    assert_eq!(heads.lines().count(), 3, "{heads}");
    scene.ok(&["verify", "r-1", "--write-pin", "heads"]);
    assert_eq!(scene.read("heads"), heads);
    // An end without its line feed, notes and remarks are pins, too.
    let kept = format!("# mine\n{}{}", scene.read("log.note"), heads.trim_end());
    scene.write("kept", &kept);
    scene.run("r-4");
    scene.ok(&["verify", "r-4", "--write-pin", "kept"]);
    let grown = scene.read("kept");
    assert!(grown.starts_with(&format!("{kept}\nr-4 ")), "{grown}");
    scene.ok(&["verify", "r-4", "--pin", "kept"]);
    let refuse = |name: &str, text: &str, expect: &str| {
        scene.write(name, text);
        let (code, out, err) = scene.command(&["verify", "r-1", "--write-pin", name]);
        assert_eq!((code, out.as_str()), (4, ""), "{err}");
        let said: String = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(expect), "{expect}: {err}");
        assert_eq!(scene.read(name), text);
    };
    refuse(
        "notes.txt",
        "# a list\n\nbuy milk\n",
        "line 3: a pin is `RUN ENTRIES HEAD`",
    );
    refuse("some.keys", &scene.ok(&["key", "show"]), "line 1: a pin is");
    let left: Vec<_> = std::fs::read_dir(scene.path("."))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".new"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_key_that_is_named_is_not_said_to_be_on_the_same_disk() {
    let scene = Scene::new();
    let own = scene.ok(&["verify", "r-1"]);
    assert!(
        own.contains("a key on the same disk proves nothing"),
        "{own}"
    );
    let named = scene.ok(&["verify", "r-2.jsonl", "--key", "auditor.keys"]);
    assert!(!named.contains("same disk"), "{named}");
}

#[test]
fn a_witness_lifts_the_level_of_what_it_has_seen_and_by_its_own_key_alone() {
    let scene = Scene::new();
    let witness = SecretKey::from_seed("witness.example", &[9; 32]).unwrap();
    let namesake = SecretKey::from_seed("witness.example", &[8; 32]).unwrap();
    let note = scene.read("log.note");
    let (text, _) = note.split_once("\n\n").unwrap();
    let theirs = witness.sign_text(&format!("{text}\n")).unwrap().to_string();
    let line = theirs.lines().last().unwrap();
    scene.write("cosigned.note", &format!("{note}{line}\n"));
    let (key, other) = (witness.public().to_string(), namesake.public().to_string());
    let level = |run: &str, key: &str, expect: &str| {
        scene.holds(
            &["verify", run, "--pin", "cosigned.note", "--witness", key],
            expect,
        );
    };
    level("r-2", &key, "L3");
    level("r-2", &other, "L2");
    // The head is older than the run: no witness has vouched for it.
    scene.run("r-4");
    level("r-4", &key, "L1");
    level("r-2", &key, "L3");
    let required = ["verify", "r-4", "--pin", "cosigned.note", "--witness", &key];
    let (code, out, _) = scene.command(&[&required[..], &["--require", "L3"]].concat());
    assert_eq!(code, 7, "{out}");
    assert!(out.contains("L3 is required, L1 was reached"), "{out}");
}

#[test]
fn a_store_without_a_table_is_refused_before_a_tool_runs() {
    let scene = Scene::new();
    scene
        .store()
        .execute_batch("DROP TABLE log_leaves")
        .unwrap();
    let (code, out, err) = scene.command(&["run", "--contract", "c.yaml", "--run-id", "r-4"]);
    assert_eq!(code, 7, "{out}{err}");
    assert!(err.contains("the table log_leaves"), "{err}");
    scene.finds(&["log", "verify"], "truncated");
    scene.finds(&["verify", "r-1"], "truncated");
    let (code, out, _) = scene.command(&["verify", "r-1"]);
    assert_eq!(code, 7);
    assert!(
        out.contains("truncated at table log_leaves, table: expected the table log_leaves"),
        "{out}"
    );
}

#[test]
fn a_log_that_was_renamed_signs_nothing() {
    let scene = Scene::new();
    scene.sql("UPDATE log_name SET name = 'x' || char(10) || '999'");
    for args in [
        &["log", "root", "--note"][..],
        &["log", "prove", "r-1"],
        &["log", "consistency", "1"],
    ] {
        let (code, out, err) = scene.command(args);
        assert_eq!((code, out.as_str()), (7, ""), "{err}");
        assert!(err.contains("log_name"), "{err}");
    }
    scene.finds(&["log", "verify"], "tampered");
    scene.finds(&["verify", "r-1"], "tampered");
}

#[test]
fn a_damaged_row_that_is_the_newest_is_no_other_run() {
    let scene = Scene::new();
    let store = scene.store();
    store
        .pragma_update(None, "ignore_check_constraints", true)
        .unwrap();
    store
        .execute("UPDATE runs SET head_seq = -9 WHERE run_id = 'r-3'", [])
        .unwrap();
    drop(store);
    let named = "run \"r-3\": head_seq: expected -1 or more, got -9";
    for args in [
        &["verify", "last"][..],
        &["verify", "last", "--require", "L1"],
        &["show", "last"],
        &["show", "last", "--tree"],
        &["export", "last"],
        &["replay", "last"],
        &["resume", "last"],
        &["show", "r-3", "--tree"],
    ] {
        let (code, out, err) = scene.command(args);
        assert_eq!((code, out.as_str()), (7, ""), "{args:?}: {err}");
        assert!(err.contains(named), "{args:?}: {err}");
    }
    // Its neighbours are still there, and what is not said of them is said to be missing.
    scene.holds(&["verify", "r-2"], "L1");
    let (code, out, err) = scene.command(&["show", "r-2", "--tree"]);
    assert!(out.starts_with("r-2  6 entries, "), "{out}");
    assert!(code == 7 && err.contains(named), "{code}: {err}");
}

#[test]
fn a_store_brings_no_program_with_it() {
    let scene = Scene::new();
    // A trigger would drop what is written, and say that it was.
    scene
        .store()
        .execute_batch(
            "CREATE TRIGGER lost BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END; \
             CREATE TRIGGER gone AFTER INSERT ON checkpoints BEGIN DELETE FROM entries WHERE run = 1; END;",
        )
        .unwrap();
    scene.run("r-4");
    scene.holds(&["verify", "r-4"], "L1");
    scene.holds(&["verify", "r-1"], "L1");
    // A view instead of a table would never end.
    scene
        .store()
        .execute_batch(
            "DROP TRIGGER lost; DROP TRIGGER gone; PRAGMA legacy_alter_table = ON; ALTER TABLE runs RENAME TO were; \
             CREATE VIEW runs AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) \
             SELECT n AS id, 'r-' || n AS run_id, contract_hash, created_unix_ms, epoch, owner, \
             head_seq, head_hash, class, code FROM c, were",
        )
        .unwrap();
    for args in [
        &["verify", "r-1"][..],
        &["list"],
        &["show", "last"],
        &["export", "r-1"],
    ] {
        let (code, out, err) = scene.command(args);
        assert_eq!((code, out.as_str()), (7, ""), "{args:?}: {err}");
        assert!(err.contains("runs"), "{args:?}: {err}");
    }
    scene.finds(&["log", "verify"], "truncated");
}

#[test]
fn a_witness_that_cosigns_the_seal_of_an_exported_file_counts_as_well() {
    let scene = Scene::new();
    let set = ["--run-id", "often", "--set", "checkpoint_every=2"];
    scene.ok(&[&["run", "--contract", "c.yaml"][..], &set].concat());
    let file = scene.ok(&["export", "often"]);
    let witness = SecretKey::from_seed("witness.example", &[9; 32]).unwrap();
    let stranger = SecretKey::from_seed("witness.example", &[8; 32]).unwrap();
    let lines: Vec<&str> = file.lines().collect();
    let cosigned = |at: usize, by: &SecretKey| {
        let mut line: Value = serde_json::from_str(lines[at]).unwrap();
        let note = line["checkpoint"].as_str().unwrap();
        let (text, _) = note.split_once("\n\n").unwrap();
        let theirs = by.sign_text(&format!("{text}\n")).unwrap().to_string();
        let theirs = theirs.lines().last().unwrap();
        line["checkpoint"] = json!(format!("{note}{theirs}\n"));
        let line = line.to_string();
        let mut lines = lines.clone();
        lines[at] = &line;
        scene.write("cosigned.jsonl", &(lines.join("\n") + "\n"));
    };
    let key = witness.public().to_string();
    let args = [
        "verify",
        "cosigned.jsonl",
        "--key",
        "auditor.keys",
        "--witness",
        &key,
    ];
    let last = lines.len() - 1;
    cosigned(last, &witness);
    scene.holds(&args, "L3");
    scene.holds(&args[..4], "L1");
    // Somebody else of that name is a stranger, and who has seen the beginning has not seen the end.
    cosigned(last, &stranger);
    scene.holds(&args, "L1");
    let early = lines
        .iter()
        .position(|line| line.starts_with("{\"checkpoint\""));
    assert!(early.unwrap() < last);
    cosigned(early.unwrap(), &witness);
    scene.holds(&args, "L1");
}

#[test]
fn a_file_without_a_seal_is_said_to_have_none_wherever_it_is_exported() {
    let scene = Scene::new();
    let file = scene.read("r-2.jsonl");
    let open: Vec<&str> = file.lines().take(3).collect();
    scene.write("open.jsonl", &(open.join("\n") + "\n"));
    for format in ["html", "atif", "cast"] {
        let said = |file: &str| {
            let (code, _, err) =
                scene.command(&["export", file, "--format", format, "--force-unverified"]);
            assert_eq!(code, 0, "{format}: {err}");
            err.contains("note: the run has not ended")
        };
        assert!(said("open.jsonl"), "{format}");
        assert!(!said("r-2.jsonl"), "{format}");
    }
}

#[test]
fn an_earlier_checkpoint_cannot_be_left_out_of_a_signed_run() {
    let scene = Scene::new();
    let set = ["--run-id", "often", "--set", "checkpoint_every=2"];
    scene.ok(&[&["run", "--contract", "c.yaml"][..], &set].concat());
    scene.holds(&["verify", "often", "--key", "auditor.keys"], "L1");
    let file = scene.ok(&["export", "often"]);
    let first = file
        .lines()
        .position(|line| line.starts_with("{\"checkpoint\""));
    let mut left: Vec<&str> = file.lines().collect();
    left.remove(first.unwrap());
    scene.write("left.jsonl", &(left.join("\n") + "\n"));
    let end = format!("file {}", left.len());
    scene.finds_at(&["verify", "left.jsonl"], "truncated", &end);
    scene.sql(
        "DELETE FROM checkpoints WHERE run = (SELECT id FROM runs WHERE run_id = 'often') \
         AND entries = (SELECT min(entries) FROM checkpoints WHERE run = (SELECT id FROM runs WHERE run_id = 'often'))",
    );
    scene.finds_at(&["verify", "often"], "truncated", "checkpoints");
}
