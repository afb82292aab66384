//! `monolith key`: the key that checkpoints are signed with, and commitments to redacted values. `driver` owns the key's file.

use std::io::Read as _;

use super::args::{CommitmentArgs, KeyCommand};
use crate::context::app::App;
use monolith_service::error::ServiceError;
use monolith_service::error::transcript::TranscriptFault;
use monolith_service::exit::Exit;
use monolith_service::source::Source;

/// The longest value that is committed to.
const MAX_VALUE_BYTES: u64 = 16 << 20;

/// `monolith key generate | show | rotate | commitment`.
pub(crate) fn key(app: &App, command: &KeyCommand) -> Result<Exit, ServiceError> {
    let keys = app.own_keys()?;
    let text = match command {
        KeyCommand::Generate(args) => format!("{}\n", keys.generate(&args.name)?.public()),
        KeyCommand::Show(args) => format!("{}\n", keys.show(&args.name)?.public()),
        KeyCommand::Commitment(args) => commitment(app, args)?,
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

/// The marker of the value on stdin in that run. A line feed at its end is not part of it.
fn commitment(app: &App, args: &CommitmentArgs) -> Result<String, ServiceError> {
    let Source::Run(run_id, _) = app.run(&args.run)? else {
        let path = args.run.clone().into();
        return Err(TranscriptFault::FileInsteadOfRun { path }.into());
    };
    let key = app.own_keys()?.existing_redaction_key()?;
    let mut value = Vec::new();
    std::io::stdin()
        .take(MAX_VALUE_BYTES)
        .read_to_end(&mut value)?;
    let value = value.strip_suffix(b"\n").unwrap_or(&value);
    let value = value.strip_suffix(b"\r").unwrap_or(value);
    Ok(format!("{}\n", key.salt(&run_id).marker(value)))
}
