//! The catalogue of models: windows, longest answers, prices, the parameters that a model takes, and its last day. Data; asks no model.
//!
//! `scripts/models` writes it from a public table. A contract holds the facts that it uses, so a new catalogue changes no contract
//! that exists.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use url::Url;

use super::{BigCount, ModelFacts, ModelPrice, ProviderType, Sampling, ThinkingForm};

const FILE: &str = include_str!("../../../contracts/models.v1.json");

/// Hosts and names of vendors that OpenRouter sells the models of, by its own prefix.
const RESOLD: [(&str, &str); 9] = [
    ("anthropic/", "anthropic"),
    ("deepseek/", "deepseek"),
    ("google/", "gemini"),
    ("minimax/", "minimax"),
    ("mistralai/", "mistral"),
    ("moonshotai/", "moonshot"),
    ("openai/", "openai"),
    ("x-ai/", "xai"),
    ("z-ai/", "zai"),
];

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
    // The file is part of the program; a test reads it.
    serde_json::from_str(FILE).unwrap_or_default()
});

/// One answer of the catalogue: the facts to hold, and the window, which a target states itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CatalogueEntry {
    /// Tokens that a prompt may have.
    pub(super) context_window: Option<u64>,
    pub(super) facts: ModelFacts,
    /// True if a contract holds these facts already.
    is_recorded: bool,
    /// The day on which its vendor stops the model. No contract holds it.
    retires: Option<String>,
}

impl CatalogueEntry {
    /// The facts that a recorded contract holds.
    pub(super) const fn recorded(facts: ModelFacts) -> Self {
        Self {
            context_window: None,
            facts,
            is_recorded: true,
            retires: None,
        }
    }

    /// The facts, if a target uses one of them: its window where the author states none, its longest answer where that bounds the default,
    /// its price, or the form of its requests.
    pub(super) fn used(
        self,
        stated_window: Option<u64>,
        sampling: &Sampling,
    ) -> Option<ModelFacts> {
        let facts = &self.facts;
        let bounds = facts.max_output_tokens == Some(sampling.max_output_tokens);
        let is_used = self.is_recorded
            || self.context_window.is_some() && stated_window.is_none()
            || bounds
            || facts.price.is_some()
            || !facts.efforts.is_empty()
            || !facts.refuses.is_empty()
            || facts.thinking.is_some();
        is_used.then_some(self.facts)
    }
}

/// The whole catalogue.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalogue {
    vendors: BTreeMap<String, Vendor>,
    version: String,
}

/// A vendor: its hosts and its models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vendor {
    hosts: Vec<String>,
    models: BTreeMap<String, Model>,
    /// Models of a vendor of `own_names` that others serve, too.
    #[serde(default)]
    open_weights: Vec<String>,
    /// True if a name means the same model at any host.
    #[serde(default)]
    own_names: bool,
    /// Parameters that its servers refuse, whatever the model.
    #[serde(default)]
    refuses: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    context_window: u64,
    #[serde(default)]
    efforts: Vec<String>,
    max_output_tokens: Option<u64>,
    /// Trillionths of a dollar per token: input, output, read from the cache, written to it.
    price: Option<[u64; 4]>,
    #[serde(default)]
    refuses: Vec<String>,
    /// The day on which its vendor stops it, as `2026-11-30`.
    retires: Option<String>,
    thinking: Option<ThinkingForm>,
}

/// The place of a request's host in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seller {
    /// The vendor's own host.
    Vendor,
    /// A host that the catalogue does not know.
    Other,
}

/// Tokens that a prompt to that model may have; None if the catalogue does not know it.
#[must_use]
pub fn known_window(provider: ProviderType, address: Option<&str>, model: &str) -> Option<u64> {
    let address = address.or_else(|| provider.usual_base_url());
    let entry = Catalogue::current().lookup(provider, address, model);
    entry?.context_window
}

/// The day on which the vendor stops that model, as `2026-11-30`; None if the catalogue knows of none.
#[must_use]
pub fn known_retirement(
    provider: ProviderType,
    address: Option<&str>,
    model: &str,
) -> Option<String> {
    let address = address.or_else(|| provider.usual_base_url());
    let entry = Catalogue::current().lookup(provider, address, model);
    entry?.retires
}

impl Catalogue {
    /// The catalogue of this build.
    pub(super) fn current() -> &'static Self {
        &CATALOGUE
    }

    /// Returns the facts about a model of a provider at that address, if there are any. The catalogue never knows an embedded, a
    /// scripted or an Ollama model: its server or its file decides what it is.
    pub(super) fn lookup(
        &self,
        provider: ProviderType,
        address: Option<&str>,
        model: &str,
    ) -> Option<CatalogueEntry> {
        match provider {
            ProviderType::Ollama | ProviderType::Local | ProviderType::Scripted => None,
            ProviderType::Openrouter => self.resold(model),
            ProviderType::Openai
            | ProviderType::OpenaiResponses
            | ProviderType::Anthropic
            | ProviderType::Google => match address.and_then(|address| self.vendor_at(address)) {
                Some(vendor) => self.sold(vendor, model),
                None => self.named(model),
            },
        }
    }

    fn vendor_at(&self, address: &str) -> Option<&Vendor> {
        let address = Url::parse(address).ok()?;
        let host = address.host_str()?;
        let mut vendors = self.vendors.values();
        vendors.find(|vendor| vendor.hosts.iter().any(|known| known == host))
    }

    /// A model at its vendor's own host. Of an unknown one, the parameters that the host refuses are known.
    fn sold(&self, vendor: &Vendor, model: &str) -> Option<CatalogueEntry> {
        let model = model.strip_prefix("models/").unwrap_or(model);
        let found = vendor.find(model);
        let entry = found.map(|(known, exact)| {
            let mut entry = self.entry(known, Seller::Vendor);
            // Another model of a family may cost something else, and last longer.
            entry.facts.price = entry.facts.price.filter(|_| exact);
            entry.retires = entry.retires.filter(|_| exact);
            entry
        });
        if vendor.refuses.is_empty() {
            return entry;
        }
        let mut entry = entry.unwrap_or_else(|| self.bare(None));
        entry.facts.refuses.extend(vendor.refuses.iter().cloned());
        entry.facts.refuses.sort_unstable();
        Some(entry)
    }

    /// A model at a host that the catalogue does not know, such as a gateway, by a name that means one model everywhere.
    fn named(&self, model: &str) -> Option<CatalogueEntry> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let mut vendors = self.vendors.values().filter(|vendor| vendor.own_names);
        let (known, _) = vendors.find_map(|vendor| {
            let is_open = vendor
                .open_weights
                .iter()
                .any(|open| name.starts_with(open.as_str()));
            vendor.find(name).filter(|_| !is_open)
        })?;
        Some(self.entry(known, Seller::Other))
    }

    /// A model behind OpenRouter, which takes one form of parameters for all of them and reports what a request costs.
    fn resold(&self, model: &str) -> Option<CatalogueEntry> {
        let (name, _variant) = model.split_once(':').unwrap_or((model, ""));
        let of_vendor = RESOLD.iter().find_map(|(prefix, vendor)| {
            let name = name.strip_prefix(prefix)?;
            let vendor = self.vendors.get(*vendor)?;
            let dashed = name.replace('.', "-");
            vendor.find(name).or_else(|| vendor.find(&dashed))
        });
        let Some((known, exact)) = of_vendor else {
            // Each of its names begins with that of a vendor.
            return self.hosted(name).filter(|_| name.contains('/'));
        };
        let mut entry = self.bare(Some(known.context_window));
        entry.facts.max_output_tokens = known.max_output_tokens;
        entry.retires = known.retires.clone().filter(|_| exact);
        Some(entry)
    }

    /// Returns the least window and longest answer of the hosts that have a model under that name: OpenRouter chooses one of them.
    fn hosted(&self, name: &str) -> Option<CatalogueEntry> {
        let hosts = self.vendors.values();
        let known: Vec<&Model> = hosts.filter_map(|host| host.models.get(name)).collect();
        let window = known.iter().map(|model| model.context_window).min()?;
        let longest = known.iter().filter_map(|model| model.max_output_tokens);
        let mut entry = self.bare(Some(window));
        entry.facts.max_output_tokens = longest.min();
        Some(entry)
    }

    /// An entry without facts.
    fn bare(&self, context_window: Option<u64>) -> CatalogueEntry {
        CatalogueEntry {
            context_window,
            facts: ModelFacts {
                catalogue: self.version.clone(),
                ..ModelFacts::default()
            },
            is_recorded: false,
            retires: None,
        }
    }

    fn entry(&self, known: &Model, seller: Seller) -> CatalogueEntry {
        let price = known.price.filter(|_| seller == Seller::Vendor);
        let price = price.map(|[input, output, read, written]| ModelPrice {
            cache_read_pico_usd: BigCount(read),
            cache_write_pico_usd: BigCount(written),
            input_pico_usd: BigCount(input),
            output_pico_usd: BigCount(output),
        });
        CatalogueEntry {
            context_window: Some(known.context_window),
            facts: ModelFacts {
                catalogue: self.version.clone(),
                efforts: known.efforts.clone(),
                max_output_tokens: known.max_output_tokens,
                price,
                refuses: known.refuses.clone(),
                thinking: known.thinking,
            },
            is_recorded: false,
            // Other hosts may serve it longer.
            retires: known.retires.clone().filter(|_| seller == Seller::Vendor),
        }
    }
}

impl Vendor {
    /// The model of that name, or of that name without a date; else the one whose name is the longest beginning. True if it is the
    /// first.
    fn find(&self, name: &str) -> Option<(&Model, bool)> {
        // Of a tuned model the base is named first: ft:BASE:OWNER::ID.
        let name = match name
            .strip_prefix("ft:")
            .and_then(|rest| rest.split_once(':'))
        {
            Some((base, _)) => name.get(..base.len() + "ft:".len()).unwrap_or(name),
            None => name,
        };
        let exact = self.models.get(name);
        let exact = exact.or_else(|| self.models.get(undated(name)));
        if let Some(model) = exact {
            return Some((model, true));
        }
        let begins = |known: &str| {
            let rest = name.strip_prefix(known);
            rest.is_some_and(|rest| rest.starts_with(['-', '.', ':', '@']))
        };
        let family = self.models.iter().filter(|(known, _)| begins(known));
        let longest = family.max_by_key(|(known, _)| known.len());
        longest.map(|(_, model)| (model, false))
    }
}

/// A name without the date at its end: `-2026-04-23`, `-20260423`, `@20260423`, `-2512`.
fn undated(name: &str) -> &str {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let Some((head, last)) = name
        .rsplit_once(['-', '@'])
        .filter(|(_, last)| digits(last))
    else {
        return name;
    };
    if matches!(last.len(), 4 | 8) {
        return head;
    }
    let parts: Vec<&str> = name.rsplitn(4, '-').collect();
    match parts.as_slice() {
        [day, month, year, head] if [day.len(), month.len(), year.len()] == [2, 2, 4] => {
            let is_date = digits(day) && digits(month) && digits(year);
            if is_date { head } else { name }
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(provider: ProviderType, address: &str, model: &str) -> Option<CatalogueEntry> {
        Catalogue::current().lookup(provider, Some(address), model)
    }

    const OPENAI: &str = "https://api.openai.com/v1";
    const GATEWAY: &str = "http://127.0.0.1:4000/v1";

    #[test]
    fn the_catalogue_is_read_whole_and_small() {
        let catalogue: Catalogue = serde_json::from_str(FILE).unwrap();
        assert!(FILE.len() < 300_000, "{}", FILE.len());
        assert!(!catalogue.version.is_empty());
        for (name, vendor) in &catalogue.vendors {
            assert!(
                !vendor.hosts.is_empty() && !vendor.models.is_empty(),
                "{name}"
            );
            for (model, facts) in &vendor.models {
                assert!(facts.context_window > 0, "{name} {model}");
                assert!(facts.max_output_tokens != Some(0), "{name} {model}");
            }
        }
        for (_, vendor) in RESOLD {
            assert!(catalogue.vendors.contains_key(vendor), "{vendor}");
        }
        for kind in ProviderType::ALL {
            for host in kind.own_hosts() {
                let known = catalogue.vendor_at(&format!("https://{host}/v1")).is_some();
                assert!(known || kind == ProviderType::Openrouter, "{host}");
            }
        }
    }

    #[test]
    fn a_model_is_found_by_name_then_without_its_date_then_by_its_family() {
        let window = |provider, address: &str, model: &str| {
            at(provider, address, model).and_then(|entry| entry.context_window)
        };
        let check = |model: &str, expect: Option<u64>| {
            assert_eq!(
                window(ProviderType::Openai, OPENAI, model),
                expect,
                "{model}"
            );
        };
        check("gpt-4o", Some(128_000));
        check("gpt-4o-2024-08-06", Some(128_000));
        check("gpt-5", Some(272_000));
        check("gpt-5-2031-01-31", Some(272_000));
        check("gpt-5-in-production", Some(272_000));
        check("ft:gpt-4o-2024-08-06:we::x1", Some(128_000));
        check("gpt-50", None);
        check("claude-opus-4-7", None);
        check("", None);
        let sonnet = window(
            ProviderType::Openrouter,
            "https://openrouter.ai/api/v1",
            "anthropic/claude-sonnet-4.5:beta",
        );
        assert_eq!(sonnet, Some(200_000));
        let resold = |model: &str| at(ProviderType::Openrouter, "", model);
        let open = resold("openai/gpt-oss-120b:free").unwrap();
        let least = (open.context_window, open.facts.max_output_tokens);
        assert_eq!(least, (Some(131_072), Some(65_536)), "of several hosts");
        assert_eq!(resold("openai/gpt-oss-121b"), None);
        assert_eq!(resold("gpt-oss-120b"), None, "another name");
        let gemini = "https://generativelanguage.googleapis.com/v1beta";
        assert_eq!(
            window(ProviderType::Google, gemini, "models/gemini-2.5-flash"),
            Some(1_048_576)
        );
    }

    #[test]
    fn another_host_says_nothing_of_open_weights_and_of_prices() {
        let known = at(ProviderType::Openai, GATEWAY, "openai/gpt-5").unwrap();
        assert!(known.facts.refuses("max_tokens"));
        assert_eq!(known.facts.price, None);
        let own = at(ProviderType::Openai, OPENAI, "gpt-5").unwrap();
        assert_eq!(own.facts.price.unwrap().input_pico_usd, BigCount(1_250_000));
        assert_eq!(at(ProviderType::Openai, GATEWAY, "deepseek-chat"), None);
        assert_eq!(at(ProviderType::Openai, GATEWAY, "gemma-3-27b-it"), None);
        let family = at(ProviderType::Openai, OPENAI, "gpt-5-in-production").unwrap();
        assert_eq!(family.facts.price, None);
        for own in [
            ProviderType::Ollama,
            ProviderType::Local,
            ProviderType::Scripted,
        ] {
            assert_eq!(at(own, OPENAI, "gpt-5"), None, "{own:?}");
        }
    }

    #[test]
    fn a_vendor_refuses_parameters_of_models_that_are_not_known() {
        let mistral = "https://api.mistral.ai/v1";
        for model in ["mistral-large-latest", "of-tomorrow"] {
            let entry = at(ProviderType::Openai, mistral, model).unwrap();
            assert!(entry.facts.refuses("stream_options"), "{model}");
            assert!(entry.facts.refuses("seed"), "{model}");
        }
    }

    #[test]
    fn the_last_day_of_a_model_is_known_at_its_vendor_and_for_that_model_alone() {
        let check = |provider, address: Option<&str>, model: &str, expect: Option<&str>| {
            let day = known_retirement(provider, address, model);
            assert_eq!(day.as_deref(), expect, "{model}");
        };
        let (openai, day) = (ProviderType::Openai, Some("2027-01-14"));
        check(openai, None, "gpt-4o-mini", day);
        check(openai, Some(OPENAI), "gpt-4o-mini-2024-07-18", day);
        check(openai, Some(OPENAI), "gpt-4o-mini-of-ours", None);
        check(openai, Some(GATEWAY), "gpt-4o-mini", None);
        check(ProviderType::Openrouter, None, "openai/gpt-4o-mini", day);
        check(openai, Some(OPENAI), "of-tomorrow", None);
        let sonnet = Some("2026-11-30");
        check(ProviderType::Anthropic, None, "claude-sonnet-4-5", sonnet);
        let days = CATALOGUE.vendors.values().flat_map(|it| it.models.values());
        for day in days.filter_map(|model| model.retires.as_deref()) {
            let digits = day.replace('-', "");
            assert!(day.len() == 10 && digits.parse::<u32>().is_ok(), "{day}");
        }
    }

    #[test]
    fn only_a_date_at_the_end_is_left_out() {
        let check = |name: &str, expect: &str| assert_eq!(undated(name), expect);
        check("gpt-5-2025-08-07", "gpt-5");
        check("claude-haiku-4-5-20251001", "claude-haiku-4-5");
        check("claude-haiku-4-5@20251001", "claude-haiku-4-5");
        check("mistral-large-2512", "mistral-large");
        check("claude-haiku-4-5", "claude-haiku-4-5");
        check("gpt-5-x5-08-07", "gpt-5-x5-08-07");
        check("2512", "2512");
    }
}
