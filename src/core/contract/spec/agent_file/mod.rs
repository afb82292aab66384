//! An agent: the `.ai` file (001 §2, §3), front matter and a prompt, or a profile (003), read as a contract file that is written
//! otherwise.
//!
//! Knows the keys of the front matter and which key of a contract file each one is, includes, and the placeholders of a prompt. It
//! reads no file: what is included and referred to is asked of [`AgentFiles`]. It does not know what a key means; the reader of
//! contract files judges every value, and faults are shown where the agent's file has it.
//!
//! ```text
//! text ─▶ include ─▶ whole text ─▶ front matter ─▶ tree ─▶ front: the tree of a contract file ─▶ as for a contract file
//!                                └─▶ prompt ─────────────────── placeholders ───────────────────▶ system
//! ```

mod forms;
mod front;
mod include;
#[cfg(test)]
mod knob_tests;
mod knobs;
mod profile;
mod profile_contract;
mod prompt;
#[cfg(test)]
mod tests;

pub(super) use front::{Front, Translator, narrowed, translated};
pub(crate) use include::IncludedPart;
pub(in crate::contract::spec) use include::place_in;
pub use include::{
    AgentFiles, BrokenIncludes, IncludedText, unread_rule, with_includes, with_includes_below,
};
pub use knobs::KNOBS;
pub(super) use knobs::{knob_before, shown_path};
pub use profile::AgentForm;
pub(super) use profile::{AGENT_PROFILE, ContractDefaults};
pub use prompt::prompt_names;
pub(super) use prompt::{Parts, expanded, format_words, kept_names, split, with_tool_instructions};
