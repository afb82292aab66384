//! The needs of one contract on this machine: its checks, tool servers, keys, and the models that answer it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::commands::contract::preview_of;
use crate::commands::doctor::checkup::answered::ProviderNeeds;
use crate::commands::doctor::checkup::finding::{Finding, missing, ok, wrong};
use crate::commands::doctor::checkup::progress::progress;
use crate::context::app::App;
use crate::context::runtime::runtime;
use monolith_core::contract::{
    CapabilityManifest, ContractSpec, ProviderType, ServerCapability, TermFault, Validators,
    recorded_url, tool_faults_with,
};
use monolith_core::kernel::CheckName;
use monolith_host::driver::{Preview, ServersToStart};
use monolith_host::inference::{Probe, answer_at, probe_address};
use monolith_host::telemetry::with_short_log;
use monolith_service::check::failures::failures;
use monolith_service::contract_file::ContractFile;
use monolith_service::error::ServiceError;
use monolith_service::remedy::{Commands, ServerRemedy};
use monolith_service::text::command::{command, typed_word};
use monolith_service::text::escape::line;
use monolith_service::text::numbers::counted;
use monolith_service::unreached::unreached;
use monolith_service::workflow::check::as_written;
use monolith_service::workflow::check::{CheckedStep, StepContract, checked_steps, step_contracts};

/// Time limit for a model server to answer a probe.
const PATIENCE: Duration = Duration::from_secs(3);
const NAME: &str = "contract";
/// The fix for an embedded model that is missing.
const LOCAL_FIX: &str = if cfg!(feature = "local") {
    "monolith model list names what is stored and what can be pulled"
} else {
    "or let a model server answer it: monolith init finds one"
};

/// Checks the needs of a contract: its checks, its tool servers, its keys, and the models that answer it.
pub(super) fn needed(
    app: &App,
    path: &Path,
    sets: &[String],
) -> Result<Vec<Finding>, ServiceError> {
    let file = ContractFile::given(app, path.to_owned(), sets.to_vec());
    let mut check = format!(
        "monolith contract check {}",
        typed_word(&path.display().to_string())
    );
    for set in sets {
        let _ = write!(check, " --set {}", typed_word(set));
    }
    let starts_servers = command(&format!("{check} --start-servers"));
    let check = command(&check);
    let looked = if file.is_workflow() {
        as_written(
            &file.name().display().to_string(),
            sets.iter().map(|set| format!("--set {set}")),
        )?;
        of_workflow(app, &file).map_err(|fault| (fault, &check))
    } else {
        match app.read_contract(&file) {
            Ok(spec) => Needs::of(app, &file, spec).map_err(|fault| (fault, &starts_servers)),
            Err(fault) => Err((fault, &check)),
        }
    };
    let Needs {
        broken,
        mut found,
        is_up,
    } = match looked {
        Ok(needs) => needs,
        Err((fault, says)) => {
            let fix = if path.exists() {
                format!("{says} says where")
            } else {
                "name a file that is there; monolith init FILE writes one".to_owned()
            };
            return Ok(vec![wrong(NAME, fault.summary(), fix)]);
        }
    };
    if broken.is_empty() && is_up {
        found.push(ok(NAME, "it passes monolith contract check"));
    }
    // Without its servers the check knows less than was found here.
    let fix = format!("{starts_servers} says more");
    found.extend(broken.into_iter().map(|why| wrong(NAME, why, fix.clone())));
    Ok(found)
}

/// The needs of a contract, and the unmet ones.
struct Needs {
    /// The rules that it breaks.
    broken: Vec<String>,
    /// Its servers, its keys, and what is to answer it.
    found: Vec<Finding>,
    /// True if each of its tool servers started.
    is_up: bool,
}

impl Needs {
    fn of(app: &App, file: &ContractFile, spec: ContractSpec) -> Result<Self, ServiceError> {
        let servers: Vec<&str> = spec.tools.servers.keys().map(String::as_str).collect();
        if !servers.is_empty() {
            let servers = line(&servers.join(", "));
            progress(app, &format!("starting tool servers: {servers}"));
        }
        let preview = preview_of(app, file, spec, true)?;
        let file = typed_word(&file.name().display().to_string());
        let mut found = tool_servers(&preview, &Commands::of_file(app, file));
        found.extend(keys(&preview));
        progress(app, "asking the servers of its models");
        found.extend(answering(app, &preview)?);
        let failed = failures(&preview).into_iter();
        let failed = failed.filter_map(|(check, why)| match check {
            CheckName::Tools => other_tool_faults(&preview),
            _ => Some(why),
        });
        let unmet = preview.unmet.iter().map(ToString::to_string);
        Ok(Self {
            broken: failed.chain(unmet).collect(),
            found,
            is_up: down(&preview).next().is_none(),
        })
    }
}

/// Does the same for a workflow: its contract, and each agent that a step delegates to.
fn of_workflow(app: &App, file: &ContractFile) -> Result<Needs, ServiceError> {
    let spec = file.read_workflow(app)?;
    app.judge_workflow(file, &spec)?;
    let checked = checked_steps(app, file, &spec, ServersToStart::Builtin);
    let checked = runtime()?.block_on(checked);
    let mut known = BTreeSet::new();
    let mut all = Needs {
        broken: Vec::new(),
        found: Vec::new(),
        is_up: true,
    };
    for step in &checked {
        for fault in &step.faults {
            if known.insert((step.file.clone(), fault.clone())) {
                let CheckedStep { file, step, .. } = step;
                all.broken.push(format!("step `{step}`, {file}: {fault}"));
            }
        }
    }
    for StepContract {
        agent,
        file: name,
        spec,
    } in step_contracts(app, file, &spec)
    {
        let needs = match Needs::of(app, agent.as_ref().unwrap_or(file), spec) {
            Ok(needs) => needs,
            // Each step that runs under it has the fault already.
            Err(_)
                if checked
                    .iter()
                    .any(|step| step.file == name && !step.faults.is_empty()) =>
            {
                continue;
            }
            Err(fault) => return Err(fault),
        };
        all.is_up &= needs.is_up;
        // Two contracts may name the same server.
        for finding in needs.found {
            if all.found.iter().all(|known| known.detail != finding.detail) {
                all.found.push(finding);
            }
        }
        for why in needs.broken {
            if known.insert((name.clone(), why.clone())) {
                all.broken.push(format!("{name}: {why}"));
            }
        }
    }
    Ok(all)
}

/// The servers that did not come up.
fn down(preview: &Preview) -> impl Iterator<Item = &str> {
    let servers = preview.contract.servers.iter();
    let down = servers.filter(|(_, server)| !server.available);
    down.map(|(name, _)| name.as_str())
}

/// Returns why the tool check fails, except for servers that did not start. Each of those is a finding already, and so its
/// tools are missing.
fn other_tool_faults(preview: &Preview) -> Option<String> {
    let faults = tool_faults_with(&preview.contract, &Validators::default());
    let of_down = |fault: &TermFault| {
        down(preview).any(|server| {
            if let Some(tool) = &fault.tool {
                let own = tool.strip_prefix(server);
                return own.is_some_and(|own| own.starts_with("__"));
            }
            let terms = preview.contract.servers.get(server);
            fault.path == terms.map(|terms| terms.kind.place(server))
        })
    };
    let others = faults.iter().filter(|(_, fault)| !of_down(fault));
    let others: Vec<&str> = others.map(|(_, fault)| fault.text.as_str()).collect();
    (!others.is_empty()).then(|| others.join("; "))
}

fn tool_servers(preview: &Preview, commands: &Commands<'_>) -> Vec<Finding> {
    let offered = CapabilityManifest::recorded_in(&preview.contract).servers;
    let one = |(server, terms): (&String, &ServerCapability)| {
        let detail = format!("tool server {server}");
        if terms.available {
            return ok(
                NAME,
                format!("{detail}: {}", counted(terms.tools.len(), "tool")),
            );
        }
        let fault = preview.faults.iter().find(|fault| fault.server == *server);
        let why = fault.map(|fault| format!(": {}", with_short_log(&fault.detail, "")));
        let why = why.unwrap_or_default();
        let fix =
            fault.map(|fault| ServerRemedy::of_fault(&preview.contract, fault).words(commands));
        let fix = fix.unwrap_or_else(|| "look at its log".to_owned());
        wrong(NAME, format!("{detail} did not come up{why}"), fix)
    };
    offered.iter().map(one).collect()
}

fn keys(preview: &Preview) -> Vec<Finding> {
    let mut found = Vec::new();
    for sent in &preview.reach.variables {
        let variable = &sent.variable;
        let (place, is_key) = match sent.place.strip_suffix(".api_key_env") {
            Some(provider) => (provider, true),
            None => match sent.place.strip_suffix(".base_url_env") {
                Some(provider) => (provider, false),
                None => continue,
            },
        };
        let provider = place.trim_start_matches("providers.");
        found.push(if sent.is_set {
            ok(NAME, format!("provider {provider}: {variable} is set"))
        } else if is_key && !sent.is_optional {
            wrong(
                NAME,
                format!("provider {provider}: {variable}, which its api_key_env names, is not set"),
                format!("export {variable}, or leave api_key_env out if the server wants no key"),
            )
        } else if is_key {
            missing(
                NAME,
                format!("provider {provider}: {variable} is not set"),
                format!("export {variable}, unless the server wants no key"),
            )
        } else {
            wrong(
                NAME,
                format!("provider {provider}: {variable}, which holds its address, is not set"),
                "export it",
            )
        });
    }
    found
}

/// Checks that the targets' models exist: the file of an embedded model, the server at an address. Sends no key, and neither
/// asks nor loads a model.
fn answering(app: &App, preview: &Preview) -> Result<Vec<Finding>, ServiceError> {
    let contract = &preview.contract;
    let named: BTreeSet<&str> = contract
        .targets
        .iter()
        .map(|target| target.provider.as_str())
        .collect();
    let mut found = Vec::new();
    for provider in named {
        let Some(terms) = contract.providers.get(provider) else {
            continue;
        };
        if terms.provider_type == ProviderType::Local {
            found.push(match preview.model_faults.get(provider) {
                None => ok(NAME, format!("provider {provider}: its model is there")),
                Some(fault) => wrong(NAME, format!("provider {provider}: {fault}"), LOCAL_FIX),
            });
        }
        let place = format!("providers.{provider}");
        let host = preview.reach.hosts.iter().find(|host| host.place == place);
        let Some(address) = host.and_then(|host| host.address.as_deref()) else {
            continue;
        };
        let runtime = runtime()?;
        let proxies = app.environment.proxies();
        let Probe {
            detail, responsive, ..
        } = runtime.block_on(probe_address(address, PATIENCE, &proxies));
        if !responsive {
            found.push(wrong(
                NAME,
                format!("provider {provider}: no answer: {detail}"),
                // Whether a key is there is judged by itself.
                unreached(
                    provider,
                    Some((terms.provider_type, &recorded_url(address))),
                    "`base_url`",
                    |_| true,
                ),
            ));
            continue;
        }
        let targets = contract.targets.iter();
        let asked = ProviderNeeds {
            address: recorded_url(address),
            kind: terms.provider_type,
            models: targets
                .filter(|target| target.provider == provider)
                .map(|target| target.model.as_str())
                .collect(),
            provider,
            unset_key: preview
                .reach
                .variables
                .iter()
                .find(|sent| !sent.is_set && sent.place == format!("{place}.api_key_env"))
                .map(|sent| sent.variable.as_str()),
            sends_key: preview
                .reach
                .variables
                .iter()
                .any(|sent| sent.is_set && sent.place.starts_with(&format!("{place}."))),
        };
        let path = match terms.provider_type {
            ProviderType::Ollama => "api/tags",
            _ => "models",
        };
        found.push(
            asked.judge(
                runtime
                    .block_on(answer_at(address, path, PATIENCE, &proxies))
                    .as_ref(),
            ),
        );
    }
    Ok(found)
}
