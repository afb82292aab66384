//! `monolith export`: chooses the form and the file. `forms` writes it.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::args::{ExportArgs, ExportFormat};
use super::forms;
use crate::cli::commands::verify;
use crate::cli::context::app::App;
use crate::cli::context::departed::warned;
use crate::cli::context::error::{CliError, SystemFault, TranscriptFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::source::Source;
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::counted;
use crate::store::{ExportError, NewFile, PRIVATE};
use crate::transcript::WithheldBlobs;

/// `monolith export`.
pub(in crate::cli) fn export(app: &App, args: &ExportArgs) -> Result<Exit, CliError> {
    let form = args.form()?;
    let withheld = if args.withheld {
        WithheldBlobs::Needed
    } else {
        WithheldBlobs::MayLack
    };
    let (source, sealed) = match form {
        ExportFormat::Jsonl => {
            let mut source = app.run(&args.run)?;
            let sealed = is_sealed(&mut source)?;
            (source, sealed)
        }
        // What is made of a transcript looks like the truth: it is made of verified ones alone.
        ExportFormat::Html | ExportFormat::Atif | ExportFormat::Cast => {
            verified(app, args)?;
            let mut source = app.source(&args.run)?;
            let sealed = is_sealed(&mut source)?;
            (source, sealed)
        }
    };
    let again = || app.source(&args.run);
    let write = |out: &mut dyn io::Write| match form {
        ExportFormat::Jsonl => forms::write_to(source, out, withheld),
        ExportFormat::Html => forms::html(&again, source, out, withheld),
        ExportFormat::Atif => forms::atif(source, out),
        ExportFormat::Cast => forms::cast(source, out),
    };
    let left_out = match &args.output {
        Some(path) if !args.force && app.cwd.join(path).exists() => {
            return Err(SystemFault::FileExists { path: path.clone() }.into());
        }
        Some(path) => {
            let left_out = write_file(&app.cwd.join(path), write)?;
            let place = line(&path.display().to_string());
            app.screen
                .note(&format!("wrote run {} to {place}", args.run));
            left_out
        }
        None if app.screen.is_shown() => {
            let mut file = Vec::new();
            let left_out = write(&mut file)?;
            let text = String::from_utf8_lossy(&file);
            match form {
                ExportFormat::Html => app.screen.out_foreign(&text)?,
                ExportFormat::Jsonl | ExportFormat::Atif | ExportFormat::Cast => {
                    app.screen.out_json_text(&text)?;
                }
            }
            app.screen
                .note("a terminal shows it escaped; -o FILE writes it as it is");
            left_out
        }
        None => match write(&mut io::stdout().lock()) {
            // A reader that has gone away has what it wanted.
            Err(CliError::Export(ExportError::Io(fault)) | CliError::Output(fault))
                if fault.kind() == io::ErrorKind::BrokenPipe =>
            {
                0
            }
            written => written?,
        },
    };
    if !sealed {
        app.screen.write_err(
            "note: the run has no seal: it is in progress, or its process was cut off (verify --open accepts it)\n",
        );
    }
    // A file of a transcript is evidence whatever it shows, so it is written all the same.
    let exit = match form {
        ExportFormat::Jsonl => judged(app, &args.run)?,
        ExportFormat::Html | ExportFormat::Atif | ExportFormat::Cast => Exit::OK,
    };
    if left_out > 0 {
        app.screen.note(&format!(
            "{} held back by the token gate left out; --withheld includes them",
            counted(left_out, "text")
        ));
    }
    Ok(exit)
}

/// Reports what does not verify, or is not the machine's state, and what the command then ends with.
fn judged(app: &App, run: &str) -> Result<Exit, CliError> {
    let trust = app.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(app.source(run)?, true, &trust)?;
    if let Some(bad) = &report.first_bad {
        let place = verify::place(bad);
        app.screen.write_err(&format!("NOT VERIFIED: {place}\n"));
        return Ok(Exit::EVIDENCE);
    }
    let view = app.source(run)?.each_step(|_, _, _| Ok(()))?;
    Ok(warned(app.screen, &view).unwrap_or(Exit::OK))
}

/// Refuses what does not verify, unless that is asked for.
fn verified(app: &App, args: &ExportArgs) -> Result<(), CliError> {
    if args.force_unverified {
        return Ok(());
    }
    let trust = app.trust(&[], &[], &[])?;
    let (report, _) = verify::report_of(app.source(&args.run)?, true, &trust)?;
    match &report.first_bad {
        None => agreeing(app, args),
        Some(bad) => Err(TranscriptFault::ExportNotVerified {
            asked: args.run.clone(),
            place: verify::place(bad),
        }
        .into()),
    }
}

/// Refuses what a display would show otherwise than the machine decided.
fn agreeing(app: &App, args: &ExportArgs) -> Result<(), CliError> {
    let view = app.source(&args.run)?.each_step(|_, _, _| Ok(()))?;
    match view.departure() {
        None => Ok(()),
        Some(departure) => Err(TranscriptFault::ExportDeparted {
            asked: args.run.clone(),
            departure: departure.clone(),
        }
        .into()),
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

/// Writes beside the file first, so that a failed export leaves what was there.
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> Result<usize, CliError>,
) -> Result<usize, CliError> {
    let refuse = |fault: io::Error| SystemFault::CannotWrite {
        path: path.to_owned(),
        reason: fault.to_string(),
    };
    let mut new = NewFile::over_file(path, PRIVATE).map_err(refuse)?;
    let mut out = BufWriter::new(new.file());
    let left_out = write(&mut out)?;
    out.flush().map_err(refuse)?;
    drop(out);
    new.replace().map_err(refuse)?;
    Ok(left_out)
}
