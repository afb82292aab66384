//! `monolith config show`: what the layers say together, and which file says it.

use std::fmt::Write as _;
use std::path::Path;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use crate::context::app::App;
use monolith_host::config::ShownValue;
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::secrets::without_secrets;
use monolith_service::text::escape::line;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the merged settings of all .ai-agent.json files
    ///
    /// Prints one JSON document. Placeholders stay unexpanded, and secrets are masked.
    Show(ShowConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ShowConfigArgs {
    /// Also look next to this contract or agent
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Print each key with the file that sets it
    #[arg(long)]
    pub(crate) origin: bool,
}

/// `monolith config`.
pub(crate) fn config(app: &App, command: &ConfigCommand) -> Result<Exit, ServiceError> {
    match command {
        ConfigCommand::Show(args) => show(app, args),
    }
}

fn show(app: &App, args: &ShowConfigArgs) -> Result<Exit, ServiceError> {
    let beside = args.file.as_deref().and_then(Path::parent);
    let folder = beside.map_or_else(|| app.cwd.clone(), |folder| app.cwd.join(folder));
    if let Some(file) = args
        .file
        .as_deref()
        .filter(|file| !app.cwd.join(file).exists())
    {
        let file = line(&file.display().to_string());
        let note = format!("note: there is no {file}; this is what a file there would see\n");
        app.screen.write_err(&note);
    }
    let layers = app.layers((&app.cwd, app.named_config()), &folder, None)?;
    let (mut values, files) = layers.shown()?;
    for shown in &mut values {
        hide_credentials(&mut shown.value);
    }
    if files.is_empty() {
        app.screen.write_err(
            "note: no .ai-agent.json was found here, in the program's folder, in the home or in /etc\n",
        );
    }
    if args.origin {
        app.screen.out(&listed(&values))?;
    } else {
        let document = Value::Object(together(&values));
        let text = serde_json::to_string_pretty(&document).map_err(std::io::Error::from)?;
        app.screen.out_json_text(&format!("{text}\n"))?;
    }
    Ok(Exit::OK)
}

/// Takes out what is a well-known credential by its form, wherever it stands.
fn hide_credentials(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_secrets(text),
        Value::Array(items) => items.iter_mut().for_each(hide_credentials),
        Value::Object(members) => members.values_mut().for_each(hide_credentials),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Each value with its key, below the file that it is from.
fn listed(values: &[ShownValue]) -> String {
    let mut out = String::new();
    let mut files: Vec<&Path> = Vec::new();
    for value in values {
        if !files.contains(&&*value.file) {
            files.push(&value.file);
        }
    }
    for file in files {
        let _ = writeln!(out, "{}", line(&file.display().to_string()));
        for value in values.iter().filter(|value| *value.file == *file) {
            let path = line(&value.path.join("."));
            let _ = writeln!(out, "  {path} = {}", line(&value.value.to_string()));
        }
    }
    out
}

/// The values as one document.
fn together(values: &[ShownValue]) -> Map<String, Value> {
    let mut document = Map::new();
    for shown in values {
        put(&mut document, &shown.path, &shown.value);
    }
    document
}

fn put(document: &mut Map<String, Value>, path: &[String], value: &Value) {
    match path {
        [] => {}
        [last] => drop(document.insert(last.clone(), value.clone())),
        [first, rest @ ..] => {
            let below = document.entry(first.clone());
            let below = below.or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                put(below, rest, value);
            }
        }
    }
}
