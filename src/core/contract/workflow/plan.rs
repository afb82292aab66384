//! The dependencies between the steps of a parallel group: a directed acyclic graph (INV-PE-002). Starts nothing.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::{Step, StepId};

/// The dependencies of a group, checked: an order exists in which each step comes after those that it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependencies {
    /// Of each step, in the order of the definition, the indexes of those that it waits for.
    needed: Vec<Vec<usize>>,
}

/// The reason why a group has no such order. A missing dependency is not a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupFault {
    /// A step waits for one that is not in the group.
    Missing {
        /// The index of the step.
        step: usize,
        /// The index in its `depends_on`.
        at: usize,
    },
    /// A repeated dependency.
    Twice {
        /// The index of the step.
        step: usize,
        /// The index in its `depends_on`.
        at: usize,
    },
    /// These wait for each other, each for the next, and the last for the first.
    Cycle(Vec<usize>),
}

impl Dependencies {
    /// Computes the order of a group before anything of it is begun.
    ///
    /// # Errors
    /// Every dependency that is missing or stands twice; where there is none of these, every circle.
    pub(crate) fn of(steps: &[Step]) -> Result<Self, Vec<GroupFault>> {
        let index = |id: &StepId| steps.iter().position(|step| step.id == *id);
        let mut faults = Vec::new();
        let mut needed = Vec::with_capacity(steps.len());
        for (step, of) in steps.iter().enumerate() {
            let mut own = Vec::with_capacity(of.depends_on.len());
            for (at, id) in of.depends_on.iter().enumerate() {
                match index(id) {
                    None => faults.push(GroupFault::Missing { step, at }),
                    Some(known) if own.contains(&known) => {
                        faults.push(GroupFault::Twice { step, at });
                    }
                    Some(known) => own.push(known),
                }
            }
            needed.push(own);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let circles = circles(&needed);
        if circles.is_empty() {
            return Ok(Self { needed });
        }
        Err(circles.into_iter().map(GroupFault::Cycle).collect())
    }

    /// The indexes of the steps that the step of that index waits for.
    pub(crate) fn of_step(&self, step: usize) -> &[usize] {
        self.needed.get(step).map_or(&[], Vec::as_slice)
    }

    /// The same with what those wait for, and so on.
    pub(crate) fn all_of_step(&self, step: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut next: Vec<usize> = self.of_step(step).to_vec();
        while let Some(index) = next.pop() {
            if !found.contains(&index) {
                found.push(index);
                next.extend(self.of_step(index));
            }
        }
        found.sort_unstable();
        found
    }
}

/// An edge leads from a step to each one that waits for it.
fn graph_of(needed: &[Vec<usize>]) -> DiGraph<usize, ()> {
    let mut graph = DiGraph::new();
    let nodes: Vec<NodeIndex> = (0..needed.len()).map(|step| graph.add_node(step)).collect();
    for (to, needs) in nodes.iter().zip(needed) {
        for from in needs.iter().filter_map(|need| nodes.get(*need)) {
            graph.add_edge(*from, *to, ());
        }
    }
    graph
}

/// The circles among steps or work items, each begun at its least index; `needed` has the indexes of those that each one waits
/// for. Without a circle, an order exists in which each comes after those that it waits for.
pub(crate) fn circles(needed: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let graph = graph_of(needed);
    let needs = |step: usize| needed.get(step).map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    for knot in kosaraju_scc(&graph) {
        let mut knot: Vec<usize> = knot
            .into_iter()
            .filter_map(|node| graph.node_weight(node).copied())
            .collect();
        knot.sort_unstable();
        let first = match knot.as_slice() {
            [] => continue,
            [only] if !needs(*only).contains(only) => continue,
            [first, ..] => *first,
        };
        // Who only follows dependencies inside of a knot comes back to a step that it has seen.
        let mut path = vec![first];
        let mut at = first;
        while let Some(next) = needs(at).iter().copied().find(|need| knot.contains(need)) {
            if let Some(begin) = path.iter().position(|seen| *seen == next) {
                path.drain(..begin);
                break;
            }
            path.push(next);
            at = next;
        }
        let least = path.iter().enumerate().min_by_key(|(_, step)| **step);
        let least = least.map_or(0, |(at, _)| at);
        path.rotate_left(least);
        found.push((path.first().copied(), path));
    }
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}
