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
    /// Generate a key and print its public key
    Generate(KeyArgs),
    /// Print a public key
    Show(KeyArgs),
    /// Rotate a key and print the rotation record
    ///
    /// Prints the new public key and the rotation record, which both keys have signed.
    Rotate(KeyArgs),
    /// Print the text that replaces a secret in a run
    ///
    /// Reads the secret from standard input and prints the commitment that the transcript of the run has in its place.
    Commitment(CommitmentArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CommitmentArgs {
    /// Run name or unique prefix, or `last`
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
            let hint = "give this record to everyone who trusts the old key: verify --key reads both from one file";
            app.screen.note(hint);
            format!("{public}\n{record}")
        }
    };
    app.screen.out_whole(&text)?;
    Ok(Exit::OK)
}
