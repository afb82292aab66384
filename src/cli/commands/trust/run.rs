//! `monolith trust`: trusts a contract as it is, lists what is trusted, and takes that back.

use std::fmt::Write as _;
use std::path::Path;

use super::args::TrustArgs;
use crate::cli::context::app::App;
use crate::cli::context::contract_file::{ContractFile, look_for_agent_file};
use crate::cli::context::error::{CliError, ContractFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::trusted::Trusted;
use crate::cli::ui::escape::line;
use crate::message::Digest;

/// `monolith trust`.
pub(in crate::cli) fn trust(app: &App, args: &TrustArgs) -> Result<Exit, CliError> {
    let trusted = Trusted::of(app)?;
    if args.list {
        app.screen.out(&list_of(app, &trusted))?;
        return Ok(Exit::OK);
    }
    if args.file.is_none() {
        look_for_agent_file(app, None, "trust FILE")?;
    }
    let file = ContractFile::given_or_found(app, args.file.clone(), Vec::new());
    let name = file.name().to_owned();
    let path = app.cwd.join(&name);
    let shown = line(&name.display().to_string());
    if args.remove {
        if !trusted.remove(&path)? {
            return Err(ContractFault::NotTrusted { path: name }.into());
        }
        app.screen.out(&format!("no longer trusted: {shown}\n"))?;
        return Ok(Exit::OK);
    }
    let text = file.text()?;
    let spec = file.parse(app, &text)?;
    let below = file.agents_below(app, &spec)?;
    let read = file.as_read(&text, &spec, &below)?;
    let reach = read.listed(app)?;
    read.trust(app, trusted)?;
    let hash = file.digest_of(&text)?.short(12);
    app.screen
        .out(&format!("trusted as it is now: {shown} ({hash})\n{reach}"))?;
    Ok(Exit::OK)
}

/// Each contract, one a line, with what has become of it.
fn list_of(app: &App, trusted: &Trusted) -> String {
    let mut out = String::new();
    for (path, hash) in trusted.all() {
        let now = match now(app, path) {
            Some(now) if now == hash => "as trusted",
            Some(_) => "changed since",
            None => "not there",
        };
        let shown = line(&path.display().to_string());
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}  {now:<13}  {shown}", hash.short(12));
    }
    if out.is_empty() {
        out.push_str("No contract is trusted that is not named.\n");
    }
    out
}

/// The present digest of the file; `None` if it, or one that it includes, cannot be read.
fn now(app: &App, path: &Path) -> Option<Digest> {
    let file = ContractFile::given(app, path.to_owned(), Vec::new());
    file.digest_of(&file.text().ok()?).ok()
}
