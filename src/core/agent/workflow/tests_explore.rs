//! The machine, explored exhaustively within small bounds: every event in every state that can be reached, judged by monitors that know
//! the definition and nothing of the machine.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::memory::OutputPlace;
use super::testing::*;
use super::tests_monitor::{Map, Monitor, STRANGER};
use super::*;
use crate::contract::FailureStrategy::{ContinueOnError, FailFast, Rollback};
use crate::contract::{Label, Test, WorkflowDefinition};
use monolith_testkit::depth::bound;

/// Letters that a path may hold of those that stop, suspend, resume, or do not begin a step, in the quick and in the deep form.
const RATION: (u8, u8) = (1, 2);

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Letter {
    Completes(u64),
    Fails(u64),
    NotBegun(u64),
    Timer,
    Stop,
    Now,
    Suspend,
    Resume,
    Stranger,
}

/// A list of two, for the loops. Every other run saw what a stranger wrote, and repeats it.
fn said(number: u64) -> StepResult {
    let is_untrusted = number % 2 == 1;
    let output = if is_untrusted {
        format!(r#"["{STRANGER}", "{STRANGER}"]"#)
    } else {
        "[1, 2]".to_owned()
    };
    let mut ended = result(number, &output, None);
    if let (StepResult::Run(run), true) = (&mut ended, is_untrusted) {
        run.labels = Some([Label::Untrusted].into());
    }
    ended
}

impl Letter {
    fn event(self) -> WorkflowEvent {
        let at_ms = if self == Self::Timer { 1_000 } else { 5 };
        let event = match self {
            Self::Completes(number) => ended(number, said(number)),
            Self::Fails(number) => ended(number, result(number, "", Some(StepFailure::Outcome))),
            Self::NotBegun(number) => ended(number, StepResult::NotBegun("down".to_owned())),
            Self::Timer => WorkflowEventKind::TimerFired,
            Self::Stop => WorkflowEventKind::StopRequested,
            Self::Now => WorkflowEventKind::Interrupted,
            Self::Suspend => WorkflowEventKind::Suspended,
            Self::Resume => WorkflowEventKind::Resumed,
            Self::Stranger => ended(999, result(999, "", None)),
        };
        WorkflowEvent { at_ms, event }
    }

    /// True if a path may hold only a limited number of them.
    const fn is_rationed(self) -> bool {
        matches!(
            self,
            Self::NotBegun(_) | Self::Stop | Self::Now | Self::Suspend | Self::Resume
        )
    }
}

#[derive(Clone)]
struct Watched {
    /// The entries so far, folded as another process does.
    fold: WorkflowFold,
    machine: Workflow,
    monitor: Monitor,
    /// Number of rationed letters left.
    ration: u8,
}

impl Watched {
    fn letters(&self) -> Vec<Letter> {
        let under_way = self
            .monitor
            .runs
            .iter()
            .filter(|(_, run)| run.end.is_none());
        let runs = under_way.flat_map(|(number, _)| {
            [
                Letter::Completes(*number),
                Letter::Fails(*number),
                Letter::NotBegun(*number),
            ]
        });
        let others = [
            Letter::Timer,
            Letter::Stop,
            Letter::Now,
            Letter::Suspend,
            Letter::Resume,
            Letter::Stranger,
        ];
        let fits = |letter: &Letter| !letter.is_rationed() || self.ration > 0;
        runs.chain(others).filter(fits).collect()
    }

    /// Folds the entries among these effects, as they are stored. They give the machine that never stopped, so that the folded
    /// one continues as that one does (INV-CP-001).
    fn fold(&mut self, effects: &[WorkflowEffect]) -> Result<(), String> {
        for effect in effects {
            let WorkflowEffect::Append(drafts) = effect else {
                continue;
            };
            for (action, event) in recorded(drafts) {
                let taken = self.fold.take(&action, event.as_ref());
                taken.map_err(|fault| fault.to_string())?;
            }
        }
        let folded = self.fold.workflow().ok_or("nothing is folded")?;
        if !folded.stands_as(&self.machine) {
            return Err("the machine of the entries is another one".to_owned());
        }
        self.restores(effects)
    }

    /// A checkpoint among these effects gives the machine as well.
    fn restores(&self, effects: &[WorkflowEffect]) -> Result<(), String> {
        let drafts = effects.iter().filter_map(|effect| match effect {
            WorkflowEffect::Append(drafts) => Some(recorded(drafts)),
            _ => None,
        });
        for (action, _) in drafts.flatten() {
            let Some(record) = action.checkpoint else {
                continue;
            };
            let Workflow {
                definition,
                started,
                outputs,
                ..
            } = &self.machine;
            let output = |place: &OutputPlace| Some(outputs.text(place.number).to_owned());
            let restored = Workflow::restored(definition, started, &record, output);
            let is_same = |restored: Workflow| {
                // A seal may follow in the same step.
                action.outcome.is_some() || restored.stands_as(&self.machine)
            };
            if !restored.is_some_and(is_same) {
                return Err("the machine of the checkpoint is another one".to_owned());
            }
        }
        Ok(())
    }

    /// Takes one letter; what followed from it is handed out.
    fn take(&self, map: &Map<'_>, letter: Letter) -> Result<(Self, Vec<WorkflowEffect>), String> {
        let mut next = self.clone();
        next.ration -= u8::from(letter.is_rationed());
        let event = letter.event();
        let effects = next.machine.step(event.clone());
        next.monitor.take(map, &event.event, &effects)?;
        let over = next.machine.outcome().is_some();
        if !over && next.machine.under_way() == 0 && !next.monitor.suspended {
            return Err("nothing is under way, and it has not ended".to_owned());
        }
        Ok((next, effects))
    }

    fn key(&self) -> String {
        let stopped = (self.monitor.stopped, self.monitor.suspended, self.ration);
        format!("{} {stopped:?}", self.machine.decision_key())
    }
}

/// Returns the number of states, or the first property that does not hold, with the path to it.
fn explored(definition: &WorkflowDefinition, ration: u8) -> Result<usize, String> {
    let (map, shared) = (Map { definition }, Arc::new(definition.clone()));
    let (machine, effects) = Workflow::start(Arc::clone(&shared), started(definition, "[1, 2]"));
    let mut monitor = Monitor::default();
    let begins = WorkflowEventKind::Started(Box::new(started(definition, "")));
    monitor.take(&map, &begins, &effects)?;
    let mut first = Watched {
        fold: WorkflowFold::new(shared),
        machine,
        monitor,
        ration,
    };
    first.fold(&effects)?;
    let mut seen = HashSet::from([first.key()]);
    let mut queue = VecDeque::from([(first, Vec::new())]);
    while let Some((watched, path)) = queue.pop_front() {
        for letter in watched.letters() {
            let mut way: Vec<Letter> = path.clone();
            way.push(letter);
            let breach = |breach: String| format!("{breach}: {way:?}");
            let (mut next, effects) = watched.take(&map, letter).map_err(breach)?;
            next.fold(&effects).map_err(breach)?;
            if seen.insert(next.key()) {
                queue.push_back((next, way));
            }
        }
    }
    Ok(seen.len())
}

/// Small workflows that hold every kind of step, every strategy, and each in another.
fn variants() -> Vec<(&'static str, WorkflowDefinition)> {
    let undo = || vec![prompt("undo")];
    let undone = |name: &str| prompt(name).undone_by("undo");
    let rolls = |mut definition: WorkflowDefinition| {
        definition.on_failure = Rollback;
        definition
    };
    let again = || condition("x", Test::NotContains("done".to_owned()));
    let sequence = || vec![undone("a"), prompt("b"), undone("c")];
    let wide = || vec![undone("a"), undone("b").after(&["a"]), prompt("c")];
    let nested = |outer, inner| {
        let inside = group("in", 2, inner, vec![undone("a"), undone("b")]);
        let held = group("out", 2, outer, vec![inside, undone("c")]);
        workflow(vec![held, prompt("d")], undo())
    };
    let branch = || {
        let test = condition("g", Test::Succeeded(true));
        if_("c", test, vec![undone("t")], vec![prompt("e")])
    };
    vec![
        ("sequence", workflow(sequence(), undo())),
        (
            "sequence that rolls back",
            rolls(workflow(sequence(), undo())),
        ),
        (
            "fail fast",
            workflow(vec![group("g", 2, FailFast, wide()), prompt("d")], undo()),
        ),
        (
            "go on",
            workflow(
                vec![group("g", 2, ContinueOnError, wide()), prompt("d")],
                undo(),
            ),
        ),
        (
            "roll back",
            workflow(vec![group("g", 3, Rollback, wide()), prompt("d")], undo()),
        ),
        ("go on around roll back", nested(ContinueOnError, Rollback)),
        ("roll back around fail fast", nested(Rollback, FailFast)),
        ("fail fast around roll back", nested(FailFast, Rollback)),
        ("roll back around go on", nested(Rollback, ContinueOnError)),
        (
            "loop",
            rolls(workflow(
                vec![each("l", "${input}", vec![undone("a"), prompt("b")])],
                undo(),
            )),
        ),
        (
            "while with a group in it",
            workflow(
                vec![while_(
                    "l",
                    again(),
                    vec![
                        prompt("x"),
                        group("g", 2, Rollback, vec![undone("a"), prompt("b")]),
                    ],
                )],
                undo(),
            ),
        ),
        (
            "branch",
            rolls(workflow(
                vec![
                    group("g", 1, ContinueOnError, vec![undone("a"), prompt("b")]),
                    branch(),
                    prompt("d"),
                ],
                undo(),
            )),
        ),
        ("few steps", {
            let mut definition = rolls(workflow(sequence(), undo()));
            definition.max_steps = 2;
            definition
        }),
    ]
}

/// 003/INV-AGT-003, 003/INV-CP-001, 003/INV-PE-001, 003/INV-PE-002, 003/INV-PE-003
#[test]
fn every_event_in_every_state_keeps_the_rules() {
    for (name, definition) in variants() {
        match explored(&definition, bound(RATION.0, RATION.1)) {
            // Less would be another exploration than is meant.
            Ok(states) => assert!(states > 40, "{name}: {states} states"),
            Err(breach) => panic!("{name}: {breach}"),
        }
    }
}

/// A group that has failed is rolled back, also where what is around it fails before its last step has ended (003/INV-PE-003).
#[test]
fn a_group_that_has_failed_is_rolled_back_whatever_fails_around_it() {
    let undo = || vec![prompt("undo")];
    let undone = |name: &str| prompt(name).undone_by("undo");
    let around = |inside| group("out", 2, FailFast, vec![inside, prompt("d")]);
    let members = vec![undone("a"), prompt("b"), prompt("c")];
    let itself = group("in", 3, Rollback, members);
    let inside = group("in", 2, FailFast, vec![prompt("b"), prompt("c")]);
    let further_out = group("mid", 2, Rollback, vec![undone("a"), inside]);
    for group in [itself, further_out] {
        let definition = workflow(vec![around(group)], undo());
        match explored(&definition, bound(0, 1)) {
            Ok(states) => assert!(states > 40, "{states} states"),
            Err(breach) => panic!("{breach}"),
        }
    }
}
