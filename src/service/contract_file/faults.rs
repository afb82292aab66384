//! The places in a contract file that a fault or a failed check is about. Finds no fault itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::as_typed::as_typed;
use crate::contract_file::ContractFile;
use crate::contract_values::{faults_of, is_kept, path_of};
use crate::error::ServiceError;
use crate::error::advice::Advice as _;
use crate::error::driver::may_hold_secret;
use crate::text::command::{typed_again, typed_word, unkept};
use monolith_core::contract::{
    ContractSpec, ExecutionContract, FactoryError, KNOBS, SpecErrors, TermFault, ValueOrigin,
};
use monolith_core::kernel::{BringUpFault, CheckName};
use monolith_host::driver::DriverError;

/// Advice that is of use only where a change may not have been recorded.
const UNRECORDED: &str = "; or give again each --set that is not recorded (below providers or tools, where it may hold a secret)";
/// The key of a contract that follows from the models of its targets.
const MODEL_PROFILE: &str = "model_profile_id";

impl ContractFile {
    /// A fault with the line of this file, if it is about a value of it.
    pub fn located(&self, fault: DriverError) -> ServiceError {
        match self.place_of(&fault, fault.help()) {
            Some(place) => ServiceError::Located(Box::new(fault), place),
            None => fault.into(),
        }
    }

    /// The same of a run that continues another one: where this file has changed since, `way_on` is what the caller may do.
    /// `cwd` is where the caller stands.
    pub fn located_as_changed(&self, fault: DriverError, cwd: &Path, way_on: &str) -> ServiceError {
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
                    typed_word(&name)
                );
                return ServiceError::ChangedFile(Box::new(fault), help);
            }
            other => return self.located(other),
        };
        let way_on = match &fault {
            DriverError::ChangedContract { pointer, .. } if !may_hold_secret(pointer) => {
                way_on.to_owned()
            }
            _ => format!("{way_on}{UNRECORDED}"),
        };
        match self.place_of(&fault, Some(unkept(&way_on))) {
            Some(place) => ServiceError::Located(Box::new(fault), place),
            None => ServiceError::ChangedFile(Box::new(fault), way_on),
        }
    }

    /// The same of a run that is resumed with these changes beside those that it was begun with. `once_ended` is the command that takes
    /// them, as they are typed, once the run has ended.
    pub fn located_as_resumed(
        &self,
        fault: DriverError,
        changes: &[String],
        once_ended: impl Fn(&str) -> String,
    ) -> ServiceError {
        let DriverError::OtherContract {
            file: None,
            pointer,
            ..
        } = &fault
        else {
            return self.located(fault);
        };
        let changes = changes.iter().filter(|set| is_kept(set));
        let changes = changes.filter(|set| changes_at(set, pointer));
        let typed: String = changes.map(|set| typed_again(&as_typed(set))).collect();
        if typed.is_empty() {
            return self.located(fault);
        }
        let again = once_ended(&typed);
        let help = format!(
            "leave out{typed}: a run keeps the contract that it started with. Once it has ended, {again} starts another one"
        );
        match self.place_of(&fault, Some(unkept(&help))) {
            Some(place) => ServiceError::Located(Box::new(fault), place),
            None => ServiceError::ChangedFile(Box::new(fault), help),
        }
    }

    fn place_of(&self, fault: &DriverError, help: Option<String>) -> Option<SpecErrors> {
        let path = path_of(fault)?;
        let path = path.as_str();
        let whole = fault.to_string();
        // What is from elsewhere is named with its file, and the author's own file has no line for it.
        let rule = whole.strip_prefix(path);
        let rule = rule.and_then(|rule| rule.strip_prefix(": "));
        let rule = rule.unwrap_or(&whole);
        let found = (rule.to_owned(), help);
        let written = self.fault_exactly_at(path, &found);
        // The profile of a model follows from its name, where the author names none.
        let model = || self.fault_exactly_at("targets.0.model", &found);
        let follows = written.is_none() && path == MODEL_PROFILE;
        written
            .or_else(|| follows.then(model)?)
            .or_else(|| self.fault_at(path, &found))
    }

    /// Returns where and in which form the author wrote the values that failed checks are about: `agent.yaml:6:19`,
    /// `agent.ai:4:11 (maxTurns)`, `--max-turns 1`, `.ai-agent.json (defaults.maxTurns)`. `origins` has the sources of values
    /// that the file does not hold.
    pub fn places_of(
        &self,
        contract: &ExecutionContract,
        failed: impl IntoIterator<Item = CheckName>,
        origins: &BTreeMap<String, ValueOrigin>,
    ) -> Vec<String> {
        let failed = failed.into_iter();
        let faults = failed.flat_map(|name| faults_of(contract, name));
        let faults = faults.collect::<Vec<_>>();
        let is_knob = |path: &str| KNOBS.iter().any(|(_, knob)| *knob == path);
        let also = faults.iter().flat_map(|fault| fault.also.iter().copied());
        let named = faults.iter().flat_map(knobs_of).chain(also);
        let named = named.collect::<BTreeSet<_>>().into_iter();
        let named = named.filter_map(|path| {
            let found = self.fault_exactly_at(path, &(String::new(), None));
            let place = found.and_then(|found| written(path, &found));
            let layer = || origins.get(path).filter(|_| is_knob(path));
            place.or_else(|| Some(of_layer(path, layer()?)))
        });
        let mut places = named.collect::<Vec<String>>();
        let paths = faults.iter().filter_map(|fault| fault.path.as_deref());
        // In the order of their words; a place that two of them have is named once.
        for path in paths {
            if is_knob(path) && origins.contains_key(path) {
                continue;
            }
            let found = self.fault_at(path, &(String::new(), None));
            places.extend(found.and_then(|found| written(path, &found)));
        }
        // Two values that the file does not have may be held by the same one.
        let mut known = BTreeSet::new();
        places.retain(|place| known.insert(place.clone()));
        places
    }

    /// Returns where the author wrote the servers that did not come up.
    pub fn places_of_servers(
        &self,
        contract: &ExecutionContract,
        down: &[&BringUpFault],
    ) -> Vec<String> {
        let places = down.iter().filter_map(|fault| {
            let server = contract.servers.get(&fault.server)?;
            let path = server.kind.place(&fault.server);
            let found = self.fault_at(&path, &(String::new(), None))?;
            written(&path, &found)
        });
        let mut known = BTreeSet::new();
        places.filter(|place| known.insert(place.clone())).collect()
    }

    /// The line of the value at a dotted path; of the one that holds it where the file has none there.
    fn fault_at(&self, path: &str, found: &(String, Option<String>)) -> Option<SpecErrors> {
        let ends = path.match_indices('.').map(|(end, _)| end);
        let ends = ends.chain([path.len()]).collect::<Vec<_>>();
        let mut paths = ends.into_iter().rev().filter_map(|end| path.get(..end));
        paths.find_map(|path| self.fault_exactly_at(path, found))
    }

    /// The line of the value at a dotted path, where the file has one there.
    fn fault_exactly_at(&self, path: &str, found: &(String, Option<String>)) -> Option<SpecErrors> {
        let (name, text) = (self.name.display().to_string(), self.text().ok()?);
        let Some(form) = self.form() else {
            return ContractSpec::fault_at((&name, &text), &self.sets, path, found.clone());
        };
        let (text, beside) = (self.whole(&text).ok()?, self.beside());
        let source = self.placeholders.source((&name, form), &text, &beside);
        ContractSpec::agent_fault_at(&source, &self.sets, path, found.clone())
    }
}

/// The knobs that a fault is about, by their keys in a contract: those of a target are of the contract here.
fn knobs_of(fault: &TermFault) -> impl Iterator<Item = &'static str> {
    let paths = fault.also.iter().copied().chain(fault.path.as_deref());
    let paths: Vec<&str> = paths.collect();
    let knobs = KNOBS.iter().map(|(_, knob)| *knob);
    knobs.filter(move |knob| {
        paths.iter().any(|path| {
            let before = path.strip_suffix(knob);
            before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
    })
}

/// Returns where and in which form a value is written, if that is not its key in a contract.
fn written(path: &str, found: &SpecErrors) -> Option<String> {
    let error = found.errors.first()?;
    if let Some(set) = &error.set {
        return Some(as_typed(set));
    }
    let (file, line, column) = found.place_of(error);
    let place = format!("{file}:{line}:{column}");
    let knob = KNOBS.iter().any(|(knob, _)| *knob == error.path);
    Some(if knob && error.path != path {
        format!("{place} ({})", error.path)
    } else {
        place
    })
}

/// The layer that has a default, and as what.
fn of_layer(path: &str, origin: &ValueOrigin) -> String {
    let names = KNOBS.iter().filter(|(_, knob)| *knob == path);
    let names: Vec<String> = names.map(|(name, _)| format!("defaults.{name}")).collect();
    format!("{origin} ({})", names.join(" or "))
}

/// True if a typed change, `key.of.it=value`, is at that place of the contract, above it or below it.
fn changes_at(set: &str, pointer: &str) -> bool {
    let (path, _) = set.split_once('=').unwrap_or((set, ""));
    let keys = path.split('.');
    let place = pointer.split('/').skip(1);
    keys.zip(place).all(|(key, at)| key == at)
}
