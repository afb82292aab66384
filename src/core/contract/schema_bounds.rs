//! Bounds of an input schema: what checking a value against it may cost. Checks no value.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::value_bounds::{StepsLeft, ValueBounds, pattern_states};
use crate::message::char_prefix;

/// The longest input schema in bytes.
const MAX_BYTES: usize = 256 * 1024;
/// Maximum nesting of an input schema.
const MAX_DEPTH: usize = 48;
/// The most objects of an input schema, subschemas and the maps that hold them.
const MAX_NODES: usize = 1024;
/// The longest RFC 6901 pointer to one of them, in bytes.
const MAX_POINTER_BYTES: usize = 4096;
/// Maximum number of pairs of schemas in which one applies the other, directly or through others.
const MAX_PAIRS: usize = 65_536;
/// Maximum number of times that one place of the arguments is checked. A ladder of alternatives exceeds it; honest schemas do
/// not.
const MAX_LOOKS: u64 = 4096;
/// Maximum nesting of arguments.
const MAX_ARGUMENT_DEPTH: usize = 64;
/// The most states of all regular expressions of a schema together.
const MAX_STATES: u64 = 65_536;
/// The most bytes of them together: translating one may take steps by the square of its length.
const MAX_PATTERN_BYTES: usize = 64 * 1024;
/// Number of compared bytes that count as one additional look.
const BYTES_PER_LOOK: usize = 32;

/// The rule that a ladder of alternatives breaks.
pub(super) const MULTIPLY: &str = "its alternatives multiply: one value would be checked too often";

/// The rule that a schema breaks under which every call would be refused.
pub(super) const NO_ARGUMENTS: &str =
    "its alternatives multiply: not even an object without members could be checked";

/// Keywords that hold data, not schemas.
const DATA: [&str; 4] = ["const", "default", "enum", "examples"];
/// Keywords with one schema for the same place.
const SAME_PLACE: [&str; 4] = ["else", "if", "not", "then"];
/// Keywords with several schemas for the same place.
const SAME_PLACE_LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// Keywords with one schema for every member.
const EVERY_MEMBER: [&str; 3] = [
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
];
/// Keywords with one schema for every item.
const EVERY_ITEM: [&str; 4] = ["additionalItems", "contains", "items", "unevaluatedItems"];

/// The reason why a tool's input schema is unusable, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SchemaFault {
    /// RFC 6901, into the schema.
    pub(super) pointer: String,
    pub(super) rule: String,
}

/// Judges what a schema may cost before anything is compiled from it; the validator itself has no limit.
///
/// Returns how large a value may be that is checked against it.
pub(super) fn bounds(schema: &Value) -> Result<ValueBounds, SchemaFault> {
    let fault = |pointer: &str, rule: String| {
        let pointer = pointer.to_owned();
        Err(SchemaFault { pointer, rule })
    };
    if !schema.is_object() {
        return fault("", "it is not a JSON object".to_owned());
    }
    if schema.to_string().len() > MAX_BYTES {
        return fault("", format!("it is longer than {MAX_BYTES} bytes"));
    }
    let mut visitor = SchemaVisitor::default();
    visitor.visit(schema, "", 0)?;
    let found = VisitCounts::of(schema, &visitor)?;
    // The least that arguments can be. A tool that cannot take even that would be offered, and each call of it refused.
    let least = Value::Object(Map::new());
    let mut steps = StepsLeft::WHOLE;
    match found.check(&least, &mut steps) {
        Ok(()) => Ok(found),
        Err(_) => fault("", NO_ARGUMENTS.to_owned()),
    }
}

/// Finds the schemas of a document, and what is refused in any case.
#[derive(Default)]
struct SchemaVisitor<'s> {
    nodes: BTreeMap<String, &'s Map<String, Value>>,
    /// The states of the regular expressions of each, and of all.
    states: BTreeMap<String, u64>,
    all_states: u64,
    pattern_bytes: usize,
}

impl<'s> SchemaVisitor<'s> {
    fn visit(&mut self, value: &'s Value, at: &str, depth: usize) -> Result<(), SchemaFault> {
        let fault = |key: &str, rule: &str| {
            let pointer = join(at, key);
            let rule = rule.to_owned();
            Err(SchemaFault { pointer, rule })
        };
        if depth > MAX_DEPTH {
            let pointer = at.to_owned();
            let rule = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(SchemaFault { pointer, rule });
        }
        if at.len() > MAX_POINTER_BYTES {
            let rule = format!("its keys are longer than {MAX_POINTER_BYTES} bytes up to here");
            let pointer = char_prefix(at, 200).to_owned();
            return Err(SchemaFault { pointer, rule });
        }
        match value {
            Value::Object(map) => {
                self.nodes.insert(at.to_owned(), map);
                if self.nodes.len() > MAX_NODES {
                    let pointer = at.to_owned();
                    let rule = format!("more than {MAX_NODES} objects");
                    return Err(SchemaFault { pointer, rule });
                }
                for (key, member) in map {
                    match (key.as_str(), member) {
                        ("pattern", Value::String(pattern)) => {
                            self.expression(at, &join(at, key), pattern)?;
                        }
                        ("patternProperties", Value::Object(patterns)) => {
                            let below = join(at, key);
                            for pattern in patterns.keys() {
                                self.expression(at, &join(&below, pattern), pattern)?;
                            }
                            self.visit(member, &below, depth + 1)?;
                        }
                        ("$ref", Value::String(target)) if !target.starts_with('#') => {
                            return fault(key, "a reference that leaves the schema");
                        }
                        ("$dynamicRef" | "$recursiveRef", Value::String(_)) => {
                            return fault(key, "dynamic references are not supported");
                        }
                        ("$id", Value::String(_)) if !at.is_empty() => {
                            return fault(key, "an identifier inside the schema");
                        }
                        (word, _) if DATA.contains(&word) => {}
                        (_, Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                        }
                        _ => self.visit(member, &join(at, key), depth + 1)?,
                    }
                }
                Ok(())
            }
            Value::Array(items) => items
                .iter()
                .enumerate()
                .try_for_each(|(n, item)| self.visit(item, &join(at, &n.to_string()), depth + 1)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }
}

impl SchemaVisitor<'_> {
    /// Takes a regular expression of the schema at `node`.
    fn expression(&mut self, node: &str, at: &str, pattern: &str) -> Result<(), SchemaFault> {
        let fault = |rule: String| SchemaFault {
            pointer: char_prefix(at, 200).to_owned(),
            rule,
        };
        self.pattern_bytes = self.pattern_bytes.saturating_add(pattern.len());
        if self.pattern_bytes > MAX_PATTERN_BYTES {
            return Err(fault(format!(
                "the regular expressions up to here are longer than {MAX_PATTERN_BYTES} bytes"
            )));
        }
        let states = pattern_states(pattern).map_err(fault)?;
        self.all_states = self.all_states.saturating_add(states);
        if self.all_states > MAX_STATES {
            return Err(fault(format!(
                "the regular expressions up to here have more than {MAX_STATES} states"
            )));
        }
        let sum = self.states.entry(node.to_owned()).or_default();
        *sum = sum.saturating_add(states);
        Ok(())
    }
}

pub(super) fn join(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// The schemas that one schema applies to the values below its own.
#[derive(Default)]
struct SchemasBelow<'s> {
    /// Schemas that apply to the same value, with how often each does.
    same: BTreeMap<usize, u64>,
    items: Vec<(usize, u64)>,
    every: Vec<(usize, u64)>,
    named: BTreeMap<&'s str, Vec<(usize, u64)>>,
}

/// Counts visits to one value, for arguments of increasing depth.
struct VisitCounts<'s> {
    /// Schemas by index, with their pointers.
    nodes: Vec<(&'s str, &'s Map<String, Value>)>,
    index: BTreeMap<&'s str, usize>,
    anchors: BTreeMap<&'s str, usize>,
    states: &'s BTreeMap<String, u64>,
}

impl<'s> VisitCounts<'s> {
    fn of(root: &'s Value, visitor: &'s SchemaVisitor<'s>) -> Result<ValueBounds, SchemaFault> {
        let nodes: Vec<_> = visitor
            .nodes
            .iter()
            .map(|(at, map)| (at.as_str(), *map))
            .collect();
        let index = nodes
            .iter()
            .enumerate()
            .map(|(n, (at, _))| (*at, n))
            .collect();
        let anchor = |(n, (_, map)): (usize, &(&str, &'s Map<String, Value>))| {
            let name = map.get("$anchor").and_then(Value::as_str);
            name.map(|name| (name, n))
        };
        let anchors = nodes.iter().enumerate().filter_map(anchor).collect();
        let visits = Self {
            nodes,
            index,
            anchors,
            states: &visitor.states,
        };
        debug_assert!(root.is_object(), "judged by bounds");
        visits.deepest()
    }

    /// The schemas that a schema applies to its own place.
    fn same_place(&self, node: usize) -> Vec<usize> {
        let Some((at, map)) = self.nodes.get(node) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut add = |pointer: String| found.extend(self.index.get(pointer.as_str()));
        for key in SAME_PLACE {
            add(join(at, key));
        }
        for key in SAME_PLACE_LISTS {
            let len = map.get(key).and_then(Value::as_array).map_or(0, Vec::len);
            (0..len).for_each(|n| add(join(&join(at, key), &n.to_string())));
        }
        for key in ["dependentSchemas", "dependencies"] {
            let names = map.get(key).and_then(Value::as_object);
            names
                .into_iter()
                .flat_map(Map::keys)
                .for_each(|name| add(join(&join(at, key), name)));
        }
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            let fragment = target.strip_prefix('#').unwrap_or(target);
            let resolved = self
                .index
                .get(fragment)
                .or_else(|| self.anchors.get(fragment));
            found.extend(resolved);
        }
        // What is not evaluated is found by judging the others once more.
        if ["unevaluatedItems", "unevaluatedProperties"]
            .iter()
            .any(|key| map.contains_key(*key))
        {
            found.extend_from_within(..);
        }
        found
    }

    /// Collects the demands of each schema, including everything that it applies in place. `order` lists a schema after those
    /// it applies. Stops at the first refused one, so that a bomb is never counted to its end.
    fn gather(&self, order: &[usize]) -> Result<Vec<SchemasBelow<'s>>, SchemaFault> {
        let mut all: Vec<SchemasBelow<'s>> = Vec::new();
        all.resize_with(self.nodes.len(), SchemasBelow::default);
        let mut pairs = 0;
        for node in order.iter().copied() {
            let mut same: BTreeMap<usize, u64> = BTreeMap::from([(node, 1)]);
            for child in self.same_place(node) {
                let Some(inner) = all.get(child) else {
                    continue;
                };
                for (target, count) in &inner.same {
                    let sum = same.entry(*target).or_default();
                    *sum = sum.saturating_add(*count);
                }
            }
            if same.values().copied().fold(0, u64::saturating_add) > MAX_LOOKS {
                return Err(self.fault(node, MULTIPLY));
            }
            let mut below = SchemasBelow::default();
            for (target, count) in &same {
                self.descend(*target, *count, &mut below);
            }
            below.same = same;
            pairs += below.pairs();
            if pairs > MAX_PAIRS {
                return Err(self.fault(node, "its schemas apply one another too often"));
            }
            if let Some(slot) = all.get_mut(node) {
                *slot = below;
            }
        }
        Ok(all)
    }

    fn fault(&self, node: usize, rule: &str) -> SchemaFault {
        SchemaFault {
            pointer: self.nodes.get(node).map_or("", |(at, _)| *at).to_owned(),
            rule: rule.to_owned(),
        }
    }

    fn descend(&self, node: usize, count: u64, below: &mut SchemasBelow<'s>) {
        let Some((at, map)) = self.nodes.get(node) else {
            return;
        };
        let find = |pointer: &str| self.index.get(pointer).map(|n| (*n, count));
        for key in EVERY_MEMBER {
            below.every.extend(find(&join(at, key)));
        }
        for key in EVERY_ITEM {
            below.items.extend(find(&join(at, key)));
        }
        for key in ["prefixItems", "items"] {
            let len = map.get(key).and_then(Value::as_array).map_or(0, Vec::len);
            for n in 0..len {
                below
                    .items
                    .extend(find(&join(&join(at, key), &n.to_string())));
            }
        }
        for (key, named) in [("patternProperties", false), ("properties", true)] {
            let members = map.get(key).and_then(Value::as_object);
            for name in members.into_iter().flat_map(Map::keys) {
                let Some(found) = find(&join(&join(at, key), name)) else {
                    continue;
                };
                if named {
                    below.named.entry(name.as_str()).or_default().push(found);
                } else {
                    below.every.push(found);
                }
            }
        }
    }

    fn deepest(&self) -> Result<ValueBounds, SchemaFault> {
        let order = self.order()?;
        let all = self.gather(&order)?;
        let root = self.index.get("").copied().unwrap_or_default();
        let one = vec![1; self.nodes.len()];
        let mut visits: Vec<u64> = vec![0; self.nodes.len()];
        let mut max_depth = MAX_ARGUMENT_DEPTH;
        for depth in 0..=MAX_ARGUMENT_DEPTH {
            let next: Vec<u64> = all
                .iter()
                .map(|below| below.visits(&visits, &one))
                .collect();
            if next.get(root).is_some_and(|n| *n > MAX_LOOKS) {
                max_depth = depth
                    .checked_sub(1)
                    .ok_or_else(|| self.fault(root, MULTIPLY))?;
                break;
            }
            if next == visits {
                break;
            }
            visits = next;
        }
        let worst = |weights: &[u64]| {
            let mut sums: Vec<u64> = vec![0; self.nodes.len()];
            for _ in 0..=max_depth {
                let next: Vec<u64> = all
                    .iter()
                    .map(|below| below.visits(&sums, weights))
                    .collect();
                if next == sums {
                    break;
                }
                sums = next;
            }
            sums.get(root).copied().unwrap_or(u64::MAX)
        };
        let nodes = self.nodes.iter();
        let visits: Vec<u64> = nodes.clone().map(|(_, map)| 1 + compared(map)).collect();
        let states: Vec<u64> = nodes
            .map(|(at, _)| self.states.get(*at).copied().unwrap_or_default())
            .collect();
        Ok(ValueBounds {
            max_depth,
            visits: worst(&visits),
            states: worst(&states),
        })
    }

    /// The schemas, those that another applies to its own place before that other.
    fn order(&self) -> Result<Vec<usize>, SchemaFault> {
        #[derive(Clone, Copy, PartialEq)]
        enum Mark {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Mark::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            // (schema, what it applies, how many of these were entered); no recursion, for references chain long.
            let mut stack = vec![(start, self.same_place(start), 0)];
            while let Some((node, children, entered)) = stack.last_mut() {
                let node = *node;
                if *entered == 0 && marks.get(node) != Some(&Mark::New) {
                    stack.pop();
                    continue;
                }
                let child = children.get(*entered).copied();
                *entered += 1;
                if let Some(mark) = marks.get_mut(node) {
                    *mark = if child.is_some() {
                        Mark::Open
                    } else {
                        Mark::Done
                    };
                }
                match child {
                    None => {
                        order.push(node);
                        stack.pop();
                    }
                    Some(child) if marks.get(child) == Some(&Mark::Open) => {
                        let rule = "it refers to itself without looking at a smaller value";
                        return Err(self.fault(child, rule));
                    }
                    Some(child) => stack.push((child, self.same_place(child), 0)),
                }
            }
        }
        Ok(order)
    }
}

impl SchemasBelow<'_> {
    /// Returns the number of schemas it names.
    fn pairs(&self) -> usize {
        let named: usize = self.named.values().map(Vec::len).sum();
        self.same.len() + self.items.len() + self.every.len() + named
    }

    /// Returns the looks at one value in the worst case, given the looks of one level less. Each look has the weight of its
    /// schema.
    fn visits(&self, less: &[u64], weights: &[u64]) -> u64 {
        let sum = |list: &[(usize, u64)]| {
            let look = |(node, count): &(usize, u64)| {
                less.get(*node)
                    .copied()
                    .unwrap_or_default()
                    .saturating_mul(*count)
            };
            list.iter().map(look).fold(0, u64::saturating_add)
        };
        let here = self.same.iter().map(|(node, count)| {
            let weight = weights.get(*node).copied().unwrap_or_default();
            weight.saturating_mul(*count)
        });
        let here = here.fold(0, u64::saturating_add);
        let named = self
            .named
            .values()
            .map(|list| sum(list))
            .max()
            .unwrap_or_default();
        let member = named.saturating_add(sum(&self.every));
        here.saturating_add(member.max(sum(&self.items)))
    }
}

/// Returns the additional looks for comparing a value with the data of one schema.
fn compared(map: &Map<String, Value>) -> u64 {
    let mut bytes = 0_usize;
    for (key, member) in map {
        let own = match (key.as_str(), member) {
            ("const" | "enum", data) => data.to_string().len(),
            ("required" | "dependentRequired" | "dependencies", names) => names.to_string().len(),
            ("properties", Value::Object(members)) => members.keys().map(String::len).sum(),
            _ => 0,
        };
        bytes = bytes.saturating_add(own);
    }
    u64::try_from(bytes / BYTES_PER_LOOK).unwrap_or(u64::MAX)
}
