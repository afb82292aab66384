//! What a run of a contract reaches, for people.

use std::fmt::Write as _;

use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::{counted, dollars, grouped};
use crate::contract::{BigCount, DelegateTerms};
use crate::driver::{Reach, ReachedVariable};

/// Everything, one a line.
pub(in crate::cli) fn listed(reach: &Reach) -> String {
    let mut out = "reaches:\n".to_owned();
    let mut row = |kind: &str, text: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {kind:<9} {text}");
    };
    for command in &reach.commands {
        let words = line(&command.command.join(" "));
        let place = line(&command.place);
        let may = line(&command.confinement);
        row("command", format!("{words}   ({place}; {may})"));
    }
    for host in &reach.hosts {
        let address = host
            .address
            .as_deref()
            .map_or_else(|| "not known".to_owned(), line);
        let place = line(&host.place);
        let may = match host.not_public.as_slice() {
            [] => String::new(),
            networks => format!("; it may be on {}", line(&networks.join(", "))),
        };
        row("host", format!("{address}   ({place}{may})"));
    }
    for variable in variables(reach) {
        row("variable", variable);
    }
    for folder in &reach.folders {
        let path = line(&folder.path.display().to_string());
        let kind = if folder.place.starts_with("providers.") {
            "file"
        } else {
            "folder"
        };
        row(kind, format!("{path}   ({})", line(&folder.place)));
    }
    for agent in &reach.agents {
        let (tool, terms) = (line(&agent.tool), line(&of_agent(&agent.terms)));
        let _ = writeln!(
            out,
            "  {:<9} {tool}: {terms}   ({})",
            "agent",
            line(&agent.place)
        );
    }
    out
}

/// The file of an agent, and what a run of it may take.
pub(in crate::cli) fn of_agent(terms: &DelegateTerms) -> String {
    let tokens = match &terms.max_tokens_consumed {
        Some(BigCount(tokens)) => format!("at most {}", counted(*tokens, "token")),
        None => "a share of the tokens that are left".to_owned(),
    };
    let cost = terms.max_cost_micro_usd.as_ref();
    let cost = cost.map(|BigCount(cost)| format!(", at most {}", dollars(*cost)));
    let grant = terms.grant.as_ref();
    let grant = grant.map(|patterns| match patterns.as_slice() {
        [] => ", no tools".to_owned(),
        patterns => format!(", tools {}", patterns.join(", ")),
    });
    format!(
        "{} ({}), {tokens}{}, at most {}{}",
        terms.file,
        terms.digest.short(12),
        cost.unwrap_or_default(),
        time(terms.total_timeout_ms),
        grant.unwrap_or_default()
    )
}

/// A limit of time as it is mostly written: in whole seconds.
fn time(ms: u64) -> String {
    match (ms / 1000, ms % 1000) {
        (seconds, 0) => format!("{} s", grouped(seconds)),
        _ => format!("{} ms", grouped(ms)),
    }
}

/// Which variable goes where, one a line.
pub(in crate::cli) fn variables(reach: &Reach) -> Vec<String> {
    reach.variables.iter().map(one).collect()
}

fn one(sent: &ReachedVariable) -> String {
    let variable = line(&sent.variable);
    let goes = match &sent.goes_to {
        Some(goes_to) => format!(" goes to {}", line(goes_to)),
        None => " is read and goes nowhere".to_owned(),
    };
    let unset = if sent.is_set { "" } else { "; it is not set" };
    format!("{variable}{goes}   ({}{unset})", line(&sent.place))
}
