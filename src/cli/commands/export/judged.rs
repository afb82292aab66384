//! Whether a transcript verifies and shows what the machine decided, found out before anything is made of it. Writes no file.

use std::collections::BTreeMap;

use super::args::{ExportArgs, ExportFormat};
use super::html::Folded;
use crate::commands::verify;
use crate::context::app::App;
use crate::context::departed::warned;
use crate::ui::departed::departed;
use monolith_core::agent::WorkflowFold;
use monolith_core::contract::WorkflowOutcome;
use monolith_core::message::Digest;
use monolith_core::view::RunView;
use monolith_host::telemetry::{sentence, workflow_sentence};
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;
use monolith_service::text::escape::line;
use monolith_service::workflow_entries::WorkflowSource;

/// What is known of a transcript before anything is made of it.
pub(super) struct Judged {
    /// Where it does not verify; none if it does.
    flaw: Option<String>,
    /// What it holds; none if it cannot be read to its end.
    read: Option<Read>,
    /// The machine's state after each step, for a page.
    states: BTreeMap<u64, String>,
}

/// A transcript after its last entry.
enum Read {
    Run(Box<RunView>),
    Workflow {
        /// Where its entries are not those that the machine makes of its events.
        departure: Option<String>,
        head: Digest,
        outcome: Option<WorkflowOutcome>,
    },
}

impl Judged {
    /// Verifies a transcript and folds its entries, each once. What is made of a transcript looks like the truth: it is made only of
    /// one that verifies and shows what the machine decided, unless the caller forces it. The transcript itself is evidence
    /// whatever it shows.
    pub(super) fn before(
        app: &App,
        args: &ExportArgs,
        form: ExportFormat,
    ) -> Result<Self, ServiceError> {
        let is_evidence = form == ExportFormat::Jsonl;
        let trust = app.trust(&[], &[], &[])?;
        let (report, _) = verify::report_of(app.source(&args.run)?, true, &trust)?;
        let flaw = report.first_bad.as_ref().map(verify::place);
        let mut states = BTreeMap::new();
        let read = if flaw.is_some() && (is_evidence || !args.force_unverified) {
            None
        } else {
            match Read::of(app.source(&args.run)?, form, &mut states) {
                Err(ServiceError::System(fault)) => return Err(fault.into()),
                Err(_) if args.force_unverified => None,
                read => Some(read?),
            }
        };
        let judged = Self { flaw, read, states };
        if is_evidence || args.force_unverified {
            return Ok(judged);
        }
        judged.required(&args.run)
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

    /// Reports what is to be known of a file before it is there; the code that the command ends with.
    pub(super) fn report(&self, app: &App, source: &mut Source) -> Result<Exit, ServiceError> {
        let sealed = match &self.read {
            Some(Read::Run(view)) => view.outcome().is_some(),
            Some(Read::Workflow { outcome, .. }) => outcome.is_some(),
            None => is_sealed(source)?,
        };
        if !sealed {
            app.screen.write_err(
                "note: the run has not ended: it is in progress, or its process was cut off (verify --open accepts it)\n",
            );
        }
        if let Some(place) = &self.flaw {
            app.screen.write_err(&format!("NOT VERIFIED: {place}\n"));
            return Ok(Exit::EVIDENCE);
        }
        let departed = match &self.read {
            Some(Read::Run(view)) => warned(app.screen, view),
            Some(Read::Workflow { .. }) => self.mark().map(|mark| {
                app.screen.write_err(&format!("{mark}\n"));
                Exit::DIVERGED
            }),
            None => None,
        };
        Ok(departed.unwrap_or(Exit::OK))
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

    /// Whether the run has gone on since it was judged.
    pub(super) fn is_outdated(&self, source: &mut Source) -> Result<bool, ServiceError> {
        let Source::Run(run_id, reader) = source else {
            return Ok(false);
        };
        let head = self.head();
        Ok(head.is_some() && head != Some(reader.read_run(run_id)?.row().head))
    }

    /// What a page needs of the run, as far as it could be read.
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
        form: ExportFormat,
        states: &mut BTreeMap<u64, String>,
    ) -> Result<Self, ServiceError> {
        match WorkflowSource::of(source)? {
            Err(source) => {
                let view = source.each_step(|view, entry, _| {
                    if form == ExportFormat::Html {
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

/// Whether the run has its last entry; what cannot be read is refused later.
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
