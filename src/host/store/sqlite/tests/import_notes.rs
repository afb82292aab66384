//! Files of one run with other checkpoints, imported one after the other: what is kept verifies, and a known key goes first.

use std::path::Path;
use std::sync::Arc;

use super::{folder, open, terms, write};
use crate::store::{ImportError, StoreReader, import};
use monolith_core::transcript::{
    Chain, Checkpoint, SecretKey, Trust, WithheldBlobs, checkpoint_line,
};
use monolith_testkit::sample::SampleRun;

fn known() -> SecretKey {
    SecretKey::from_seed("local", &[1; 32]).unwrap()
}

fn stranger() -> SecretKey {
    SecretKey::from_seed("local", &[2; 32]).unwrap()
}

fn trust() -> Arc<Trust> {
    Arc::new(Trust {
        keys: vec![known().public()],
        ..Trust::default()
    })
}

/// The line of a checkpoint after so many entries, behind those after these numbers.
fn line(run: &SampleRun, entries: usize, earlier: &[usize], key: &SecretKey) -> Vec<u8> {
    let of = |entries: usize| {
        let last = &run.entries[entries - 1];
        let outcome = last.decode_action().unwrap().outcome;
        let sealed = outcome.filter(|_| entries == run.entries.len());
        let chain = Chain::resumed(run.contract.contract_hash(), last.hash, last.seq + 1);
        Checkpoint::of(&chain, &run.run_id, sealed)
    };
    let mut checkpoint = of(entries);
    for entries in earlier {
        checkpoint.earlier.add(&of(*entries).text());
    }
    checkpoint_line(&checkpoint.sign(key).to_string()).into_bytes()
}

/// A store, and what becomes of files that are imported into it.
struct Scene {
    _folder: tempfile::TempDir,
    path: std::path::PathBuf,
    run: SampleRun,
}

impl Scene {
    fn new() -> Self {
        let (folder, path) = folder();
        Self {
            path: path.with_file_name("to.db"),
            run: SampleRun::new("r-1"),
            _folder: folder,
        }
    }

    /// All lines but checkpoints; those of the first entries alone where that is asked for.
    fn file(&self, begun: bool) -> Vec<u8> {
        let lines = self.run.lines();
        let kept = if begun { 4 } else { lines.len() };
        lines[..kept].concat()
    }

    fn given(&self, begun: bool, notes: &[Vec<u8>]) -> Vec<u8> {
        [self.file(begun), notes.concat()].concat()
    }

    fn import(&self, begun: bool, notes: &[Vec<u8>]) -> Result<(), ImportError> {
        let given = self.path.with_extension("jsonl");
        std::fs::write(&given, self.given(begun, notes)).unwrap();
        import(&self.path, &given, terms(begun), &trust()).map(|_| ())
    }

    /// The checkpoints that the store has now, which verify to that level.
    #[track_caller]
    fn has(&self, begun: bool, notes: &[Vec<u8>], level: &str) {
        assert_eq!(exported(&self.path, &self.run), self.given(begun, notes));
        let mut reader = StoreReader::open(&self.path).unwrap();
        let report = reader.verify_run_trusting(&self.run.run_id, begun, &trust());
        let report = report.unwrap();
        assert_eq!(report.first_bad, None);
        assert_eq!(report.level, level);
    }
}

fn exported(path: &Path, run: &SampleRun) -> Vec<u8> {
    let mut out = Vec::new();
    let mut reader = StoreReader::open(path).unwrap();
    let run = reader.read_run(&run.run_id).unwrap();
    run.export(&mut out, WithheldBlobs::Needed).unwrap();
    out
}

#[test]
fn the_earlier_checkpoints_of_an_import_follow_the_one_of_its_seal() {
    let scene = Scene::new();
    let end = scene.run.entries.len();
    let at = |entries, earlier: &[usize], key: &SecretKey| line(&scene.run, entries, earlier, key);
    let (two, three) = (at(2, &[], &known()), at(3, &[], &known()));
    let (two_theirs, three_theirs) = (at(2, &[], &stranger()), at(3, &[], &stranger()));
    let ours = [two.clone(), at(end, &[2], &known())];
    let theirs = [three_theirs.clone(), at(end, &[3], &stranger())];
    // What a stranger adds to a file that is signed at its seal makes it another file than was signed.
    let added = [ours[0].clone(), three_theirs.clone(), ours[1].clone()];
    let refused = scene.import(false, &added);
    assert!(matches!(refused, Err(ImportError::NotVerified { .. })));
    // Nothing contradicts what a stranger adds to a beginning, but the seal does.
    scene
        .import(true, &[two_theirs.clone(), three_theirs.clone()])
        .unwrap();
    scene.has(true, &[two_theirs, three_theirs.clone()], "L0");
    scene.import(false, &ours).unwrap();
    scene.has(false, &ours, "L1");
    // What a known key has signed stays, with what belongs to it.
    scene.import(false, &theirs).unwrap();
    scene.import(false, &[at(end, &[], &stranger())]).unwrap();
    scene.import(true, &[two.clone(), three.clone()]).unwrap();
    scene.has(false, &ours, "L1");
}

#[test]
fn a_seal_that_a_known_key_has_signed_brings_its_earlier_checkpoints() {
    let scene = Scene::new();
    let end = scene.run.entries.len();
    let at = |entries, earlier: &[usize], key: &SecretKey| line(&scene.run, entries, earlier, key);
    let theirs = [at(3, &[], &stranger()), at(end, &[3], &stranger())];
    scene.import(false, &[]).unwrap();
    scene.import(false, &theirs).unwrap();
    scene.has(false, &theirs, "L0");
    // Of one text, the signature that is known is kept; the seal's is the stranger's still.
    let known_three = at(3, &[], &known());
    scene
        .import(true, std::slice::from_ref(&known_three))
        .unwrap();
    scene.has(false, &[known_three, theirs[1].clone()], "L0");
    let ours = [at(2, &[], &known()), at(end, &[2], &known())];
    scene.import(false, &ours).unwrap();
    scene.has(false, &ours, "L1");
}

#[test]
fn no_strangers_seal_takes_a_checkpoint_away_that_a_known_key_has_signed() {
    let scene = Scene::new();
    let end = scene.run.entries.len();
    let at = |entries, earlier: &[usize], key: &SecretKey| line(&scene.run, entries, earlier, key);
    let begun = [at(2, &[], &known())];
    scene.import(true, &begun).unwrap();
    scene.import(false, &[at(end, &[], &stranger())]).unwrap();
    scene.has(false, &begun, "L0");
    // One that counts it may come.
    let counted = [at(2, &[], &stranger()), at(end, &[2], &stranger())];
    scene.import(false, &counted).unwrap();
    scene.has(false, &[begun[0].clone(), counted[1].clone()], "L0");
    let ours = [begun[0].clone(), at(end, &[2], &known())];
    scene.import(false, &ours).unwrap();
    scene.has(false, &ours, "L1");
}

#[test]
fn a_run_of_this_store_takes_no_checkpoint_from_a_file() {
    let scene = Scene::new();
    let end = scene.run.entries.len();
    write(&open(&scene.path), &scene.run, 1);
    let notes = [line(&scene.run, end, &[], &known())];
    scene.import(false, &notes).unwrap();
    scene.has(false, &[], "L0");
}
