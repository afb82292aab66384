//! The cost of checking one value, bounded. Does not check it.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::Value;

/// The most steps that checking the calls of one message may take together: about half a second on a slow machine.
const MAX_STEPS: u64 = 1 << 25;

/// The steps that are left for the arguments of one message's calls, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepsLeft(u64);

impl StepsLeft {
    /// The full budget of a message.
    pub(crate) const WHOLE: Self = Self(MAX_STEPS);
}
/// Number of regular expression steps that count as one look at a place.
const STEPS_PER_LOOK: u64 = 4;

/// Maximum size of a value that is validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueBounds {
    /// So that no place of it is looked at more than a few thousand times.
    pub(super) max_depth: usize,
    /// The looks at one place on the worst way down, each with what it compares.
    pub(super) visits: u64,
    /// The states of the regular expressions that may read one byte.
    pub(super) states: u64,
}

impl ValueBounds {
    /// Checks the size of a value before the value itself, and takes its steps from what is left. The steps that the schema may
    /// take over a value are bounded for every value. A clock would make another decision at every replay.
    pub(super) fn check(&self, value: &Value, left: &mut StepsLeft) -> Result<(), String> {
        let mut size = Size::default();
        size.add(value, 0);
        let ValueBounds {
            max_depth,
            visits,
            states,
        } = *self;
        if size.depth > max_depth {
            return Err(format!("nested deeper than {max_depth} levels"));
        }
        let looked = size
            .values
            .saturating_mul(visits)
            .saturating_mul(STEPS_PER_LOOK);
        let steps = looked.saturating_add(size.bytes.saturating_mul(states));
        let Some(rest) = left.0.checked_sub(steps) else {
            let (values, bytes) = (size.values, size.bytes);
            let allowed = match left.0 {
                MAX_STEPS => format!("at most {MAX_STEPS} are allowed"),
                rest => format!("{rest} of {MAX_STEPS} are left for the calls of this message"),
            };
            return Err(format!(
                "too large for this schema: checking {values} values and {bytes} bytes may take {steps} steps, {allowed}"
            ));
        };
        left.0 = rest;
        Ok(())
    }
}

/// The size of a value.
#[derive(Default)]
struct Size {
    /// Bytes of its texts and keys.
    bytes: u64,
    depth: usize,
    values: u64,
}

impl Size {
    /// `depth` is bounded by what a JSON text may nest.
    fn add(&mut self, value: &Value, depth: usize) {
        self.depth = self.depth.max(depth);
        self.values = self.values.saturating_add(1);
        match value {
            Value::Array(items) => {
                self.depth = self.depth.max(depth + 1);
                for item in items {
                    self.add(item, depth + 1);
                }
            }
            Value::Object(map) => {
                self.depth = self.depth.max(depth + 1);
                for (key, member) in map {
                    self.text(key);
                    self.add(member, depth + 1);
                }
            }
            Value::String(text) => self.text(text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The longest regular expression in bytes.
const MAX_BYTES: usize = 4096;
/// The most states of one: an honest one has a few hundred.
const MAX_STATES: u64 = 8192;
/// Maximum nesting of its groups.
const MAX_DEPTH: u32 = 64;

/// About how many states the automaton of a regular expression has: no byte of a text costs more steps than that.
///
/// # Errors
/// Why a linear engine cannot take it: look-around, back-references, too many states.
pub(super) fn pattern_states(pattern: &str) -> Result<u64, String> {
    if pattern.len() > MAX_BYTES {
        return Err(format!("its pattern is longer than {MAX_BYTES} bytes"));
    }
    let translated = jsonschema_regex::to_rust_regex(pattern)
        .map_err(|()| "its pattern is no regular expression".to_owned())?;
    let mut parser = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_DEPTH)
        .build();
    let parsed = parser.parse(&translated).map_err(|fault| {
        let why = match &fault {
            regex_syntax::Error::Parse(fault) => fault.kind().to_string(),
            regex_syntax::Error::Translate(fault) => fault.kind().to_string(),
            _ => "it cannot be read".to_owned(),
        };
        format!("its pattern cannot be matched in linear time: {why}")
    })?;
    let states = states(&parsed);
    if states > MAX_STATES {
        return Err(format!("its pattern has more than {MAX_STATES} states"));
    }
    Ok(states)
}

fn states(hir: &Hir) -> u64 {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let sum = |parts: &[Hir]| {
        let parts = parts.iter().map(|part| states(part).saturating_add(1));
        parts.fold(1, u64::saturating_add)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Literal(literal) => count(literal.0.len()),
        // One character is up to four bytes.
        HirKind::Class(Class::Unicode(class)) if class.is_ascii() => 1,
        HirKind::Class(Class::Unicode(class)) => count(class.ranges().len()).saturating_mul(4),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1);
            let each = states(&repeated.sub).saturating_add(1);
            each.saturating_mul(u64::from(times)).saturating_add(1)
        }
        HirKind::Capture(group) => states(&group.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}
