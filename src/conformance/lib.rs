//! The conformance corpus: cases as data, and the runner that plays them against the real machine.
//!
//! Knows the form of a case (corpus/README.md), how a case becomes a contract and a run, and what must hold of every run
//! whatever the case says. The contract is read by the parser of contract files and made by the factory, the run is a
//! [`Session`](monolith_core::session::Session); only its host is played. It does not know sockets, processes, clocks or the store.
//!
//! ```text
//! case.yaml ─▶ Case ─▶ contract ─▶ Drive: Session ⇄ script ─▶ Played ─▶ expectation, invariants ─▶ CaseRow
//!                                                            └────▶ golden transcript
//! ```

#![warn(unreachable_pub)]

mod asked;
#[cfg(test)]
mod author_form_tests;
mod bring_up;
mod case;
mod case_row;
mod case_trial;
mod cases;
mod casting;
mod coverage;
mod drive;
mod expect;
#[cfg(test)]
mod expect_tests;
mod gate_proof;
#[cfg(test)]
mod guard_tests;
mod invariants;
mod live;
mod metrics;
#[cfg(test)]
mod metrics_tests;
mod model;
mod part_of;
mod played;
mod profiles;
mod records;
mod report;
mod result;
mod script;
mod sentences;
mod source;
mod tool;
#[cfg(test)]
mod what_if_tests;
mod wire;

pub use case::CaseError;
pub use case_row::CaseRow;
pub use case_trial::{CaseTrial, Proof};
pub use coverage::{Coverage, CoveredSentence, CoveredSubject, ShowingCase};
pub use gate_proof::{GateTrial, gate_contract};
pub use gate_proof::{GateVerdict, try_gate};
pub use live::{
    Agreement, LiveError, LiveRecord, LiveReport, LiveRow, LiveTarget, ServerTraits, Share,
    run_live,
};
pub use metrics::{Metrics, Spread};
pub use profiles::ProfileRow;
pub(crate) use records::JudgedCall;
pub use records::{RecordFault, RecordsReadError};
pub use records::{RecordLines, RecordedResponse};
pub use records::{VerdictRow, VerdictTable};
pub use report::CorpusTotals;
pub use report::{CorpusReport, run_cases, run_corpus};
pub use sentences::{SentenceKind, SentenceTexts};
pub use source::Corpus;
