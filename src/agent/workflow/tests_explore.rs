//! The machine, explored exhaustively within small bounds: every event in every state that can be reached, judged by monitors that know
//! the definition and nothing of the machine.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use super::testing::*;
use super::*;
use crate::contract::FailureStrategy::{self, ContinueOnError, FailFast, Rollback};
use crate::contract::{Step, Test, Work, WorkflowClass, WorkflowDefinition, WorkflowOutcome};

/// How often a path may stop, suspend, resume, and bring what has no meaning.
const RATIONS: [u8; 4] = [2, 1, 2, 1];

/// What can happen.
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

impl Letter {
    fn event(self) -> WorkflowEvent {
        let at_ms = if self == Self::Timer { 1_000 } else { 5 };
        let event = match self {
            // A list of two, for the loops.
            Self::Completes(number) => ended(number, result(number, "[1, 2]", None)),
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

    const fn ration(self) -> Option<usize> {
        match self {
            Self::Stop | Self::Now => Some(0),
            Self::Suspend => Some(1),
            Self::Resume => Some(2),
            Self::Stranger => Some(3),
            Self::Completes(_) | Self::Fails(_) | Self::NotBegun(_) | Self::Timer => None,
        }
    }
}

/// What a monitor knows of one step run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Seen {
    compensates: Option<u64>,
    end: Option<bool>,
    place: String,
}

/// Watches from outside: entries and effects only.
#[derive(Clone, Debug, Default)]
struct Monitor {
    compensations: Vec<u64>,
    completions: Vec<u64>,
    entries: u64,
    failed_places: Vec<String>,
    finished: bool,
    runs: BTreeMap<u64, Seen>,
    stopped: bool,
    suspended: bool,
}

#[derive(Clone)]
struct Watched {
    machine: Workflow,
    monitor: Monitor,
    rations: [u8; 4],
}

/// The steps of a definition by their ids: what holds each, and what it must wait for.
struct Map<'d> {
    definition: &'d WorkflowDefinition,
}

impl Map<'_> {
    /// The sequences and groups from outside to a place, each with the index of the step in it.
    fn path<'m>(&'m self, place: &str) -> Vec<(&'m [Step], usize, Option<&'m Step>, String)> {
        let mut found = Vec::new();
        let mut held: Vec<(&[Step], Option<&Step>)> = vec![(&self.definition.steps, None)];
        let mut around = String::new();
        for part in place.split('/') {
            let name = part.split('.').next().unwrap();
            let next = held.iter().find_map(|(steps, of)| {
                let at = steps.iter().position(|step| step.id.as_str() == name)?;
                Some((*steps, at, *of))
            });
            let Some((steps, at, of)) = next else { break };
            found.push((steps, at, of, around.clone()));
            let step = &steps[at];
            held = step
                .work
                .inside()
                .into_iter()
                .map(|(_, steps)| (steps, Some(step)))
                .collect();
            around = format!("{around}{part}/");
        }
        found
    }
}

fn strategy(step: Option<&Step>) -> Option<(FailureStrategy, u32)> {
    match &step?.work {
        Work::Parallel(held) => Some((held.on_failure, held.max_concurrency)),
        _ => None,
    }
}

impl Monitor {
    /// Judges what the machine did on an event.
    fn take(
        &mut self,
        map: &Map<'_>,
        event: &WorkflowEventKind,
        effects: &[WorkflowEffect],
    ) -> Result<(), String> {
        let resumes = matches!(event, WorkflowEventKind::Resumed);
        if self.finished && !effects.is_empty() {
            return Err("something happens after the end".to_owned());
        }
        let Some((first, rest)) = effects.split_first() else {
            return Ok(());
        };
        let WorkflowEffect::Append(drafts) = first else {
            return Err("the entries do not come first".to_owned());
        };
        // What is written down as ignored has changed nothing.
        if drafts.iter().all(|draft| draft.action.kind != WorkflowEntryKind::Ignored) {
            self.event(event);
        }
        for draft in drafts {
            if draft.action.seq != self.entries {
                return Err(format!("entry {} after {}", draft.action.seq, self.entries));
            }
            self.entries += 1;
            let seals = draft.action.kind == WorkflowEntryKind::Seal;
            if seals && draft.action.length != Some(self.entries) {
                return Err("the seal states another length".to_owned());
            }
            let ended = matches!(event, WorkflowEventKind::StepEnded { .. });
            if draft.action.checkpoint.is_some() && !ended {
                return Err("a checkpoint without a step".to_owned());
            }
        }
        let mut orders = 0;
        for effect in rest {
            match effect {
                WorkflowEffect::Append(_) => return Err("two batches of entries".to_owned()),
                WorkflowEffect::Begin(order) => {
                    orders += 1;
                    self.begins(map, order, resumes)?;
                }
                WorkflowEffect::End { number, .. } => {
                    let under_way = self.runs.get(number).is_some_and(|run| run.end.is_none());
                    if !under_way {
                        return Err(format!("{number} is told to end and is not under way"));
                    }
                }
                WorkflowEffect::Finish(outcome) => self.ends(map, *outcome)?,
            }
        }
        let stated: usize = drafts.iter().map(|draft| draft.action.begun.len()).sum();
        if stated != orders {
            return Err(format!("{orders} begun, {stated} written down"));
        }
        Ok(())
    }

    fn event(&mut self, event: &WorkflowEventKind) {
        match event {
            WorkflowEventKind::StepEnded { number, result } => {
                let Some(run) = self.runs.get_mut(number) else {
                    return;
                };
                let ok = matches!(&**result, StepResult::Run(run) if run.failure.is_none());
                run.end = Some(ok);
                match run.compensates {
                    Some(of) if ok => self.compensations.push(of),
                    Some(_) => {}
                    None if ok => self.completions.push(*number),
                    None => self.failed_places.push(run.place.clone()),
                }
            }
            WorkflowEventKind::StopRequested
            | WorkflowEventKind::Interrupted
            | WorkflowEventKind::TimerFired => self.stopped = true,
            WorkflowEventKind::Suspended => self.suspended = true,
            WorkflowEventKind::Resumed => self.suspended = false,
            WorkflowEventKind::Started(_) => {}
        }
    }

    fn begins(&mut self, map: &Map<'_>, order: &StepOrder, resumes: bool) -> Result<(), String> {
        let place = &order.place;
        if let Some(known) = self.runs.get(&order.number) {
            let again = resumes && known.place == *place && known.end.is_none();
            return again
                .then_some(())
                .ok_or_else(|| format!("{place} is begun twice under one number"));
        }
        if self.suspended {
            return Err(format!("{place} is begun while the workflow is suspended"));
        }
        if self.runs.values().any(|run| run.place == *place) {
            return Err(format!("{place} is begun twice"));
        }
        if let Some(of) = order.compensates {
            self.compensates(map, order, of)?;
        } else {
            if self.stopped {
                return Err(format!("{place} is begun after a stop"));
            }
            self.may_begin(map, place)?;
        }
        let seen = Seen {
            compensates: order.compensates,
            end: None,
            place: place.clone(),
        };
        self.runs.insert(order.number, seen);
        Ok(())
    }

    /// Whether everything at that place or below it is over, and something of it completed.
    fn over(&self, place: &str, completed: bool) -> bool {
        let below = format!("{place}/");
        let loops = format!("{place}.");
        let mut runs = self.runs.values().filter(|run| {
            run.compensates.is_none()
                && (run.place == place
                    || run.place.starts_with(&below)
                    || run.place.starts_with(&loops))
        });
        runs.all(|run| run.end.is_some() && (!completed || run.end == Some(true)))
    }

    fn may_begin(&self, map: &Map<'_>, place: &str) -> Result<(), String> {
        for (steps, at, of, around) in map.path(place) {
            let Some((failure, most)) = strategy(of) else {
                // INV-AGT-003: all before it in its sequence is over.
                for before in &steps[..at] {
                    if !self.over(&format!("{around}{}", before.id), false) {
                        return Err(format!("{place} is begun before {} is over", before.id));
                    }
                }
                continue;
            };
            // INV-PE-001
            let mut under_way = BTreeSet::from([steps[at].id.as_str()]);
            for step in steps {
                let inside = format!("{around}{}", step.id);
                if !self.over(&inside, false) {
                    under_way.insert(step.id.as_str());
                }
            }
            if under_way.len() > usize::try_from(most).unwrap() {
                return Err(format!("{under_way:?} are under way, {most} may be"));
            }
            // INV-PE-002
            for needed in &steps[at].depends_on {
                let inside = format!("{around}{needed}");
                let begun = self.runs.values().any(|run| run.place.starts_with(&inside));
                if !begun || !self.over(&inside, true) {
                    return Err(format!("{place} is begun before {needed} has completed"));
                }
            }
            // INV-PE-003
            let failed = self
                .failed_places
                .iter()
                .any(|failed| failed.starts_with(&around));
            if failed && failure != ContinueOnError && !self.gathered(map, &around) {
                return Err(format!("{place} is begun after a failure in {around}"));
            }
        }
        Ok(())
    }

    /// Whether each failure below a place stands in a group further inside that gathers errors.
    fn gathered(&self, map: &Map<'_>, around: &str) -> bool {
        let failed = self
            .failed_places
            .iter()
            .filter(|failed| failed.starts_with(around));
        failed.clone().all(|failed| {
            map.path(failed).iter().any(|(_, _, of, inside)| {
                inside.len() > around.len()
                    && strategy(*of).is_some_and(|(failure, _)| failure == ContinueOnError)
            })
        })
    }

    fn compensates(&self, map: &Map<'_>, order: &StepOrder, of: u64) -> Result<(), String> {
        let place = &order.place;
        if !self.completions.contains(&of) {
            return Err(format!("{place} undoes what has not completed"));
        }
        if self.runs.values().any(|run| run.compensates == Some(of)) {
            return Err(format!("{of} is compensated twice"));
        }
        // The last one first: of those that rolled back together, nothing that completed later is still to be undone.
        let undone = &self.runs[&of].place;
        let scope = |place: &str| {
            let path = map.path(place);
            let rolls = path.iter().find(|(_, _, group, _)| {
                strategy(*group).is_some_and(|(failure, _)| failure == Rollback)
            });
            rolls.map_or(String::new(), |(_, _, _, around)| around.clone())
        };
        let position = |number: u64| self.completions.iter().position(|n| *n == number);
        for later in &self.completions {
            let run = &self.runs[later];
            let named = map
                .path(&run.place)
                .last()
                .is_some_and(|(steps, at, _, _)| steps[*at].compensate.is_some());
            let tried = self
                .runs
                .values()
                .any(|run| run.compensates == Some(*later));
            let together = scope(&run.place) == scope(undone);
            if named && !tried && together && position(*later) > position(of) {
                return Err(format!("{of} is undone before {later}"));
            }
        }
        Ok(())
    }

    fn ends(&mut self, map: &Map<'_>, outcome: WorkflowOutcome) -> Result<(), String> {
        self.finished = true;
        if self.runs.values().any(|run| run.end.is_none()) {
            return Err("it ends with a run under way".to_owned());
        }
        let undone = self.runs.values().filter(|run| run.compensates.is_some());
        let bad = undone.clone().any(|run| run.end == Some(false));
        let is_bad = outcome.class == WorkflowClass::CompensationFailed;
        if bad != is_bad {
            return Err(format!("{outcome}, and a compensation failed: {bad}"));
        }
        if outcome.class == WorkflowClass::Completed
            && !self.failed_places.is_empty()
            && !self.gathered(map, "")
            && !self.stopped
        {
            return Err(format!("{outcome}, and {:?} failed", self.failed_places));
        }
        Ok(())
    }
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
        let fits = |letter: &Letter| letter.ration().is_none_or(|of| self.rations[of] > 0);
        runs.chain(others).filter(fits).collect()
    }

    fn take(&self, map: &Map<'_>, letter: Letter) -> Result<Self, String> {
        let mut next = self.clone();
        if let Some(of) = letter.ration() {
            next.rations[of] -= 1;
        }
        let event = letter.event();
        let effects = next.machine.step(event.clone());
        next.monitor.take(map, &event.event, &effects)?;
        // INV-CP-001: a checkpoint that was written and read again is the machine.
        let stored = serde_json::to_string(&self.machine.checkpoint()).unwrap();
        let checkpoint = serde_json::from_str(&stored).unwrap();
        let definition = Arc::clone(self.machine.definition());
        let mut restored = Workflow::restore(definition, checkpoint);
        let again = restored.step(event);
        if again != effects || restored.decision_key() != next.machine.decision_key() {
            return Err("the machine of the checkpoint reacts otherwise".to_owned());
        }
        let over = next.machine.outcome().is_some();
        if !over && next.machine.under_way() == 0 && !next.monitor.suspended {
            return Err("nothing is under way, and it has not ended".to_owned());
        }
        Ok(next)
    }

    fn key(&self) -> String {
        let stopped = (self.monitor.stopped, self.monitor.suspended, self.rations);
        format!("{} {stopped:?}", self.machine.decision_key())
    }
}

/// How many states there are, and the first property that does not hold, with the way there.
fn explored(definition: &WorkflowDefinition) -> Result<usize, String> {
    let map = Map { definition };
    let (machine, effects) =
        Workflow::start(Arc::new(definition.clone()), started(definition, "[1, 2]"));
    let mut monitor = Monitor::default();
    let begins = WorkflowEventKind::Started(Box::new(started(definition, "")));
    monitor.take(&map, &begins, &effects)?;
    let first = Watched {
        machine,
        monitor,
        rations: RATIONS,
    };
    let mut seen = HashSet::from([first.key()]);
    let mut queue = VecDeque::from([(first, Vec::new())]);
    while let Some((watched, path)) = queue.pop_front() {
        for letter in watched.letters() {
            let mut way: Vec<Letter> = path.clone();
            way.push(letter);
            let next = watched.take(&map, letter);
            let next = next.map_err(|breach| format!("{breach}: {way:?}"))?;
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
        match explored(&definition) {
            // Less would be another exploration than is meant.
            Ok(states) => assert!(states > 40, "{name}: {states} states"),
            Err(breach) => panic!("{name}: {breach}"),
        }
    }
}
