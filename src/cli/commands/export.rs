//! `monolith export`: one transcript, or those of a tree of runs.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::context::app::App;
use crate::context::departed::warn;
use crate::ui::stdout::stdout;
use monolith_host::store::ExportError;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::export::form::{ExportForm, ExportRequest};
use monolith_service::export::html::AboutRun;
use monolith_service::export::one::{Export, prepare};
use monolith_service::export::tree::{create_folder, tree};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

pub(crate) use monolith_service::export::write_to;

#[derive(Clone, Debug, Args)]
#[command(
    after_help = "jsonl is the transcript, which anyone can verify. html is a page that shows and verifies it. \
atif is a trajectory for other programs. cast is a recording for asciinema players. Text that a model \
writes before a required call is held back; --withheld includes it."
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct ExportArgs {
    /// Run name or unique prefix, `last`, or a file
    ///
    /// A file is an exported transcript. It cannot be exported as jsonl again.
    #[arg(value_name = "RUN|FILE")]
    pub(crate) run: String,
    /// Output format: jsonl, html, atif or cast
    ///
    /// jsonl: the transcript, one JSON document per line. html: a page that shows the run and verifies it in the browser,
    /// without network access. atif: a trajectory in the Agent Trajectory Interchange Format 1.8. cast: the narrated run with
    /// its timings, for terminal session players.
    ///
    /// Default: the format of the extension of FILE, else jsonl. An unknown extension is refused.
    #[arg(long, hide_possible_values = true, value_enum)]
    pub(crate) format: Option<ExportFormat>,
    /// Output file, or folder with --tree (default: stdout)
    ///
    /// - is standard output.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Replace an existing file
    #[arg(long, requires = "output")]
    pub(crate) force: bool,
    /// Also export its child runs, as files in a folder
    ///
    /// Child runs are those of agents and steps. -o names the folder, and each file is named after its run; pages link to
    /// each other. `monolith import` accepts the files of a tree in any order.
    #[arg(long, requires = "output")]
    pub(crate) tree: bool,
    /// Include withheld text
    ///
    /// Text that a model wrote while the token gate allowed only calls. Only in jsonl and html.
    #[arg(long)]
    pub(crate) withheld: bool,
    /// Export a transcript that does not verify
    ///
    /// jsonl needs no such option; it is always written as stored.
    #[arg(long)]
    pub(crate) force_unverified: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The transcript, one JSON document per line
    Jsonl,
    /// A page that shows the run and verifies it in the browser, without network access
    Html,
    /// A trajectory in the Agent Trajectory Interchange Format 1.8
    Atif,
    /// The narrated run with its timings, for terminal session players
    Cast,
}

impl From<ExportFormat> for ExportForm {
    fn from(format: ExportFormat) -> Self {
        match format {
            ExportFormat::Jsonl => Self::Jsonl,
            ExportFormat::Html => Self::Html,
            ExportFormat::Atif => Self::Atif,
            ExportFormat::Cast => Self::Cast,
        }
    }
}

/// `monolith export`.
pub(crate) fn export(app: &App, args: &ExportArgs) -> Result<Exit, ServiceError> {
    let mut args = args.clone();
    // As for other programs, and no file of that name.
    args.output = args
        .output
        .filter(|output| args.tree || output.as_os_str() != "-");
    let args = &args;
    // The files of a tree are named after their runs.
    let output = args.output.as_deref().filter(|_| !args.tree);
    let form = args.format.map(ExportForm::from);
    let form = ExportForm::choose(form, output, args.withheld)?;
    if args.tree {
        return export_tree(app, args, form);
    }
    export_one(app, args, form, Vec::new())
}

/// Exports the run and those below it; ends with the first code that is not 0.
fn export_tree(app: &App, args: &ExportArgs, form: ExportForm) -> Result<Exit, ServiceError> {
    let found = tree(app, &args.run, form)?;
    for base in &found.bases {
        app.screen.note(&format!(
            "note: {base}, from which {} was forked, is exported with it: its entries began steps that both have",
            found.run_id
        ));
    }
    let Some(output) = &args.output else {
        return Err(SystemFault::TreeWithoutFolder.into());
    };
    create_folder(app, output)?;
    let mut exit = Exit::OK;
    for one in &found.runs {
        let Some(file) = &one.file else {
            let (run, format) = (&one.run_id, form.name());
            let kind = if one.workflow {
                "workflow"
            } else {
                "work item"
            };
            app.screen
                .note(&format!("no {format} is made of {kind} {run}"));
            continue;
        };
        let args = ExportArgs {
            run: one.run_id.as_str().to_owned(),
            output: Some(output.join(file)),
            ..args.clone()
        };
        let ended = export_one(app, &args, form, found.runs.clone())?;
        if exit == Exit::OK {
            exit = ended;
        }
    }
    Ok(exit)
}

/// Exports one transcript; `tree` are the runs that are exported with it.
fn export_one(
    app: &App,
    args: &ExportArgs,
    form: ExportForm,
    tree: Vec<AboutRun>,
) -> Result<Exit, ServiceError> {
    if form == ExportForm::Html && args.output.is_none() && app.screen.is_shown() {
        return Err(SystemFault::PageOnTerminal.into());
    }
    let request = ExportRequest {
        force_unverified: args.force_unverified,
        form,
        run: args.run.clone(),
        withheld: args.withheld,
    };
    let export = prepare(app, &request, tree)?;
    if !export.is_sealed {
        app.screen.write_err(
            "note: the run has not ended: it is in progress, or its process was cut off (verify --open accepts it)\n",
        );
    }
    if let Some(departure) = &export.departure {
        warn(app.screen, departure);
    } else if let Some(mark) = &export.mark {
        app.screen.write_err(&format!("{mark}\n"));
    }
    let exit = export.exit;
    let left_out = match &args.output {
        Some(path) => {
            let left_out = export.write_file(app, path, args.force)?;
            let place = line(&path.display().to_string());
            app.screen
                .note(&format!("wrote run {} to {place}", args.run));
            left_out
        }
        None if app.screen.is_shown() => {
            let mut file = Vec::new();
            let left_out = export.write_to(&mut file)?;
            let text = String::from_utf8_lossy(&file);
            app.screen.out_json_text(&text)?;
            app.screen
                .note("a terminal shows it escaped; -o FILE writes it as it is");
            left_out
        }
        None => match write_out(export) {
            // A reader that has gone away has what it wanted.
            Err(ServiceError::Export(ExportError::Io(fault)) | ServiceError::Output(fault))
                if fault.kind() == io::ErrorKind::BrokenPipe =>
            {
                0
            }
            Err(ServiceError::Export(ExportError::Io(fault))) => return Err(fault.into()),
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
fn write_out(export: Export) -> Result<usize, ServiceError> {
    let mut out = BufWriter::new(stdout()?);
    let left_out = export.write_to(&mut out)?;
    out.flush()?;
    Ok(left_out)
}
