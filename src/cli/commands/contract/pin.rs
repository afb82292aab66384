//! `monolith contract pin`: writes what the tool servers of a contract offer now into its file, and beside it. Begins no run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use super::args::ContractPinArgs;
use super::preview::{preview_of, report_gaps, report_warnings};
use crate::context::app::App;
use crate::ui::screen::Style;
use monolith_core::contract::{ContractSpec, PinnedOffers, tool_warnings, with_pins};
use monolith_core::message::Digest;
use monolith_host::store::NewFile;
use monolith_service::contract_file::{ContractFile, look_for_agent_file};
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::error::system::SystemFault;
use monolith_service::exit::Exit;
use monolith_service::text::escape::line;
use monolith_service::trusted::Trusted;

/// The mode of the file beside the contract where there is none yet.
const MODE: u32 = 0o644;

/// `monolith contract pin`.
pub(super) fn pin(app: &App, args: &ContractPinArgs) -> Result<Exit, ServiceError> {
    if args.file.is_none() {
        look_for_agent_file(app, None, "contract pin FILE")?;
    }
    let file = ContractFile::given_or_found(app, args.file.clone(), Vec::new());
    let text = file.text()?;
    let mut spec = file.parse(app, &text)?;
    file.judge_trust(app, &text, &mut spec)?;
    let preview = preview_of(app, &file, spec.clone(), true)?;
    let contract = &preview.contract;
    let outside = contract.servers.iter();
    let outside = outside.filter(|(_, server)| !server.kind.is_of_author());
    let pins: Option<BTreeMap<String, Digest>> = outside
        .map(|(name, server)| Some((name.clone(), server.pin?)))
        .collect();
    let Some(pins) = pins else {
        report_gaps(app, &preview);
        app.screen
            .note("Nothing was written: pins are taken of servers that are up.");
        return Ok(Exit::SETUP);
    };
    if !pins.is_empty() {
        let pinned = pinned_text(app, &file, (&spec, &text), &pins)?;
        let beside = file.pins_path();
        put(&beside, &PinnedOffers::of(contract).text())?;
        if pinned != text {
            let trusted = Trusted::of(app)?;
            let was_trusted = trusted.has(&file.own_trust(&text, &spec)?);
            put(file.path(), &pinned)?;
            if was_trusted {
                let pinned = file.own_trust(&pinned, &file.parse(app, &pinned)?)?;
                trusted.add(app, [pinned])?;
            }
        }
    }
    let mut out = String::new();
    for (name, pin) in &pins {
        let before = spec.tools.servers.get(name).and_then(|server| server.pin);
        let what = match before {
            None => "new",
            Some(before) if before == *pin => "unchanged",
            Some(_) => "changed",
        };
        let heading = app.screen.paint_out(Style::Bold, &line(name));
        let _ = writeln!(out, "{heading}  pin {pin}  {what}");
    }
    if pins.is_empty() {
        out.push_str("this contract has no tool servers to pin\n");
    }
    app.screen.out(&out)?;
    report_warnings(app, &tool_warnings(contract));
    // What has changed since the pins of before is among it.
    report_gaps(app, &preview);
    Ok(Exit::OK)
}

/// The text of the file with these pins, where that is what it was but for them.
fn pinned_text(
    app: &App,
    file: &ContractFile,
    (spec, text): (&ContractSpec, &str),
    pins: &BTreeMap<String, Digest>,
) -> Result<String, ServiceError> {
    let mut expect = plain(spec);
    for (name, server) in &mut expect.tools.servers {
        server.pin = pins.get(name).copied().or(server.pin);
    }
    let is_expected = |text: &String| {
        let read = file.parse(app, text);
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

/// What a file says, wherever each value is from.
fn plain(spec: &ContractSpec) -> ContractSpec {
    ContractSpec {
        origins: BTreeMap::new(),
        own: None,
        pinned: PinnedOffers::default(),
        ..spec.clone()
    }
}

/// Puts a text in the place of a file, or of what a link of that name leads to; who may read it stays.
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
