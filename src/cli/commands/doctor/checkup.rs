//! Everything that `doctor` looks at, in the order in which it is needed. Changes nothing.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::args::DoctorArgs;
use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_core::contract::{ProviderType, recorded_url};
use monolith_host::driver::KeyFileError;
use monolith_host::store::{Exposure, RunFilter, StoreError, free_bytes, replace_own};
use monolith_service::error::ServiceError;
use monolith_service::error::state::StateFault;
use monolith_service::found::endpoint::other_server;
use monolith_service::found::no_way::ways_out;
use monolith_service::found::servers::running;
use monolith_service::keys::LOCAL_KEY;
use monolith_service::permissions::Looser;
use monolith_service::text::command::{command, typed_word};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{counted, grouped};

mod answered;
mod confinement;
mod embedded;
mod finding;
mod needed;
mod program;
mod progress;

use confinement::confinement;
use embedded::{build_tools, engine, models, tokenizers};
pub(super) use finding::{Finding, Status};
use finding::{missing, ok, wrong};
use needed::needed;
use program::{ran, version_of};
pub(super) use progress::at_rest;
use progress::progress;

/// Less free room than this ends runs before long.
const LITTLE_ROOM: u64 = 256 << 20;
/// No clock of today stands before this moment: 2025-01-01 UTC.
const EARLIEST: Duration = Duration::from_secs(1_735_689_600);
/// Maximum lead of a file's time over the clock.
const TOLERANCE: Duration = Duration::from_secs(120);
/// Maximum number of counted runs.
const MOST_RUNS: usize = 100_000;

/// The findings.
#[derive(Debug)]
pub(crate) struct Checkup {
    /// The needs of the named contract.
    pub(in crate::commands::doctor) needed: Vec<Finding>,
    /// Anything that any run needs, or may use.
    pub(in crate::commands::doctor) general: Vec<Finding>,
}

impl Checkup {
    /// All of it, what the contract needs first.
    pub(in crate::commands::doctor) fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.needed.iter().chain(&self.general)
    }
}

/// The proxies that the environment names for model requests and tool servers; none where it names none.
fn proxies(app: &App) -> Vec<Finding> {
    let proxies = app.environment.proxies();
    let exempt = match proxies.exempt() {
        [] => String::new(),
        hosts => format!(", not for {}", line(&hosts.join(", "))),
    };
    let found = proxies.named().into_iter().map(|named| match named {
        Ok((variable, proxy)) => ok("proxy", format!("{variable} is {}{exempt}", line(&proxy))),
        Err(fault) => {
            let fix = format!("export {}=http://HOST:PORT, or unset it", fault.variable);
            wrong("proxy", line(&fault.to_string()), fix)
        }
    });
    found.collect()
}

/// Looks at everything, in the order in which it is needed.
pub(crate) fn checkup(app: &App, args: &DoctorArgs) -> Result<Checkup, ServiceError> {
    let folder = app.models_folder()?;
    let state = folder.parent().unwrap_or(&folder);
    let mut found = vec![state_folder(state), store(app)];
    found.extend([signing_key(app), redaction_key(app)]);
    found.extend([modes(app)?, room(state)]);
    found.extend([clock(app), terminal()]);
    found.extend(proxies(app));
    found.push(engine());
    if !cfg!(feature = "local") {
        found.push(build_tools());
    }
    found.push(tokenizers());
    found.extend(models(app, &folder)?);
    progress(app, "looking for model servers");
    let servers = runtime()?.block_on(running(&args.places.places(), &app.environment));
    for server in &servers {
        let count = counted(server.models.len(), "model");
        let address = recorded_url(&server.address);
        let detail = format!("{} at {address}, {count}", server.kind.name());
        found.push(if server.models.is_empty() {
            wrong("model server", detail, "let it load a model")
        } else {
            ok("model server", detail)
        });
    }
    for (kind, address) in args.places.places().unanswered(&servers) {
        let detail = format!("no {} answers at {}", kind.name(), recorded_url(address));
        found.push(wrong(
            "model server",
            detail,
            "start it, or correct the address",
        ));
    }
    if servers.is_empty() && args.places.places().unanswered(&servers).next().is_none() {
        let asked = args.places.places().description(&app.environment);
        let other = runtime()?.block_on(other_server(&args.places.places(), &app.environment));
        found.push(match other {
            Some(address) => ok(
                "model server",
                format!(
                    "{asked}; another server lists models there: {} takes it",
                    app.hint(&format!("init --base-url {address}"))
                ),
            ),
            None => missing("model server", asked, ways_out()),
        });
    }
    found.push(keys(app));
    found.push(confinement(app));
    found.extend(python());
    let needed = match &args.contract {
        Some(file) => needed(app, file, &args.sets)?,
        None => Vec::new(),
    };
    Ok(Checkup {
        needed,
        general: found,
    })
}

fn state_folder(state: &Path) -> Finding {
    let name = "state folder";
    let shown = state.display();
    if !state.exists() {
        return missing(
            name,
            format!("{shown} does not exist yet"),
            "the first run creates it",
        );
    }
    let fix = "make it yours to write, or name another with MONOLITH_HOME";
    // Where others can write, they decide what a file is that we make.
    if let Some(exposure) = Exposure::to_write(state) {
        return wrong(name, format!("others can write {shown}: {exposure}"), fix);
    }
    let probe = state.join(format!(".doctor-{}", std::process::id()));
    let written = replace_own(&probe, b"x").and_then(|()| std::fs::remove_file(&probe));
    match written {
        Ok(()) => ok(name, shown.to_string()),
        Err(fault) => wrong(name, format!("{shown} cannot be written: {fault}"), fix),
    }
}

fn store(app: &App) -> Finding {
    let name = "store of runs";
    let counted_runs = app.reader().and_then(|reader| match reader {
        None => Ok(None),
        Some(reader) => Ok(Some(reader.list_runs(MOST_RUNS, RunFilter::All)?.len())),
    });
    match counted_runs {
        Ok(None) => missing(name, "there is none yet", "the first run creates it"),
        Ok(Some(runs)) => ok(name, counted(runs, "run")),
        Err(ServiceError::State(StateFault::NoSuchStore { path })) => missing(
            name,
            format!("{} does not exist", path.display()),
            "the first run creates it",
        ),
        Err(fault) => {
            let fix = match &fault {
                ServiceError::Store(StoreError::OlderFormat { .. }) => {
                    "monolith migrate upgrades it"
                }
                ServiceError::Store(StoreError::NewerFormat { .. }) => {
                    "use the build of monolith that wrote it, or a newer one"
                }
                ServiceError::Store(StoreError::Locked { .. }) => {
                    "wait for the process that uses it"
                }
                _ => "name another with --store; this one was not changed",
            };
            wrong(name, fault.summary(), fix)
        }
    }
}

fn signing_key(app: &App) -> Finding {
    let name = "signing key";
    let key = app
        .keys()
        .and_then(|keys| Ok((keys.show(LOCAL_KEY)?, keys.ring()?)));
    match key {
        Ok((key, _)) => ok(name, key.public().to_string()),
        Err(ServiceError::Key(KeyFileError::None { .. })) => missing(
            name,
            "there is none yet",
            "the first run creates it, or monolith key generate",
        ),
        Err(fault) => {
            let rotate = command("monolith key rotate");
            let fix = format!(
                "if no one else has read it: {}; else {rotate}",
                closing(&fault)
            );
            wrong(name, fault.summary(), fix)
        }
    }
}

/// Checks whether others may read or write the owner's private files.
fn modes(app: &App) -> Result<Finding, ServiceError> {
    let name = "modes";
    let found = Looser::of(app)?;
    if found.is_empty() {
        return Ok(ok(name, "state and store are their owner's alone"));
    }
    let detail = format!("others may read or write {}", found.named());
    Ok(wrong(name, detail, found.fix()))
}

/// The command that makes the file of a key its owner's alone.
fn closing(fault: &ServiceError) -> String {
    match fault {
        ServiceError::Key(KeyFileError::Permissions { path, .. }) => {
            let path = typed_word(&path.display().to_string());
            command(&format!("chmod 600 {path}"))
        }
        _ => "let only its owner read and write it".to_owned(),
    }
}

fn redaction_key(app: &App) -> Finding {
    let name = "redaction key";
    match app
        .keys()
        .and_then(|keys| Ok(keys.existing_redaction_key()?))
    {
        Ok(_) => ok(name, "it can be read, and only by you"),
        Err(ServiceError::Key(KeyFileError::None { .. })) => {
            missing(name, "there is none yet", "the first run creates it")
        }
        Err(fault) => {
            let fix = format!(
                "if no one else has read it: {}; without it commitments of earlier runs cannot be opened",
                closing(&fault)
            );
            wrong(name, fault.summary(), fix)
        }
    }
}

fn room(state: &Path) -> Finding {
    let name = "room on the disk";
    let there = state.ancestors().find(|folder| folder.exists());
    match there.and_then(free_bytes) {
        None => ok(name, "this system does not say"),
        Some(free) if free < LITTLE_ROOM => wrong(
            name,
            format!("{} MiB are free", grouped(free >> 20)),
            "make room, or name a folder on another disk with MONOLITH_HOME",
        ),
        Some(free) => ok(name, format!("{} MiB are free", grouped(free >> 20))),
    }
}

fn clock(app: &App) -> Finding {
    let name = "clock";
    let now = SystemTime::now();
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let written = app.store_path().ok();
    let written = written.and_then(|path| std::fs::metadata(path).ok()?.modified().ok());
    let ahead = written.and_then(|written| written.duration_since(now).ok());
    let fix = "set the clock: entries carry its time";
    if since < EARLIEST {
        return wrong(name, "it is set before 2025", fix);
    }
    match ahead.filter(|ahead| *ahead > TOLERANCE) {
        Some(ahead) => wrong(
            name,
            format!("the store was written {} s from now", ahead.as_secs()),
            fix,
        ),
        None => ok(
            name,
            monolith_core::message::utc(u64::try_from(since.as_millis()).unwrap_or(0)) + " UTC",
        ),
    }
}

fn terminal() -> Finding {
    let kind = |terminal: bool| if terminal { "terminal" } else { "pipe or file" };
    let (asks, shows, tells) = (
        io::stdin().is_terminal(),
        io::stdout().is_terminal(),
        io::stderr().is_terminal(),
    );
    ok(
        "terminal",
        format!(
            "input {}, answers {}, progress {}",
            kind(asks),
            kind(shows),
            kind(tells)
        ),
    )
}

/// The usual keys, by their names alone.
fn keys(app: &App) -> Finding {
    let name = "keys";
    let mut set: Vec<&str> = ProviderType::ALL
        .iter()
        .filter_map(|provider| provider.usual_key_env())
        .filter(|variable| app.environment.get(variable).is_some())
        .collect();
    set.dedup();
    if set.is_empty() {
        return missing(
            name,
            "no usual variable of a hosted provider is set",
            "export ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY",
        );
    }
    ok(name, format!("{} set", set.join(", ")))
}

fn python() -> Vec<Finding> {
    let (verifier, pip) = ("second verifier", "pip");
    let Some(version) = version_of("python3") else {
        let fix = "install Python 3; only the second verifier and monolith model pull need it";
        return vec![missing(verifier, "python3 was not found", fix)];
    };
    let has_modules = ran("python3", &["-c", "import blake3, cryptography"]).is_some();
    let mut found = vec![if has_modules {
        ok(
            verifier,
            format!("{version} has what verifier/verify.py imports"),
        )
    } else {
        missing(
            verifier,
            format!(
                "{version} cannot import blake3 and cryptography, which verifier/verify.py needs"
            ),
            command("python3 -m pip install -r verifier/requirements.txt"),
        )
    }];
    let has_pip = ran("python3", &["-m", "pip", "--version"]).is_some();
    found.push(if has_pip {
        ok(pip, "known models can be pulled")
    } else {
        missing(
            pip,
            "python3 has no pip",
            "Debian, Ubuntu: apt-get install python3-pip; monolith model add takes a file without it",
        )
    });
    found
}
