//! The machine, explored exhaustively within small bounds: every event in every state that can be reached, judged by a monitor that
//! knows 004 and nothing of the machine.

use std::collections::{HashSet, VecDeque};

use monolith_testkit::depth::bound;

use super::testing::*;
use super::tests_monitor::{Fact, Monitor};
use super::*;

/// Letters of a path that may be repeated without an end, in the quick and in the deep form.
const RATION: (u8, u8) = (2, 3);

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    Needed(WorkStatus),
    Stranger,
    Prepared,
    MissingInput,
    Refused,
    AlreadyDone,
    Ran(Ran),
    Suspended,
    Changed(Changed),
    Tested(i32),
    Moved,
    Conflict,
    Published,
    PublishFailed,
    RolledBack,
    RollBackFailed,
    HostFailed,
    Timer,
    Stop,
    Resumed,
    StartedAgain,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ran {
    Completed,
    FailedCall,
    ManyCalls,
    UsedUp,
    Late,
    Failed,
    NotBegun,
    External,
    Interrupted,
}

/// The changes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changed {
    OneFile,
    ManyFiles,
    NoOutput,
}

const LETTERS: [Letter; 33] = [
    Letter::Needed(WorkStatus::Success),
    Letter::Needed(WorkStatus::Failure),
    Letter::Stranger,
    Letter::Prepared,
    Letter::MissingInput,
    Letter::Refused,
    Letter::AlreadyDone,
    Letter::Ran(Ran::Completed),
    Letter::Ran(Ran::FailedCall),
    Letter::Ran(Ran::ManyCalls),
    Letter::Ran(Ran::UsedUp),
    Letter::Ran(Ran::Late),
    Letter::Ran(Ran::Failed),
    Letter::Ran(Ran::NotBegun),
    Letter::Ran(Ran::External),
    Letter::Ran(Ran::Interrupted),
    Letter::Suspended,
    Letter::Changed(Changed::OneFile),
    Letter::Changed(Changed::ManyFiles),
    Letter::Changed(Changed::NoOutput),
    Letter::Tested(0),
    Letter::Tested(1),
    Letter::Moved,
    Letter::Conflict,
    Letter::Published,
    Letter::PublishFailed,
    Letter::RolledBack,
    Letter::RollBackFailed,
    Letter::HostFailed,
    Letter::Timer,
    Letter::Stop,
    Letter::Resumed,
    Letter::StartedAgain,
];

impl Ran {
    fn end(self) -> AgentEnd {
        let mut end = agent_end(1);
        match self {
            Self::Completed => {}
            Self::FailedCall => end.calls.failed = Some("shell".to_owned()),
            Self::ManyCalls => end.calls.count = 4,
            Self::UsedUp => end.calls.limit = Some(RunLimit::Calls),
            Self::Late => end.calls.limit = Some(RunLimit::Time),
            Self::Failed => end.failure = Some("FAILED".to_owned()),
            Self::NotBegun => end.head = None,
            Self::External => end.calls.external = vec!["mail".to_owned()],
            Self::Interrupted => end.calls.interrupted = Some("shell".to_owned()),
        }
        end
    }
}

impl Changed {
    fn capsule(self) -> Capsule {
        let mut capsule = changes(if self == Self::ManyFiles { 3 } else { 1 });
        if self == Self::NoOutput {
            capsule.missing_outputs = vec![path("out")];
        }
        capsule
    }
}

impl Letter {
    fn event(self) -> WorkEventKind {
        let reason = "down".to_owned();
        let receipt_id = "r".to_owned();
        let ended = |id: &str, status| WorkEventKind::DependencyEnded {
            id: id.to_owned(),
            receipt_id: Some("r".to_owned()),
            status,
        };
        match self {
            Self::Needed(status) => ended("a", status),
            Self::Stranger => ended("stranger", WorkStatus::Failure),
            Self::Prepared => prepared(),
            Self::MissingInput => WorkEventKind::Prepared {
                before: digest("before"),
                missing_inputs: vec![path("in")],
            },
            Self::Refused => WorkEventKind::Refused(Denial::Duplicate { receipt_id }),
            Self::AlreadyDone => WorkEventKind::AlreadyDone { receipt_id },
            Self::Ran(ran) => WorkEventKind::RunEnded(Box::new(ran.end())),
            Self::Suspended => WorkEventKind::RunSuspended,
            Self::Changed(changed) => WorkEventKind::Compared(Box::new(changed.capsule())),
            Self::Tested(code) => tested(code),
            Self::Moved => WorkEventKind::Moved,
            Self::Conflict => WorkEventKind::Conflict {
                paths: vec![path("f0")],
            },
            Self::Published => published(),
            Self::PublishFailed => WorkEventKind::PublishFailed { reason },
            Self::RolledBack => WorkEventKind::RolledBack,
            Self::RollBackFailed => WorkEventKind::RollBackFailed { reason },
            Self::HostFailed => WorkEventKind::HostFailed { reason },
            Self::Timer => WorkEventKind::TimerFired,
            Self::Stop => WorkEventKind::StopRequested,
            Self::Resumed => WorkEventKind::Resumed,
            Self::StartedAgain => WorkEventKind::Started(Box::new(started(item(), &[]))),
        }
    }

    fn fact(self, item: &WorkItem) -> Fact {
        match self {
            Self::Needed(WorkStatus::Success) => Fact::Needed("a"),
            Self::Needed(_) if item.reconciles => Fact::Needed("a"),
            Self::Prepared => Fact::Snapshot,
            Self::Ran(Ran::Completed) => Fact::Run { is_sound: true },
            Self::Ran(Ran::FailedCall) => Fact::Run {
                is_sound: item.tool_errors == ToolErrors::Allow,
            },
            Self::Ran(Ran::Late) => Fact::RunLate,
            Self::Ran(Ran::Interrupted) => Fact::RunInterrupted,
            Self::Ran(_) => Fact::Run { is_sound: false },
            Self::Changed(changed) => Fact::Changes {
                are_sound: changed == Changed::OneFile,
            },
            Self::Tested(code) => Fact::Tests {
                are_green: code == 0,
            },
            Self::Moved => Fact::Moved,
            Self::Conflict => Fact::Conflict,
            Self::Published => Fact::Published,
            Self::PublishFailed => Fact::PublishFailed,
            Self::RolledBack | Self::RollBackFailed => Fact::RolledBack,
            Self::AlreadyDone => Fact::AlreadyDone,
            Self::Stop => Fact::Stop,
            Self::Resumed => Fact::Resumed,
            _ => Fact::Other,
        }
    }

    /// True if a path may hold only a limited number of them.
    const fn is_rationed(self) -> bool {
        matches!(
            self,
            Self::Ran(Ran::Interrupted)
                | Self::Suspended
                | Self::Moved
                | Self::Conflict
                | Self::Stop
                | Self::Resumed
        )
    }
}

#[derive(Clone)]
struct Watched {
    at_ms: u64,
    fold: WorkFold,
    machine: Work,
    monitor: Monitor,
    /// Number of rationed letters left.
    ration: u8,
}

impl Watched {
    fn start(item: WorkItem, dependencies: &[&str], ration: u8) -> Result<Self, String> {
        let started = started(item, dependencies);
        let (machine, first) = Work::start(started.clone());
        let mut watched = Self {
            at_ms: 0,
            fold: WorkFold::default(),
            machine,
            monitor: Monitor::start(&started, &first)?,
            ration,
        };
        watched.record(Some(&first))?;
        Ok(watched)
    }

    /// Folds an entry as it is stored. The folded machine is the machine.
    fn record(&mut self, draft: Option<&WorkDraft>) -> Result<(), String> {
        let Some(draft) = draft else {
            return Ok(());
        };
        let action: WorkAction = stored(&draft.action)?;
        let event: WorkEvent = stored(&draft.event)?;
        self.fold
            .apply(&action, &event)
            .map_err(|error| error.to_string())?;
        if self.fold.work() == Some(&self.machine) {
            Ok(())
        } else {
            Err("the folded machine differs".to_owned())
        }
    }

    fn take(&self, letter: Letter, at_ms: u64) -> Result<Self, String> {
        let mut next = self.clone();
        next.ration -= u8::from(letter.is_rationed());
        next.at_ms = at_ms;
        let event = letter.event();
        let draft = next.machine.step(WorkEvent { at_ms, event });
        let fact = letter.fact(&self.machine.started().item);
        next.monitor.take(fact, at_ms, draft.as_ref())?;
        next.record(draft.as_ref())?;
        Ok(next)
    }
}

/// A value as it is read from its canonical text.
fn stored<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> Result<T, String> {
    let text = serde_json::to_string(value).map_err(|error| error.to_string())?;
    let canonical =
        serde_json_canonicalizer::to_string(value).map_err(|error| error.to_string())?;
    if text != canonical {
        return Err(format!("{text} is not canonical JSON"));
    }
    serde_json::from_str(&text).map_err(|error| format!("{text}: {error}"))
}

/// Returns the number of states, or the first rule that does not hold, with the path to it.
fn explored(item: WorkItem, dependencies: &[&str], ration: u8) -> Result<usize, String> {
    let timeout_ms = item.constraints.timeout_ms;
    let first = Watched::start(item, dependencies, ration)?;
    let mut seen = HashSet::from([(first.machine.decision_key(), ration)]);
    let mut queue = VecDeque::from([(first, Vec::new())]);
    while let Some((watched, path)) = queue.pop_front() {
        for letter in LETTERS {
            if letter.is_rationed() && watched.ration == 0 {
                continue;
            }
            // At once, and once every deadline has passed.
            for at_ms in [watched.at_ms, watched.at_ms + timeout_ms] {
                let mut way: Vec<(Letter, u64)> = path.clone();
                way.push((letter, at_ms));
                let breach = |breach: String| format!("{breach}: {way:?}");
                let next = watched.take(letter, at_ms).map_err(breach)?;
                if seen.insert((next.machine.decision_key(), next.ration)) {
                    queue.push_back((next, way));
                }
            }
        }
    }
    Ok(seen.len())
}

/// 004/1.purpose.1, 004/4.atomic.1
#[test]
fn every_event_in_every_state_keeps_the_rules_of_004() {
    let mut again = item();
    again.on_conflict = OnConflict::Serialize;
    let mut strict = item();
    strict.tool_errors = ToolErrors::Fail;
    let mut reconciler = untested();
    reconciler.reconciles = true;
    let variants: [(&str, WorkItem, &[&str]); 6] = [
        ("tests", item(), &[]),
        ("no tests", untested(), &[]),
        ("runs again", again, &[]),
        ("strict about calls", strict, &[]),
        ("blocked", untested(), &["a"]),
        ("reconciles", reconciler, &["a"]),
    ];
    for (name, item, dependencies) in variants {
        match explored(item, dependencies, bound(RATION.0, RATION.1)) {
            // Less would be another exploration than is meant.
            Ok(states) => assert!(states > 40, "{name}: {states} states"),
            Err(breach) => panic!("{name}: {breach}"),
        }
    }
}

#[test]
fn an_interrupted_call_begins_a_bounded_number_of_new_attempts() {
    let attempt = || {
        let end = Ran::Interrupted.end();
        vec![prepared(), WorkEventKind::RunEnded(Box::new(end))]
    };
    let (work, _) = driven(item(), attempt());
    assert_eq!(work.under_way(), Some(&WorkEffect::Prepare { attempt: 2 }));
    assert_eq!((work.before(), work.run()), (None, None));
    let attempts = (0..MAX_ATTEMPTS).flat_map(|_| attempt()).collect();
    let end = end(item(), attempts);
    assert_eq!(end.status, WorkStatus::Failure);
    assert_eq!(end.error.as_deref(), Some("interrupted: shell"));
}
