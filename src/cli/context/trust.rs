//! The question that a person is asked once about files that were found and not named: the person sees what they reach.

use std::fmt::Write as _;
use std::path::Path;

use super::app::App;
use super::ask::{fresh_answer, key};
use super::reach::listed;
use crate::ui::diff::unified;
use monolith_core::contract::{ContractSpec, FileTrust, WorkflowSpec};
use monolith_host::driver::Reach;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::error::contract::ContractFault;
use monolith_service::secrets::without_secrets;
use monolith_service::text::diff::LineDiff;
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::untrusted::{ChangedFile, ReachedBelow, Untrusted, UntrustedCause};

/// Maximum number of changed lines that are shown.
const CHANGED_LINES: usize = 200;

/// Does work that reads a contract. Where files need trust, the person at the terminal is shown what they reach and asked; after a yes the
/// work is done again.
pub(crate) fn trusting<T>(
    app: &App,
    mut work: impl FnMut() -> Result<T, ServiceError>,
) -> Result<T, ServiceError> {
    loop {
        match work() {
            Err(ServiceError::Contract(ContractFault::Untrusted(found))) => {
                if !is_trusted(app, &found)? {
                    return Err(ContractFault::Untrusted(found).into());
                }
                found.trust(app)?;
            }
            done => return done,
        }
    }
}

impl App {
    /// Reads a contract. A person is asked about each file that was found, not named, and is not trusted.
    pub(crate) fn read_contract(&self, file: &ContractFile) -> Result<ContractSpec, ServiceError> {
        trusting(self, || file.read(self))
    }

    /// Judges the files of a workflow as [`Self::read_contract`] does those of a contract.
    pub(crate) fn judge_workflow(
        &self,
        file: &ContractFile,
        workflow: &WorkflowSpec,
    ) -> Result<Vec<FileTrust>, ServiceError> {
        trusting(self, || file.judge_workflow(self, workflow))
    }
}

/// Asks whether the files are trusted as they are.
fn is_trusted(app: &App, found: &Untrusted) -> Result<bool, ServiceError> {
    let shown = |path: &Path| {
        let path = path.strip_prefix(&app.cwd).unwrap_or(path);
        line(&path.display().to_string())
    };
    let name = line(&found.name.display().to_string());
    let names: Vec<String> = found.layers.iter().map(|path| shown(path)).collect();
    let names = names.join(" and ");
    let they_are = matches!(found.cause, UntrustedCause::Contract) && !names.is_empty();
    let as_now = if they_are { "as they are" } else { "as it is" };
    let (said, asked, run_of) = match &found.cause {
        UntrustedCause::Contract if names.is_empty() => (
            format!("{name} was found here and not named, and it is not trusted as it is now"),
            name,
            "it".to_owned(),
        ),
        UntrustedCause::Contract => (
            format!(
                "{name} and {names} were found here and not named, and they are not trusted as they are now"
            ),
            format!("{name} and {names}"),
            "it".to_owned(),
        ),
        UntrustedCause::Layers { .. } => (
            format!(
                "{names}, which {name} takes from, was found here and not named, and it is not trusted as it is now"
            ),
            names,
            name,
        ),
        UntrustedCause::Replaced(replaced) => (
            format!(
                "{}, which {name} starts or reads, changed since a run in which a confined program could replace it",
                shown(replaced)
            ),
            name.clone(),
            name,
        ),
    };
    let reach = listed_whole(app, &found.reach, &found.below);
    app.screen
        .write_err(&format!("{said}. A run of {run_of} {reach}"));
    let question = format!("Trust {asked} {as_now} now? [y/N] ");
    let (changes, is_whole) = changes(&found.changed, &shown);
    app.screen.write_err(&changes);
    // One key is enough for a person who has seen the whole change.
    if is_whole && found.is_edited {
        return Ok(matches!(key(app, &question)?, Some('y' | 'Y')));
    }
    let said = fresh_answer(app, &question)?;
    Ok(matches!(said.as_deref(), Some("y" | "Y" | "yes")))
}

/// The lines that changed since a person trusted the files, and true if all of them are shown.
fn changes(changed: &[ChangedFile], shown: &dyn Fn(&Path) -> String) -> (String, bool) {
    let mut out = String::new();
    let (mut room, mut left_out) = (CHANGED_LINES, 0_usize);
    for file in changed {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{} changed since you trusted it:", shown(&file.path));
        for text in unified(&LineDiff::between(&file.before, &file.now)) {
            if room == 0 {
                left_out += 1;
                continue;
            }
            room -= 1;
            let _ = writeln!(out, "  {}", without_secrets(&text));
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "  {} of the change", counted(left_out, "more line"));
    }
    (out, left_out == 0)
}

/// Lists what a contract and the agents below it reach, for people.
pub(crate) fn listed_whole(app: &App, own: &Reach, below: &[ReachedBelow]) -> String {
    let machine = |kind| app.environment.sandbox(kind);
    let mut out = listed(own, &machine);
    for agent in below {
        let (name, reach) = (line(&agent.file), listed(&agent.reaches, &machine));
        // Writing to a String cannot fail.
        let _ = write!(out, "the agent {name} {reach}");
    }
    out
}
