//! `monolith key`: the keys that sign checkpoints, and commitments to redacted values.

use std::io::Read as _;

use clap::{Args, Subcommand};

use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::keys::{LOCAL_KEY, commitment};

/// The longest value that is committed to.
const MAX_VALUE_BYTES: u64 = 16 << 20;

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key, and print its public half
    Generate(KeyArgs),
    /// Print the public half of a key
    Show(KeyArgs),
    /// Replace a key, and print what proves it
    ///
    /// It prints the new public half, and the record that the old key signed.
    Rotate(KeyArgs),
    /// Print what a run records for a secret on stdin
    ///
    /// The value that is read from standard input is secret; this is what stands in its place in the run's transcript.
    Commitment(CommitmentArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CommitmentArgs {
    /// A run's name, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The key's name
    #[arg(value_name = "NAME", default_value = LOCAL_KEY)]
    pub(crate) name: String,
}

/// `monolith key generate | show | rotate | commitment`.
pub(crate) fn key(app: &App, command: &KeyCommand) -> Result<Exit, ServiceError> {
    let keys = app.own_keys()?;
    let text = match command {
        KeyCommand::Generate(args) => format!("{}\n", keys.generate(&args.name)?.public()),
        KeyCommand::Show(args) => format!("{}\n", keys.show(&args.name)?.public()),
        KeyCommand::Commitment(args) => {
            let marker = commitment(app, &args.run, || {
                let mut value = Vec::new();
                let mut stdin = std::io::stdin().take(MAX_VALUE_BYTES);
                stdin.read_to_end(&mut value)?;
                Ok(value)
            });
            format!("{}\n", marker?)
        }
        KeyCommand::Rotate(args) => {
            let (public, record) = keys.rotate(&args.name)?;
            let hint = "give the record to those who trust the old key: verify --key takes it in a file beside that key";
            app.screen.note(hint);
            format!("{public}\n{record}")
        }
    };
    app.screen.out_whole(&text)?;
    Ok(Exit::OK)
}
