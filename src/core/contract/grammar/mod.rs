//! Grammar text of the token gate (002 Invariant F, semantics §7): from the schemas of the exposed tools to text that an
//! engine only compiles.
//!
//! Knows JSON Schema as far as tools use it, what one call looks like, and the two languages that engines read: Lark as
//! llguidance reads it, and strict GBNF as a llama-server reads it. Whatever the grammar accepts fits the schema; the other way
//! round it is narrower: members are in the schema's order, nothing is written with white space, and every string, array
//! and number has a bound, because a grammar cannot force an end. What cannot be expressed that way is refused, with the place in
//! the schema. It deliberately does not know tokens, models or how anything is sampled.
//!
//! ```text
//! tools ─▶ compiler (one per schema) ─▶ Grammar ─┬─▶ lark
//!                                               ├─▶ gbnf
//!                                               └─▶ closing budget: the most bytes that finishing may still take
//! ```

mod combine;
mod compiler;
mod containers;
mod expr;
mod gate;
mod keywords;
mod numbers;
mod pattern;
mod print;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_recogniser;

pub(super) use gate::grammar_faults;
pub use gate::{CALL_CLOSE, CALL_OPEN, GateGrammar, gate_awaits_tools};
pub use print::GrammarLanguage;
