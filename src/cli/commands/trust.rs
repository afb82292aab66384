//! `monolith trust`: trusts a contract or a layer as it is, lists trusted files, and forgets them.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::context::app::App;
use crate::context::trust::listed_whole;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::trust_file::{self, TrustedState, trusted_files};

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// The contract, agent, workflow or layer (default: agent.yaml)
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// List the trusted files
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    pub(crate) list: bool,
    /// Stop trusting the file
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `monolith trust`.
pub(crate) fn trust(app: &App, args: TrustArgs) -> Result<Exit, ServiceError> {
    if args.list {
        app.screen.out(&list(app)?)?;
        return Ok(Exit::OK);
    }
    let file = trust_file::named_file(app, args.file)?;
    if args.remove {
        trust_file::forget(app, &file)?;
        let shown = line(&file.name().display().to_string());
        app.screen.out(&format!("no longer trusted: {shown}\n"))?;
        return Ok(Exit::OK);
    }
    let found = trust_file::trust(app, &file)?;
    let mut out = String::new();
    for one in &found.files {
        let name = one.path.strip_prefix(&app.cwd).unwrap_or(&one.path);
        let (name, hash) = (line(&name.display().to_string()), one.blake3.short(12));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "trusted as it is now: {name} ({hash})");
    }
    if let Some((own, below)) = &found.reach {
        out.push_str(&listed_whole(app, own, below));
    }
    app.screen.out(&out)?;
    Ok(Exit::OK)
}

/// Each contract, one a line, with what has become of it.
fn list(app: &App) -> Result<String, ServiceError> {
    let mut out = String::new();
    for (file, state) in trusted_files(app)? {
        let now = match state {
            TrustedState::Unchanged => "as trusted",
            TrustedState::Changed => "changed since",
            TrustedState::Unreadable => "not readable",
            TrustedState::Missing => "not there",
        };
        let path = line(&file.path.display().to_string());
        let folder = file.folder.as_ref();
        let folder = folder.map(|folder| line(&folder.display().to_string()));
        let of = folder.map_or_else(String::new, |folder| format!(", for contracts in {folder}"));
        let hash = file.blake3.short(12);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{hash}  {now:<13}  {path}{of}");
    }
    if out.is_empty() {
        out.push_str("No contracts are trusted, except those that you name in a command.\n");
    }
    Ok(out)
}
