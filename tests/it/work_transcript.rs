//! The transcript and the receipt of a work item: verified, exported, imported, replayed and listed, by
//! monolith and by verify.py.

use std::fs;
use std::path::Path;

use monolith_core::transcript::SecretKey;
use monolith_core::work::{Receipt, Statement};
use monolith_host::store::{Durability, Store, WorkRecord};
use serde_json::json;

use crate::fixture::Fixture;
use crate::verifier::python::verify_py;

#[allow(dead_code, reason = "the file is a module of the crate testkit, too")]
#[path = "../../src/testkit/work.rs"]
mod sample;

use sample::SampleWork;

/// A store with an item that has succeeded, signed by the key of this machine, and the files about it.
struct Scene {
    fixture: Fixture,
    key: String,
    receipt: Receipt,
}

impl Scene {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.ok(&["key", "generate"]);
        let secret: SecretKey = fixture.read("home/keys/local.key").trim().parse().unwrap();
        let key = secret.public();
        let sample = SampleWork::new("work-1");
        let receipt = write(&fixture.path("home/runs.db"), secret.clone(), &sample, true);
        fixture.ok(&["export", "work-1", "-o", "item.jsonl"]);
        let scene = Self {
            key: key.to_string(),
            fixture,
            receipt: receipt.unwrap(),
        };
        scene.keep("RECEIPT.json", &scene.receipt.to_bytes());
        let envelope = Statement::of_receipt(&scene.receipt).sign(&secret);
        scene.keep("RECEIPT.dsse.json", &serde_json::to_vec(&envelope).unwrap());
        let proof = scene.fixture.ok(&["log", "prove", "work-1"]);
        scene.keep("proof.json", proof.as_bytes());
        scene
    }

    fn keep(&self, name: &str, bytes: &[u8]) {
        fs::write(self.fixture.path(name), bytes).unwrap();
    }

    /// verify.py on these files under the key; its code and what it printed. `None` if it cannot run here.
    fn python(&self, files: &[&str]) -> Option<(i32, String)> {
        let key = format!("--key={}", self.key);
        let arguments = [&[key.as_str()], files].concat();
        let output = verify_py(self.fixture.path(".").as_path(), &arguments)?;
        let said = String::from_utf8(output.stdout).unwrap();
        Some((output.status.code().unwrap(), said))
    }
}

/// Appends an item to a store, without its seal if it is to stay open; the receipt of the sealed one.
fn write(path: &Path, secret: SecretKey, sample: &SampleWork, is_sealed: bool) -> Option<Receipt> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = Store::open(path, Durability::Normal).unwrap();
    let store = store.signed_by(secret);
    let (seal, entries) = sample.drafts.split_last().unwrap();
    let mut record = WorkRecord::begin(&store, sample.work.started(), None);
    for draft in entries {
        runtime.block_on(record.append(draft)).unwrap();
    }
    if !is_sealed {
        return None;
    }
    let sealed = record.seal(seal, &sample.work, &sample.facts);
    Some(runtime.block_on(sealed).unwrap())
}

#[test]
fn verify_py_and_monolith_judge_an_item_alike() {
    let scene = Scene::new();
    let keyed = |file| ["verify", file, "--key", "home/keys/local.pub"];
    scene.fixture.ok(&keyed("work-1"));
    scene.fixture.ok(&keyed("item.jsonl"));
    let files = [
        "item.jsonl",
        "RECEIPT.json",
        "RECEIPT.dsse.json",
        "proof.json",
    ];
    let Some((code, said)) = scene.python(&files) else {
        return;
    };
    assert_eq!(code, 0, "{said}");
    let receipt = format!("receipt {}", scene.receipt.hash());
    for expect in [
        "item.jsonl: verified at level L1",
        "ok  outcome success publishing",
        &receipt,
        &format!(
            "ok  receipt {} of work item work-1: success",
            scene.receipt.id()
        ),
        "RECEIPT.dsse.json: verified: signed by local+",
        "proof.json: verified: in the log, whose head a given key has signed",
    ] {
        assert!(said.contains(expect), "{expect}: {said}");
    }
}

/// Each change of a file, and the file that no longer holds.
#[test]
fn a_changed_receipt_is_found_by_verify_py() {
    let scene = Scene::new();
    let eve = SecretKey::from_seed("eve", &[9; 32]).unwrap();
    let sample = SampleWork::new("work-1");
    let other = write(
        &scene.fixture.path("home/other.db"),
        eve.clone(),
        &sample,
        true,
    );
    let other = other.unwrap();
    assert_eq!(other, scene.receipt, "the same item, in another store");
    let forged = Receipt {
        toolchain: "another".to_owned(),
        ..other
    };
    scene.keep("forged.json", &forged.to_bytes());
    let envelope = Statement::of_receipt(&scene.receipt).sign(&eve);
    scene.keep("eve.json", &serde_json::to_vec(&envelope).unwrap());
    let text = scene.fixture.read("proof.json");
    scene.keep("proof2.json", text.replace("success", "failure").as_bytes());
    let spaced = format!(" {}", scene.fixture.read("RECEIPT.json"));
    scene.keep("spaced.json", spaced.as_bytes());
    let cases = [
        (vec!["item.jsonl", "forged.json"], "forged.json"),
        (vec!["eve.json"], "eve.json"),
        (vec!["proof2.json"], "proof2.json"),
        (vec!["spaced.json"], "spaced.json"),
    ];
    for (files, bad) in cases {
        let Some((code, said)) = scene.python(&files) else {
            return;
        };
        assert_eq!(code, 7, "{files:?}: {said}");
        assert!(said.contains(&format!("{bad}: NOT VERIFIED")), "{said}");
    }
}

#[test]
fn an_item_is_replayed_exported_imported_and_listed() {
    let scene = Scene::new();
    let fixture = &scene.fixture;
    for asked in ["work-1", "item.jsonl"] {
        let said = fixture.ok(&["replay", asked]);
        let expect = "replayed: 6 entries of work item work-1, all the same\n";
        assert_eq!(said, expect);
    }
    let said = fixture.ok(&["import", "item.jsonl", "--store", "home/other.db"]);
    assert!(said.contains("work-1"), "{said}");
    fixture.ok(&["verify", "work-1", "--store", "home/other.db"]);
    fixture.ok(&["log", "verify", "--store", "home/other.db"]);
    let listed = fixture.json(&["list"]).1;
    let row = &listed["runs"][0];
    assert_eq!(row["work"], json!(true));
    assert_eq!(row["task"], json!("page: Write the page"));
    assert_eq!(
        row["outcome"],
        json!({"class": "success", "code": "publishing"})
    );
}

#[test]
fn an_item_is_refused_where_a_run_is_asked_for_and_the_help_names_its_commands() {
    let scene = Scene::new();
    for command in [
        vec!["show", "work-1", "--why"],
        vec!["show", "work-1", "--raw"],
        vec!["show", "work-1", "--follow"],
        vec!["export", "work-1", "--format", "atif"],
        vec!["replay", "work-1", "--fork-at", "1"],
    ] {
        let said = scene.fixture.ends(&command, 4).err;
        assert!(said.contains("work item"), "{command:?}: {said}");
    }
    let said = scene.fixture.ends(&["show", "work-1", "--why"], 4).err;
    assert!(said.contains("monolith work show"), "{said}");
    let path = scene.fixture.path("home/runs.db");
    let eve = SecretKey::from_seed("eve", &[9; 32]).unwrap();
    write(&path, eve, &SampleWork::new("work-2"), false);
    let left = scene.fixture.ends(&["resume", "--all"], 0);
    assert!(left.err.contains("no runs to resume"), "{}", left.printed());
    let said = scene.fixture.ends(&["resume", "work-2"], 4).err;
    assert!(said.contains("monolith work run"), "{said}");
}

#[test]
fn an_item_is_shown_by_both_commands_from_the_store_and_from_a_file() {
    let scene = Scene::new();
    let fixture = &scene.fixture;
    let said = fixture.ok(&["show", "work-1"]);
    for part in [
        "item        page\n",
        "state       success\n",
        "admission   admitted: files 1/10, calls 1/50, changes 1/100\n",
        "tests       exit code 0\n  all is well\n",
        "created     page.md  contents not kept here, bytes none -> 8\n",
        &format!("receipt     {}\n", scene.receipt.id()),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for asked in ["work-1", "page", "item.jsonl"] {
        assert_eq!(fixture.ok(&["work", "show", asked]), said, "{asked}");
    }
    assert_eq!(fixture.ok(&["show", "item.jsonl"]), said);
    let document = fixture.json(&["show", "work-1"]).1;
    assert_eq!(document["receipt_id"], json!(scene.receipt.id()));
    assert_eq!(document["changes"][0]["left_out"], json!("missing"));
    let other = fixture.json(&["work", "show", "page"]).1;
    assert_eq!(other, document);
}

/// A store whose owner wrote another decision under a valid chain.
#[test]
fn a_decision_that_is_not_the_machines_is_found() {
    let scene = Scene::new();
    let path = scene.fixture.path("home/forged.db");
    let eve = SecretKey::from_seed("eve", &[9; 32]).unwrap();
    let mut sample = SampleWork::new("work-1");
    // Without a comparison the changes could be any.
    sample.drafts[2].action.effect = None;
    write(&path, eve, &sample, true);
    let forged = ["work-1", "--store", "home/forged.db"];
    let asked = |command: &'static str| [&[command], forged.as_slice()].concat();
    scene.fixture.ok(&asked("verify"));
    let said = scene.fixture.ends(&asked("replay"), 6).out;
    assert!(said.contains("DIFFERS (work): entry 2, action"), "{said}");
    scene.fixture.ends(&asked("export"), 6);
    let said = scene.fixture.ends(&asked("show"), 6).out;
    let mark = "NOT THE STATE OF THE WORK ITEM: entry 2";
    assert!(said.starts_with(mark), "{said}");
    let json = [asked("show"), vec!["--json"]].concat();
    let said = scene.fixture.ends(&json, 6).printed();
    assert!(said.contains("monolith replay work-1"), "{said}");
    let page = [asked("export"), vec!["--format", "html"]].concat();
    let said = scene.fixture.ends(&page, 6).err;
    assert!(said.contains("the machine of work items"), "{said}");
}

/// The item names the run of its agent, which this store does not have.
#[test]
fn a_run_of_an_agent_that_is_missing_is_found_below_its_item() {
    let scene = Scene::new();
    let (code, report) = scene.fixture.json(&["verify", "work-1", "--tree"]);
    assert_eq!(code, 7, "{report}");
    let runs = report["runs"].as_array().unwrap();
    let bad = |at: usize| (&runs[at]["run_id"], &runs[at]["first_bad"]["actual"]);
    assert_eq!(bad(0), (&json!("work-1"), &json!(null)));
    let missing = json!("no such run in this store");
    assert_eq!(bad(1), (&json!("work-1.1"), &missing));
}
