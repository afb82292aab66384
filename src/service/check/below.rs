//! The problems of agents that may be called, and of those that they may call: each is judged as its run would be, under the
//! contract that calls it. Calls none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::check::check_report::{CheckedBelow, FaultBelow, down, is_up};
use crate::check::failures::known_failures;
use crate::check::preview::preview;
use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::contract::{ContractSpec, DelegationGrant, Delegator, ExecutionContract};
use monolith_core::kernel::CheckName;
use monolith_host::driver::{DriverError, Reach, ServersToStart, unset_by_itself, unset_keys};

/// Maximum number of agent files that are checked.
const MOST_BELOW: usize = 256;

/// The problems that are not in the contract of a file.
#[derive(Debug, Default)]
pub(super) struct Beside {
    /// Failed checks of agents.
    pub(super) checks: Vec<CheckedBelow>,
    /// The known faults, in words: an agent that inherits one from its caller has the same fault.
    known: BTreeSet<String>,
    /// The servers of agents that did not come up, and the problems of their tools.
    pub(super) notes: Vec<FaultBelow>,
    /// True if a run is checked, which needs its keys.
    of_a_run: bool,
    seen: BTreeSet<PathBuf>,
    /// Errors that keep a run from beginning.
    pub(super) unmet: Vec<ServiceError>,
}

impl Beside {
    /// Starts with only these errors of a run.
    pub(super) fn of_a_run(unmet: Vec<ServiceError>) -> Self {
        Self {
            of_a_run: true,
            unmet,
            ..Self::default()
        }
    }

    /// The keys that a run under such a contract lacks.
    pub(super) fn unset_keys(
        &self,
        service: &Service,
        spec: &ContractSpec,
        reach: &Reach,
    ) -> Vec<DriverError> {
        if self.of_a_run {
            unset_keys(spec, &service.environment, reach)
        } else {
            Vec::new()
        }
    }

    /// Adds faults of a file that are not known already.
    pub(super) fn add(&mut self, file: &ContractFile, faults: Vec<DriverError>) {
        for fault in faults {
            if self.known.insert(fault.to_string()) {
                self.unmet.push(file.located(fault));
            }
        }
    }

    /// Judges the agents that a file names, and those below them. `known` are the faults of the file itself.
    pub(super) async fn judge(
        &mut self,
        service: &Service,
        (file, known): (&ContractFile, &[DriverError]),
        (spec, contract): (&ContractSpec, &ExecutionContract),
    ) {
        self.known.extend(known.iter().map(ToString::to_string));
        self.seen.insert(settled(file.path()));
        self.judge_agents(service, file, spec, contract).await;
    }

    async fn judge_agents(
        &mut self,
        service: &Service,
        parent: &ContractFile,
        spec: &ContractSpec,
        contract: &ExecutionContract,
    ) {
        let chain = contract.delegation.as_ref();
        if chain.is_some_and(|chain| !chain.can_delegate()) {
            return;
        }
        for agent in &spec.agents {
            let file = parent.delegate(&agent.file);
            let Some(tool) = agent.tool() else {
                continue;
            };
            if self.seen.len() > MOST_BELOW || !self.seen.insert(settled(file.path())) {
                continue;
            }
            let own = match file.read(service) {
                Ok(own) => own,
                Err(fault) => {
                    self.unmet.push(fault);
                    continue;
                }
            };
            // As much as there is: what is left when it is called is not known.
            let grant = DelegationGrant {
                max_cost_micro_usd: contract.max_cost_micro_usd.map(|most| most.0),
                max_tokens: contract.max_tokens_consumed.0,
                total_timeout_ms: contract.total_timeout_ms,
            };
            let by = Delegator {
                contract,
                folder: parent.folder(),
                spec,
            };
            let called = (tool.as_str(), file.folder());
            let mut below = own.delegated(by, called, &grant, String::new());
            below.task = None;
            Box::pin(self.judge_one(service, &file, &below)).await;
        }
    }

    async fn judge_one(&mut self, service: &Service, file: &ContractFile, spec: &ContractSpec) {
        let servers = ServersToStart::Possible;
        let mut preview = match preview(service, file, spec.clone(), Vec::new(), servers).await {
            Ok(preview) => preview,
            Err(fault) => {
                self.unmet.push(fault);
                self.add(file, unset_by_itself(spec, &service.environment));
                return;
            }
        };
        self.add(file, std::mem::take(&mut preview.unmet));
        let unset = self.unset_keys(service, spec, &preview.reach);
        self.add(file, unset);
        let name = file.name().display().to_string();
        for (check, detail) in known_failures(&preview) {
            let places = match check {
                CheckName::Tools => file.places_of_servers(&preview.contract, &down(&preview)),
                _ => Vec::new(),
            };
            let all = || file.places_of(&preview.contract, [check], &preview.origins);
            self.checks.push(CheckedBelow {
                name: check,
                detail,
                file: name.clone(),
                places: if places.is_empty() { all() } else { places },
            });
        }
        let notes = std::mem::take(&mut preview.faults).into_iter();
        self.notes.extend(notes.map(|fault| FaultBelow {
            is_up: is_up(&preview, &fault),
            detail: fault.detail,
            file: name.clone(),
            server: fault.server,
        }));
        self.judge_agents(service, file, spec, &preview.contract)
            .await;
    }
}

/// The path as every way to the file comes to it.
fn settled(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
