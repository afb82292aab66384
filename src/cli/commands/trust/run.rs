//! `monolith trust`: trusts a contract or a layer as it is, lists trusted files, and forgets them.

use std::fmt::Write as _;
use std::path::Path;

use super::args::TrustArgs;
use crate::context::app::App;
use crate::context::trust::listed_whole;
use monolith_core::contract::{ContractSpec, FileTrust};
use monolith_host::config::HERE;
use monolith_service::contract_file::{ContractFile, look_for_agent_file};
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::trusted::Trusted;

/// `monolith trust`.
pub(crate) fn trust(app: &App, args: &TrustArgs) -> Result<Exit, ServiceError> {
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
    let (files, reach) = if is_layer(&path) {
        (layer_of(app, &path)?, String::new())
    } else if file.is_workflow() {
        let workflow = file.read_workflow(app)?;
        let below = file.agents_of_workflow(app, &workflow);
        let own = workflow.contract.clone().unwrap_or_default();
        let files = file.all_files(&file.text()?, &own, &below)?;
        let own = workflow.contract.map(|_| ContractSpec {
            task: Some(String::new()),
            ..own
        });
        let (own, below) = file.as_read(own.as_ref(), &below, &files).reached(app)?;
        let reach = listed_whole(app, &own, &below);
        (files, reach)
    } else {
        let text = file.text()?;
        let spec = file.parse(app, &text)?;
        let below = file.agents_below(app, &spec)?;
        let files = file.all_files(&text, &spec, &below)?;
        let (own, below) = file.as_read(Some(&spec), &below, &files).reached(app)?;
        let reach = listed_whole(app, &own, &below);
        (files, reach)
    };
    let mut out = String::new();
    for one in &files {
        let name = one.path.strip_prefix(&app.cwd).unwrap_or(&one.path);
        let (name, hash) = (line(&name.display().to_string()), one.blake3.short(12));
        // Writing to a String cannot fail.
        let _ = writeln!(out, "trusted as it is now: {name} ({hash})");
    }
    trusted.add(app, files)?;
    app.screen.out(&format!("{out}{reach}"))?;
    Ok(Exit::OK)
}

fn is_layer(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == HERE)
}

/// Returns the layer at that path, for contracts in its folder.
fn layer_of(app: &App, path: &Path) -> Result<Vec<FileTrust>, ServiceError> {
    let folder = path.parent().unwrap_or(&app.cwd);
    let layers = app.layers((folder, None), folder, None)?;
    let found = layers.all_found(folder)?;
    if found.is_empty() {
        let reason = "there is no such file".to_owned();
        let path = path.to_owned();
        return Err(ContractFault::Unreadable { path, reason }.into());
    }
    Ok(found)
}

/// Each contract, one a line, with what has become of it.
fn list_of(app: &App, trusted: &Trusted) -> String {
    let mut out = String::new();
    for file in trusted.all() {
        let now = match now(app, &file) {
            Ok(true) => "as trusted",
            Ok(false) => "changed since",
            Err(_) if file.path.exists() => "not readable",
            Err(_) => "not there",
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
        out.push_str("No contract is trusted that is not named.\n");
    }
    out
}

/// True if the file is as it was trusted.
fn now(app: &App, trusted: &FileTrust) -> Result<bool, ServiceError> {
    let path = &trusted.path;
    if is_layer(path) {
        let own = path.parent().unwrap_or(path);
        let folder = trusted.folder.as_deref().unwrap_or(own);
        let layers = app.layers((own, None), folder, None)?;
        return Ok(layers.all_found(folder)?.contains(trusted));
    }
    let file = ContractFile::given(app, path.clone(), Vec::new());
    let text = file.text()?;
    let spec = if file.is_workflow() {
        file.read_workflow(app)?.contract.unwrap_or_default()
    } else {
        file.parse(app, &text)?
    };
    Ok(file.own_trust(&text, &spec)? == *trusted)
}
