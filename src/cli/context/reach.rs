//! What a run of a contract reaches, for people.

use std::fmt::Write as _;

use super::confinement::{Kept, Machine};
use crate::cli::ui::escape::line;
use crate::cli::ui::numbers::{counted, dollars, grouped};
use crate::contract::{BigCount, DelegateTerms};
use crate::driver::{Reach, ReachedCommand, ReachedVariable, SESSIONS_PLACE, SHELL_PLACE};
use crate::tools::Confined;

/// Everything, one a line, with what confines each command on this machine.
pub(in crate::cli) fn listed(reach: &Reach, machine: &Machine) -> String {
    let mut out = "reaches:\n".to_owned();
    let mut row = |kind: &str, text: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {kind:<9} {text}");
    };
    for command in &reach.commands {
        let words = line(&command.command.join(" "));
        let place = line(&command.place);
        let confined = line(&confined_here(command, machine));
        row("command", format!("{words}   ({place}; {confined})"));
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
        let place = line(&folder.place);
        let written = if folder.place == SESSIONS_PLACE {
            "; snapshots of runs are written there"
        } else {
            ""
        };
        row(kind, format!("{path}   ({place}{written})"));
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

/// What confines a command, and whether this machine can.
fn confined_here(command: &ReachedCommand, machine: &Machine) -> String {
    let stated = &command.confinement;
    let kept = if command.place == SHELL_PLACE {
        Kept::Shell
    } else {
        Kept::Server
    };
    match command.confined {
        Confined::Never => format!("{stated}: it may do whatever you may"),
        Confined::Always => match machine.lacking(kept) {
            None => stated.clone(),
            Some(lacking) => format!("{stated}; it is not started here: {lacking}"),
        },
        Confined::WherePossible => {
            let (sandbox, rest) = stated.split_once(',').unwrap_or((stated, ""));
            match machine.lacking(kept) {
                None => format!("{sandbox} where the system can (here: yes),{rest}"),
                Some(lacking) => format!(
                    "{sandbox} where the system can (here: no, {lacking}: it may do whatever you may)"
                ),
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_listed_with_what_confines_it_on_this_machine() {
        let check = |confined: Confined, stated: &str, lacking: Option<&str>, expect: &str| {
            let reach = Reach {
                commands: vec![ReachedCommand {
                    place: "tools.mcp.fs".to_owned(),
                    command: vec!["npx".to_owned(), "x".to_owned()],
                    confined,
                    confinement: stated.to_owned(),
                }],
                ..Reach::default()
            };
            let text = listed(&reach, &Machine::known(lacking));
            let expect = format!("reaches:\n  command   npx x   (tools.mcp.fs; {expect})\n");
            assert_eq!(text, expect);
        };
        let stated = "in the sandbox, with the network";
        let none = Some("no user namespaces");
        let yes = "in the sandbox where the system can (here: yes), with the network";
        check(Confined::WherePossible, stated, None, yes);
        check(
            Confined::WherePossible,
            stated,
            none,
            "in the sandbox where the system can (here: no, no user namespaces: it may do whatever you may)",
        );
        check(Confined::Always, stated, None, stated);
        check(
            Confined::Always,
            stated,
            none,
            "in the sandbox, with the network; it is not started here: no user namespaces",
        );
        check(
            Confined::Never,
            "without a sandbox",
            None,
            "without a sandbox: it may do whatever you may",
        );
    }
}
