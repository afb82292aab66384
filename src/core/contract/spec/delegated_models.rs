//! The models of an agent that is delegated to: its own, else those of the delegating run. Asks none.

use std::path::{Component, Path, PathBuf};

use super::form::Setting;
use super::keys::{ContractSpec, FILE, ProviderSpec, TargetSpec};
use crate::contract::{ExecutionContract, PriceTable, RunPrices};

/// Gives the agent the models of the delegating run where its file names none, with their providers, and prices of models that it has none
/// for. `stated` are parameters that it states itself; the folders are its own and that of the delegating run; `limit` is the contract of
/// that run, if it limits the cost.
pub(super) fn inherit_models(
    own: &mut ContractSpec,
    stated: &[&str],
    folders: (&Path, &Path),
    by: &ContractSpec,
    limit: Option<&ExecutionContract>,
) {
    if own.targets.is_empty() {
        take_targets(own, stated, by);
        take_providers(own, folders, by);
        add_beside(own);
        if own.model_profile_id.is_none() {
            own.model_profile_id.clone_from(&by.model_profile_id);
        }
        if own.tokenizer == Setting::Unset {
            own.tokenizer.clone_from(&by.tokenizer);
        }
        for profile in &by.model_profiles {
            if own
                .model_profiles
                .iter()
                .all(|known| known.id != profile.id)
            {
                own.model_profiles.push(profile.clone());
            }
        }
        let window = &mut own.context_budget.context_window;
        *window = window.or(by.context_budget.context_window);
    }
    take_prices(own, by, limit);
}

/// The models that attempts go to, and the one that makes summaries where the agent names none.
fn take_targets(own: &mut ContractSpec, stated: &[&str], by: &ContractSpec) {
    let attempted = by.targets.iter().filter(|target| !target.summarizer);
    let attempted = attempted.map(|target| TargetSpec {
        sampling: target.sampling.without(stated),
        ..target.clone()
    });
    own.targets = attempted.collect();
    if own.tool_output_budget.summarizer_model.is_none() {
        let theirs = by.tool_output_budget.summarizer_model.clone();
        if let Some(named) = &theirs {
            let mut beside = by.targets.iter().filter(|target| target.summarizer);
            own.targets
                .extend(beside.find(|target| is_called(target, named)).cloned());
        }
        own.tool_output_budget.summarizer_model = theirs;
    }
}

/// The providers of those models. What the agent's file says of one of that name is about none of its models.
fn take_providers(own: &mut ContractSpec, (folder, theirs): (&Path, &Path), by: &ContractSpec) {
    let names = own.targets.iter().map(|target| target.provider.clone());
    for name in names.collect::<Vec<_>>() {
        let Some(provider) = by.providers.get(&name) else {
            continue;
        };
        let file = provider.file.as_deref();
        let provider = ProviderSpec {
            file: file.map(|file| seen_from(folder, theirs, file)),
            ..provider.clone()
        };
        own.providers.insert(name.clone(), provider);
        let place = format!("{}.{name}", FILE.providers.name);
        let is_below = |path: &str| {
            let below = path.strip_prefix(&place);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        own.origins.retain(|path, _| !is_below(path));
        let origins = by.origins.iter().filter(|(path, _)| is_below(path));
        let origins = origins.map(|(path, origin)| (path.clone(), origin.clone()));
        own.origins.extend(origins);
    }
}

/// Adds the models that a file names elsewhere, which are none of its targets: no attempt goes to them.
pub(super) fn add_beside(own: &mut ContractSpec) {
    let summarizer = own.tool_output_budget.summarizer_model.iter();
    let servers = own.tools.servers.values();
    let samplers = servers.filter_map(|server| server.terms.sampling.as_ref());
    let named: Vec<String> = summarizer.chain(samplers).cloned().collect();
    for named in named {
        if own.targets.iter().any(|target| is_called(target, &named)) {
            continue;
        }
        let of = |provider: &String| {
            let model = named.strip_prefix(provider.as_str())?.strip_prefix('/')?;
            Some((provider.clone(), model.to_owned())).filter(|_| !model.is_empty())
        };
        // A provider's name may hold a slash: the longest that fits is meant.
        let found = own.providers.keys().filter_map(of);
        if let Some((provider, model)) = found.max_by_key(|(provider, _)| provider.len()) {
            own.targets.push(TargetSpec {
                model,
                provider,
                summarizer: true,
                ..TargetSpec::default()
            });
        }
    }
}

pub(super) fn is_called(target: &TargetSpec, named: &str) -> bool {
    named == target.model || named == format!("{}/{}", target.provider, target.model)
}

/// Prices of the delegating run and of those above it, for the agent's providers and for models that it has no price of. Under a limit from
/// above its own prices make nothing cheaper: of two, the higher one counts. All of them are handed on, whatever providers the agent has.
///
/// Each parent run has a separate limit: the limit of one raises nothing to the prices of another.
fn take_prices(own: &mut ContractSpec, by: &ContractSpec, limit: Option<&ExecutionContract>) {
    let mut above = by.line_prices.clone();
    match above.first_mut() {
        Some(nearest) => nearest.limited = limit.is_some(),
        None => above.push(RunPrices {
            limited: limit.is_some(),
            stated: by.prices.clone(),
        }),
    }
    if let Some((nearest, limit)) = above.first_mut().zip(limit) {
        add_known(&mut nearest.stated, limit);
    }
    let stated = own.prices.take();
    let has = |provider: &str| own.providers.contains_key(provider);
    let mut made = stated.clone();
    for run in &above {
        if let Some(theirs) = &run.stated {
            made = Some(with_prices(made.as_ref(), theirs, run.limited, &has));
        }
    }
    let made = made.filter(|made| stated.is_some() || !made.models.is_empty());
    own.prices = made;
    above.insert(
        0,
        RunPrices {
            limited: false,
            stated,
        },
    );
    own.line_prices = above;
}

/// Adds the prices that a contract has from the catalogue of models: a limit was judged by them, too.
fn add_known(table: &mut Option<PriceTable>, contract: &ExecutionContract) {
    for target in &contract.targets {
        let facts = target.facts.as_ref();
        let Some((facts, price)) = facts.and_then(|facts| Some((facts, facts.price?))) else {
            continue;
        };
        let table = table.get_or_insert_with(|| PriceTable {
            version: facts.catalogue.clone(),
            ..PriceTable::default()
        });
        let models = table.models.entry(target.provider.clone()).or_default();
        models.entry(target.model.clone()).or_insert(price);
    }
}

/// The prices of a table, and those of another one for the providers that are wanted.
fn with_prices(
    own: Option<&PriceTable>,
    theirs: &PriceTable,
    limited: bool,
    is_wanted: &dyn Fn(&str) -> bool,
) -> PriceTable {
    let mut made = own.cloned().unwrap_or_else(|| PriceTable {
        version: theirs.version.clone(),
        ..PriceTable::default()
    });
    let theirs = theirs.models.iter();
    for (provider, models) in theirs.filter(|(provider, _)| is_wanted(provider)) {
        if models.is_empty() {
            continue;
        }
        let known = made.models.entry(provider.clone()).or_default();
        for (model, price) in models {
            let price = match known.get(model) {
                Some(own) if limited => own.or_higher(*price),
                Some(own) => *own,
                None => *price,
            };
            known.insert(model.clone(), price);
        }
    }
    made
}

/// A path that begins in their folder, from `folder`: absolute where one of the two folders is not, or no path leads there.
fn seen_from(folder: &Path, theirs: &Path, path: &str) -> String {
    let (from, to) = (settled(folder), settled(theirs));
    if Path::new(path).is_absolute() || from == to {
        return path.to_owned();
    }
    let shared = from.iter().zip(&to);
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(shared).map(|_| Component::ParentDir);
    let down = to.iter().skip(shared).copied();
    let way: PathBuf = if shared == 0 {
        theirs.to_owned()
    } else {
        up.chain(down).collect()
    };
    way.join(path).to_string_lossy().into_owned()
}

/// The parts of a path, without those that lead back.
fn settled(path: &Path) -> Vec<Component<'_>> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(parts.last(), Some(Component::Normal(_))) => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}
