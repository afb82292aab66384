//! `monolith model prove`: how often a call comes first, with the gate and without it. Counts what `conformance` judges.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::args::ProveArgs;
use super::render::report_text;
use super::tally::{Document, Tally};
use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_conformance::{GateTrial, GateVerdict, gate_contract, try_gate};
use monolith_host::driver::embedded_model;
use monolith_host::inference::ModelStore;
use monolith_service::error::ServiceError;
use monolith_service::error::model::ModelFault;
use monolith_service::exit::Exit;

pub(super) fn prove(app: &App, args: &ProveArgs) -> Result<Exit, ServiceError> {
    let path = file_to_prove(app, args)?;
    let document = runtime()?.block_on(async {
        Ok::<_, ServiceError>(Document {
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

/// The file of the model to ask: the stored one of that name, else a file.
fn file_to_prove(app: &App, args: &ProveArgs) -> Result<PathBuf, ServiceError> {
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

async fn tally(
    app: &App,
    (args, path): (&ProveArgs, &Path),
    gate: bool,
) -> Result<Tally, ServiceError> {
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
