//! Breadth-first exploration of the shipped [`Run::step`](super::Run::step) over small budgets: every letter in every state that
//! can be reached, judged by the monitors and by the oracle.

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};

use super::digest::{DecisionKey, without_digests};
use super::tests_alphabet::{Letter, When};
use super::tests_monitors::Ledger;
use super::tests_oracle::{Oracle, Reaction};
use super::tests_variants::{VARIANTS, Variant};
use super::{Action, AgentOutcome, Effect, Event, EventKind, Run, State};
use crate::message::Digest;
use monolith_testkit::depth::bound;

/// Letters of each ration that a path may hold.
const RATIONS: Rations = [1, 1, 2];
/// States of a variant whose letters the quick form tries; the deep form tries all.
const QUICK_STATES: usize = 800;

type Rations = [u8; 3];

/// A run with those who watch it.
#[derive(Clone)]
pub(super) struct Watched {
    pub(super) run: Run,
    pub(super) ledger: Ledger,
    oracle: Oracle,
    rations: Rations,
}

/// A property that did not hold, and the letters that lead there.
#[derive(Debug)]
pub(super) struct Breach {
    pub(super) words: String,
    pub(super) path: Vec<Letter>,
}

/// The extent of an exploration.
#[derive(Debug, Default)]
pub(super) struct Extent {
    /// Conditions that react differently, whatever letters are left.
    pub(super) keys: usize,
    pub(super) states: usize,
    pub(super) steps: usize,
    pub(super) ends: usize,
}

impl Watched {
    pub(super) fn new(variant: &Variant) -> Self {
        let (contract, validators) = variant.sealed();
        let inputs = variant.started();
        let oracle = Oracle::new(contract.clone(), validators.clone(), &inputs);
        let (run, effects) = Run::start(contract, validators, inputs);
        Self {
            run,
            ledger: Ledger::new(&effects),
            oracle,
            rations: RATIONS,
        }
    }

    /// Takes one letter; nothing where it has no meaning here.
    pub(super) fn take(&self, letter: Letter) -> Option<Result<(Self, Vec<Effect>), String>> {
        let ration = letter.ration().map(|ration| ration as usize);
        if ration.is_some_and(|of| self.rations[of] == 0) {
            return None;
        }
        let event = letter.event(&self.run, &self.ledger)?;
        let mut next = self.clone();
        if let Some(of) = ration {
            next.rations[of] -= 1;
        }
        Some(next.push(&event).map(|effects| (next, effects)))
    }

    /// Steps with one event and judges what happened.
    pub(super) fn push(&mut self, event: &Event) -> Result<Vec<Effect>, String> {
        let expected = self.oracle.react(event);
        let goes_on = !self.run.is_ending() && self.run.outcome().is_none();
        let is_spent = self.run.ends_if_resumed();
        let effects = self.run.step(event.clone());
        if let EventKind::Resumed(resumed) = &event.event
            && resumed.contract_hash == self.run.contract().contract_hash()
            && goes_on
        {
            let class = self.run.outcome().map(|outcome| outcome.class);
            let ends = self.run.is_ending() || class == Some(AgentOutcome::Interrupted);
            if is_spent != ends {
                return Err(format!("ends if resumed: {is_spent}, and it did: {ends}"));
            }
        }
        self.ledger.step(&self.run, event, &effects)?;
        let seen = Reaction::seen(&effects);
        if seen == expected {
            Ok(effects)
        } else {
            Err(format!(
                "the document says {expected:?}, the machine {seen:?}"
            ))
        }
    }

    /// Returns the key of everything that decides what follows, except the letters that the path may still hold.
    fn key(&self) -> Digest {
        let mut hasher = KeyHasher(blake3::Hasher::new());
        self.run.decision_key().hash(&mut hasher);
        self.oracle.facts.hash(&mut hasher);
        Digest::from_bytes(*hasher.0.finalize().as_bytes())
    }
}

/// BLAKE3 over what a value hashes: dependencies are optimised, unlike this package and what it instantiates of `std`.
struct KeyHasher(blake3::Hasher);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        unreachable!("the whole digest is the key")
    }
}

/// Checks that no event has any effect now.
fn absorbs(variant: &Variant, ended: &Watched) -> Result<(), String> {
    let mut after = ended.clone();
    for &letter in variant.letters.iter().copied().flatten() {
        let Some(event) = letter.event(&ended.run, &ended.ledger) else {
            continue;
        };
        if !after.push(&event)?.is_empty() {
            return Err(format!("the end does not absorb {letter:?}"));
        }
    }
    if after.run.decision_key() == ended.run.decision_key() {
        Ok(())
    } else {
        Err("the end absorbs every letter, and changes".to_owned())
    }
}

/// The nodes found so far, and those whose letters have still to be tried.
struct Search {
    /// The nodes of a key, by what letters their paths may still hold. None covers another: what can follow a node can follow
    /// every node of its key that has as many letters left.
    seen: HashMap<Digest, Vec<(Rations, u32)>>,
    arrivals: Vec<(u32, Letter)>,
    queue: VecDeque<(u32, Digest, Watched)>,
    /// Edges of letters that are not rationed.
    edges: Vec<(u32, u32)>,
    extent: Extent,
}

/// Explores a variant to its end, or to the first property that does not hold.
pub(super) fn explore(variant: &Variant) -> Result<Extent, Breach> {
    explore_states(variant, usize::MAX)
}

/// Explores the first `most` states of a variant, breadth first.
fn explore_states(variant: &Variant, most: usize) -> Result<Extent, Breach> {
    without_digests(|| Search::new(variant).run(variant, most))
}

impl Search {
    fn new(variant: &Variant) -> Self {
        let first = Watched::new(variant);
        Self {
            seen: HashMap::from([(first.key(), vec![(first.rations, 0)])]),
            arrivals: vec![(0, Letter::Started)],
            queue: VecDeque::from([(0, first.key(), first)]),
            edges: Vec::new(),
            extent: Extent::default(),
        }
    }

    fn run(mut self, variant: &Variant, most: usize) -> Result<Extent, Breach> {
        for _ in 0..most {
            let Some((at, key, node)) = self.queue.pop_front() else {
                break;
            };
            self.expand(variant, at, key, &node)?;
        }
        self.extent.keys = self.seen.len();
        self.extent.states = self.arrivals.len();
        self.ends_on_every_path()?;
        Ok(self.extent)
    }

    fn path(&self, mut at: u32) -> Vec<Letter> {
        let mut path = Vec::new();
        while at != 0 {
            let (from, letter) = self.arrivals[at as usize];
            path.push(letter);
            at = from;
        }
        path.reverse();
        path
    }

    fn breach(&self, at: u32, letter: Option<Letter>, words: String) -> Breach {
        let mut path = self.path(at);
        path.extend(letter);
        Breach { words, path }
    }

    fn expand(
        &mut self,
        variant: &Variant,
        at: u32,
        key: Digest,
        node: &Watched,
    ) -> Result<(), Breach> {
        let mut moves = false;
        for &letter in variant.letters.iter().copied().flatten() {
            let Some(taken) = node.take(letter) else {
                continue;
            };
            self.extent.steps += 1;
            let (next, _) = taken.map_err(|words| self.breach(at, Some(letter), words))?;
            let ended = next.run.state() == State::Terminate;
            moves |= letter == Letter::Timer(When::AtDeadline);
            if ended {
                self.extent.ends += 1;
                if self.extent.ends % 16 == 1 {
                    absorbs(variant, &next)
                        .map_err(|words| self.breach(at, Some(letter), words))?;
                }
                continue;
            }
            let next_key = next.key();
            if next_key == key {
                moves &= letter != Letter::Timer(When::AtDeadline);
                continue;
            }
            let to = self.arrive(at, letter, next_key, next);
            if letter.ration().is_none() {
                self.edges.push((at, to));
            }
        }
        // Somebody who only obeys the timer comes to an end, too.
        if moves {
            Ok(())
        } else {
            Err(self.breach(at, None, "the timer does not lead on".to_owned()))
        }
    }

    /// The node that stands for where a letter led: one that reacts equally and has at least as many letters left, or a new one.
    fn arrive(&mut self, from: u32, letter: Letter, key: Digest, next: Watched) -> u32 {
        let left = next.rations;
        let known = self.seen.entry(key).or_default();
        let covers = |of: &Rations| of.iter().zip(left).all(|(has, needs)| *has >= needs);
        if let Some((_, at)) = known.iter().find(|(of, _)| covers(of)) {
            return *at;
        }
        let new = u32::try_from(self.arrivals.len()).expect("fewer than 2^32 states");
        known.push((left, new));
        self.arrivals.push((from, letter));
        self.queue.push_back((new, key, next));
        new
    }

    /// The graph of the letters that are not rationed has no cycle, and a path has finitely many others: so each path ends. An edge
    /// may lead to a node with more letters left, but none leads back from there: on a cycle all have equally many, and it is one
    /// of the runs themselves. Kahn's algorithm.
    fn ends_on_every_path(&self) -> Result<(), Breach> {
        let mut incoming = vec![0_u32; self.arrivals.len()];
        let mut outgoing: Vec<Vec<u32>> = vec![Vec::new(); self.arrivals.len()];
        for &(from, to) in &self.edges {
            incoming[to as usize] += 1;
            outgoing[from as usize].push(to);
        }
        let nodes = 0..u32::try_from(incoming.len()).expect("fewer than 2^32 states");
        let mut free: Vec<u32> = nodes.filter(|at| incoming[*at as usize] == 0).collect();
        let mut sorted = 0;
        while let Some(at) = free.pop() {
            sorted += 1;
            for &to in &outgoing[at as usize] {
                incoming[to as usize] -= 1;
                if incoming[to as usize] == 0 {
                    free.push(to);
                }
            }
        }
        let Some(circular) = incoming.iter().position(|n| *n > 0) else {
            return Ok(());
        };
        let words = format!("a path returns to where it was; {sorted} states do not");
        Err(self.breach(u32::try_from(circular).unwrap_or(0), None, words))
    }
}

/// Returns a reaction without digests, times and numbers that only count entries.
fn timeless(effects: &[Effect]) -> Vec<Action> {
    let Some(Effect::Append(entries)) = effects.first() else {
        return Vec::new();
    };
    let mut actions: Vec<_> = entries.iter().map(|e| e.action.clone()).collect();
    for action in &mut actions {
        action.conversation_digest = Digest::ZERO;
        action.state_digest = Digest::ZERO;
        action.seq = 0;
        action.length = None;
        // The notes of PRECHECK and a wait's end hold times and details of the path.
        for effect in &mut action.effects {
            match effect {
                super::EffectRecord::Wait { until_ms } => *until_ms = 0,
                super::EffectRecord::Infer { notices, .. } => notices.clear(),
                _ => {}
            }
        }
    }
    actions
}

/// Shows 002/2.goals.4, 002/5.path.9, 002/6.outcomes.2, 002/6.commit.1, 002/6.open.8, 002/11.final.1.
#[test]
fn every_reachable_state_keeps_every_property() {
    let only = std::env::var("MONOLITH_EXPLORE_ONLY").ok();
    let chosen = VARIANTS
        .iter()
        .filter(|v| only.as_deref().is_none_or(|name| name == v.name));
    // One thread a variant: the longest takes most of the time of all.
    let breaches: Vec<String> = std::thread::scope(|scope| {
        let explored: Vec<_> = chosen
            .map(|variant| scope.spawn(move || explored(variant)))
            .collect();
        explored
            .into_iter()
            .filter_map(|thread| thread.join().expect("explored"))
            .collect()
    });
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// The breach that a variant leads to, in words. Each variant comes to an end.
fn explored(variant: &'static Variant) -> Option<String> {
    let began = std::time::Instant::now();
    match explore_states(variant, bound(QUICK_STATES, usize::MAX)) {
        Ok(extent) => {
            println!("{}: {extent:?} in {:?}", variant.name, began.elapsed());
            assert!(extent.ends > 0, "{} has no end", variant.name);
            None
        }
        Err(breach) => Some(format!(
            "{}: {}\n  after {:?}",
            variant.name, breach.words, breach.path
        )),
    }
}

/// Two paths with equal keys: each letter must do the same on both.
#[test]
fn equal_keys_react_equally() {
    let compared: usize = without_digests(|| VARIANTS.iter().map(compared).sum());
    assert!(
        compared > 100,
        "only {compared} pairs of paths were compared"
    );
}

/// Counts the compared pairs of paths of a variant: every fourth that shares a key, unless it has ended.
fn compared(variant: &Variant) -> usize {
    let (mut pairs, mut compared) = (0_usize, 0);
    let mut known: HashMap<DecisionKey, Watched> = HashMap::new();
    let mut level = vec![Watched::new(variant)];
    for _ in 0..bound(5, 6) {
        let mut next_level = Vec::new();
        for node in &level {
            for &letter in variant.letters.iter().copied().flatten() {
                let Some(Ok((next, _))) = node.take(letter) else {
                    continue;
                };
                let key = next.run.decision_key();
                let Some(twin) = known.get(&key) else {
                    known.insert(key, next.clone());
                    if next_level.len() < bound(8, 12) && next.run.state() != State::Terminate {
                        next_level.push(next);
                    }
                    continue;
                };
                let same_path = twin.run.storage().conversation.digest()
                    == next.run.storage().conversation.digest();
                if same_path {
                    continue;
                }
                pairs += 1;
                if pairs % 4 == 1 && next.run.state() != State::Terminate {
                    react_equally(variant, twin, &next);
                    compared += 1;
                }
            }
        }
        level = next_level;
    }
    compared
}

fn react_equally(variant: &Variant, twin: &Watched, next: &Watched) {
    for &letter in variant.letters.iter().copied().flatten() {
        let (Some(a), Some(b)) = (twin.take(letter), next.take(letter)) else {
            continue;
        };
        let (a, b) = (a.expect("explored"), b.expect("explored"));
        assert_eq!(
            timeless(&a.1),
            timeless(&b.1),
            "{}: {letter:?}",
            variant.name
        );
    }
}
