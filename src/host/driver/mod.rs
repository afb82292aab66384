//! The driver: the host of a [`Session`](monolith_core::session::Session) that has sockets, processes, a clock and a store. One task per run,
//! one loop, no decisions.
//!
//! Knows bring-up (a file → tool servers, scripts, keys → contract), the clock, ids, signing keys, which values are secret,
//! cancellation, and how each output of a session is done. It deliberately does not know what a response means, why an output was
//! issued or what follows from an input: that is the session's, which hands out nothing before its entries are durable.
//!
//! ```text
//!        RunRequest ─▶ prepare ───────┐
//!       ForkPoint ─▶ prepare_fork ────┼─▶ Prepared ─▶ drive ─▶ Finished
//! RunId ─▶ reopen ─▶ prepare_resume ──┘
//!                              ┌─ Append ─▶ store (durable), signature ─▶ observer
//!          Session::poll ─▶ Output ─ Send / Call / Probe ─▶ tasks ──┐
//!                                                                   │
//!        Session::handle ◀─ Input ◀── deadline │ Control │ pieces, results of tasks
//!
//! Shared: the queues, tool servers and connections of many runs, each prepared and driven as above in its own task
//!
//!        RunRequest ─▶ preview ─▶ Preview (a contract without a run)
//! Recording, RunRequest ─▶ reissue ─▶ LiveReport (recorded requests and calls, made again)
//! ```

mod agent_reader;
mod ancestry;
mod bring_up;
mod child_state;
mod children;
mod clock;
mod confinement_error;
mod decided_files;
mod delegate;
mod delegating;
mod drive;
mod environment;
mod error;
mod file_place;
mod host;
mod interned;
mod item_run;
mod key_file_error;
mod key_files;
mod key_leftovers;
mod key_lock;
mod key_text;
mod observer;
mod old_secret;
mod own_keys;
mod perform;
mod queue;
mod queues;
mod recorder;
mod reissue;
mod secrets;
mod shared;
mod shown_credential;
mod tasks;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_bring_up;
#[cfg(test)]
mod tests_early;
#[cfg(test)]
mod tests_local;
#[cfg(test)]
mod tests_protocols;
#[cfg(test)]
mod tests_resume;
#[cfg(test)]
mod tests_signed;
#[cfg(test)]
mod tests_time;
#[cfg(test)]
mod tests_tokenizers;
mod token_files;
mod tool_login;
mod trace;
mod turn;
mod waiting;
mod workflow;

pub use agent_reader::{AgentReader, ParentFile, ReadAgent};
pub use ancestry::{answered_before, labels_at, played_from_the_first};
pub use bring_up::{
    Continuation, HandedRoot, Preview, Reach, ReachedCommand, ReachedVariable, Reopened,
    SESSIONS_PLACE, SHELL_PLACE, ServersToStart, StatedConfinement, committed_workspace,
    decide_files, embedded_model, handed_roots, is_root_of_all, judge_store, random_run_id,
    redacted_text, redactor_of, shown_words, skipped_search_folders, unset_by_itself, unset_keys,
};
pub use bring_up::{Prepared, RunRequest, prepare, run_confined};
pub use bring_up::{
    prepare_continuation, prepare_end, prepare_fork, prepare_loaded, prepare_resume, preview,
    preview_loaded, preview_recorded, reopen,
};
pub use tasks::blocking;

pub use confinement_error::ConfinementError;
pub use delegate::recorded_result;
pub use drive::drive;
pub use environment::Environment;
pub use environment::MCP_ROOT;
pub use error::DriverError;
pub use file_place::FilePlace;
pub use item_run::{ItemRequest, ItemRun, ItemRunEnd};
pub use key_file_error::KeyFileError;
pub use key_files::KeyFolder;
pub use observer::{EntryLines, Finished, NoObserver, Observer};
pub use reissue::Recording;
pub use reissue::reissue;
pub use secrets::{Secrets, Unmatched};
pub use shared::Shared;
pub use tool_login::{LoginRequest, Reached, ToolLogin};
pub use trace::LLM_TRACE;
pub use turn::Turn;
pub use waiting::{Waiting, WaitsFor};
pub use workflow::fork_workflow;
pub use workflow::{
    ReopenedWorkflow, StepFiles, StepHost, StepTerms, WorkflowBegin, drive_workflow, new_workflow,
    reopen_workflow,
};
