//! The rules of a contract file that take more than one of its sections. Fills in no default.

use super::fill::child;
use super::form::{Read, Schemas};
use super::keys::{
    ContractSpec, FILE, MAX_CALLS, PRICES, SERVER, TARGET, TOOL_OUTPUT_BUDGET, TOOLS, TargetSpec,
};
use super::reporter::{Reporter, suggest};
use super::section::{Judge, Section};
use super::tree::{Kind, Node};
use crate::contract::{CallLimits, QueueTerms};
use serde_json::{Value, json};

impl Judge for ContractSpec {
    type Output = Self;

    fn judge(mut self, file: &Section<'_, '_>) -> Option<Self> {
        // Those of faulty providers, too, so that a target is not blamed for them.
        let provider_names = names_below(file, FILE.providers.name);
        refuse_unknown_providers(file, &provider_names);
        refuse_unknown_queues(file);
        refuse_unknown_prices(file, &provider_names);
        let place = [
            FILE.tool_output_budget.name,
            TOOL_OUTPUT_BUDGET.summarizer_model.name,
        ];
        if let Some(named) = self.tool_output_budget.summarizer_model.as_deref() {
            add_beside(file, (named, &place), &mut self.targets, &provider_names);
        }
        for (server, spec) in &self.tools.servers {
            let place = [
                FILE.tools.name,
                TOOLS.mcp.name,
                server,
                SERVER.sampling.name,
            ];
            if let Some(named) = spec.terms.sampling.as_deref() {
                add_beside(file, (named, &place), &mut self.targets, &provider_names);
            }
        }
        Some(self)
    }
}

/// The names of the entries of the mapping of that name.
fn names_below(file: &Section<'_, '_>, name: &str) -> Vec<String> {
    match file.peek(name).map(|node| &node.kind) {
        Some(Kind::Map(entries)) => entries.iter().map(|(key, _)| key.text.clone()).collect(),
        Some(Kind::Scalar { .. } | Kind::List(_)) | None => Vec::new(),
    }
}

/// Prices may speak of the file's providers only.
fn refuse_unknown_prices(file: &Section<'_, '_>, providers: &[String]) {
    let prices = file.peek(FILE.prices.name);
    let models = prices.and_then(|prices| child(prices, PRICES.models.name));
    let Some(Kind::Map(entries)) = models.map(|models| &models.kind) else {
        return;
    };
    let reporter = file
        .reporter
        .below(FILE.prices.name)
        .below(PRICES.models.name);
    let unknown = |name: &str| !providers.iter().any(|known| known == name);
    for (key, value) in entries.iter().filter(|(key, _)| unknown(&key.text)) {
        let (rule, help) = no_such_provider(&key.text, providers);
        reporter.below(&key.text).refuse(value, rule, help);
    }
}

/// Prefix of the rule about an undefined provider.
pub(super) const NO_PROVIDER: &str = "no provider `";

fn no_such_provider(name: &str, providers: &[String]) -> (String, Option<String>) {
    let rule = format!("{NO_PROVIDER}{name}` is defined under `providers`");
    (rule, suggest(name, providers.iter().map(String::as_str)))
}

/// Refuses a server that names a queue which is neither one of the file nor `default` (000 §7).
fn refuse_unknown_queues(file: &Section<'_, '_>) {
    let names = names_below(file, FILE.queues.name);
    let tools = file.peek(FILE.tools.name);
    for section in [TOOLS.mcp.name, TOOLS.openapi.name, TOOLS.rest.name] {
        let servers = tools.and_then(|tools| child(tools, section));
        let Some(Kind::Map(servers)) = servers.map(|node| &node.kind) else {
            continue;
        };
        for (server, node) in servers {
            let Some(named_queue) = child(node, SERVER.queue.name) else {
                continue;
            };
            let Kind::Scalar { text, .. } = &named_queue.kind else {
                continue;
            };
            if named_queue.is_null() || text == QueueTerms::DEFAULT || names.contains(text) {
                continue;
            }
            let reporter = file.reporter.below(FILE.tools.name).below(section);
            let reporter = reporter.below(&server.text).below(SERVER.queue.name);
            let (missing, help) = if reporter.findings.is_hidden(&reporter.path) {
                ("of the name that a variable holds".to_owned(), None)
            } else {
                let help = suggest(text, names.iter().map(String::as_str));
                (format!("`{text}`"), help)
            };
            let rule = format!("no queue {missing} is defined under `queues`");
            reporter.refuse(named_queue, rule, help);
        }
    }
}

impl Judge for QueueTerms {
    type Output = Self;

    fn judge(self, section: &Section<'_, '_>) -> Option<Self> {
        if self.concurrent == 0 {
            section.refuse_key("concurrent", "a queue runs at least 1 call", None);
        }
        Some(self)
    }
}

/// Refuses a file without a target, and a target whose provider is nowhere.
fn refuse_unknown_providers(file: &Section<'_, '_>, providers: &[String]) {
    let Some(Kind::List(items)) = file.peek(FILE.targets.name).map(|node| &node.kind) else {
        return;
    };
    let reporter = file.reporter.below(FILE.targets.name);
    if items.is_empty() {
        file.refuse_key(FILE.targets.name, "at least one target is needed", None);
    }
    for (n, item) in items.iter().enumerate() {
        let Some(provider) = child(item, TARGET.provider.name) else {
            continue;
        };
        if let Kind::Scalar { text, .. } = &provider.kind
            && !providers.contains(text)
            && !file
                .reporter
                .findings
                .has_at(&format!("{}.{text}", FILE.providers.name))
        {
            let (rule, help) = no_such_provider(text, providers);
            reporter
                .below(&n.to_string())
                .below(TARGET.provider.name)
                .refuse(provider, rule, help);
        }
    }
}

/// Adds the target of that name, to which no attempt goes, where it is not there yet. `place` is where the file names it.
fn add_beside(
    file: &Section<'_, '_>,
    (named, place): (&str, &[&str]),
    targets: &mut Vec<TargetSpec>,
    providers: &[String],
) {
    let known = |target: &TargetSpec| {
        named == target.model || named == format!("{}/{}", target.provider, target.model)
    };
    if targets.is_empty() || targets.iter().any(known) {
        return;
    }
    let of = |provider: &&String| {
        let model = named.strip_prefix(provider.as_str())?.strip_prefix('/')?;
        Some(model.to_owned()).filter(|model| !model.is_empty())
    };
    // A provider's name may hold a slash: the longest that fits is meant.
    let provider = providers.iter().filter(|name| of(name).is_some());
    let provider = provider.max_by_key(|name| name.len());
    let found = provider.and_then(|name| Some((name, of(&name)?)));
    let Some((provider, model)) = found else {
        let rule = format!("`{named}` is no model of `targets` and no `provider/model`");
        let help = Some(format!(
            "providers: {}",
            if providers.is_empty() {
                "none".to_owned()
            } else {
                providers.join(", ")
            }
        ));
        let (first, rest) = place.split_first().unwrap_or((&"", &[]));
        let mut node = file.peek(first);
        let mut reporter = file.reporter.below(first);
        for key in rest {
            node = node.and_then(|node| child(node, key));
            reporter = reporter.below(key);
        }
        if let Some(node) = node {
            reporter.refuse(node, rule, help);
        }
        return;
    };
    targets.push(TargetSpec {
        model,
        provider: provider.clone(),
        summarizer: true,
        ..TargetSpec::default()
    });
}

impl Read for CallLimits {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        if matches!(node.kind, Kind::Scalar { .. }) {
            return Some(Self {
                run: Some(u64::read(node, reporter)?),
                ..Self::default()
            });
        }
        Section::of(node, reporter, &MAX_CALLS)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        json!({"anyOf": [u64::schema(definitions), definitions.form(&MAX_CALLS)]})
    }
}
