//! The export of one transcript: judged first, then written.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::form::{ExportForm, ExportRequest};
use super::forms;
use super::html::{AboutRun, Folded};
use super::judged::Judged;
use crate::error::ServiceError;
use crate::error::system::SystemFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::Source;
use monolith_core::transcript::WithheldBlobs;
use monolith_core::view::Divergence;
use monolith_host::store::{NewFile, PRIVATE};

/// Maximum judgements of a run that continues meanwhile.
const MOST_LOOKS: usize = 8;

/// A transcript that can be exported.
pub struct Export {
    /// Place where a run that verifies departs from the machine.
    pub departure: Option<Divergence>,
    /// Exit code of the evidence.
    pub exit: Exit,
    /// True if the run has ended.
    pub is_sealed: bool,
    /// Line about a transcript that does not verify, or departs from the machine.
    pub mark: Option<String>,
    form: ExportForm,
    judged: Judged,
    source: Source,
    tree: Vec<AboutRun>,
    withheld: WithheldBlobs,
}

/// Judges a transcript for an export; `tree` names the runs that are exported with it. Writes nothing.
///
/// # Errors
///
/// The transcript cannot be read. It does not verify or departs from the machine, and the form is not the transcript itself.
pub fn prepare(
    service: &Service,
    request: &ExportRequest,
    tree: Vec<AboutRun>,
) -> Result<Export, ServiceError> {
    let withheld = if request.withheld {
        WithheldBlobs::Needed
    } else {
        WithheldBlobs::MayLack
    };
    let mut source = match request.form {
        ExportForm::Jsonl => service.run(&request.run)?,
        ExportForm::Html | ExportForm::Atif | ExportForm::Cast => service.source(&request.run)?,
    };
    let mut judged = Judged::before(service, request)?;
    // A run in progress continues while it is judged.
    for _ in 0..MOST_LOOKS {
        if !judged.is_outdated(&mut source)? {
            break;
        }
        judged = Judged::before(service, request)?;
    }
    Ok(Export {
        departure: judged.departure().cloned(),
        exit: judged.exit(),
        is_sealed: judged.is_sealed(&mut source)?,
        mark: judged.mark(),
        form: request.form,
        judged,
        source,
        tree,
        withheld,
    })
}

impl Export {
    /// Writes the transcript; returns the count of texts that the token gate held back and that are left out.
    ///
    /// # Errors
    ///
    /// The run changed since it was judged, or `out` cannot be written.
    pub fn write_to(self, out: &mut dyn io::Write) -> Result<usize, ServiceError> {
        let Self {
            form,
            judged,
            mark,
            source,
            tree,
            withheld,
            ..
        } = self;
        let head = judged.head();
        match form {
            ExportForm::Jsonl => forms::write_to(source, out, withheld, head),
            ExportForm::Html => {
                let folded = Folded {
                    tree,
                    ..judged.folded()
                };
                forms::html(folded, source, out, withheld, head)
            }
            ExportForm::Atif => forms::atif(source, out, mark.as_deref(), head),
            ExportForm::Cast => forms::cast(source, out, mark.as_deref(), head),
        }
    }

    /// Writes the transcript to a file; a failed export leaves the file as it was. Returns the count of texts that are left out.
    ///
    /// # Errors
    ///
    /// The file exists and `force` is not set, or cannot be written; as [`Self::write_to`].
    pub fn write_file(
        self,
        service: &Service,
        given: &Path,
        force: bool,
    ) -> Result<usize, ServiceError> {
        let path = service.cwd.join(given);
        if !force && path.exists() {
            let path = given.to_owned();
            return Err(SystemFault::FileExists { path }.into());
        }
        let refuse = |fault: io::Error| SystemFault::CannotWrite {
            path: given.to_owned(),
            reason: fault.to_string(),
        };
        let mut new = NewFile::over_file(&path, PRIVATE).map_err(refuse)?;
        let mut out = BufWriter::new(new.file());
        let left_out = self.write_to(&mut out)?;
        out.flush().map_err(refuse)?;
        drop(out);
        new.replace().map_err(refuse)?;
        Ok(left_out)
    }
}
