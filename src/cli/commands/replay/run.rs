use super::args::ReplayArgs;
use super::{fork, live, recorded, what_if};
use crate::cli::context::app::Home;
use crate::cli::context::error::CliError;
use crate::cli::context::exit::Exit;

/// `monolith replay`, in the mode that its arguments name.
pub(in crate::cli) fn replay(home: &Home, args: ReplayArgs) -> Result<Exit, CliError> {
    if let Some(at) = args.fork_at {
        return fork::replay(home, args, at);
    }
    if let Some(live) = args.live {
        return live::replay(home, &args, live);
    }
    if args.contract.is_some() || !args.sets.is_empty() {
        return what_if::replay(home, &args);
    }
    recorded::replay(home, &args)
}
