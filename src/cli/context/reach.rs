//! The reach of a contract's run, for people.

use std::fmt::Write as _;
use std::sync::Arc;

use monolith_core::contract::{BigCount, DelegateTerms, ExecutionContract};
use monolith_core::message::{Confinement, MemoryScope, SandboxStrength, ServerConfinement};
use monolith_host::driver::{
    Reach, ReachedCommand, ReachedVariable, SESSIONS_PLACE, SHELL_PLACE, StatedConfinement,
};
use monolith_host::tools::{ProbeFault, ProbeReport, SandboxKind};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::{counted, dollars, grouped};

/// Everything, one a line, with what confines each command on this machine.
///
/// `probe` returns what this machine can confine.
pub(crate) fn listed(reach: &Reach, probe: &dyn Fn(SandboxKind) -> Arc<ProbeReport>) -> String {
    let mut out = "reaches:\n".to_owned();
    let mut row = |kind: &str, text: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "  {kind:<9} {text}");
    };
    for command in &reach.commands {
        let words = line(&command.command.join(" "));
        let place = line(&command.place);
        let confined = line(&confined_here(command, probe));
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

/// The words that a limit of memory counts each process alone.
pub(crate) const MEMORY_OF_EACH: &str =
    "memory_mb limits each process and refuses shared memory: no control group can be made";

/// A line for each tool server that runs without the sandbox because this machine has none; with `details` also for each limit of memory that
/// counts every process alone.
pub(crate) fn unconfined_notes(
    confinement: &[ServerConfinement],
    contract: &ExecutionContract,
    details: bool,
) -> String {
    // What is stated is not started; so is the shell.
    let is_stated = |name: &str| {
        let server = contract.servers.get(name);
        let is_stated = server.is_none_or(|server| server.sandbox.is_some());
        name == ServerConfinement::SHELL || is_stated
    };
    let note = |program: &ServerConfinement| {
        let words = match program.is {
            Confinement::Unavailable(part) if !is_stated(&program.server) => format!(
                "runs without the sandbox, with all that you may do: this system lacks {part}"
            ),
            Confinement::Confined(SandboxStrength {
                memory: Some(MemoryScope::Process),
                ..
            }) if details => MEMORY_OF_EACH.to_owned(),
            _ => return None,
        };
        Some(format!("note: {}: {words}\n", line(&program.program())))
    };
    confinement.iter().filter_map(note).collect()
}

/// States how a command is confined, and whether this machine can do so.
fn confined_here(
    command: &ReachedCommand,
    probe: &dyn Fn(SandboxKind) -> Arc<ProbeReport>,
) -> String {
    let stated = &command.confinement;
    if command.confined == StatedConfinement::Never {
        return format!("{stated}: it may do whatever you may");
    }
    let kind = if command.place == SHELL_PLACE {
        SandboxKind::Shell
    } else {
        SandboxKind::Server
    };
    let found = &probe(kind).result;
    let lacking = found.as_ref().err().map(|fault| match fault {
        ProbeFault::Lacking { part, .. } => format!("no {part}"),
        ProbeFault::Untried { .. } => fault.to_string(),
    });
    let is_untried = matches!(found, Err(ProbeFault::Untried { .. }));
    let memory = found.as_ref().ok().and_then(|strength| strength.memory);
    let words = match (command.confined, lacking) {
        (StatedConfinement::WherePossible, None) => {
            let (sandbox, rest) = stated.split_once(',').unwrap_or((stated, ""));
            format!("{sandbox} where the system can (here: yes),{rest}")
        }
        (StatedConfinement::WherePossible, Some(lacking)) if !is_untried => {
            let (sandbox, _) = stated.split_once(',').unwrap_or((stated, ""));
            format!(
                "{sandbox} where the system can (here: no, {lacking}: it may do whatever you may)"
            )
        }
        (_, Some(lacking)) => format!("{stated}; it is not started here: {lacking}"),
        (_, None) => stated.clone(),
    };
    if command.limits_memory && memory == Some(MemoryScope::Process) {
        format!("{words}; {MEMORY_OF_EACH}")
    } else {
        words
    }
}

/// The file of an agent, and what a run of it may take.
pub(crate) fn of_agent(terms: &DelegateTerms) -> String {
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

/// Lists each variable's destination, one a line.
pub(crate) fn variables(reach: &Reach) -> Vec<String> {
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
    use monolith_core::message::SandboxPart;

    #[test]
    fn a_command_is_listed_with_what_confines_it_on_this_machine() {
        use StatedConfinement::{Always, Never, WherePossible};

        let whole = SandboxStrength {
            landlock: 6,
            memory: Some(MemoryScope::Group),
        };
        let each = SandboxStrength {
            memory: Some(MemoryScope::Process),
            ..whole
        };
        let lacking = ProbeFault::Lacking {
            part: SandboxPart::UserNamespace,
            reason: "unshare".to_owned(),
        };
        let untried = ProbeFault::Untried {
            reason: "no memory".to_owned(),
        };
        let check =
            |confined, stated: &str, found: Result<SandboxStrength, &ProbeFault>, expect| {
                let reach = Reach {
                    commands: vec![ReachedCommand {
                        place: "tools.mcp.fs".to_owned(),
                        command: vec!["npx".to_owned(), "x".to_owned()],
                        confined,
                        confinement: stated.to_owned(),
                        limits_memory: true,
                    }],
                    ..Reach::default()
                };
                let report = Arc::new(ProbeReport {
                    parts: Vec::new(),
                    result: found.map_err(Clone::clone),
                });
                let text = listed(&reach, &|_| Arc::clone(&report));
                let expect = format!("reaches:\n  command   npx x   (tools.mcp.fs; {expect})\n");
                assert_eq!(text, expect);
            };
        let stated = "in the sandbox, with the network";
        let yes = "in the sandbox where the system can (here: yes), with the network";
        check(WherePossible, stated, Ok(whole), yes.to_owned());
        let bounded = format!("{yes}; {MEMORY_OF_EACH}");
        check(WherePossible, stated, Ok(each), bounded);
        let no = "in the sandbox where the system can (here: no, no user namespaces: it may do whatever you may)";
        check(WherePossible, stated, Err(&lacking), no.to_owned());
        check(Always, stated, Ok(whole), stated.to_owned());
        let refused = format!("{stated}; it is not started here: no user namespaces");
        check(Always, stated, Err(&lacking), refused);
        let unknown =
            format!("{stated}; it is not started here: the sandbox could not be tried: no memory");
        check(Always, stated, Err(&untried), unknown.clone());
        check(WherePossible, stated, Err(&untried), unknown);
        let off = "without a sandbox";
        let free = format!("{off}: it may do whatever you may");
        check(Never, off, Err(&lacking), free);
    }
}
