//! Where a contract file has what a fault or a failed check is about. Finds no fault itself.

use std::collections::BTreeSet;
use std::path::Path;

use super::ContractFile;
use crate::cli::context::contract_values::{faults_of, path_of};
use crate::cli::context::error::{Advice as _, CliError};
use crate::cli::ui::command::{shell_word, unkept};
use crate::cli::ui::escape::line;
use crate::contract::{ContractSpec, ExecutionContract, FactoryError, SpecErrors};
use crate::driver::DriverError;
use crate::kernel::CheckName;

impl ContractFile {
    /// A fault with the line of this file, if it is about a value of it.
    pub(in crate::cli) fn located(&self, fault: DriverError) -> CliError {
        match self.place_of(&fault, fault.help()) {
            Some(place) => CliError::Located(Box::new(fault), place),
            None => fault.into(),
        }
    }

    /// The same of a run that continues another one: where this file has changed since, `way_on` is what the caller may do.
    /// `cwd` is where the caller stands.
    pub(in crate::cli) fn located_as_changed(
        &self,
        fault: DriverError,
        cwd: &Path,
        way_on: &str,
    ) -> CliError {
        let fault = match fault {
            DriverError::ChangedContract {
                run_id,
                pointer,
                recorded,
                given,
                ..
            } => DriverError::ChangedContract {
                has_sets: !self.sets.is_empty(),
                run_id,
                pointer,
                recorded,
                given,
            },
            DriverError::ChangedScript { .. } => fault,
            // A change of the page alone would be refused as another contract.
            DriverError::Contract(FactoryError::PolicyDisagrees { .. }) => {
                let name = self.path.strip_prefix(cwd);
                let name = name.unwrap_or(&self.path).display().to_string();
                let help = format!(
                    "say what is to be done with files; for any other message: --contract {} --set page=null",
                    shell_word(&line(&name))
                );
                return CliError::ChangedFile(Box::new(fault), help);
            }
            other => return self.located(other),
        };
        match self.place_of(&fault, Some(unkept(way_on))) {
            Some(place) => CliError::Located(Box::new(fault), place),
            None => CliError::ChangedFile(Box::new(fault), way_on.to_owned()),
        }
    }

    fn place_of(&self, fault: &DriverError, help: Option<String>) -> Option<SpecErrors> {
        let path = path_of(fault)?;
        let rule = fault.to_string();
        let rule = rule.strip_prefix(&format!("{path}: ")).unwrap_or(&rule);
        self.fault_at(&path, &(rule.to_owned(), help))
    }

    /// Where the file has what failed checks of its contract are about: `agent.yaml:6:19`.
    pub(in crate::cli) fn places_of(
        &self,
        contract: &ExecutionContract,
        failed: impl IntoIterator<Item = CheckName>,
    ) -> Vec<String> {
        let failed = failed.into_iter();
        let faults = failed.flat_map(|name| faults_of(contract, name));
        let paths = faults.filter_map(|fault| fault.path);
        let paths = paths.collect::<BTreeSet<_>>();
        let places = paths.into_iter().filter_map(|path| {
            let found = self.fault_at(&path, &(String::new(), None))?;
            let error = found.errors.first()?;
            Some(if let Some(set) = &error.set {
                format!("--set {set}")
            } else {
                let (file, line, column) = found.place_of(error);
                format!("{file}:{line}:{column}")
            })
        });
        let mut places: Vec<String> = places.collect();
        // Two values that the file does not have may be held by the same one.
        places.dedup();
        places
    }

    /// The line of the value at a dotted path; of the one that holds it where the file has none there.
    fn fault_at(&self, path: &str, found: &(String, Option<String>)) -> Option<SpecErrors> {
        let (name, text) = (self.name.display().to_string(), self.text().ok()?);
        let ends = path.match_indices('.').map(|(end, _)| end);
        let ends = ends.chain([path.len()]).collect::<Vec<_>>();
        let mut paths = ends.into_iter().rev().filter_map(|end| path.get(..end));
        let Some(form) = self.form() else {
            let at = |path| ContractSpec::fault_at((&name, &text), &self.sets, path, found.clone());
            return paths.find_map(at);
        };
        let (text, beside) = (self.whole(&text).ok()?, self.beside());
        let source = self.placeholders.source((&name, form), &text, &beside);
        paths
            .find_map(|path| ContractSpec::agent_fault_at(&source, &self.sets, path, found.clone()))
    }
}
