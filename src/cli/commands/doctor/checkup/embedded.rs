//! The embedded engine: whether it is built in, whether this processor runs it, and whether stored models are whole.

use std::path::Path;

use crate::commands::doctor::checkup::finding::{Finding, missing, ok, wrong};
use crate::commands::doctor::checkup::program::version_of;
use crate::context::app::App;
use crate::context::reading::reading;
use monolith_host::inference::{
    BuiltInTokenizers, KNOWN_MODELS, ModelStore, ModelStoreError, engine_features, lacking_features,
};
use monolith_service::error::ServiceError;
use monolith_service::text::command::command;
use monolith_service::text::escape::line;

/// Checks that this build has the engine, and this processor the features for it.
pub(super) fn engine() -> Finding {
    let name = "embedded engine";
    let lacking = lacking_features();
    let needed = engine_features().join(", ");
    if !lacking.is_empty() {
        let detail = format!("this processor lacks {}", lacking.join(", "));
        let fix = "use a model server instead: monolith init finds one";
        return if cfg!(feature = "local") {
            wrong(name, detail, fix)
        } else {
            missing(name, detail, fix)
        };
    }
    if cfg!(feature = "local") {
        return ok(name, format!("built in; this processor has {needed}"));
    }
    missing(
        name,
        "this build has none",
        command("cargo build --release --features local"),
    )
}

/// The encoders that tokens can be estimated with: without one, bytes / 4.
pub(super) fn tokenizers() -> Finding {
    let name = "tokenizers";
    match BuiltInTokenizers::IDS {
        [] => missing(
            name,
            "this build has none: tokens are estimated as bytes / 4",
            command("cargo build --release --features tokenizers"),
        ),
        ids => ok(name, ids.join(", ")),
    }
}

/// Checks the tools that build the engine; reported only if it is not built in.
pub(super) fn build_tools() -> Finding {
    let name = "to build it";
    let mut lacking = Vec::new();
    for tool in ["cmake", "c++"] {
        if version_of(tool).is_none() {
            lacking.push(tool);
        }
    }
    if !has_libclang() {
        lacking.push("libclang");
    }
    if lacking.is_empty() {
        return ok(name, "cmake, a C++ compiler and libclang are here");
    }
    missing(
        name,
        format!("this machine lacks {}", lacking.join(", ")),
        "Debian, Ubuntu: apt-get install --no-install-recommends cmake g++ libclang1-14 libclang-common-14-dev (or the version \
         that it has); elsewhere the packages of those names",
    )
}

fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let mut folders: Vec<std::path::PathBuf> = Vec::new();
    for (parent, inner) in [("/usr/lib", ""), ("/usr/lib", "lib"), ("/usr/local", "lib")] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join(inner)));
    }
    folders.extend(["/usr/lib64", "/usr/local/lib", "/opt/homebrew/opt/llvm/lib"].map(Into::into));
    folders.push("/Library/Developer/CommandLineTools/usr/lib".into());
    folders.iter().any(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .any(|name| name.starts_with("libclang.") || name.starts_with("libclang-"))
    })
}

/// Reads every stored model whole; progress is shown, and a user who does not want to wait can end it.
pub(super) fn models(app: &App, folder: &Path) -> Result<Vec<Finding>, ServiceError> {
    let name = "model";
    let store = ModelStore::new(folder.to_owned());
    let stored = match store.list() {
        Err(fault) => return Ok(vec![wrong(name, fault.to_string(), "remove that file")]),
        Ok(stored) => stored,
    };
    if stored.is_empty() {
        let known = KNOWN_MODELS.map(|known| known.name).join(", ");
        let fix = command(&format!("monolith model pull {known}"));
        return Ok(vec![missing(name, "none is stored", fix)]);
    }
    let mut found = Vec::new();
    for model in &stored {
        let verified = reading(app, line(&model.name), model.bytes, |reading| {
            store.verify(&model.name, reading)
        });
        found.push(match verified? {
            Ok(_) => {
                let mib = model.bytes.saturating_add(1 << 19) >> 20;
                ok(
                    name,
                    format!("{}: {mib} MiB, its hash is right", model.name),
                )
            }
            Err(fault @ ModelStoreError::Stopped { .. }) => return Err(fault.into()),
            Err(fault) => {
                let fix = format!("monolith model remove {}, and get it again", model.name);
                wrong(name, fault.to_string(), fix)
            }
        });
    }
    Ok(found)
}
