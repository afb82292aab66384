//! The calls that a run ended for: which of the last message break the contract, and how. Reads what the machine decided; decides nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::RunView;
use crate::kernel::OutcomeCode;

/// A call of the last message for which the run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offence<'v> {
    /// No tool may be called.
    Forbidden(&'v str),
    /// The tool is not in `allowed_tools`.
    NotAllowed(&'v str),
    /// The provider that was asked is not offered the tool.
    KeptByProvider(&'v str),
    /// The second tool may not follow the first.
    Pair(&'v str, &'v str),
    /// The same call was asked for so often.
    Repeated {
        /// The exposed name of the tool.
        name: &'v str,
        /// The arguments, as JSON text.
        arguments: &'v str,
        /// The number of identical calls.
        times: u64,
    },
}

impl RunView {
    /// The calls for which the run ended, in the order of the message; empty if it ended for something else.
    pub fn offences(&self) -> Vec<Offence<'_>> {
        match self.outcome.map(|outcome| outcome.code) {
            Some(OutcomeCode::ForbiddenCall) => {
                let names = self.requested.names();
                let names = names.filter(|name| self.contract.session_tool(name).is_none());
                each_once(names.map(Offence::Forbidden))
            }
            Some(OutcomeCode::ToolNotAllowed) => {
                let names = self.requested.names();
                each_once(names.filter_map(|name| self.outside(name)))
            }
            Some(OutcomeCode::CycleForbidden) => self.forbidden_pair().into_iter().collect(),
            Some(OutcomeCode::IdenticalCalls) => self.repeated().into_iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the reason why the model in use may not call that tool of the contract.
    fn outside<'v>(&self, name: &'v str) -> Option<Offence<'v>> {
        let tool = self.contract.tool(name)?;
        if !self.contract.allows(name) {
            return Some(Offence::NotAllowed(name));
        }
        let asked = self.requests.all().values().rev();
        let mut asked = asked.filter(|request| !request.is_beside());
        let target = usize::try_from(asked.next()?.target).ok()?;
        let offered = self.contract.offers_to(target, tool);
        (!offered).then_some(Offence::KeptByProvider(name))
    }

    /// The first pair of calls that `cycle_forbid` has and no exception covers.
    fn forbidden_pair(&self) -> Option<Offence<'_>> {
        let started = self.calls.all().values().map(|call| call.name.as_str());
        let names = started.chain(self.requested.names());
        let names: Vec<&str> = names
            .filter(|name| self.contract.tool(name).is_some())
            .collect();
        let mut excepted = BTreeMap::<(&str, &str), u64>::new();
        names.windows(2).find_map(|pair| {
            let &[from, to] = pair else {
                return None;
            };
            let mut forbidden = self.contract.cycle_forbid.iter();
            if !forbidden.any(|(one, other)| one == from && other == to) {
                return None;
            }
            let used = excepted.entry((from, to)).or_default();
            let mut exceptions = self.contract.metadata.cycle_exceptions.iter();
            if exceptions.any(|one| one.from == from && one.to == to && *used < one.max) {
                *used += 1;
                return None;
            }
            Some(Offence::Pair(from, to))
        })
    }

    /// The first call that is asked for more often than `max_identical_calls` allows.
    fn repeated(&self) -> Option<Offence<'_>> {
        let limit = self.contract.max_identical_calls?;
        let started = self.calls.all().values();
        let started = started.map(|call| (call.name.as_str(), call.arguments.as_str()));
        let mut alike = BTreeMap::<(&str, String), u64>::new();
        started
            .chain(self.requested.calls())
            .find_map(|(name, arguments)| {
                let times = alike.entry((name, canonical(arguments))).or_default();
                *times += 1;
                (*times > limit).then_some(Offence::Repeated {
                    name,
                    arguments,
                    times: *times,
                })
            })
    }
}

fn each_once<'v>(offences: impl Iterator<Item = Offence<'v>>) -> Vec<Offence<'v>> {
    let mut all = Vec::new();
    for offence in offences {
        if !all.contains(&offence) {
            all.push(offence);
        }
    }
    all
}

/// Arguments in one form, whatever the order of their keys.
fn canonical(arguments: &str) -> String {
    let value = serde_json::from_str::<Value>(arguments).ok();
    value
        .and_then(|value| serde_json_canonicalizer::to_string(&value).ok())
        .unwrap_or_else(|| arguments.to_owned())
}
