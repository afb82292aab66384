//! Tests of the view over golden transcripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{DecodedEntry, RequestEnd, RunView};
use crate::contract::ExecutionContract;
use crate::kernel::State;
use crate::transcript::{LineReader, Record, SealedEntry};

mod agreement;
mod calls;

/// A recorded run.
struct Golden {
    name: String,
    contract: Arc<ExecutionContract>,
    entries: Vec<DecodedEntry>,
}

impl Golden {
    fn read(path: &Path) -> Self {
        let text = fs::read(path).unwrap();
        let mut reader = LineReader::new();
        let (mut contract, mut entries) = (None, Vec::new());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match reader.read(line).unwrap() {
                Record::Header(found) => {
                    contract = Some(ExecutionContract::decode(found.contract).unwrap());
                }
                Record::Entry(found) => {
                    let entry = SealedEntry::from(&*found);
                    entries.push(DecodedEntry::read(&entry).unwrap());
                }
                _ => {}
            }
        }
        Self {
            name: path.display().to_string(),
            contract: Arc::new(contract.unwrap()),
            entries,
        }
    }

    fn of(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay/v1");
        Self::read(&folder.join(format!("{name}.jsonl")))
    }

    /// The view after the first `count` entries.
    fn view(&self, count: usize) -> RunView {
        let entries = self.entries[..count].iter().map(DecodedEntry::entry);
        RunView::of(Arc::clone(&self.contract), entries)
    }

    fn whole(&self) -> RunView {
        self.view(self.entries.len())
    }
}

/// Every golden transcript, whatever the version of its folder.
fn goldens() -> Vec<Golden> {
    let files = |folder: &Path| {
        let found = fs::read_dir(folder).unwrap();
        let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    };
    let folders = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../replay"));
    let folders = folders.into_iter().filter(|path| path.is_dir());
    let goldens: Vec<Golden> = folders
        .flat_map(|folder| files(&folder))
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .map(|path| Golden::read(&path))
        .collect();
    assert!(goldens.len() > 20, "there are golden transcripts");
    goldens
}

/// Shows 002/6.outcomes.4.
#[test]
fn entries_taken_one_by_one_give_the_view_of_all_at_once() {
    for golden in goldens() {
        let mut view = RunView::new(Arc::clone(&golden.contract));
        let (mut took_ms, mut tokens) = (0, 0);
        for (count, entry) in (1..).zip(&golden.entries) {
            let before = view.clone();
            let step = view.take(entry.entry());
            took_ms += step.took_ms;
            tokens += step.tokens;
            let at = format!("{}, {count} entries", golden.name);
            assert_eq!(view, golden.view(count), "{at}");
            assert_ne!(view, before, "{at}: an entry changes something");
            // What is stated of an entry's time and tokens adds up to the run's.
            assert_eq!(took_ms, view.at_ms(), "{at}");
            assert_eq!(tokens, view.counters().tokens(), "{at}");
            // What a display has shown stays: it only has to add.
            assert!(view.activities().starts_with(before.activities()), "{at}");
            assert!(view.ended().starts_with(before.ended()), "{at}");
        }
    }
}

/// Shows 002/3.display.1, 002/6.commit.6.
#[test]
fn what_is_counted_here_is_what_the_machine_counted() {
    for golden in goldens() {
        for count in 1..=golden.entries.len() {
            let view = golden.view(count);
            let at = format!("{}, {count} entries", golden.name);
            let (counters, usage) = (view.counters(), view.usage());
            let number = |count: usize| u64::try_from(count).unwrap();
            assert_eq!(number(view.requests().len()), counters.inferences, "{at}");
            assert_eq!(view.turns().len(), counters.turns as usize, "{at}");
            assert_eq!(usage.input, counters.tokens_in, "{at}");
            assert_eq!(usage.output, counters.tokens_out, "{at}");
            assert_eq!(usage.cache_read, counters.tokens_cache_read, "{at}");
            assert_eq!(usage.cost_micro_usd, counters.cost_micro_usd, "{at}");
            let calls = view.calls().values();
            let started = calls.filter(|call| call.is_started()).count();
            assert!(number(started) <= counters.calls, "{at}");
            // The machine counts what was executed when it observes.
            let state = golden.entries[count - 1].entry().action.to;
            if matches!(state, State::Execute | State::Observe) {
                continue;
            }
            let executions = || view.calls().values().flat_map(|call| &call.executions);
            let executed = executions().filter(|e| e.result().is_some()).count();
            assert_eq!(number(executed), counters.executed, "{at}");
            let ok = executions().filter(|e| e.is_ok()).count();
            assert_eq!(number(ok), counters.executed_ok, "{at}");
        }
    }
}

#[test]
fn each_request_and_each_execution_ends_once_and_in_a_sealed_run_all_have() {
    for golden in goldens() {
        let view = golden.whole();
        let name = &golden.name;
        let mut ended = view.ended().to_vec();
        ended.sort_unstable();
        let all: Vec<usize> = (0..view.activities().len()).collect();
        assert_eq!(ended, all, "{name}");
        let attempts = view.turns().iter().map(|turn| turn.attempts.len());
        let summaries = view.requests().values().filter(|r| r.is_beside());
        let requests = attempts.sum::<usize>() + summaries.count();
        assert_eq!(requests, view.requests().len(), "{name}");
        for request in view.requests().values() {
            assert!(request.sent_at_ms <= request.ended_at_ms.unwrap(), "{name}");
        }
    }
}

/// Shows 002/3.display.1, 002/8.modify.4.
#[test]
fn a_run_that_has_ended_knows_what_decided_it() {
    for golden in goldens() {
        let view = golden.whole();
        let decided = view.decision().unwrap();
        assert!(view.outcome().is_some(), "{}", golden.name);
        assert_eq!(decided.to.as_str(), "TERMINATE", "{}", golden.name);
        // The seal stands behind it.
        assert_eq!(decided.seq + 2, view.entries(), "{}", golden.name);
    }
}

#[test]
fn a_request_shows_how_it_ended() {
    let check = |name: &str, expect: &[&str]| {
        let view = Golden::of(name).whole();
        let ends = view.requests().values().map(|request| match &request.end {
            Some(RequestEnd::Returned { failure_code, .. }) => match failure_code {
                Some(code) => code.to_string(),
                None => "message".to_owned(),
            },
            Some(RequestEnd::Failed { class, .. }) => class.as_str().to_owned(),
            Some(RequestEnd::Lost) => "lost".to_owned(),
            Some(RequestEnd::GivenUp) => "given up".to_owned(),
            None => "in flight".to_owned(),
        });
        assert_eq!(ends.collect::<Vec<_>>(), expect, "{name}");
    };
    check("core.valid_call", &["message", "message"]);
    check("abort.in_flight", &["given up"]);
    check("resume.lost_inference", &["lost", "message", "message"]);
    check(
        "format.retry_succeeds",
        &["ARGS_INVALID_JSON", "message", "message"],
    );
    check("summary.told", &["message", "message", "message"]);
    check(
        "rate_limit.two_targets",
        &["rate_limit", "rate_limit", "message", "message"],
    );
}
