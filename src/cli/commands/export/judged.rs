//! Whether a transcript verifies and shows what the machine decided, found out before anything is made of it. Writes no file.

use std::collections::BTreeMap;

use super::args::{ExportArgs, ExportFormat};
use super::html::Folded;
use crate::cli::commands::verify;
use crate::cli::context::app::App;
use crate::cli::context::departed::warned;
use crate::cli::context::error::{CliError, TranscriptFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::source::Source;
use crate::cli::ui::departed::departed;
use crate::message::Digest;
use crate::view::RunView;

/// What is known of a transcript before anything is made of it.
pub(super) struct Judged {
    /// Where it does not verify; none if it does.
    flaw: Option<String>,
    /// The machine's state after each step, for a page.
    states: BTreeMap<u64, String>,
    /// The run after its last entry; none if it cannot be read so far.
    view: Option<RunView>,
}

impl Judged {
    /// Verifies a transcript and folds its entries, each once. What is made of a transcript looks like the truth: it is made only of
    /// one that verifies and shows what the machine decided, unless the caller forces it. The transcript itself is evidence
    /// whatever it shows.
    pub(super) fn before(
        app: &App,
        args: &ExportArgs,
        form: ExportFormat,
    ) -> Result<Self, CliError> {
        let is_evidence = form == ExportFormat::Jsonl;
        let trust = app.trust(&[], &[], &[])?;
        let (report, _) = verify::report_of(app.source(&args.run)?, true, &trust)?;
        let flaw = report.first_bad.as_ref().map(verify::place);
        let mut states = BTreeMap::new();
        let view = if flaw.is_some() && (is_evidence || !args.force_unverified) {
            None
        } else {
            let folded = app.source(&args.run)?.each_step(|view, entry, _| {
                if form == ExportFormat::Html {
                    let seq = entry.entry().action.seq;
                    states.extend(view.state_text().map(|text| (seq, text)));
                }
                Ok(())
            });
            match folded {
                Err(_) if args.force_unverified => None,
                folded => Some(folded?),
            }
        };
        let judged = Self { flaw, states, view };
        if is_evidence || args.force_unverified {
            return Ok(judged);
        }
        judged.required(&args.run)
    }

    /// The same, where it verifies and a display shows what the machine decided.
    fn required(self, asked: &str) -> Result<Self, CliError> {
        let asked = asked.to_owned();
        if let Some(place) = self.flaw {
            return Err(TranscriptFault::ExportNotVerified { asked, place }.into());
        }
        match self.view.as_ref().and_then(RunView::departure) {
            None => Ok(self),
            Some(departure) => Err(TranscriptFault::ExportDeparted {
                asked,
                departure: departure.clone(),
            }
            .into()),
        }
    }

    /// Reports what is to be known of a file before it is there; the code that the command ends with.
    pub(super) fn report(&self, app: &App, source: &mut Source) -> Result<Exit, CliError> {
        let sealed = match &self.view {
            Some(view) => view.outcome().is_some(),
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
        let departed = self.view.as_ref();
        let departed = departed.and_then(|view| warned(app.screen, view));
        Ok(departed.unwrap_or(Exit::OK))
    }

    /// What a form says of itself that was made by force; none where everything holds.
    pub(super) fn mark(&self) -> Option<String> {
        let flaw = self.flaw.as_ref();
        let departure = self.view.as_ref().and_then(RunView::departure);
        flaw.map(|place| format!("NOT VERIFIED: {place}"))
            .or(departure.map(departed))
    }

    /// The last entry of what was judged, where it could be read so far: what is written must end with it.
    pub(super) fn head(&self) -> Option<Digest> {
        self.view.as_ref()?.head()
    }

    /// Whether the run has gone on since it was judged.
    pub(super) fn is_outdated(&self, source: &mut Source) -> Result<bool, CliError> {
        let Source::Run(run_id, reader) = source else {
            return Ok(false);
        };
        let head = self.head();
        Ok(head.is_some() && head != Some(reader.read_run(run_id)?.row().head))
    }

    /// What a page needs of the run, as far as it could be read.
    pub(super) fn folded(self) -> Folded {
        Folded {
            code: self
                .view
                .and_then(|view| view.outcome())
                .map(|outcome| outcome.code),
            states: self.states,
        }
    }
}

/// Whether the run has its last entry; what cannot be read is refused later.
fn is_sealed(source: &mut Source) -> Result<bool, CliError> {
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
