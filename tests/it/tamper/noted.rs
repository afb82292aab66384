//! What somebody keeps elsewhere: files of pins, keys that are named, witnesses; and a store that lost what it should hold.

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
        .filter(|name| name.ends_with(".partial"))
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
    // The head is older than the run: nobody has vouched for it.
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
