//! The statements of a run's servers about themselves. Everything in it is escaped.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use monolith_core::kernel::BringUpCause;
use monolith_core::message::NamedText;
use monolith_core::view::RunView;
use monolith_service::text::escape::{brief, line, quoted};
use monolith_service::text::narration::target_name;

/// Characters of one text of a server.
const MOST_CHARS: usize = 120;

/// The most lines: a server may say something else with each answer.
const MOST_LINES: usize = 32;

/// A line for each server, and one more each time that it said something else; the first of them, and how many more there are.
pub(super) fn servers(view: &RunView) -> String {
    let all = lines(view);
    let mut shown = String::new();
    for line in all.lines().take(MOST_LINES) {
        shown.push_str(line);
        shown.push('\n');
    }
    let more = all.lines().count().saturating_sub(MOST_LINES);
    if more > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "server    … {more} more; --raw has them all");
    }
    shown
}

/// The tools that are left out; in full also the servers that did not come up, each with all that is recorded of it.
pub(super) fn not_up(view: &RunView, full: bool) -> String {
    let mut out = String::new();
    let faults = view.preflight().bring_up.iter();
    for fault in faults.filter(|fault| full || fault.cause == Some(BringUpCause::LeftOut)) {
        let (server, detail) = (line(&fault.server), line(&fault.detail));
        let _ = writeln!(out, "server    {server}: {detail}");
    }
    out
}

fn lines(view: &RunView) -> String {
    let mut out = String::new();
    for program in view.confined() {
        let name = brief(&program.is.program(), MOST_CHARS);
        let (is, since) = (program.is.is, since(program.seq));
        let _ = writeln!(out, "sandbox   {name}: {is}{since}");
    }
    for server in view.tool_servers() {
        let said = &server.said;
        let text = |text: &str| brief(text, MOST_CHARS);
        let own = [&said.name, &said.version].into_iter().flatten();
        let protocol = format!("protocol {}", text(&said.protocol));
        let words: Vec<String> = own.map(|own| text(own)).chain([protocol]).collect();
        let name = text(&said.server);
        let _ = write!(out, "server    {name} says: {}", words.join(" "));
        if let Some(instructions) = &said.instructions {
            let _ = write!(out, ", instructions {}", quoted(instructions, MOST_CHARS));
        }
        let _ = writeln!(out, "{}", since(server.seq));
    }
    for server in view.differing_servers() {
        let (name, differs) = (
            brief(&server.is.server, MOST_CHARS),
            line(&server.is.detail),
        );
        let _ = writeln!(
            out,
            "server    {name} offers other tools than the contract holds{}: {differs}",
            since(server.seq)
        );
    }
    // What a server said of itself when it was asked, and said again with its first answer, is one text.
    let mut last: BTreeMap<u32, String> = BTreeMap::new();
    for (index, target) in view.preflight().probed.iter().enumerate() {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let said = target.server_headers.iter().chain(&target.properties);
        let said = named(said);
        out.push_str(&model(
            view,
            index,
            &said,
            ", when it was asked before the run",
        ));
        last.insert(index, said);
    }
    for answer in view.answers() {
        let mut said = Vec::new();
        if let Some(served_by) = &answer.served_by {
            let members = [
                ("model", &served_by.model),
                ("system_fingerprint", &served_by.system_fingerprint),
            ];
            for (name, value) in members {
                said.extend(value.iter().map(|value| NamedText::new(name, value)));
            }
        }
        let said = named(said.iter().chain(&answer.headers));
        let said = if said.is_empty() {
            "nothing more".to_owned()
        } else {
            said
        };
        if last.get(&answer.target) != Some(&said) {
            out.push_str(&model(view, answer.target, &said, &since(answer.seq)));
            last.insert(answer.target, said);
        }
    }
    out
}

fn model(view: &RunView, target: u32, said: &str, when: &str) -> String {
    if said.is_empty() {
        return String::new();
    }
    let target = target_name(view.contract(), target);
    format!("server    {target} says: {said}{when}\n")
}

fn named<'t>(texts: impl Iterator<Item = &'t NamedText>) -> String {
    let texts = texts.map(|text| {
        let (name, value) = (&text.name, &text.value);
        format!("{} {}", brief(name, MOST_CHARS), brief(value, MOST_CHARS))
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn since(seq: u64) -> String {
    match seq {
        0 => String::new(),
        seq => format!(", from entry {seq} on"),
    }
}
