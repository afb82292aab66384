//! Watches a workflow from outside: knows the definition, the events, the entries and the effects, and nothing of the machine.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::contract::FailureStrategy::{self, ContinueOnError, Rollback};
use crate::contract::{Label, Step, Work, WorkflowClass, WorkflowDefinition, WorkflowOutcome};

/// The words of a stranger in the outputs of untrusted runs.
pub(super) const STRANGER: &str = "mallory";

/// The monitor's knowledge of one step run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    compensates: Option<u64>,
    pub(super) end: Option<bool>,
    /// The strongest request of its end so far.
    ending: Option<EndStep>,
    place: String,
}

/// Watches from outside: entries and effects only.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says by itself whether something was seen"
)]
pub(super) struct Monitor {
    compensations: Vec<u64>,
    completions: Vec<u64>,
    entries: u64,
    failed_groups: BTreeSet<String>,
    failed_places: Vec<String>,
    finished: bool,
    /// True if a person stopped it.
    person: bool,
    /// The groups that are to be rolled back: one of their steps has failed of itself.
    rolls: BTreeSet<String>,
    pub(super) runs: BTreeMap<u64, Seen>,
    pub(super) stopped: bool,
    pub(super) suspended: bool,
}

/// The steps of a definition by their ids: what holds each, and what it must wait for.
pub(super) struct Map<'d> {
    pub(super) definition: &'d WorkflowDefinition,
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
    pub(super) fn take(
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
        if drafts
            .iter()
            .all(|draft| draft.action.kind != WorkflowEntryKind::Ignored)
        {
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
        self.ends_its_group(map, event);
        let before = self.runs.clone();
        let mut requested = BTreeMap::new();
        let mut orders = 0;
        for effect in rest {
            match effect {
                WorkflowEffect::Append(_) => return Err("two batches of entries".to_owned()),
                WorkflowEffect::Begin(order) => {
                    orders += 1;
                    let is_untrusted = order.labels.contains(&Label::Untrusted);
                    if order.input.text().contains(STRANGER) && !is_untrusted {
                        return Err(format!("{} lost the labels of its input", order.place));
                    }
                    if is_untrusted && self.completions.is_empty() && self.failed_places.is_empty()
                    {
                        return Err(format!("{} has labels of no run", order.place));
                    }
                    self.begins(map, order, resumes)?;
                }
                WorkflowEffect::End { number, how } => {
                    let run = self.runs.get_mut(number).filter(|run| run.end.is_none());
                    let Some(run) = run else {
                        return Err(format!("{number} is requested to end and is not under way"));
                    };
                    run.ending = run.ending.max(Some(*how));
                    requested.insert(*number, *how);
                }
                WorkflowEffect::Finish(outcome) => self.ends(map, *outcome)?,
            }
        }
        // The process that was asked is gone: the next one is asked for the same.
        for (number, run) in before.iter().filter(|_| resumes) {
            if run.end.is_none() && requested.get(number) < run.ending.as_ref() {
                return Err(format!("{} was to end and goes on", run.place));
            }
        }
        if let Some(place) = self.goes_on_in_a_failed_group() {
            return Err(format!("{place} goes on in a group that has failed"));
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
            WorkflowEventKind::StopRequested | WorkflowEventKind::Interrupted => {
                (self.person, self.stopped) = (true, true);
            }
            WorkflowEventKind::TimerFired => self.stopped = true,
            WorkflowEventKind::Suspended => self.suspended = true,
            WorkflowEventKind::Resumed => self.suspended = false,
            WorkflowEventKind::Started(_) => {}
        }
    }

    /// Notes the group that the failure of this event ends: the innermost one around it, unless that one gathers errors, or the end of
    /// the step was requested. With it fail those around it, as far as none gathers errors.
    fn ends_its_group(&mut self, map: &Map<'_>, event: &WorkflowEventKind) {
        let WorkflowEventKind::StepEnded { number, .. } = event else {
            return;
        };
        let Some(run) = self.runs.get(number) else {
            return;
        };
        if run.end != Some(false) || run.compensates.is_some() || run.ending.is_some() {
            return;
        }
        let path = map.path(&run.place);
        let mut groups = path.iter().rev().filter_map(|(_, _, of, around)| {
            let (failure, _) = strategy(*of)?;
            Some((failure, around.clone()))
        });
        let mut innermost = true;
        while let Some((failure, around)) = groups.next()
            && failure != ContinueOnError
        {
            if failure == Rollback {
                self.rolls.insert(around.clone());
            }
            // Those further out fail once this one has ended.
            if std::mem::take(&mut innermost) {
                self.failed_groups.insert(around);
            }
        }
    }

    /// Finds a completed step in a failed group whose compensation was not tried.
    fn left_as_it_is(&self, map: &Map<'_>) -> Option<&str> {
        let is_left = |number: &&u64| {
            let place = &self.runs[*number].place;
            self.rolls.iter().any(|around| place.starts_with(around)) && self.is_owed(map, **number)
        };
        let left = self.completions.iter().find(is_left);
        left.map(|number| self.runs[number].place.as_str())
    }

    /// True if a completed step names a compensation that was not tried.
    fn is_owed(&self, map: &Map<'_>, number: u64) -> bool {
        let path = map.path(&self.runs[&number].place);
        let step = path.last();
        let named = step.is_some_and(|(steps, at, _, _)| steps[*at].compensate.is_some());
        let mut runs = self.runs.values();
        named && !runs.any(|run| run.compensates == Some(number))
    }

    /// A step under way in a group that has failed whose end was not requested.
    fn goes_on_in_a_failed_group(&self) -> Option<&str> {
        let goes_on = |run: &&Seen| {
            let mut groups = self.failed_groups.iter();
            run.end.is_none()
                && run.compensates.is_none()
                && run.ending.is_none()
                && groups.any(|around| run.place.starts_with(around))
        };
        let run = self.runs.values().find(goes_on);
        run.map(|run| run.place.as_str())
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
            ending: None,
            place: place.clone(),
        };
        self.runs.insert(order.number, seen);
        Ok(())
    }

    /// True if every run at that place or below it is over and, with `completed`, has completed.
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

    /// True if each failure below a place is in a group further inside that gathers errors.
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
            let together = scope(&self.runs[later].place) == scope(undone);
            if self.is_owed(map, *later) && together && position(*later) > position(of) {
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
        if let Some(place) = self.left_as_it_is(map).filter(|_| !self.person) {
            return Err(format!("{place} stays, in a group that has failed"));
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
