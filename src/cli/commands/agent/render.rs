//! Agents and selections as text and as documents. Decides nothing.

use std::fmt::Write as _;

use serde_json::{Value, json};

use monolith_core::agent::{Selection, standard};
use monolith_core::contract::{AgentId, AgentProfile, AgentScore, SignalKind};
use monolith_service::agents::{Agents, ProfileNow, RegisteredAgent};
use monolith_service::text::escape::line;

/// Each agent in a line, `standard` included.
pub(super) fn listed(agents: &Agents) -> String {
    let mut out = String::new();
    if builtin(agents).is_some() {
        out.push_str(&row(AgentProfile::STANDARD, "1", "ready", "built in"));
    }
    for agent in agents.all() {
        let path = line(&agent.path.display().to_string());
        let version = match &agent.profile {
            ProfileNow::AsRegistered(profile) => line(&profile.version),
            ProfileNow::Changed | ProfileNow::Unusable(_) => "-".to_owned(),
        };
        out.push_str(&row(agent.id.as_str(), &version, state(agent), &path));
        if let ProfileNow::Unusable(reason) = &agent.profile {
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {}", line(reason));
        }
    }
    out
}

/// The same as a document.
pub(super) fn document(agents: &Agents) -> Value {
    let registered = agents.all().iter().map(of_registered);
    let builtin = builtin(agents).map(|profile| of_builtin(&profile));
    let all: Vec<Value> = builtin.into_iter().chain(registered).collect();
    json!({"format": "monolith-agents/1", "agents": all})
}

/// One of them: what was registered, what has become of it, and the profile where it is still that one.
pub(super) fn shown(agents: &Agents, id: &AgentId) -> Option<Value> {
    let found = agents.all().iter().find(|agent| agent.id == *id);
    let builtin = || builtin(agents).filter(|profile| profile.id == *id);
    found
        .map(of_registered)
        .or_else(|| builtin().map(|profile| of_builtin(&profile)))
}

fn of_registered(agent: &RegisteredAgent) -> Value {
    let (profile, reason) = match &agent.profile {
        ProfileNow::AsRegistered(profile) => (Some(profile), None),
        ProfileNow::Changed => (None, None),
        ProfileNow::Unusable(reason) => (None, Some(reason)),
    };
    json!({
        "blake3": agent.digest,
        "id": agent.id,
        "path": agent.path,
        "profile": profile,
        "reason": reason,
        "state": state(agent),
    })
}

fn of_builtin(profile: &AgentProfile) -> Value {
    json!({
        "blake3": profile.digest,
        "id": profile.id,
        "path": null,
        "profile": profile,
        "reason": null,
        "state": "ready",
    })
}

/// The selected agent; with `explain`, every score and what it is made of.
pub(super) fn selected(selection: &Selection, explain: bool) -> String {
    let mut out = String::new();
    let fit = selection.scores.iter();
    let fit = fit.take(if explain { usize::MAX } else { 1 });
    let unfit = selection.unfit.iter().filter(|_| explain);
    for score in fit.chain(unfit) {
        let _ = writeln!(out, "{}  {}", score.confidence, score.agent);
        for signal in score.signals.iter().filter(|_| explain) {
            let adds = format!("{:+.2}", hundredths(signal.adds));
            let _ = writeln!(
                out,
                "      {adds}  {}: {}",
                word(signal.kind),
                line(&signal.matched)
            );
        }
    }
    if explain {
        let _ = writeln!(out, "{} considered", selection.considered);
    }
    out
}

/// The selection as a document.
pub(super) fn selection_document(selection: &Selection) -> Value {
    let rows = |scores: &[AgentScore]| json!(scores);
    json!({
        "format": "monolith-agent-selection/1",
        "agent": selection.best(),
        "considered": selection.considered,
        "scores": rows(&selection.scores),
        "unfit": rows(&selection.unfit),
    })
}

/// The agent that is there without being registered.
fn builtin(agents: &Agents) -> Option<AgentProfile> {
    let mut all = agents.all().iter();
    let is_replaced = all.any(|agent| agent.id.as_str() == AgentProfile::STANDARD);
    (!is_replaced).then(|| standard().0)
}

fn row(id: &str, version: &str, state: &str, path: &str) -> String {
    format!("{id:<24}  {version:<8}  {state:<10}  {path}\n")
}

/// Returns the state of an agent's file, in a word.
fn state(agent: &RegisteredAgent) -> &'static str {
    match &agent.profile {
        ProfileNow::AsRegistered(profile) if profile.enabled => "ready",
        ProfileNow::AsRegistered(_) => "disabled",
        ProfileNow::Changed => "changed",
        ProfileNow::Unusable(_) => "unusable",
    }
}

fn word(kind: SignalKind) -> &'static str {
    match kind {
        SignalKind::ExactExample => "is the example",
        SignalKind::Example => "contains the example",
        SignalKind::Capability => "names the capability",
        SignalKind::NotFor => "contains what it is not for",
        SignalKind::Fallback => "fallback",
    }
}

/// For people alone: a score is counted in integers.
#[expect(clippy::cast_precision_loss, reason = "three digits")]
fn hundredths(score: i64) -> f64 {
    score as f64 / 100.0
}
