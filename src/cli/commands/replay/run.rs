use super::args::ReplayArgs;
use super::{fork, live, recorded, what_if};
use crate::cli::context::app::App;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;

/// `monolith replay`, in the mode that its arguments name.
pub(in crate::cli) fn replay(app: &App, args: ReplayArgs) -> Result<Exit, CliError> {
    if let Some(at) = args.fork_at {
        return fork::replay(app, args, at);
    }
    if let Some(live) = args.live {
        return live::replay(app, &args, live);
    }
    if args.contract.is_some() || !args.sets.is_empty() {
        return what_if::replay(app, &args);
    }
    recorded::replay(app, &args)
}
