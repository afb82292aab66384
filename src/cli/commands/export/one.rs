//! One transcript as one file: it is judged, then the form and the file are chosen. `forms` writes it.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::args::{ExportArgs, ExportFormat};
use super::forms;
use super::html::{AboutRun, Folded};
use super::judged::Judged;
use crate::context::app::App;
use crate::ui::whole::Whole;
use monolith_core::transcript::WithheldBlobs;
use monolith_host::store::{ExportError, NewFile, PRIVATE};
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// How often a run in progress is judged again.
const MOST_LOOKS: usize = 8;

/// Exports one transcript; `tree` are the runs that are exported with it.
pub(super) fn export_one(
    app: &App,
    args: &ExportArgs,
    form: ExportFormat,
    tree: Vec<AboutRun>,
) -> Result<Exit, ServiceError> {
    let withheld = if args.withheld {
        WithheldBlobs::Needed
    } else {
        WithheldBlobs::MayLack
    };
    if form == ExportFormat::Html && args.output.is_none() && app.screen.is_shown() {
        return Err(SystemFault::PageOnTerminal.into());
    }
    let mut source = match form {
        ExportFormat::Jsonl => app.run(&args.run)?,
        ExportFormat::Html | ExportFormat::Atif | ExportFormat::Cast => app.source(&args.run)?,
    };
    let mut judged = Judged::before(app, args, form)?;
    // A run in progress goes on while it is judged.
    for _ in 0..MOST_LOOKS {
        if !judged.is_outdated(&mut source)? {
            break;
        }
        judged = Judged::before(app, args, form)?;
    }
    let exit = judged.report(app, &mut source)?;
    let (head, mark) = (judged.head(), judged.mark());
    let write = |out: &mut dyn io::Write| match form {
        ExportFormat::Jsonl => forms::write_to(source, out, withheld, head),
        ExportFormat::Html => {
            let folded = Folded {
                tree,
                ..judged.folded()
            };
            forms::html(folded, source, out, withheld, head)
        }
        ExportFormat::Atif => forms::atif(source, out, mark.as_deref(), head),
        ExportFormat::Cast => forms::cast(source, out, mark.as_deref(), head),
    };
    let left_out = match &args.output {
        Some(path) if !args.force && app.cwd.join(path).exists() => {
            return Err(SystemFault::FileExists { path: path.clone() }.into());
        }
        Some(path) => {
            let left_out = write_file(app, path, write)?;
            let place = line(&path.display().to_string());
            app.screen
                .note(&format!("wrote run {} to {place}", args.run));
            left_out
        }
        None if app.screen.is_shown() => {
            let mut file = Vec::new();
            let left_out = write(&mut file)?;
            let text = String::from_utf8_lossy(&file);
            app.screen.out_json_text(&text)?;
            app.screen
                .note("a terminal shows it escaped; -o FILE writes it as it is");
            left_out
        }
        None => match write_out(write) {
            // A reader that has gone away has what it wanted.
            Err(ServiceError::Export(ExportError::Io(fault)) | ServiceError::Output(fault))
                if fault.kind() == io::ErrorKind::BrokenPipe =>
            {
                0
            }
            written => written?,
        },
    };
    if left_out > 0 {
        app.screen.note(&format!(
            "left out: {} that the run held back; --withheld includes them",
            counted(left_out, "text")
        ));
    }
    Ok(exit)
}

/// Writes to standard output.
fn write_out(
    write: impl FnOnce(&mut dyn io::Write) -> Result<usize, ServiceError>,
) -> Result<usize, ServiceError> {
    let mut out = BufWriter::new(Whole(io::stdout().lock()));
    let left_out = write(&mut out)?;
    out.flush()?;
    Ok(left_out)
}

/// Writes beside the file first, so that a failed export leaves what was there.
fn write_file(
    app: &App,
    given: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> Result<usize, ServiceError>,
) -> Result<usize, ServiceError> {
    let refuse = |fault: io::Error| SystemFault::CannotWrite {
        path: given.to_owned(),
        reason: fault.to_string(),
    };
    let path = app.cwd.join(given);
    let mut new = NewFile::over_file(&path, PRIVATE).map_err(refuse)?;
    let mut out = BufWriter::new(new.file());
    let left_out = write(&mut out)?;
    out.flush().map_err(refuse)?;
    drop(out);
    new.replace().map_err(refuse)?;
    Ok(left_out)
}
