//! What may help where a tool server did not come up, by what it came to. Starts no server.

use crate::text::command::typed_word;
use crate::text::escape::line;
use monolith_core::contract::ExecutionContract;
use monolith_core::kernel::BringUpFault;

/// What a bring-up fault says of a server that wants authorization and gets none.
const WANTS_LOGIN: &str = "`monolith mcp login";
/// What it says of a program that started and ended.
const ENDED: &str = "the server ended before it answered";
/// The words of one whose sandbox cannot be set up; they go on with what to do.
const NOT_CONFINED: &str = "start: the sandbox cannot be set up: ";
/// The words of one that named a path which its sandbox does not show or shows read-only; the line that grants it follows.
const MISSES_PATH: &str = "; the sandbox ";
/// What it says of one that does not answer.
const SILENT: &str = "no answer within";
/// What it says of a program that could not be started.
const NOT_STARTED: [&str; 2] = ["find the command", "start the command"];
/// How the names of the tools of web services begin.
const WEB_SERVICE: &str = "rest__";

/// What helps where a tool server did not come up, by what it came to; `login` makes a command of the words that log
/// in at it. Those of a web service have no command.
pub fn for_server(
    contract: &ExecutionContract,
    fault: &BringUpFault,
    login: impl Fn(&str) -> String,
) -> String {
    let shown = line(&fault.server);
    let terms = contract.servers.get(&fault.server);
    if let Some(service) = shown.strip_prefix(WEB_SERVICE) {
        let is_described = terms.is_some_and(|terms| terms.openapi.is_some());
        let key = if is_described { "openapi" } else { "rest" };
        return format!("correct what was wrong with tools.{key}.{service}");
    }
    if fault.detail.contains(WANTS_LOGIN) {
        let words = format!(
            "mcp login {}{}",
            typed_word(&fault.server),
            scope(&fault.detail)
        );
        return format!("{} gets a token for tools.mcp.{shown}", login(&words));
    }
    if terms.is_some_and(|terms| terms.url.is_some()) {
        return format!("start the server of tools.mcp.{shown}, or correct its `url`");
    }
    if fault.detail.contains(NOT_CONFINED) {
        return format!(
            "correct what the error names, or start tools.mcp.{shown} with all your rights by `sandbox: off`"
        );
    }
    if fault.detail.contains(MISSES_PATH) {
        return format!(
            "give tools.mcp.{shown} the `sandbox` line that the error names, or correct its `args`"
        );
    }
    if fault.detail.contains(ENDED) {
        return format!(
            "`command` of tools.mcp.{shown} starts and ends: correct it, its `args` or its `env`, or mend the program"
        );
    }
    if fault.detail.contains(SILENT) {
        return silent(&shown, &fault.detail);
    }
    if fault.detail.contains(NOT_STARTED[0]) || fault.detail.contains(NOT_STARTED[1]) {
        let command = terms.and_then(|terms| terms.command.as_deref());
        return not_started(&shown, command.unwrap_or_default());
    }
    format!("correct what was wrong with tools.mcp.{shown}")
}

/// What helps where no program is found or started by that command.
fn not_started(server: &str, command: &str) -> String {
    if command.starts_with('~') {
        return format!(
            "`~` is not expanded in `command` of tools.mcp.{server}: write the whole path"
        );
    }
    format!("install what `command` of tools.mcp.{server} names, or correct it")
}

/// What helps where a program starts and is silent. Past the longest that is waited, no contract gives it more time.
fn silent(server: &str, detail: &str) -> String {
    let more = if is_longest_wait(detail) {
        "; where it fetches a package first (npx, uvx), start it once by hand, and the package is stored"
    } else {
        ", or give it more time with `total_timeout_ms`"
    };
    format!(
        "`command` of tools.mcp.{server} starts and does not answer as a tool server: correct it or its `args`{more}"
    )
}

/// Whether a fault says that the longest wait is over: `no answer within N ms (… at most N)`.
fn is_longest_wait(detail: &str) -> bool {
    let after = |words: &str| {
        let (_, rest) = detail.split_once(words)?;
        rest.split(|c: char| !c.is_ascii_digit()).next()
    };
    let (waited, longest) = (after("no answer within "), after(", at most "));
    waited.is_some() && waited == longest
}

/// The scopes that a fault says are lacking, as an option.
fn scope(detail: &str) -> String {
    let (_, rest) = detail.split_once(WANTS_LOGIN).unwrap_or_default();
    let command = rest.split('`').next().unwrap_or_default();
    let scopes = command
        .split('\'')
        .nth(1)
        .filter(|_| command.contains(" --scope '"));
    scopes.map_or_else(String::new, |scopes| {
        format!(" --scope {}", typed_word(scopes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tilde_is_said_not_to_be_the_home() {
        let check = |command: &str, expect: &str| {
            let help = not_started("near", command);
            assert!(help.contains(expect), "{help}");
        };
        check("~/venv/bin/x", "`~` is not expanded");
        check("~/venv/bin/x", "write the whole path");
        check("./nope", "install what `command` of tools.mcp.near names");
    }

    #[test]
    fn more_time_is_advised_only_where_a_contract_can_give_it() {
        let check = |waited_ms: u64, expect: &str, not: &str| {
            let detail = format!(
                "failed to initialise: no answer within {waited_ms} ms (total_timeout_ms allows it, at most 60000); it wrote \"at most 1\""
            );
            let help = silent("near", &detail);
            assert!(help.contains(expect), "{help}");
            assert!(!help.contains(not), "{help}");
        };
        check(600, "total_timeout_ms", "by hand");
        check(60_000, "start it once by hand", "total_timeout_ms");
    }
}
