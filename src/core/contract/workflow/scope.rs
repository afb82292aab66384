//! Judges a whole definition: names, limits, dependencies, and that a step is given only what has ended before it begins.

use std::collections::BTreeSet;

use serde_json::Value;

use super::fault::{MOST_LEVELS, MOST_STEPS};
use super::{
    Condition, Dependencies, FailureStrategy, GroupFault, Part, Step, StepId, Template, Work,
    WorkflowDefinition, WorkflowFault, WorkflowRule,
};

impl WorkflowDefinition {
    /// Every rule that it breaks.
    #[must_use]
    pub(crate) fn faults(&self) -> Vec<WorkflowFault> {
        judge(self)
    }
}

/// Every rule that a definition breaks, in the order of the file.
fn judge(definition: &WorkflowDefinition) -> Vec<WorkflowFault> {
    let all = definition.all_steps();
    let mut judge = Judge {
        compensating: Vec::new(),
        definition,
        faults: Vec::new(),
        known: all.iter().map(|step| step.id.clone()).collect(),
        seen: BTreeSet::new(),
    };
    let most = WorkflowDefinition::MOST_RUNS;
    judge.limit("limits.max_steps", definition.max_steps, most);
    let most = crate::message::MAX_EXACT;
    judge.limit("limits.total_timeout_ms", definition.total_timeout_ms, most);
    if definition.on_failure == FailureStrategy::ContinueOnError {
        judge.add("on_failure", WorkflowRule::NothingBeside);
    }
    if all.len() > MOST_STEPS {
        judge.add("steps", WorkflowRule::TooManySteps(all.len()));
    }
    let outside = Scope::default();
    judge.sequence("steps", &definition.steps, &outside);
    judge.compensations();
    judge.faults
}

/// The inputs available to a step.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// True if a `for_each` encloses it.
    item: bool,
    levels: usize,
    /// The steps that have ended.
    visible: BTreeSet<StepId>,
}

struct Judge<'d> {
    /// Of each step that names a compensation: the compensation, and what it can be given.
    compensating: Vec<(StepId, Scope)>,
    definition: &'d WorkflowDefinition,
    faults: Vec<WorkflowFault>,
    known: BTreeSet<StepId>,
    seen: BTreeSet<StepId>,
}

impl Judge<'_> {
    fn add(&mut self, place: impl Into<String>, rule: WorkflowRule) {
        let place = place.into();
        self.faults.push(WorkflowFault { place, rule });
    }

    fn limit(&mut self, place: impl Into<String>, got: u64, most: u64) {
        let least = 1;
        if got < least || got > most {
            self.add(place, WorkflowRule::Limit { got, least, most });
        }
    }

    /// Steps one after the other; returns what is visible after them.
    fn sequence(&mut self, place: &str, steps: &[Step], scope: &Scope) -> Scope {
        if steps.is_empty() {
            self.add(place, WorkflowRule::NoStep);
        }
        let mut scope = scope.clone();
        for (n, step) in steps.iter().enumerate() {
            let place = format!("{place}.{n}");
            if !step.depends_on.is_empty() {
                self.add(format!("{place}.depends_on"), WorkflowRule::NoGroup);
            }
            self.step(&place, step, &scope);
            scope.visible.insert(step.id.clone());
        }
        scope
    }

    fn step(&mut self, place: &str, step: &Step, scope: &Scope) {
        if !self.seen.insert(step.id.clone()) {
            self.add(format!("{place}.id"), WorkflowRule::Twice(step.id.clone()));
        }
        if scope.levels > MOST_LEVELS {
            self.add(place, WorkflowRule::TooDeep);
            return;
        }
        if let Some(id) = &step.compensate {
            let at = format!("{place}.compensate");
            if !step.work.is_run() {
                self.add(at, WorkflowRule::NothingToCompensate);
            } else if self.definition.compensation(id).is_none() {
                self.add(at, WorkflowRule::NoCompensation(id.clone()));
            } else {
                let mut scope = scope.clone();
                scope.visible.insert(step.id.clone());
                self.compensating.push((id.clone(), scope));
            }
        }
        self.work(place, &step.work, scope, false);
    }

    fn work(&mut self, place: &str, work: &Work, scope: &Scope, compensates: bool) {
        let inner = Scope {
            levels: scope.levels.saturating_add(1),
            ..scope.clone()
        };
        match work {
            Work::Prompt(text) => {
                self.template(&format!("{place}.prompt"), text, scope, compensates);
            }
            Work::Tool(call) => {
                let place = format!("{place}.arguments");
                if !call.arguments.is_object() {
                    self.add(place.clone(), WorkflowRule::Arguments);
                }
                self.texts(&place, &call.arguments, scope, compensates);
            }
            Work::Delegate(delegate) => {
                self.template(&format!("{place}.task"), &delegate.task, scope, compensates);
            }
            Work::If(held) => {
                self.condition(&format!("{place}.if"), &held.condition, scope);
                self.sequence(&format!("{place}.then"), &held.then, &inner);
                if !held.otherwise.is_empty() {
                    self.sequence(&format!("{place}.else"), &held.otherwise, &inner);
                }
            }
            Work::ForEach(held) => {
                self.template(&format!("{place}.for_each"), &held.items, scope, false);
                self.iterations(place, held.max_iterations);
                let inner = Scope {
                    item: true,
                    ..inner
                };
                self.sequence(&format!("{place}.steps"), &held.steps, &inner);
            }
            Work::While(held) => {
                self.iterations(place, held.max_iterations);
                let after = self.sequence(&format!("{place}.steps"), &held.steps, &inner);
                self.condition(&format!("{place}.while"), &held.condition, &after);
            }
            Work::Parallel(group) => {
                let limit = format!("{place}.max_concurrency");
                let most = u64::try_from(MOST_STEPS).unwrap_or(u64::MAX);
                self.limit(limit, group.max_concurrency.into(), most);
                self.group(&format!("{place}.parallel"), &group.steps, &inner);
            }
        }
    }

    fn group(&mut self, place: &str, steps: &[Step], scope: &Scope) {
        if steps.is_empty() {
            self.add(place, WorkflowRule::NoStep);
        }
        let dependencies = Dependencies::of(steps);
        let id = |step: usize| steps.get(step).map(|step| step.id.clone());
        for fault in dependencies.as_ref().err().into_iter().flatten() {
            let depends = |step: usize, at: usize| {
                let on = steps.get(step)?.depends_on.get(at)?.clone();
                Some((format!("{place}.{step}.depends_on.{at}"), on))
            };
            let (at, rule) = match fault {
                GroupFault::Missing { step, at } => match depends(*step, *at) {
                    Some((at, on)) => (at, WorkflowRule::MissingDependency(on)),
                    None => continue,
                },
                GroupFault::Twice { step, at } => match depends(*step, *at) {
                    Some((at, on)) => (at, WorkflowRule::DependencyTwice(on)),
                    None => continue,
                },
                GroupFault::Cycle(steps) => {
                    let first = steps.first().copied().unwrap_or_default();
                    let names = steps.iter().filter_map(|step| id(*step)).collect();
                    let at = format!("{place}.{first}.depends_on");
                    (at, WorkflowRule::Cycle(names))
                }
            };
            self.add(at, rule);
        }
        for (n, step) in steps.iter().enumerate() {
            let mut scope = scope.clone();
            match &dependencies {
                Ok(known) => {
                    let before = known.all_of_step(n).into_iter().filter_map(id);
                    scope.visible.extend(before);
                }
                // One fault is said once.
                Err(_) => scope
                    .visible
                    .extend(steps.iter().map(|step| step.id.clone())),
            }
            self.step(&format!("{place}.{n}"), step, &scope);
        }
    }

    fn compensations(&mut self) {
        let compensating = std::mem::take(&mut self.compensating);
        for (n, step) in self.definition.compensations.iter().enumerate() {
            let place = format!("compensations.{n}");
            if !self.seen.insert(step.id.clone()) {
                self.add(format!("{place}.id"), WorkflowRule::Twice(step.id.clone()));
            }
            if !step.work.is_run() || step.compensate.is_some() || !step.depends_on.is_empty() {
                self.add(place, WorkflowRule::NoSimpleCompensation);
                continue;
            }
            let scopes = compensating.iter().filter(|(id, _)| *id == step.id);
            // It is given only what each of the steps knows that it undoes.
            let scope = scopes
                .map(|(_, scope)| Scope {
                    item: false,
                    ..scope.clone()
                })
                .reduce(|a, b| Scope {
                    item: false,
                    levels: 0,
                    visible: a.visible.intersection(&b.visible).cloned().collect(),
                });
            match scope {
                None => self.add(format!("{place}.id"), WorkflowRule::UnusedCompensation),
                Some(scope) => self.work(&place, &step.work, &scope, true),
            }
        }
    }

    fn iterations(&mut self, place: &str, got: u32) {
        let most = WorkflowDefinition::MOST_ITERATIONS.into();
        self.limit(format!("{place}.max_iterations"), got.into(), most);
    }

    fn condition(&mut self, place: &str, condition: &Condition, scope: &Scope) {
        self.reference(&format!("{place}.step"), &condition.step, scope);
        if let Some(fault) = condition.test.fault() {
            self.add(format!("{place}.matches"), WorkflowRule::Pattern(fault));
        }
    }

    fn texts(&mut self, place: &str, value: &Value, scope: &Scope, compensates: bool) {
        match value {
            Value::String(text) => self.template(place, text, scope, compensates),
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    self.texts(&format!("{place}.{n}"), item, scope, compensates);
                }
            }
            Value::Object(members) => {
                for (key, value) in members {
                    self.texts(&format!("{place}.{key}"), value, scope, compensates);
                }
            }
            Value::Number(number) if !is_exact(number) => {
                self.add(place, WorkflowRule::InexactNumber);
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn template(&mut self, place: &str, text: &str, scope: &Scope, compensates: bool) {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(fault) => return self.add(place, WorkflowRule::Template(fault)),
        };
        for part in template.parts() {
            match part {
                Part::Text(_) | Part::Input => {}
                Part::Item | Part::Index if scope.item => {}
                Part::Item | Part::Index => self.add(place, WorkflowRule::NoItem),
                Part::Output(id) => self.reference(place, id, scope),
                Part::Compensated if compensates => {}
                Part::Compensated => self.add(place, WorkflowRule::NoCompensatedStep),
            }
        }
    }

    fn reference(&mut self, place: &str, id: &StepId, scope: &Scope) {
        if scope.visible.contains(id) {
            return;
        }
        let rule = if self.known.contains(id) {
            WorkflowRule::NotBefore(id.clone())
        } else {
            WorkflowRule::NoSuchStep(id.clone())
        };
        self.add(place, rule);
    }
}

/// True if every JSON reader reads the same number from the arguments. A fraction passes: it was never exact.
fn is_exact(number: &serde_json::Number) -> bool {
    let most = crate::message::MAX_EXACT;
    match (number.as_u64(), number.as_i64(), number.as_f64()) {
        (Some(number), ..) => number <= most,
        (_, Some(number), _) => number.unsigned_abs() <= most,
        // 2^53 as a float is exact, and so is its comparison.
        (.., Some(number)) => number.fract() != 0.0 || number.abs() < 9_007_199_254_740_992.0,
        (None, None, None) => false,
    }
}
