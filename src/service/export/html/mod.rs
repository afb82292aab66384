//! A run as one HTML file: shows the run, and verifies its chain in the reader's browser.
//!
//! Knows how the page is put together and which content security policy it gets. What the page shows and how it checks is
//! written in its own sources beside this file, in the order in which they are read: `blake3.js` hashes, `notes.js` reads signed notes,
//! `transcript.js` reads and verifies (both after docs/audit/transcript-format.md alone), `run.js` makes entries, calls and budgets of it,
//! `workflow.js` entries and steps of that of a workflow, `item.js` entries and changes of that of a work item, `agree.js` opens state
//! digests, `draw.js` draws, `steps.js` draws the steps of a workflow, `changes.js` a work item, `family.js` the runs above and below,
//! `page.js` shows and listens.
//! The page gets the exact bytes of the transcript, the machine's edges, one sentence, the states that the state digests name, and the changed
//! contents whose hashes the entries of a work item state; everything else it computes.

mod page;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod run_tests;

pub use page::AboutRun;
pub(super) use page::{AboutFile, Folded, write_page};
