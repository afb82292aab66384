use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::args::{ModelCommand, ProveArgs};
use super::pull::{Pulled, pull};
use crate::cli::context::app::App;
use crate::cli::context::error::{CliError, ModelFault};
use crate::cli::context::exit::Exit;
use crate::cli::context::found::other_profile;
use crate::cli::context::reading::reading;
use crate::cli::context::runtime::runtime;
use crate::cli::ui::escape::line;
use crate::conformance::{GateTrial, GateVerdict, gate_contract, try_gate};
use crate::contract::{ModelProfile, ProviderType};
use crate::driver::embedded_model;
use crate::inference::{KNOWN_MODELS, KnownModel, ModelStore, NewModel, StoredModel};
use crate::message::amount;

/// How often what came first.
#[derive(Debug, Default, Serialize)]
struct Tally {
    /// A call that fits its tool's schema, with no byte before it.
    valid: u64,
    /// Text before any call.
    free_text: u64,
    /// A call that is none, or does not fit.
    invalid: u64,
    /// No answer.
    failed: u64,
    /// The first that was not valid, in words.
    first_other: Option<String>,
}

#[derive(Serialize)]
struct Document {
    seeds: u64,
    temperature: f64,
    gate: Tally,
    no_gate: Tally,
}

/// `monolith model`.
pub(in crate::cli) fn model(app: &App, command: &ModelCommand) -> Result<Exit, CliError> {
    let store = ModelStore::new(app.models_folder()?);
    let text = match command {
        ModelCommand::Prove(args) => return prove(app, args),
        ModelCommand::List => listed(&store.list()?),
        ModelCommand::Pull(args) => match pull(app, args)? {
            Pulled::Before(model) => stored_text("here already", &model),
            Pulled::Now(model) => stored_text("stored", &model),
        },
        ModelCommand::Add(args) => {
            app.ready_models()?;
            let file = app.cwd.join(&args.file);
            let model = NewModel {
                expected: None,
                licence: None,
                name: &args.name,
                source: "a file",
            };
            let total = std::fs::metadata(&file).map_or(0, |file| file.len());
            let added = reading(app, line(&args.name), total, |reading| {
                store.add(&file, model, reading)
            });
            let added = added??;
            stored_text("stored", &added) + &profile_of(&store, &added)
        }
        ModelCommand::Remove(args) => {
            app.own_state()?;
            stored_text("removed", &store.remove(&args.name)?)
        }
        ModelCommand::Verify(args) => {
            let total = store.stored(&args.name)?.map_or(0, |model| model.bytes);
            let verified = reading(app, line(&args.name), total, |reading| {
                store.verify(&args.name, reading)
            });
            stored_text("unchanged", &verified??)
        }
    };
    app.screen.out(&text)?;
    Ok(Exit::OK)
}

fn stored_text(what: &str, model: &StoredModel) -> String {
    let StoredModel {
        blake3,
        bytes,
        name,
        ..
    } = model;
    let bytes = amount(*bytes, "byte");
    format!("{what}: {} {bytes}, blake3 {blake3}\n", line(name))
}

/// What contracts have to say of a model whose name tells no profile.
fn profile_of(store: &ModelStore, model: &StoredModel) -> String {
    let by_name = ModelProfile::describing(ProviderType::Local, &model.name);
    match (other_profile(store, model), by_name) {
        (Some(id), _) => format!("its name does not tell; contracts name its profile: model_profile_id: {id}\n"),
        (None, Some(profile)) if profile.id != "unknown" => format!("its profile: {}\n", profile.id),
        (None, _) => "its profile: unknown, for neither its name nor its file tells a family; monolith profile list names those that \
                      contracts can give as model_profile_id\n"
            .to_owned(),
    }
}

fn listed(models: &[StoredModel]) -> String {
    let mut out = String::new();
    for model in models {
        let licence = model.licence.as_deref().unwrap_or("licence unknown");
        let hash = model.blake3.to_string();
        let hash = hash.get(..16).unwrap_or_default();
        let (name, licence, source) = (line(&model.name), line(licence), line(&model.source));
        let _ = writeln!(
            out,
            "{name:<24}{:>14} bytes  {hash}  {licence}, from {source}",
            model.bytes
        );
    }
    for known in KNOWN_MODELS {
        if models.iter().all(|model| model.name != known.name) {
            let KnownModel {
                bytes,
                licence,
                name,
                what,
                ..
            } = known;
            let _ = writeln!(
                out,
                "{name:<24}{bytes:>14} bytes  not here: monolith model pull {name}  ({what}, {licence})"
            );
        }
    }
    out
}

/// The file of the model to ask: the stored one of that name, else a file.
fn file_to_prove(app: &App, args: &ProveArgs) -> Result<PathBuf, CliError> {
    let store = ModelStore::new(app.models_folder()?);
    // What can be no name of the store can still be one of a file.
    if let Ok(stored) = store.find(&args.model) {
        return Ok(stored);
    }
    let path = app.cwd.join(&args.model);
    if path.exists() {
        return Ok(path);
    }
    let asked = args.model.clone();
    Err(ModelFault::NoneToProve { asked, path }.into())
}

fn prove(app: &App, args: &ProveArgs) -> Result<Exit, CliError> {
    let path = file_to_prove(app, args)?;
    let document = runtime()?.block_on(async {
        Ok::<_, CliError>(Document {
            seeds: args.seeds,
            temperature: args.temperature,
            gate: tally(app, (args, &path), true).await?,
            no_gate: tally(app, (args, &path), false).await?,
        })
    })?;
    if args.json {
        app.screen.out_json(&document)?;
    } else {
        app.screen.out(&report_text(&document))?;
    }
    Ok(if document.gate.valid == document.seeds {
        Exit::OK
    } else {
        Exit::FAILED
    })
}

async fn tally(
    app: &App,
    (args, path): (&ProveArgs, &Path),
    gate: bool,
) -> Result<Tally, CliError> {
    let broken = |reason: String| ModelFault::Trial { reason };
    let trial = |seed: u64| {
        let temperature = args.temperature;
        gate_contract(GateTrial {
            gate,
            seed,
            temperature,
        })
        .map_err(broken)
    };
    let (_, contract) = trial(0)?;
    let backend = embedded_model(path.to_owned(), &contract, &app.environment).await;
    let probe = backend.probe(&[], &CancellationToken::new()).await;
    if !probe.responsive {
        return Err(ModelFault::Unavailable {
            reason: probe.detail,
        }
        .into());
    }
    let mut tally = Tally::default();
    for seed in 0..args.seeds {
        let (spec, contract) = trial(seed)?;
        let task = spec.task.unwrap_or_default();
        let other = match try_gate(&backend, &contract, &task).await {
            GateVerdict::Valid => {
                tally.valid += 1;
                None
            }
            GateVerdict::FreeText => {
                tally.free_text += 1;
                Some("free text".to_owned())
            }
            GateVerdict::Invalid(why) => {
                tally.invalid += 1;
                Some(why)
            }
            GateVerdict::Failed(why) => {
                tally.failed += 1;
                Some(why)
            }
        };
        if let (None, Some(why)) = (&tally.first_other, other) {
            tally.first_other = Some(format!("seed {seed}: {why}"));
        }
        if app.screen.is_watched() && (seed + 1) % 20 == 0 {
            let which = if gate { "with the gate" } else { "without" };
            app.screen
                .note(&format!("{which}: {} of {}", seed + 1, args.seeds));
        }
    }
    Ok(tally)
}

fn report_text(document: &Document) -> String {
    let line = |name: &str, tally: &Tally| {
        let Tally {
            valid,
            free_text,
            invalid,
            failed,
            ..
        } = tally;
        format!("{name:<15}{valid:>9}{free_text:>12}{invalid:>10}{failed:>9}\n")
    };
    let mut out = format!(
        "{} seeds at temperature {}, three tools; what comes first:\n{:<15}{:>9}{:>12}{:>10}{:>9}\n",
        document.seeds, document.temperature, "", "a call", "free text", "no call", "nothing"
    );
    out.push_str(&line("gate closed", &document.gate));
    out.push_str(&line("without it", &document.no_gate));
    if let Some(other) = &document.gate.first_other {
        let _ = writeln!(out, "gate closed, the first otherwise: {other}");
    }
    out
}
