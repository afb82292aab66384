//! The cost of checking one value, bounded. Does not check it.

use serde_json::Value;

/// The most steps that checking the calls of one message may take together: about half a second on a slow machine.
const MAX_STEPS: u64 = 1 << 25;

/// The steps that are left for the arguments of one message's calls, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepsLeft(u64);

impl StepsLeft {
    /// Nothing of the message was checked yet.
    pub(crate) const WHOLE: Self = Self(MAX_STEPS);
}
/// How many steps of a regular expression one look at a place counts for.
const STEPS_PER_LOOK: u64 = 4;

/// How large a value may be that is checked against a schema.
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

/// What a value amounts to.
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
