//! `monolith model`: lists, adds, removes and verifies the files of embedded models. Loads none of them.

use super::args::ModelCommand;
use super::prove::prove;
use super::pull::{Pulled, pull};
use super::render::{listed, profile_of, stored_text};
use crate::context::app::App;
use crate::context::reading::reading;
use monolith_host::inference::{ModelStore, NewModel};
use monolith_service::error::ServiceError;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;

/// `monolith model`.
pub(crate) fn model(app: &App, command: &ModelCommand) -> Result<Exit, ServiceError> {
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
