//! `monolith man`: the manual pages, made from the command line itself.

use std::io;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use clap_mangen::Man;

use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;

#[derive(Debug, Args)]
#[command(after_help = "To read the page: monolith man | man -l -")]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to a folder
    ///
    /// Without --out, prints the main page on stdout.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// `monolith man`; `program` is the whole command line.
pub(crate) fn man(app: &App, args: &ManArgs, program: clap::Command) -> Result<Exit, ServiceError> {
    let program = with_texts(program);
    let Some(out) = &args.out else {
        if app.screen.is_shown() {
            app.screen.note("to read it: monolith man | man -l -");
        }
        app.screen.out_whole(&page(&Man::new(program))?)?;
        return Ok(Exit::OK);
    };
    let folder = app.cwd.join(out);
    let mut program = program.disable_help_subcommand(true);
    program.build();
    let written = std::fs::create_dir_all(&folder).and_then(|()| write_pages(program, &folder));
    written.map_err(|fault| SystemFault::CannotWrite {
        path: out.clone(),
        reason: fault.to_string(),
    })?;
    Ok(Exit::OK)
}

/// Writes the pages of a command and of all below it.
fn write_pages(command: clap::Command, folder: &Path) -> io::Result<()> {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        write_pages(below.clone(), folder)?;
    }
    let man = Man::new(command);
    std::fs::write(folder.join(man.get_filename()), page(&man)?)
}

/// A page. The text behind the options is made of lines, tables among them: they are not filled.
fn page(man: &Man) -> io::Result<String> {
    let mut page = Vec::new();
    man.render(&mut page)?;
    let page = String::from_utf8_lossy(&page);
    let mut out = String::new();
    let mut keeps = false;
    for line in page.lines() {
        if line.starts_with(".SH") && std::mem::take(&mut keeps) {
            out.push_str(".fi\n");
        }
        out.push_str(line);
        out.push('\n');
        if line == ".SH EXTRA" {
            keeps = true;
            out.push_str(".nf\n");
        }
    }
    if keeps {
        out.push_str(".fi\n");
    }
    Ok(out)
}

/// Every option with its text: a page leaves out the short one of an option that short help does not list.
fn with_texts(program: clap::Command) -> clap::Command {
    let program = program.mut_args(|arg| match arg.get_help().cloned() {
        Some(help) if arg.get_long_help().is_none() => arg.long_help(help),
        _ => arg,
    });
    program.mut_subcommands(with_texts)
}
