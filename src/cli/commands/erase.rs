use super::ask::confirm;
use crate::cli::args::EraseArgs;
use crate::cli::clock::unix_ms;
use crate::cli::error::CliError;
use crate::cli::escape::line;
use crate::cli::exit::Exit;
use crate::cli::home::Home;
use crate::cli::recorded::Source;
use crate::message::RunId;
use crate::store::{Erasure, erase as erase_blob};

/// `monolith erase`.
pub(in crate::cli) fn erase(home: &Home, args: &EraseArgs) -> Result<Exit, CliError> {
    let Source::Run(run_id, reader) = home.run(&args.run)? else {
        return Ok(Exit::USAGE);
    };
    drop(reader);
    if !args.yes {
        let question = format!("Erase {} of run {run_id} for good?", line(&args.blob));
        confirm(home, "erase", &question)?;
    }
    let path = home.store_path()?;
    let key = home.signer()?;
    let erased = erase_blob(
        &path,
        &Erasure {
            run_id,
            blob: args.blob.to_ascii_lowercase(),
            reason: args.reason.clone(),
            at_unix_ms: unix_ms(),
            all_runs: args.all_runs,
            key: &key,
        },
    )?;
    let runs: Vec<&str> = erased.runs.iter().map(RunId::as_str).collect();
    let hash = erased.hash;
    let runs = runs.join(", ");
    home.screen.out(&match erased.bytes {
        Some(bytes) => {
            format!(
                "erased: {bytes} bytes of {hash}; a tombstone stands in their place in {runs}\n"
            )
        }
        None => format!("erased before: {hash} of {runs}\n"),
    })?;
    home.screen
        .note("What entries say of the bytes stays, and so do copies elsewhere: exports, backups, copies made by migrate.");
    Ok(Exit::OK)
}
