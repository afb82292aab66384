//! The models of the store, and what trials of one came to, as text.

use std::fmt::Write as _;

use super::tally::{Document, Tally};
use monolith_core::contract::{ModelProfile, ProviderType};
use monolith_core::message::amount;
use monolith_host::inference::{KNOWN_MODELS, KnownModel, ModelStore, StoredModel};
use monolith_service::found::fitting::other_profile;
use monolith_service::text::escape::line;

pub(super) fn listed(models: &[StoredModel]) -> String {
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

pub(super) fn stored_text(what: &str, model: &StoredModel) -> String {
    let StoredModel {
        blake3,
        bytes,
        name,
        ..
    } = model;
    let bytes = amount(*bytes, "byte");
    format!("{what}: {} {bytes}, blake3 {blake3}\n", line(name))
}

/// Describes the profile of a model, also if its name implies none.
pub(super) fn profile_of(store: &ModelStore, model: &StoredModel) -> String {
    let by_name = ModelProfile::describing(ProviderType::Local, &model.name);
    match (other_profile(store, model), by_name) {
        (Some(id), _) => format!("its name does not tell; contracts name its profile: model_profile_id: {id}\n"),
        (None, Some(profile)) if profile.id != "unknown" => format!("its profile: {}\n", profile.id),
        (None, _) => "its profile: unknown, for neither its name nor its file tells a family; monolith profile list names those that \
                      contracts can give as model_profile_id\n"
            .to_owned(),
    }
}

pub(super) fn report_text(document: &Document) -> String {
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
