//! What a run of a contract reaches, for people.

use std::fmt::Write as _;

use crate::cli::ui::escape::line;
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
        let may = match &command.confinement {
            Some(confinement) => line(confinement),
            None => "it may do whatever you may".to_owned(),
        };
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
    out
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
