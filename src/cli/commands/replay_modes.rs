use super::{replay, replay_contract, replay_fork, replay_live};
use crate::cli::args::ReplayArgs;
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::cli::home::Home;

/// `monolith replay`, in the mode that its arguments name.
pub(in crate::cli) fn replay(home: &Home, args: ReplayArgs) -> Result<Exit, CliError> {
    if let Some(at) = args.fork_at {
        return replay_fork::replay(home, args, at);
    }
    if let Some(live) = args.live {
        return replay_live::replay(home, &args, live);
    }
    if args.contract.is_some() || !args.sets.is_empty() {
        return replay_contract::replay(home, &args);
    }
    replay::replay(home, &args)
}
