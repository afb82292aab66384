//! The conformance suite of the store: what every [`Database`](super::database::Database) has to do, whatever keeps its rows.
//!
//! An implementation runs it with a function that makes empty stores. Features of one implementation only (files, locks of the
//! operating system, pages) are tested next to it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::thread::Thread;

use monolith_core::kernel::{AgentOutcome, Approval, EventKind, ParentRun};
use monolith_core::message::{CallSeq, Digest, RunId};
use monolith_core::transcript::{
    Chain, Checkpoint, ParentFound, SealedEntry, SecretKey, Trust, WithheldBlobs,
};
use monolith_testkit::sample::{SampleRun, run_id_of};

use super::answer::Answer;
use super::run::RunHandle;
use super::storable::batch;
use super::{
    Binding, Erasure, Invocation, NewBlob, NewCheckpoint, NewRun, Removal, RunFilter, Store,
    StoreError, StoreReader,
};

/// Runs the suite; each call of `make` gives another empty store.
pub(super) fn conforms(make: &dyn Fn() -> Store) {
    for check in [
        a_run_begins_whole_or_not_at_all,
        an_append_needs_the_epoch_the_length_and_the_head,
        a_stale_writer_is_fenced_and_leaves_nothing,
        a_reader_sees_acknowledged_entries_of_one_moment,
        blobs_are_kept_under_their_hash,
        runs_are_listed_filtered_and_found,
        an_answer_replaces_only_the_one_that_was_seen,
        one_process_drives_a_run,
        a_run_knows_its_parent,
        a_sealed_run_is_in_the_log_with_its_checkpoint,
        an_erased_blob_leaves_a_tombstone,
        a_deleted_run_leaves_a_note,
    ] {
        check(&make());
    }
}

fn a_run_begins_whole_or_not_at_all(store: &Store) {
    let run = SampleRun::new("r-1");
    let asked = Invocation {
        base_dir: "/base".into(),
        config: None,
        contract_file: "/base/c.yaml".into(),
        files: None,
        sets: vec!["max_turns=3".to_owned()],
    };
    let new = NewRun {
        binding: Binding::Contract(Arc::new(run.contract.clone())),
        created_unix_ms: 5,
        invocation: Some(asked.clone()),
        run_id: run.run_id.clone(),
    };
    let first = run.entries[..2].to_vec();
    let handle = wait(store.begin_run(new.clone(), first.clone(), None)).unwrap();
    assert_eq!((handle.epoch(), handle.chain().head()), (1, first[1].hash));
    let taken = wait(store.begin_run(new, run.entries[..1].to_vec(), None));
    let run_id = run.run_id.clone();
    assert_eq!(taken.err(), Some(StoreError::RunExists { run_id }));
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.invocation(&run.run_id).unwrap(), Some(asked));
    let stored = reader.read_run(&run.run_id).unwrap();
    assert_eq!(stored.contract().unwrap(), run.contract);
    assert_eq!((stored.row().length, stored.row().created_unix_ms), (2, 5));
    drop(stored);
    assert_eq!(entries(&mut reader, &run.run_id), first);
}

fn an_append_needs_the_epoch_the_length_and_the_head(store: &Store) {
    let run = SampleRun::new("r-1");
    let mut handle = create(store, &run, 1);
    wait(store.append(&mut handle, run.entries[..2].to_vec(), Vec::new())).unwrap();
    let changes: [fn(&mut RunHandle); 5] = [
        |run| run.epoch += 1,
        |run| run.epoch -= 1,
        |run| run.length -= 1,
        |run| run.length += 1,
        |run| run.head = Digest::of(b"another"),
    ];
    for change in changes {
        let mut other = copy(&handle);
        change(&mut other);
        let seq = usize::try_from(other.length).unwrap();
        let next = batch(
            (&run.run_id, other.length),
            run.entries[seq..=seq].to_vec(),
            vec![NewBlob::Bytes(b"late".to_vec())],
            None,
        );
        let refused = wait(store.database.append(&other, next.unwrap()));
        let run_id = run.run_id.clone();
        assert_eq!(refused, Err(StoreError::Fenced { run_id }), "{other:?}");
    }
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.blob(Digest::of(b"late")).unwrap(), None);
    assert_eq!(entries(&mut reader, &run.run_id), run.entries[..2]);
    let skipped = wait(store.append(&mut handle, run.entries[3..4].to_vec(), Vec::new()));
    let run_id = run.run_id.clone();
    let out_of_order = StoreError::OutOfOrder {
        run_id,
        expected: 2,
        got: 3,
    };
    assert_eq!(skipped, Err(out_of_order));
    wait(store.append(&mut handle, run.entries[2..4].to_vec(), Vec::new())).unwrap();
    assert_eq!(entries(&mut reader, &run.run_id), run.entries[..4]);
}

fn a_stale_writer_is_fenced_and_leaves_nothing(store: &Store) {
    let run = SampleRun::new("r-1");
    let none = wait(store.claim_run(&run.run_id)).err();
    assert!(
        matches!(none, Some(StoreError::NoSuchRun { .. })),
        "{none:?}"
    );
    let mut stale = create(store, &run, 1);
    wait(store.append(&mut stale, run.entries[..2].to_vec(), Vec::new())).unwrap();
    let mut owner = wait(store.claim_run(&run.run_id)).unwrap();
    assert_eq!((owner.epoch(), owner.chain()), (2, stale.chain()));
    let next = || run.entries[2..3].to_vec();
    // Also where the rightful owner wrote the very same.
    for _ in 0..2 {
        let refused = wait(store.append(&mut stale, next(), Vec::new()));
        let run_id = run.run_id.clone();
        assert_eq!(refused, Err(StoreError::Fenced { run_id }));
        if owner.chain().length() == 2 {
            wait(store.append(&mut owner, next(), Vec::new())).unwrap();
        }
    }
    let mut reader = store.reader().unwrap();
    assert_eq!(entries(&mut reader, &run.run_id), run.entries[..3]);
}

fn a_reader_sees_acknowledged_entries_of_one_moment(store: &Store) {
    let run = SampleRun::new("r-1");
    let mut handle = create(store, &run, 1);
    // What is not waited for is not acknowledged: a reader sees all of it or nothing.
    drop(store.append(&mut handle, run.entries[..2].to_vec(), Vec::new()));
    let mut reader = store.reader().unwrap();
    assert_eq!(entries(&mut reader, &run.run_id), []);
    wait(store.append(&mut handle, run.entries[..2].to_vec(), Vec::new())).unwrap();
    let mut again = reader.again().unwrap();
    let before = reader.read_run(&run.run_id).unwrap();
    wait(store.append(&mut handle, run.entries[2..].to_vec(), blobs(&run))).unwrap();
    assert_eq!(
        (before.row().length, before.row().outcome.clone()),
        (2, None)
    );
    assert_eq!(before.map(Result::unwrap).count(), 2);
    assert_eq!(entries(&mut again, &run.run_id), run.entries);
    let later = again.read_run(&run.run_id).unwrap().starting_at(9);
    let later: Vec<SealedEntry> = later.map(Result::unwrap).collect();
    assert_eq!(later, run.entries[9..]);
    let mut file = Vec::new();
    let stored = again.read_run(&run.run_id).unwrap();
    stored.export(&mut file, WithheldBlobs::Needed).unwrap();
    assert_eq!(file, run.lines().concat());
    assert_eq!(entries(&mut reader, &run.run_id), run.entries);
}

fn blobs_are_kept_under_their_hash(store: &Store) {
    let runs = ["r-1", "r-2"].map(SampleRun::new);
    let large = vec![7; 100_000];
    let put = wait(store.put_blob(b"put before".to_vec())).unwrap();
    assert_eq!(put, Digest::of(b"put before"));
    let mut expect = vec![put, Digest::of(&large), Digest::of(b"small")];
    expect.sort();
    for run in &runs {
        let mut handle = create(store, run, 1);
        let named = vec![
            NewBlob::Stored(put),
            NewBlob::Bytes(large.clone()),
            NewBlob::Bytes(b"small".to_vec()),
        ];
        wait(store.append(&mut handle, run.entries[..1].to_vec(), named)).unwrap();
    }
    let mut reader = store.reader().unwrap();
    for run in &runs {
        let stored = reader.read_run(&run.run_id).unwrap();
        assert_eq!(stored.blob_hashes().unwrap(), expect);
        let found = stored.blob(Digest::of(&large)).unwrap();
        assert_eq!(found.as_ref(), Some(&large));
    }
    assert_eq!(reader.blob(put).unwrap(), Some(b"put before".to_vec()));
    assert_eq!(reader.blob(Digest::ZERO).unwrap(), None);
}

fn runs_are_listed_filtered_and_found(store: &Store) {
    for (name, at) in [("alpha-1", 3), ("alpha-2", 1), ("beta", 2)] {
        write(store, &SampleRun::short(name), at);
    }
    create(store, &SampleRun::new("open"), 4);
    create(store, &SampleRun::new("alpha-1.2"), 0);
    let reader = store.reader().unwrap();
    let listed = |limit, filter| {
        let rows = reader.list_runs(limit, filter).unwrap();
        let names = rows.iter().map(|row| row.run_id.to_string());
        names.collect::<Vec<_>>()
    };
    assert_eq!(
        listed(9, RunFilter::All),
        ["open", "alpha-1", "beta", "alpha-2", "alpha-1.2"]
    );
    assert_eq!(listed(2, RunFilter::All), ["open", "alpha-1"]);
    assert_eq!(listed(9, RunFilter::Open), ["open", "alpha-1.2"]);
    assert_eq!(listed(9, RunFilter::Sealed), ["alpha-1", "beta", "alpha-2"]);
    let of = |class| listed(9, RunFilter::Class(class)).len();
    let ended = reader.list_runs(1, RunFilter::Sealed).unwrap().remove(0);
    let classes = AgentOutcome::ALL.into_iter();
    let found: Vec<_> = classes.filter(|class| of(*class) > 0).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(ended.outcome.unwrap().0, found[0].as_str());
    let resolved = |asked| reader.resolve(asked).map(|run| run.to_string());
    assert_eq!(resolved("bet").unwrap(), "beta");
    assert_eq!(resolved("last").unwrap(), "open");
    // A run below another one is meant only by its own name.
    assert_eq!(resolved("alpha-1").unwrap(), "alpha-1");
    assert_eq!(resolved("alpha-1.2").unwrap(), "alpha-1.2");
    let ambiguous = StoreError::Ambiguous {
        asked: "alpha".to_owned(),
        candidates: ["alpha-1", "alpha-2"].map(run_id_of).to_vec(),
    };
    assert_eq!(resolved("alpha"), Err(ambiguous));
    assert!(matches!(resolved("x"), Err(StoreError::NoSuchRun { .. })));
    let below = reader.named_below(&run_id_of("alpha-1")).unwrap();
    assert_eq!(below, [run_id_of("alpha-1.2")]);
    let (open, ended) = (run_id_of("open"), run_id_of("beta"));
    let is_open = |run| reader.is_open(run).unwrap();
    assert_eq!((is_open(&open), is_open(&ended)), (true, false));
    assert!(!reader.is_workflow(&open).unwrap());
}

fn an_answer_replaces_only_the_one_that_was_seen(store: &Store) {
    let run = SampleRun::new("r-1");
    let mut handle = create(store, &run, 1);
    let first = run.entries[..1].to_vec();
    let answer = |approved| Answer {
        approved,
        approval: Approval::to(CallSeq(1), Digest::of(b"{}")),
        first_entry: first[0].hash,
    };
    wait(store.append(&mut handle, first.clone(), Vec::new())).unwrap();
    let (reader, id) = (store.reader().unwrap(), &run.run_id);
    let leave = |approved, found| reader.leave_answer(id, &answer(approved), found).unwrap();
    assert!(!leave(true, (None, 2)), "the run has one entry");
    assert!(leave(true, (None, 1)));
    assert!(!leave(false, (None, 1)), "another one was left");
    assert_eq!(reader.left_answer(id), Ok(Some(answer(true))));
    assert!(leave(false, (Some(&answer(true)), 1)));
    let asked = |call| store.answer_to(id, (CallSeq(call), Digest::of(b"{}")));
    assert_eq!(asked(1), Ok(Some(answer(false))));
    assert_eq!(asked(2), Ok(None));
    let other = Approval::to(CallSeq(2), Digest::of(b"{}"));
    store.drop_answer(id, &other).unwrap();
    assert_eq!(asked(1), Ok(Some(answer(false))));
    store.drop_answer(id, &answer(false).approval).unwrap();
    assert_eq!(asked(1), Ok(None));
    let of_another = Answer {
        first_entry: Digest::of(b"an earlier run of that name"),
        ..answer(true)
    };
    assert!(reader.leave_answer(id, &of_another, (None, 1)).unwrap());
    assert_eq!(asked(1), Ok(None));
    store.drop_earlier_answer(id).unwrap();
    assert_eq!(reader.left_answer(id), Ok(None));
}

fn one_process_drives_a_run(store: &Store) {
    let (run, reader) = (run_id_of("r-1"), store.reader().unwrap());
    assert_eq!(reader.driver_of(&run).unwrap(), None);
    let lock = store.lock_run(&run).unwrap();
    let locked = store.lock_run(&run).err();
    assert!(
        matches!(locked, Some(StoreError::RunLocked { .. })),
        "{locked:?}"
    );
    let driver = reader.driver_of(&run).unwrap().unwrap();
    assert_eq!(driver.pid, Some(std::process::id()));
    drop(lock);
    store.lock_run(&run).unwrap().discard();
    assert_eq!(reader.driver_of(&run).unwrap(), None);
}

fn a_run_knows_its_parent(store: &Store) {
    let (parent, child) = (SampleRun::new("lead"), SampleRun::new("lead.1"));
    let mut handle = create(store, &parent, 1);
    wait(store.append(&mut handle, parent.entries[..3].to_vec(), Vec::new())).unwrap();
    let mut first = child.entries[0].clone();
    let mut event = first.decode_event().unwrap().unwrap();
    let EventKind::RunStarted(started) = &mut event.event else {
        panic!("entry 0 begins no run");
    };
    started.parent = Some(ParentRun {
        call: Some(CallSeq(1)),
        head: parent.entries[2].hash,
        run_id: parent.run_id.clone(),
    });
    first.event = serde_json::to_string(&event).unwrap();
    let mut handle = create(store, &child, 2);
    wait(store.append(&mut handle, vec![first], Vec::new())).unwrap();
    let reader = store.reader().unwrap();
    let found = reader.lineage(&child.run_id).unwrap().unwrap();
    assert_eq!(found.found, ParentFound::Entry(2));
    assert!(found.is_of(&parent.run_id, Some(CallSeq(1))));
    assert_eq!(reader.lineage(&parent.run_id).unwrap(), None);
    assert_eq!(reader.goes_on_with(&child.run_id).unwrap(), parent.run_id);
    assert_eq!(reader.resolve("last").unwrap(), parent.run_id);
}

fn a_sealed_run_is_in_the_log_with_its_checkpoint(store: &Store) {
    let (signed, plain) = (SampleRun::new("r-1"), SampleRun::short("r-2"));
    let mut handle = create(store, &signed, 1);
    let last = signed.entries.last().unwrap();
    let outcome = last.decode_action().unwrap().outcome;
    let chain = Chain::resumed(signed.contract.contract_hash(), last.hash, last.seq + 1);
    let checkpoint = Checkpoint::of(&chain, &signed.run_id, outcome).sign(&key());
    let checkpoint = NewCheckpoint {
        entries: last.seq + 1,
        note: checkpoint.to_string(),
    };
    let entries = signed.entries.clone();
    let noted = Some(checkpoint.clone());
    wait(store.append_signed(&mut handle, entries, blobs(&signed), noted)).unwrap();
    assert_ne!(
        wait(store.earlier_checkpoints(&handle)).unwrap(),
        monolith_core::transcript::EarlierCheckpoints::default()
    );
    write(store, &plain, 2);
    let mut reader = store.reader().unwrap();
    let stored = reader.read_run(&signed.run_id).unwrap();
    assert_eq!(stored.checkpoints().unwrap(), [checkpoint.note]);
    let class = stored.row().outcome.clone().unwrap().0;
    assert_eq!(class, outcome.unwrap().class.as_str());
    drop(stored);
    let log = reader.run_log().unwrap();
    assert_eq!(log.leaves.len(), 2);
    let (index, leaf) = reader.log_leaf(&plain.run_id).unwrap().unwrap();
    assert_eq!((index, leaf.contains("r-2")), (1, true));
    let trust = Arc::new(Trust {
        keys: vec![key().public()],
        ..Trust::default()
    });
    for (run, level) in [(&signed, "L1"), (&plain, "L0")] {
        let report = reader.verify_run_trusting(&run.run_id, false, &trust);
        let report = report.unwrap();
        assert_eq!((report.level, report.first_bad), (level, None));
    }
    let report = reader.verify_log(&trust).unwrap();
    assert_eq!((report.size, report.first_bad), (2, None));
}

fn an_erased_blob_leaves_a_tombstone(store: &Store) {
    let run = SampleRun::new("r-1");
    write(store, &run, 1);
    let blob = Digest::of(b"the whole of a long file");
    let found = store.reader().unwrap().elsewhere(blob).unwrap();
    assert_eq!(found, [], "no other text has it");
    let erased = store.erase(&Erasure {
        run_id: run.run_id.clone(),
        blob: blob.short(12),
        reason: "asked for".to_owned(),
        at_unix_ms: 9,
        all_runs: false,
        key: &key(),
    });
    let erased = erased.unwrap();
    assert_eq!((erased.hash, erased.bytes), (blob, Some(24)));
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.blob(blob).unwrap(), None);
    let stored = reader.read_run(&run.run_id).unwrap();
    assert_eq!(stored.tombstones().unwrap().len(), 1);
    assert!(!stored.blob_hashes().unwrap().contains(&blob));
    let claimed = wait(store.claim_run(&run.run_id)).err();
    let run_id = run.run_id.clone();
    assert_eq!(claimed, Some(StoreError::Erased { run_id, blobs: 1 }));
}

fn a_deleted_run_leaves_a_note(store: &Store) {
    let (gone, stays) = (SampleRun::new("r-1"), SampleRun::new("r-2"));
    write(store, &gone, 1);
    write(store, &stays, 2);
    let removal = |run: &str| Removal {
        runs: vec![run_id_of(run)],
        reason: "old".to_owned(),
        at_unix_ms: 9,
        force: false,
        key: SIGNER.get_or_init(key),
    };
    assert!(store.remove(&removal("none")).is_err());
    let done = store.remove(&removal("r-1")).unwrap();
    assert_eq!((done.runs, done.stopped), (vec![gone.run_id.clone()], None));
    let mut reader = store.reader().unwrap();
    let none = reader.read_run(&gone.run_id).err();
    assert!(
        matches!(none, Some(StoreError::NoSuchRun { .. })),
        "{none:?}"
    );
    let keys = [key().public()];
    let (_, reason) = reader.deleted("r-1", &keys).unwrap().unwrap();
    assert_eq!(reason, "old");
    let (index, leaf) = reader.deleted_leaf("r-1").unwrap().unwrap();
    assert_eq!((index, leaf.contains("r-1")), (0, true));
    assert_eq!(reader.log_deletions(2, None).unwrap().count, 1);
    // Blobs that both name stay, and so does the leaf.
    let shared = Digest::of(&stays.blobs[0]);
    assert_eq!(reader.blob(shared).unwrap().as_ref(), stays.blobs.first());
    assert_eq!(entries(&mut reader, &stays.run_id), stays.entries);
    let report = reader.verify_log(&Trust::default()).unwrap();
    assert_eq!((report.size, report.first_bad), (2, None));
    // The name is free again, and its run is another one.
    create(store, &gone, 3);
}

/// Who signs here.
static SIGNER: std::sync::OnceLock<SecretKey> = std::sync::OnceLock::new();

fn key() -> SecretKey {
    SecretKey::from_seed("local", &[3; 32]).unwrap()
}

fn create(store: &Store, run: &SampleRun, at: u64) -> RunHandle {
    wait(store.create_run(&run.run_id, &run.contract, at)).unwrap()
}

fn blobs(run: &SampleRun) -> Vec<NewBlob> {
    run.blobs.iter().cloned().map(NewBlob::Bytes).collect()
}

fn write(store: &Store, run: &SampleRun, at: u64) {
    let mut handle = create(store, run, at);
    wait(store.append(&mut handle, run.entries.clone(), blobs(run))).unwrap();
}

fn entries(reader: &mut StoreReader, run_id: &RunId) -> Vec<SealedEntry> {
    let stored = reader.read_run(run_id).unwrap();
    stored.map(Result::unwrap).collect()
}

/// Copies a handle, as kept by a writer that is stopped and continues later.
fn copy(run: &RunHandle) -> RunHandle {
    RunHandle {
        contract_hash: run.contract_hash,
        epoch: run.epoch,
        head: run.head,
        key: run.key,
        length: run.length,
        run_id: run.run_id.clone(),
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks this thread until the store has answered, for callers that are not async.
///
/// The store's answers come from its own thread, so this needs no runtime and works inside one, where it blocks the
/// worker that calls it.
pub(crate) fn wait<F: Future>(answer: F) -> F::Output {
    let mut answer = pin!(answer);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match answer.as_mut().poll(&mut cx) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
