//! The judgement of a transcript before an export: it verifies, and shows the decisions of the machine. Writes no file.

use std::collections::BTreeMap;

use super::form::{ExportForm, ExportRequest};
use super::html::Folded;
use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::error::transcript::TranscriptFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
use crate::verify::report::{own_report, place};
use crate::view::departure::departed;
use crate::workflow_entries::WorkflowSource;
use monolith_core::agent::WorkflowFold;
use monolith_core::contract::WorkflowOutcome;
use monolith_core::message::Digest;
use monolith_core::view::{Divergence, RunView};
use monolith_host::telemetry::{sentence, workflow_sentence};

/// The judgement of a transcript before anything is made of it.
pub(super) struct Judged {
    /// Place of its flaw; `None` if it verifies.
    flaw: Option<String>,
    /// Its content; `None` if it cannot be read to its end.
    read: Option<Read>,
    /// The machine's state after each step, for a page.
    states: BTreeMap<u64, String>,
}

/// A transcript after its last entry.
enum Read {
    Run(Box<RunView>),
    Workflow {
        /// First entry that the machine does not make of its events.
        departure: Option<String>,
        head: Digest,
        outcome: Option<WorkflowOutcome>,
    },
}

impl Judged {
    /// Verifies a transcript and folds its entries, each once. What is made of a transcript looks like the truth: it is made only of
    /// one that verifies and shows what the machine decided, unless the caller forces it. The transcript itself is evidence
    /// whatever it shows.
    pub(super) fn before(service: &Service, request: &ExportRequest) -> Result<Self, ServiceError> {
        let form = request.form;
        let is_evidence = form == ExportForm::Jsonl;
        let report = own_report(service, &request.run)?;
        let flaw = report.first_bad.as_ref().map(place);
        let mut states = BTreeMap::new();
        let read = if flaw.is_some() && (is_evidence || !request.force_unverified) {
            None
        } else {
            match Read::of(service.source(&request.run)?, form, &mut states) {
                Err(ServiceError::System(fault)) => return Err(fault.into()),
                Err(_) if request.force_unverified => None,
                read => Some(read?),
            }
        };
        let judged = Self { flaw, read, states };
        if is_evidence || request.force_unverified {
            return Ok(judged);
        }
        judged.required(&request.run)
    }

    /// The same, where it verifies and a display shows what the machine decided.
    fn required(self, asked: &str) -> Result<Self, ServiceError> {
        let asked = asked.to_owned();
        if let Some(place) = self.flaw {
            return Err(TranscriptFault::ExportNotVerified { asked, place }.into());
        }
        match &self.read {
            Some(Read::Run(view)) => match view.departure() {
                None => Ok(self),
                Some(departure) => Err(TranscriptFault::ExportDeparted {
                    asked,
                    departure: departure.clone(),
                }
                .into()),
            },
            Some(Read::Workflow {
                departure: Some(departure),
                ..
            }) => Err(TranscriptFault::ExportWorkflowDeparted {
                asked,
                departure: departure.clone(),
            }
            .into()),
            Some(Read::Workflow { .. }) | None => Ok(self),
        }
    }

    /// True if the transcript has its last entry.
    pub(super) fn is_sealed(&self, source: &mut Source) -> Result<bool, ServiceError> {
        Ok(match &self.read {
            Some(Read::Run(view)) => view.outcome().is_some(),
            Some(Read::Workflow { outcome, .. }) => outcome.is_some(),
            None => is_sealed(source)?,
        })
    }

    /// Returns the place where a run that verifies departs from the machine.
    pub(super) fn departure(&self) -> Option<&Divergence> {
        match &self.read {
            Some(Read::Run(view)) if self.flaw.is_none() => view.departure(),
            _ => None,
        }
    }

    /// Returns the exit code of the evidence.
    pub(super) fn exit(&self) -> Exit {
        if self.flaw.is_some() {
            Exit::EVIDENCE
        } else if self.mark().is_some() {
            Exit::DIVERGED
        } else {
            Exit::OK
        }
    }

    /// The mark of a form that was made by force; `None` if everything holds.
    pub(super) fn mark(&self) -> Option<String> {
        if let Some(place) = &self.flaw {
            return Some(format!("NOT VERIFIED: {place}"));
        }
        match self.read.as_ref()? {
            Read::Run(view) => view.departure().map(departed),
            Read::Workflow { departure, .. } => {
                let place = line(departure.as_ref()?);
                Some(format!(
                    "NOT THE STATE OF THE WORKFLOW: {place}; monolith replay derives it again"
                ))
            }
        }
    }

    /// The last entry of what was judged, where it could be read so far: what is written must end with it.
    pub(super) fn head(&self) -> Option<Digest> {
        match self.read.as_ref()? {
            Read::Run(view) => view.head(),
            Read::Workflow { head, .. } => Some(*head),
        }
    }

    /// True if the run has continued since.
    pub(super) fn is_outdated(&self, source: &mut Source) -> Result<bool, ServiceError> {
        let Source::Run(run_id, reader) = source else {
            return Ok(false);
        };
        let head = self.head();
        Ok(head.is_some() && head != Some(reader.read_run(run_id)?.row().head))
    }

    /// Returns the part of the run that a page needs, as far as it could be read.
    pub(super) fn folded(self) -> Folded {
        let ended = self.read.as_ref().and_then(|read| match read {
            Read::Run(view) => {
                let code = view.outcome()?.code;
                Some((code.as_str().to_owned(), sentence(code)))
            }
            Read::Workflow { outcome, .. } => {
                let code = (*outcome)?.code;
                Some((code.as_str().to_owned(), workflow_sentence(code)))
            }
        });
        Folded {
            ended,
            states: self.states,
            tree: Vec::new(),
        }
    }
}

impl Read {
    /// Reads a transcript to its end.
    fn of(
        source: Source,
        form: ExportForm,
        states: &mut BTreeMap<u64, String>,
    ) -> Result<Self, ServiceError> {
        match WorkflowSource::of(source)? {
            Err(source) => {
                let view = source.each_step(|view, entry, _| {
                    if form == ExportForm::Html {
                        let seq = entry.entry().action.seq;
                        states.extend(view.state_text().map(|text| (seq, text)));
                    }
                    Ok(())
                })?;
                Ok(Self::Run(Box::new(view)))
            }
            Ok(workflow) if !form.is_of_workflows() => Err(SystemFault::NoFormOfWorkflow {
                format: form.name(),
                run_id: workflow.run_id,
            }
            .into()),
            Ok(mut workflow) => {
                let mut fold = WorkflowFold::new(workflow.definition()?);
                let mut departure = None;
                let (mut head, mut outcome) = (Digest::ZERO, None);
                workflow.each_entry(|hash, action, event| {
                    head = hash;
                    outcome = action.outcome.filter(|_| action.length.is_some());
                    if departure.is_none() {
                        let fault = fold.take(action, event).err();
                        departure = fault.map(|fault| fault.to_string());
                    }
                    Ok(())
                })?;
                Ok(Self::Workflow {
                    departure,
                    head,
                    outcome,
                })
            }
        }
    }
}

/// True if the run has its last entry. A run that cannot be read is refused later.
fn is_sealed(source: &mut Source) -> Result<bool, ServiceError> {
    match source {
        Source::Run(run_id, reader) => Ok(reader.read_run(run_id)?.row().outcome.is_some()),
        Source::File(path) => {
            let mut sealed = false;
            let read = Source::File(path.clone()).each_entry(|_, _, entry| {
                sealed = entry
                    .decode_action()
                    .is_ok_and(|action| action.length.is_some());
                Ok(())
            });
            Ok(read.is_err() || sealed)
        }
    }
}
