//! The judgement of a transcript before an export: it verifies, and shows the decisions of the machine. Writes no file.

use std::collections::BTreeMap;

use super::form::{ExportForm, ExportRequest};
use super::html::{AboutFile, Folded};
use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::error::transcript::TranscriptFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::Source;
use crate::text::escape::line;
use crate::verify::report::{own_report, place};
use crate::view::departure::departed;
use crate::view::item::ItemView;
use crate::work_entries::WorkSource;
use crate::workflow_entries::WorkflowSource;
use monolith_core::agent::WorkflowFold;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::TranscriptKind;
use monolith_core::view::{Divergence, RunView};
use monolith_core::work::Work;
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
    /// A workflow or a work item.
    Machine {
        /// First entry that the machine does not make of its events.
        departure: Option<String>,
        /// Code of the end and its sentence.
        ended: Option<(String, &'static str)>,
        /// Contents that an item changed, for a page.
        files: Vec<AboutFile>,
        head: Digest,
        kind: TranscriptKind,
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
            match Read::of(service, &request.run, form, &mut states) {
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
            Some(Read::Machine {
                departure: Some(departure),
                kind,
                ..
            }) => Err(TranscriptFault::ExportMachineDeparted {
                asked,
                departure: departure.clone(),
                kind: *kind,
            }
            .into()),
            Some(Read::Machine { .. }) | None => Ok(self),
        }
    }

    /// True if the transcript has its last entry.
    pub(super) fn is_sealed(&self, source: &mut Source) -> Result<bool, ServiceError> {
        Ok(match &self.read {
            Some(Read::Run(view)) => view.outcome().is_some(),
            Some(Read::Machine { ended, .. }) => ended.is_some(),
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
            Read::Machine {
                departure, kind, ..
            } => {
                let place = line(departure.as_ref()?);
                let kind = kind.to_string().to_uppercase();
                Some(format!(
                    "NOT THE STATE OF THE {kind}: {place}; monolith replay derives it again"
                ))
            }
        }
    }

    /// The last entry of what was judged, where it could be read so far: what is written must end with it.
    pub(super) fn head(&self) -> Option<Digest> {
        match self.read.as_ref()? {
            Read::Run(view) => view.head(),
            Read::Machine { head, .. } => Some(*head),
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
        let (ended, files) = match self.read {
            Some(Read::Run(view)) => {
                let code = view.outcome().map(|outcome| outcome.code);
                let ended = code.map(|code| (code.as_str().to_owned(), sentence(code)));
                (ended, Vec::new())
            }
            Some(Read::Machine { ended, files, .. }) => (ended, files),
            None => (None, Vec::new()),
        };
        Folded {
            ended,
            files,
            states: self.states,
            tree: Vec::new(),
        }
    }
}

impl Read {
    /// Reads a transcript to its end.
    fn of(
        service: &Service,
        asked: &str,
        form: ExportForm,
        states: &mut BTreeMap<u64, String>,
    ) -> Result<Self, ServiceError> {
        let source = match WorkflowSource::of(service.source(asked)?)? {
            Err(source) => source,
            Ok(workflow) => return Self::of_workflow(workflow, form),
        };
        match WorkSource::of(source)? {
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
            Ok(mut item) => {
                let kind = TranscriptKind::Work;
                judge_form(form, kind, &item.run_id)?;
                let recorded = item.recorded()?;
                let end = recorded.work.as_ref().and_then(Work::end);
                let ended = end.map(|end| (end.status.as_str().to_owned(), ""));
                let (departure, head) = (recorded.departure.clone(), recorded.head);
                let view = match form {
                    ExportForm::Html => ItemView::of_recorded(service, &item, recorded)?,
                    ExportForm::Jsonl | ExportForm::Atif | ExportForm::Cast => None,
                };
                let changes = view.into_iter().flat_map(|view| view.changes);
                Ok(Self::Machine {
                    departure: departure.map(|error| error.to_string()),
                    ended,
                    files: changes.filter_map(AboutFile::of).collect(),
                    head,
                    kind,
                })
            }
        }
    }

    fn of_workflow(mut workflow: WorkflowSource, form: ExportForm) -> Result<Self, ServiceError> {
        let kind = TranscriptKind::Workflow;
        judge_form(form, kind, &workflow.run_id)?;
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
        let ended = outcome.map(|outcome| {
            let code = outcome.code;
            (code.as_str().to_owned(), workflow_sentence(code))
        });
        Ok(Self::Machine {
            departure,
            ended,
            files: Vec::new(),
            head,
            kind,
        })
    }
}

/// Refuses a form that transcripts of that machine do not have.
fn judge_form(form: ExportForm, kind: TranscriptKind, run_id: &RunId) -> Result<(), ServiceError> {
    if form.is_of(kind) {
        return Ok(());
    }
    Err(SystemFault::NoFormOf {
        format: form.name(),
        kind,
        run_id: run_id.clone(),
    }
    .into())
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
