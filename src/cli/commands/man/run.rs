//! `monolith man`: the manual pages, made from the command line itself.

use super::args::ManArgs;
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, SystemFault};
use crate::cli::context::exit::Exit;

/// `monolith man`; `program` is the whole command line.
pub(in crate::cli) fn man(
    app: &App,
    args: &ManArgs,
    program: clap::Command,
) -> Result<Exit, CliError> {
    let program = with_texts(program);
    let Some(out) = &args.out else {
        if app.screen.is_shown() {
            app.screen.note("to read it: monolith man | man -l -");
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(program).render(&mut page)?;
        app.screen.out_whole(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::OK);
    };
    let folder = app.cwd.join(out);
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(program, &folder));
    written.map_err(|fault| SystemFault::CannotWrite {
        path: out.clone(),
        reason: fault.to_string(),
    })?;
    Ok(Exit::OK)
}

/// Every option with its text: a page leaves out the short one of an option that short help does not list.
fn with_texts(program: clap::Command) -> clap::Command {
    let program = program.mut_args(|arg| match arg.get_help().cloned() {
        Some(help) if arg.get_long_help().is_none() => arg.long_help(help),
        _ => arg,
    });
    program.mut_subcommands(with_texts)
}
