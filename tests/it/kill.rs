//! kill -9, at every boundary of entries and inside appends, over runs whose tools count their executions: nothing durable
//! is lost, nothing completed is repeated, and `resume` brings every run to its end.
//!
//! `MONOLITH_KILLS=1000 cargo test --test it kill` kills that often.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use monolith_core::kernel::EffectRecord;
use monolith_core::kernel::EventKind;
use monolith_core::message::{CallSeq, Digest, RunId, ToolOutcome};
use monolith_core::replay::{BlobSource, Replayer};
use monolith_core::transcript::SealedEntry;
use monolith_host::store::StoreReader;

use crate::fixture::{monolith, text, wanted_kills};
use crate::harness::Harness;

/// Kills of the quick and of the deep form.
const KILLS: (u64, u64) = (8, 25);
/// Number of kills of one run before it may come to its end.
const KILLS_PER_RUN: u64 = 4;
/// About how many entries a run has that is not killed.
const ENTRIES: u64 = 30;

/// The kinds of runs, in turn: under a contract with parallel calls; with streamed answers, redacted results and a checkpoint
/// at each step; with calls that wait for an approval; and forks of a whole run.
const WAYS: [Way; 4] = [
    Way::Under("c.yaml"),
    Way::Under("secret.yaml"),
    Way::Under("waiting.yaml"),
    Way::Fork,
];
/// The run that is forked.
const WHOLE: &str = "whole";
/// After which of its entries: the first turn is over.
const FORK_AT: u64 = 7;

#[derive(Clone, Copy)]
enum Way {
    Under(&'static str),
    Fork,
}

struct Blobs(StoreReader);

impl BlobSource for Blobs {
    fn blob(&self, hash: Digest) -> Option<Vec<u8>> {
        self.0.blob(hash).unwrap()
    }
}

fn named(name: &str) -> RunId {
    RunId::try_from(name.to_owned()).unwrap()
}

impl Harness {
    fn drive_in(&self, way: Way, run_id: &RunId, durability: &str) -> Command {
        match way {
            Way::Under(contract) => self.drive_under(contract, run_id, durability),
            Way::Fork => self.drive_fork(&named(WHOLE), FORK_AT, run_id, durability),
        }
    }

    /// Drives a run to its end without a kill.
    fn finish(&self, way: Way, run_id: &RunId, durability: &str) {
        let mut last = self.drive_in(way, run_id, durability);
        let left = last.stdout(Stdio::piped()).stderr(Stdio::piped());
        let left = left.output().unwrap();
        let said = text(&left.stderr);
        assert!(left.status.success(), "{run_id}: {:?}: {said}", left.status);
    }

    /// One run, killed up to `kills` times and then brought to its end; how often it was killed.
    fn run(&mut self, number: u64, kills: u64) -> u64 {
        let run_id = named(&format!("r{number}"));
        let durability = if number.is_multiple_of(2) {
            "normal"
        } else {
            "full"
        };
        let way = WAYS[usize::try_from(number).unwrap() % WAYS.len()];
        let mut killed = 0;
        let mut before = Vec::new();
        // The first kill goes through all boundaries in turn; what follows is wherever the run then is.
        let mut entries = number % ENTRIES;
        for _ in 0..kills {
            let mut child = self.drive_in(way, &run_id, durability).spawn().unwrap();
            let alive = self.wait_for(&mut child, &run_id, entries);
            let seen = self.stored(&run_id);
            child.kill().unwrap();
            child.wait().unwrap();
            killed += u64::from(alive);
            let after = self.stored(&run_id);
            assert_eq!(seen[..before.len()], before, "{run_id}: before the kill");
            assert_eq!(after[..seen.len()], seen, "{run_id}: after the kill");
            before = after;
            if self.sealed(&run_id) {
                break;
            }
            entries = before.len() as u64 + self.below(6);
        }
        if !self.sealed(&run_id) {
            self.finish(way, &run_id, durability);
        }
        self.judge(&run_id, &before);
        self.judge_way(&run_id, way);
        killed
    }

    /// Checks the run's features of that way: the test must see what it claims to.
    fn judge_way(&self, run_id: &RunId, way: Way) {
        let entries = self.stored(run_id);
        let mut reader = StoreReader::open(&self.database()).unwrap();
        let checkpoints = reader.read_run(run_id).unwrap().checkpoints().unwrap();
        let says = |text: &str| entries.iter().any(|entry| entry.event.contains(text));
        match way {
            Way::Under("secret.yaml") => {
                assert!(checkpoints.len() > 5, "{run_id}: {}", checkpoints.len());
                assert!(says("redacted") && !says("counted\""), "{run_id}");
            }
            Way::Under("waiting.yaml") => {
                assert!(checkpoints.len() > 2, "{run_id}: {}", checkpoints.len());
                let waited = entries
                    .iter()
                    .any(|entry| entry.action.contains("await_approval"));
                assert!(waited, "{run_id}: no call waited");
            }
            Way::Under(_) => assert_eq!(checkpoints.len(), 1, "{run_id}"),
            Way::Fork => {
                assert_eq!(checkpoints.len(), 1, "{run_id}");
                let first = entries[0].decode_event().unwrap().unwrap().event;
                let EventKind::RunStarted(started) = first else {
                    panic!("{run_id}: {first:?}");
                };
                assert_eq!(started.parent.unwrap().run_id, named(WHOLE), "{run_id}");
            }
        }
    }

    /// Checks a run that has come to its end, whatever happened on the way.
    fn judge(&self, run_id: &RunId, before: &[SealedEntry]) {
        let entries = self.stored(run_id);
        assert_eq!(
            entries[..before.len()],
            *before,
            "{run_id}: durable entries"
        );
        let mut reader = StoreReader::open(&self.database()).unwrap();
        let verified = reader.verify_run(run_id, false).unwrap();
        assert_eq!(verified.first_bad, None, "{run_id}");
        let run = reader.read_run(run_id).unwrap();
        let outcome = run.row().outcome.clone().unwrap().0;
        assert!(outcome.starts_with("COMPLETED_"), "{run_id}: {outcome}");
        let mut replayer = Replayer::new(run.contract().unwrap(), run_id);
        drop(run);
        let blobs = Blobs(StoreReader::open(&self.database()).unwrap());
        let mut starts: BTreeMap<CallSeq, u64> = BTreeMap::new();
        let mut returned: BTreeMap<CallSeq, u64> = BTreeMap::new();
        let mut delegated: BTreeSet<CallSeq> = BTreeSet::new();
        for entry in &entries {
            replayer.take(entry, &blobs);
            let event = entry.decode_event().unwrap();
            if let Some(EventKind::ToolReturned(ended)) = event.map(|event| event.event)
                && matches!(ended.outcome, ToolOutcome::Returned(_))
                // A child run is resumed as often as it takes: its own check shows that nothing in it is repeated.
                && !delegated.contains(&ended.call)
            {
                returned.insert(ended.call, starts[&ended.call]);
            }
            for effect in entry.decode_action().unwrap().effects {
                if let EffectRecord::Delegate { call, .. } = effect {
                    delegated.insert(call);
                }
                if let EffectRecord::Execute { call, name, .. } = effect {
                    let started = starts.entry(call).or_default();
                    *started += 1;
                    let once = *started == 1 || name == "fs__safe";
                    assert!(once, "{run_id}: call {call} of {name} was started again");
                }
            }
        }
        let report = replayer.finish(false);
        assert!(report.same, "{run_id}: {:?}", report.first_difference);
        let executions = self.executions(run_id);
        for (call, executed) in &executions {
            let started = starts.get(&CallSeq(*call)).copied().unwrap_or(0);
            assert!(
                *executed <= started,
                "{run_id}: call {call} was executed {executed} times, and its start was recorded {started} times"
            );
        }
        for (call, starts_until_then) in &returned {
            assert_eq!(
                starts[call], *starts_until_then,
                "{run_id}: call {call} was started again after it had returned"
            );
            assert!(
                executions.contains_key(&call.0),
                "{run_id}: call {call} returned without having been executed"
            );
        }
    }
}

impl Harness {
    /// One tree of runs, killed up to `kills` times wherever one of its runs is, and then brought to its end; how often it was killed, and
    /// how often while so many of the runs below were open: none, one, two.
    fn run_tree(&mut self, number: u64, kills: u64, open: &mut [u64; 3]) -> u64 {
        let root = named(&format!("t{number}"));
        let below = (1..=3).map(|call| root.child(CallSeq(call)));
        let tree: Vec<RunId> = std::iter::once(root.clone()).chain(below).collect();
        let way = Way::Under("lead.yaml");
        let mut killed = 0;
        for _ in 0..kills {
            let mut child = self.drive_in(way, &root, "normal").spawn().unwrap();
            let at = usize::try_from(self.below(4)).unwrap();
            let entries = self.below(ENTRIES);
            let alive = self.wait_for(&mut child, &tree[at], entries);
            child.kill().unwrap();
            child.wait().unwrap();
            killed += u64::from(alive);
            if alive {
                let below = tree[1..].iter();
                let below = below.filter(|run| self.length(run) > 0 && !self.sealed(run));
                open[below.count()] += 1;
            }
            if self.sealed(&root) {
                break;
            }
        }
        if !self.sealed(&root) {
            self.finish(way, &root, "normal");
        }
        for run in &tree {
            self.judge_delegated(run);
        }
        let args = ["verify", root.as_str(), "--tree", "--store", "home/runs.db"];
        let verified = monolith(self.path(), &args).output().unwrap();
        let said = text(&verified.stdout);
        assert!(
            verified.status.success(),
            "{root}: {said}{}",
            text(&verified.stderr)
        );
        assert!(said.contains("verified: 4 runs"), "{root}: {said}");
        killed
    }

    /// Checks a run of a tree; the first one executes no calls itself.
    fn judge_delegated(&self, run_id: &RunId) {
        self.judge(run_id, &[]);
        let mut begun: BTreeMap<CallSeq, u64> = BTreeMap::new();
        let (mut resumed, mut ended) = (0, BTreeMap::new());
        for entry in self.stored(run_id) {
            match entry.decode_event().unwrap().map(|event| event.event) {
                Some(EventKind::Resumed(_)) => resumed += 1,
                Some(EventKind::ToolReturned(returned)) if returned.child.is_some() => {
                    *ended.entry(returned.call).or_insert(0_u64) += 1;
                }
                _ => {}
            }
            for effect in entry.decode_action().unwrap().effects {
                if let EffectRecord::Delegate { call, .. } = effect {
                    *begun.entry(call).or_default() += 1;
                }
            }
        }
        for (call, times) in begun {
            assert!(
                times <= 1 + resumed,
                "{run_id}: call {call} was delegated {times} times"
            );
            assert_eq!(ended.get(&call), Some(&1), "{run_id}: call {call}");
        }
    }
}

/// kill -9 in the middle of delegated runs: each run of the tree is resumed, none is begun twice, and the tree verifies.
#[test]
fn a_killed_tree_of_runs_repeats_nothing() {
    if !Harness::has_python() {
        return;
    }
    let wanted = wanted_kills(KILLS);
    let mut harness = Harness::new(0x5851_f42d_4c95_7f2d);
    let (mut killed, mut runs) = (0, 0);
    let mut open = [0; 3];
    // A third of them and more in the middle of a run below.
    while killed < wanted || open[1] + open[2] < wanted / 3 {
        killed += harness.run_tree(runs, KILLS_PER_RUN, &mut open);
        runs += 1;
        assert!(
            runs < wanted * 4 + 8,
            "only {killed} kills, {open:?}, in {runs} trees"
        );
    }
    println!(
        "{killed} kills over {runs} trees: {} between runs below, {} in one, {} in two at once",
        open[0], open[1], open[2]
    );
}

#[test]
fn a_killed_run_loses_nothing_and_repeats_nothing() {
    if !Harness::has_python() {
        return;
    }
    let wanted = wanted_kills(KILLS);
    let mut harness = Harness::new(0x9e37_79b9_7f4a_7c15);
    harness.finish(Way::Under("c.yaml"), &named(WHOLE), "normal");
    let (mut killed, mut runs) = (0, 0);
    while killed < wanted {
        // Step over the boundaries so that few kills, too, reach all parts of a run.
        killed += harness.run(runs * 7, KILLS_PER_RUN.min(wanted - killed));
        runs += 1;
        assert!(runs < wanted * 4 + 8, "only {killed} kills in {runs} runs");
    }
    println!("{killed} kills over {runs} runs");
}
