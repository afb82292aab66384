//! The offers of a contract's tool servers, written into its file and next to it. Begins no run.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::preview::preview;
use crate::contract_file::{ContractFile, look_for_agent_file};
use crate::error::ServiceError;
use crate::error::contract::ContractFault;
use crate::error::system::SystemFault;
use crate::service::Service;
use crate::trusted::Trusted;
use monolith_core::contract::{ContractSpec, PinnedOffers, with_pins};
use monolith_core::message::Digest;
use monolith_host::driver::{Preview, ServersToStart};
use monolith_host::store::NewFile;

/// The mode of the file beside the contract if there is none yet.
const MODE: u32 = 0o644;

/// The pins of a contract's tool servers.
#[derive(Debug)]
pub struct PinnedContract {
    /// Pins by server; `None` if a server is down, and nothing was written.
    pub pins: Option<BTreeMap<String, PinnedServer>>,
    /// The contract.
    pub preview: Preview,
}

/// The pin of a tool server.
#[derive(Clone, Copy, Debug)]
pub struct PinnedServer {
    /// Pin that the file had before.
    pub before: Option<Digest>,
    /// Pin of the tools that the server offers now.
    pub pin: Digest,
}

/// Starts the tool servers of a contract file, and writes the pin of each into it.
///
/// # Errors
///
/// The file gives no contract, needs trust, or cannot be written.
pub async fn pin(
    service: &Service,
    given: Option<PathBuf>,
) -> Result<PinnedContract, ServiceError> {
    if given.is_none() {
        look_for_agent_file(service, None, "contract pin FILE")?;
    }
    let file = ContractFile::given_or_found(service, given, Vec::new());
    let text = file.text()?;
    let mut spec = file.parse(service, &text)?;
    file.judge_trust(service, &text, &mut spec)?;
    let all = ServersToStart::All;
    let preview = preview(service, &file, spec.clone(), Vec::new(), all).await?;
    let contract = &preview.contract;
    let outside = contract.servers.iter();
    let outside = outside.filter(|(_, server)| !server.kind.is_of_author());
    let pins: Option<BTreeMap<String, Digest>> = outside
        .map(|(name, server)| Some((name.clone(), server.pin?)))
        .collect();
    let Some(pins) = pins else {
        let pins = None;
        return Ok(PinnedContract { pins, preview });
    };
    if !pins.is_empty() {
        let pinned = pinned_text(service, &file, (&spec, &text), &pins)?;
        put(&file.pins_path(), &PinnedOffers::of(contract).text())?;
        if pinned != text {
            let trusted = Trusted::of(service)?;
            let was_trusted = trusted.has(&file.own_trust(&text, &spec)?);
            put(file.path(), &pinned)?;
            if was_trusted {
                let own = file.own_trust(&pinned, &file.parse(service, &pinned)?)?;
                let texts = BTreeMap::from([(own.path.clone(), pinned)]);
                trusted.add(service, [own], &texts)?;
            }
        }
    }
    let pins = pins.into_iter().map(|(name, pin)| {
        let server = spec.tools.servers.get(&name);
        let before = server.and_then(|server| server.pin);
        (name, PinnedServer { before, pin })
    });
    Ok(PinnedContract {
        pins: Some(pins.collect()),
        preview,
    })
}

/// Returns the text of the file with these pins, if it says the same otherwise.
fn pinned_text(
    service: &Service,
    file: &ContractFile,
    (spec, text): (&ContractSpec, &str),
    pins: &BTreeMap<String, Digest>,
) -> Result<String, ServiceError> {
    let mut expect = plain(spec);
    for (name, server) in &mut expect.tools.servers {
        server.pin = pins.get(name).copied().or(server.pin);
    }
    let is_expected = |text: &String| {
        let read = file.parse(service, text);
        read.is_ok_and(|read| plain(&read) == expect)
    };
    let missing = || {
        let written = |(name, pin): (&String, &Digest)| {
            let now = spec.tools.servers.get(name).and_then(|server| server.pin);
            let place = spec
                .tools
                .servers
                .get(name)
                .map(|server| server.place(name));
            let place = place.unwrap_or_default();
            (now != Some(*pin)).then(|| format!("{place}.pin: \"{pin}\""))
        };
        ContractFault::NotPinned {
            path: file.name().to_owned(),
            pins: pins.iter().filter_map(written).collect(),
        }
    };
    let changed = pins.iter().filter(|(name, pin)| {
        let server = spec.tools.servers.get(*name);
        server.is_none_or(|server| server.pin != Some(**pin))
    });
    let changed = changed.map(|(name, pin)| (name.clone(), *pin)).collect();
    let pinned = with_pins(text, &changed).filter(is_expected);
    Ok(pinned.ok_or_else(missing)?)
}

/// The values of a file without their origins.
fn plain(spec: &ContractSpec) -> ContractSpec {
    ContractSpec {
        origins: BTreeMap::new(),
        own: None,
        pinned: PinnedOffers::default(),
        ..spec.clone()
    }
}

/// Replaces a file, or the file that a link of that name leads to; its mode stays.
fn put(path: &Path, text: &str) -> Result<(), ServiceError> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = mode_of(&target);
    let put = || -> std::io::Result<()> {
        let mut new = NewFile::over_file(&target, mode)?;
        new.file().write_all(text.as_bytes())?;
        new.replace()
    };
    Ok(put().map_err(|fault| SystemFault::CannotWrite {
        path: path.to_owned(),
        reason: fault.to_string(),
    })?)
}

#[cfg(unix)]
fn mode_of(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).map_or(MODE, |there| there.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
const fn mode_of(_: &Path) -> u32 {
    MODE
}
