//! The memory of the machine: the tree of what is under way, and what has ended. Decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{EndStep, WorkflowCounters};
use crate::contract::{Dependencies, Label, Step, StepId, WorkflowCode};
use crate::message::{Digest, DigestContext};

static MEMORY: DigestContext = DigestContext::new("monolith workflow v1 books");

/// The state that the next decision depends on, without the texts.
///
/// Methods alone change the parts that grow with the steps: each change is hashed once, so the cost of the digest depends on the
/// runs under way, not on those that have ended. A checkpoint holds all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    /// The result of each step that a later one can name.
    bindings: BTreeMap<StepId, Binding>,
    /// Step runs that completed, in the order in which they did.
    completed: Vec<CompletedRun>,
    pub(super) counters: WorkflowCounters,
    /// The failures, in the order in which they occurred.
    errors: Vec<StepError>,
    /// Rolling digest over the changes of what grows.
    history_digest: Digest,
    #[serde(with = "numbered")]
    pub(super) in_flight: BTreeMap<u64, InFlight>,
    /// The results of the iterations of each loop under way, by the place of the loop.
    iterations: BTreeMap<String, Vec<Value>>,
    /// The step that completed last.
    pub(super) last_completed: Option<StepId>,
    /// Number of step runs that were begun, including compensations.
    pub(super) numbers: u64,
    pub(super) root: Root,
    pub(super) stop: Option<Stop>,
    pub(super) suspended: bool,
}

/// The workflow's own sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Root {
    pub(super) phase: Phase,
    pub(super) sequence: Sequence,
}

/// The direction: steps are done or undone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub(super) enum Phase {
    #[default]
    Forward,
    #[serde(rename = "back")]
    RollingBack(Rollback),
}

/// The compensations, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rollback {
    /// The number of the run that compensates, and of the one that it undoes.
    pub(super) current: Option<(u64, u64)>,
    /// The numbers of the runs to be undone, the next one last.
    pub(super) waiting: Vec<u64>,
}

/// Steps one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sequence {
    /// The index of the step that is under way, or comes next.
    pub(super) at: usize,
    pub(super) under_way: Option<Box<Active>>,
    /// True if one of its steps has completed with errors in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) with_errors: bool,
}

/// A step that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub(super) enum Active {
    /// The run of that number.
    Run(u64),
    /// One of two sequences.
    Branch { inside: Sequence, then: bool },
    /// A loop.
    Loop(Loop),
    /// A parallel group.
    Group(Group),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Loop {
    /// Number of items, if it goes over a list.
    pub(super) count: Option<u32>,
    pub(super) inside: Sequence,
    /// The items, where it goes over a list. They follow from the outputs: no digest and no checkpoint needs them.
    #[serde(skip)]
    pub(super) items: Arc<Items>,
    /// Number of iterations begun.
    pub(super) iteration: u32,
    /// True if one is under way.
    pub(super) open: bool,
    /// True if one has completed with errors in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) with_errors: bool,
}

/// The items of a loop over a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Items {
    /// The labels of the list.
    pub(super) labels: BTreeSet<Label>,
    pub(super) texts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Group {
    /// The dependencies of its steps. They follow from the definition: no digest and no checkpoint needs them.
    #[serde(skip)]
    pub(super) dependencies: Option<Arc<Dependencies>>,
    /// True if one of its steps has failed.
    pub(super) failed: bool,
    pub(super) members: Vec<Member>,
    pub(super) phase: Phase,
    /// True if one has completed with errors in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) with_errors: bool,
}

/// A step of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub(super) enum Member {
    Waiting,
    Active(Active),
    Completed,
    Failed,
    /// Its end was requested.
    Halted,
    /// It was never begun.
    Skipped,
}

/// A step's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Binding {
    pub(super) ok: bool,
    pub(super) value: Value,
}

/// A step run that completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CompletedRun {
    /// Its compensation.
    pub(super) compensate: Option<StepId>,
    /// Success of that, once it was tried.
    pub(super) compensated: Option<bool>,
    /// The compensation's input, as it was when the step completed: an iteration later it is another's.
    #[serde(rename = "given")]
    pub(super) captured: BTreeMap<StepId, Binding>,
    pub(super) number: u64,
    pub(super) place: String,
}

/// A step run under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InFlight {
    pub(super) compensates: Option<u64>,
    /// The request to end it, if any.
    pub(super) ending: Option<EndStep>,
    pub(super) input_hash: Digest,
    /// The labels of what it is given.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) labels: BTreeSet<Label>,
    pub(super) place: String,
    pub(super) step: StepId,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepError {
    /// Cause.
    pub code: WorkflowCode,
    /// True if a compensation failed.
    pub(crate) compensation: bool,
    /// Place.
    pub place: String,
}

/// The reason that no more begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    Timeout,
    #[serde(rename = "asked")]
    Requested,
    Now,
}

/// A change of what grows.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum HistoryEvent<'c> {
    Bound(&'c StepId, &'c Binding),
    Compensated(u64, bool),
    Completed(&'c CompletedRun),
    Failed(&'c StepError),
    /// The loop at that place is over.
    Gathered(&'c str),
    /// An iteration of the loop at that place came to that.
    Iterated(&'c str, &'c Value),
    Unbound(&'c StepId),
}

impl Memory {
    /// BLAKE3 over it: over what is under way, and the rolling digest of the rest.
    pub(super) fn digest(&self) -> Digest {
        #[derive(Serialize)]
        struct UnderWay<'b> {
            counters: WorkflowCounters,
            #[serde(rename = "grown")]
            history_digest: Digest,
            in_flight: &'b BTreeMap<u64, InFlight>,
            last_completed: Option<&'b StepId>,
            numbers: u64,
            root: &'b Root,
            stop: Option<Stop>,
            suspended: bool,
        }
        let under_way = UnderWay {
            counters: self.counters,
            history_digest: self.history_digest,
            in_flight: &self.in_flight,
            last_completed: self.last_completed.as_ref(),
            numbers: self.numbers,
            root: &self.root,
            stop: self.stop,
            suspended: self.suspended,
        };
        Digest::of(&serde_json::to_vec(&under_way).unwrap_or_default())
    }

    /// Returns the result of the last completed step of a sequence.
    pub(super) fn last_of(&self, steps: &[Step], sequence: &Sequence) -> Value {
        let last = sequence.at.checked_sub(1).and_then(|at| steps.get(at));
        let binding = last.and_then(|step| self.binding(&step.id));
        binding.map_or(Value::Empty, |binding| binding.value.clone())
    }

    /// Returns a step's result, if a later one can name it.
    pub(super) fn binding(&self, step: &StepId) -> Option<&Binding> {
        self.bindings.get(step)
    }

    /// Step runs that completed, in the order in which they did.
    pub(super) fn completed(&self) -> &[CompletedRun] {
        &self.completed
    }

    /// Returns the failures, in the order of occurrence.
    pub(super) fn errors(&self) -> &[StepError] {
        &self.errors
    }

    pub(super) fn bind(&mut self, step: &StepId, binding: Binding) {
        self.changed(&HistoryEvent::Bound(step, &binding));
        self.bindings.insert(step.clone(), binding);
    }

    pub(super) fn unbind(&mut self, step: &StepId) {
        if self.bindings.remove(step).is_some() {
            self.changed(&HistoryEvent::Unbound(step));
        }
    }

    pub(super) fn complete(&mut self, completed: CompletedRun) {
        self.changed(&HistoryEvent::Completed(&completed));
        self.completed.push(completed);
    }

    /// Notes whether a step run that completed was undone; returns its place.
    pub(super) fn compensate(&mut self, number: u64, ok: bool) -> Option<String> {
        self.changed(&HistoryEvent::Compensated(number, ok));
        let mut completed = self.completed.iter_mut();
        let run = completed.find(|run| run.number == number)?;
        run.compensated = Some(ok);
        Some(run.place.clone())
    }

    pub(super) fn fail(&mut self, error: StepError) {
        self.changed(&HistoryEvent::Failed(&error));
        self.errors.push(error);
    }

    /// Keeps what an iteration of the loop at that place came to.
    pub(super) fn iterated(&mut self, place: &str, value: Value) {
        self.changed(&HistoryEvent::Iterated(place, &value));
        let ends = self.iterations.entry(place.to_owned());
        ends.or_default().push(value);
    }

    /// Takes the results of the iterations of the loop at that place, which is over.
    pub(super) fn take_iterations(&mut self, place: &str) -> Vec<Value> {
        let ends = self.iterations.remove(place);
        self.changed(&HistoryEvent::Gathered(place));
        ends.unwrap_or_default()
    }

    fn changed(&mut self, change: &HistoryEvent<'_>) {
        let change = serde_json::to_vec(change).unwrap_or_default();
        self.history_digest = MEMORY.rolled(self.history_digest, &change);
    }

    /// The memory without the digest of how it came about: equal ones lead to equal decisions.
    #[cfg(test)]
    pub(super) fn without_history(&self) -> Self {
        Self {
            history_digest: Digest::ZERO,
            ..self.clone()
        }
    }
}

impl Phase {
    /// True if completed steps are being undone.
    pub(super) const fn is_rolling_back(&self) -> bool {
        matches!(self, Self::RollingBack(_))
    }
}

impl InFlight {
    /// The request of its end; `None` if it was requested so, or more strongly, before.
    pub(super) fn ends(&mut self, number: u64, how: EndStep) -> Option<(u64, EndStep)> {
        if self.ending >= Some(how) {
            return None;
        }
        self.ending = Some(how);
        Some((number, how))
    }
}

impl Group {
    /// A group of which nothing is begun yet.
    pub(super) fn of(steps: &[Step]) -> Self {
        Self {
            // A definition that was judged has an order.
            dependencies: Dependencies::of(steps).ok().map(Arc::new),
            members: vec![Member::Waiting; steps.len()],
            ..Self::default()
        }
    }
}

static OUTPUTS: DigestContext = DigestContext::new("monolith workflow v1 outputs");

/// The outputs of step runs, and a digest that grows with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outputs {
    bytes: u64,
    digest: Digest,
    /// The places of the outputs, in the order in which they were kept.
    places: Vec<OutputPlace>,
    labels: BTreeMap<u64, BTreeSet<Label>>,
    texts: BTreeMap<u64, String>,
}

/// The place of an output in the transcript, and its labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OutputPlace {
    /// The entry whose event holds it.
    pub(super) entry: u64,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) labels: BTreeSet<Label>,
    /// The number of the run.
    pub(super) number: u64,
}

/// The result of a step, by the runs in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub(crate) enum Value {
    /// No run.
    #[default]
    Empty,
    /// The result of the run of that number.
    Run(u64),
    /// The result of each iteration.
    List(Vec<Value>),
    /// The result of each completed step of a group.
    Members(Vec<(StepId, Value)>),
}

impl Outputs {
    /// Keeps the output of a run.
    pub(super) fn keep(&mut self, place: OutputPlace, text: &str) {
        let OutputPlace { labels, number, .. } = &place;
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(length);
        let words: Vec<&str> = labels.iter().map(|label| label.word()).collect();
        let words = words.join(" ");
        let item = OUTPUTS.framed(&[&number.to_le_bytes(), text.as_bytes(), words.as_bytes()]);
        self.digest = OUTPUTS.rolled(self.digest, item.as_bytes());
        self.labels.insert(*number, labels.clone());
        self.texts.insert(*number, text.to_owned());
        self.places.push(place);
    }

    /// Returns the places of all of them, in the order in which they were kept.
    pub(super) fn places(&self) -> &[OutputPlace] {
        &self.places
    }

    /// Returns their size in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of all of them.
    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the result of the run of that number.
    pub(crate) fn text(&self, number: u64) -> &str {
        self.texts.get(&number).map_or("", String::as_str)
    }
}

impl Value {
    /// The labels of all runs in it.
    pub(super) fn labels(&self, outputs: &Outputs) -> BTreeSet<Label> {
        let all = |values: &mut dyn Iterator<Item = &Self>| {
            values.flat_map(|value| value.labels(outputs)).collect()
        };
        match self {
            Self::Empty => BTreeSet::new(),
            Self::Run(number) => outputs.labels.get(number).cloned().unwrap_or_default(),
            Self::List(items) => all(&mut items.iter()),
            Self::Members(members) => all(&mut members.iter().map(|(_, value)| value)),
        }
    }

    /// The text of it: of a loop a JSON array, of a group a JSON object.
    pub(super) fn text(&self, outputs: &Outputs) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Run(number) => outputs.text(*number).to_owned(),
            Self::List(_) | Self::Members(_) => self.json(outputs).to_string(),
        }
    }

    fn json(&self, outputs: &Outputs) -> serde_json::Value {
        match self {
            Self::Empty | Self::Run(_) => serde_json::Value::String(self.text(outputs)),
            Self::List(items) => items.iter().map(|item| item.json(outputs)).collect(),
            Self::Members(members) => members
                .iter()
                .map(|(id, value)| (id.to_string(), value.json(outputs)))
                .collect(),
        }
    }
}

/// Step runs by number, as a list of pairs: the members of an object are in the order of their texts.
mod numbered {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    use super::InFlight;

    pub(super) fn serialize<S: Serializer>(
        runs: &BTreeMap<u64, InFlight>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(runs)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<u64, InFlight>, D::Error> {
        let runs = Vec::<(u64, InFlight)>::deserialize(deserializer)?;
        Ok(runs.into_iter().collect())
    }
}
