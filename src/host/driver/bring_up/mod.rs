//! Bring-up: from a request to what a run needs, one way for every purpose. Each fact is read once.
//!
//! Knows the workspace, the files behind providers, where variables come from, which secrets a file names, tool servers, the
//! tokenizer, and how they become a contract and backends. What differs between the purposes is which stations they call and what
//! they compare with: a new run and a fork, a preview, a run that is resumed, a run whose requests are made again. It does not
//! know what a contract's file looks like (`contract`), nor how a run is driven.
//!
//! ```text
//!              ┌────────────────── Found ──────────────────┐  no process yet
//! RunRequest ─▶│ workspace  sources  draft  guard  servers'│─▶ Started ─▶ tokenizers ─▶ contract ─▶ backends ─▶ Prepared
//!              └───────────────────────────────────────────┘      └─ closed wherever a later station fails
//!
//! new_run  prepare, prepare_fork, prepare_continuation, prepare_loaded   makes a contract          preview   the same without task, keys and run
//! resume   prepare_resume      ─┐
//! reissue  (driver/reissue.rs) ─┴─ recorded: compares with the recorded contract before a server is started
//! ```

mod backends;
mod command;
mod confinement;
mod confinement_decision;
mod engine;
mod granted;
mod guard;
mod handed_roots;
mod loaded;
mod local_models;
mod new_run;
mod prepared;
mod preview;
mod reach;
mod read_request;
mod recorded;
mod reopened;
mod resume;
mod servers;
mod sources;
mod store_place;
mod tokenizers;
mod unmet;

pub use command::run_confined;
pub use confinement::skipped_search_folders;
pub(in crate::driver) use confinement_decision::RecordedConfinement;
pub(in crate::driver) use granted::{earlier as granted_before, replaced};
pub use guard::redactor_of;
pub use handed_roots::{HandedRoot, committed_workspace, handed_roots, is_root_of_all};
pub use local_models::embedded_model;
pub use new_run::prepare;
pub(in crate::driver) use new_run::prepare_delegated;
pub(in crate::driver) use new_run::prepare_step;
pub use new_run::{Continuation, redacted_text};
pub use new_run::{prepare_continuation, prepare_fork, prepare_loaded};
pub use prepared::{Prepared, random_run_id};
pub(in crate::driver) use prepared::{Resumption, Start};
pub use preview::Preview;
pub use preview::{preview, preview_loaded, preview_recorded};
pub use reach::{
    Reach, ReachedCommand, ReachedVariable, SESSIONS_PLACE, SHELL_PLACE, StatedConfinement,
    shown_words,
};
pub use read_request::RunRequest;
pub(in crate::driver) use recorded::{
    BroughtUp, ExpectedWorkspace, Mismatch, Models, Recorded, bring_up_again,
};
pub use reopened::Reopened;
pub use reopened::reopen;
pub(in crate::driver) use reopened::reopen_below;
pub use resume::{prepare_end, prepare_resume};
pub(in crate::driver) use servers::client_terms;
pub use servers::{ServersToStart, decide_files};
pub use store_place::judge_store;
pub(in crate::driver) use tokenizers::Tokenizers;
pub use unmet::{unset_by_itself, unset_keys};
