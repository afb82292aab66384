//! Reads the author's own model profiles. Does not match them to models.

use serde_json::Value;

use super::form::{Read, Schemas};
use super::keys::{MATCH, PROFILE, PROFILE_SAMPLING};
use super::reporter::Reporter;
use super::section::Section;
use super::tree::Node;
use crate::contract::{ModelProfile, ProfileMatch, SamplingDefaults};

/// The longest id and the longest description of a profile.
const MAX_CHARS: usize = 200;

impl Read for ModelProfile {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let read = Section::read(node, reporter, &PROFILE, |profile| {
            let id: Option<String> = profile.get(&PROFILE.id);
            Some(Self {
                context_window: profile.get(&PROFILE.context_window),
                description: profile.get(&PROFILE.description).unwrap_or_default(),
                grammar_profiles: profile.get(&PROFILE.grammar_profiles).unwrap_or_default(),
                matches: profile.get(&PROFILE.matches).unwrap_or_default(),
                max_format_retries: profile
                    .get(&PROFILE.max_format_retries)
                    .unwrap_or(PROFILE.max_format_retries.default_value),
                sampling: profile.get(&PROFILE.sampling).unwrap_or_default(),
                strict_mode: profile
                    .get(&PROFILE.strict_mode)
                    .unwrap_or(PROFILE.strict_mode.default_value),
                supports_native_tools: profile
                    .get(&PROFILE.supports_native_tools)
                    .unwrap_or(PROFILE.supports_native_tools.default_value),
                template: profile.get(&PROFILE.template),
                text_profiles: profile.get(&PROFILE.text_profiles).unwrap_or_default(),
                tokenizer: profile.get(&PROFILE.tokenizer),
                id: id?,
            })
        })??;
        if read.id.is_empty() || read.id.chars().count() > MAX_CHARS {
            let rule = "a profile's id has 1 to 200 characters".to_owned();
            reporter.below(PROFILE.id.name).refuse(node, rule, None);
        }
        let outside = |number: Option<f64>, max: f64| {
            number.is_some_and(|number| !(0.0..=max).contains(&number))
        };
        let SamplingDefaults {
            repeat_penalty,
            temperature,
            top_p,
            ..
        } = read.sampling;
        if outside(temperature, 2.0) || outside(top_p, 1.0) || outside(repeat_penalty, f64::MAX) {
            let rule = "temperature is 0 to 2, top_p 0 to 1, repeat_penalty at least 0".to_owned();
            reporter
                .below(PROFILE.sampling.name)
                .refuse(node, rule, None);
        }
        Some(read)
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&PROFILE)
    }
}

impl Read for SamplingDefaults {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &PROFILE_SAMPLING, |section| Self {
            max_output_tokens: section.get(&PROFILE_SAMPLING.max_output_tokens),
            repeat_penalty: section.get(&PROFILE_SAMPLING.repeat_penalty),
            temperature: section.get(&PROFILE_SAMPLING.temperature),
            top_p: section.get(&PROFILE_SAMPLING.top_p),
        })
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&PROFILE_SAMPLING)
    }
}

impl Read for ProfileMatch {
    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        Section::read(node, reporter, &MATCH, |section| {
            let models = section.get(&MATCH.models);
            let providers = section.get(&MATCH.providers);
            Some(Self {
                models: models?,
                providers: providers?,
            })
        })?
    }

    fn schema(definitions: &mut Schemas) -> Value {
        definitions.form(&MATCH)
    }
}

#[cfg(test)]
mod tests {
    use crate::contract::{CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract};

    fn spec(profiles: &str) -> Result<ContractSpec, String> {
        let text = format!(
            "targets: [{{provider: p, model: our-8b}}]\nproviders: {{p: {{type: openai}}}}\n{profiles}"
        );
        ContractSpec::parse("c.yaml", &text, &[]).map_err(|errors| errors.render())
    }

    fn contract(profiles: &str) -> ExecutionContract {
        let spec = spec(profiles).unwrap();
        ContractFactory
            .make(&spec, &CapabilityManifest::default(), None)
            .unwrap()
    }

    #[test]
    fn the_authors_own_profile_comes_first_and_is_whole_in_the_contract() {
        let own = |description: &str| {
            contract(&format!(
                "model_profiles: [{{id: our, description: {description}, match: [{{providers: [openai], models: [\"our-*\"]}}], \
                 context_window: 16384, strict_mode: false, sampling: {{temperature: 0.2}}}}]\n"
            ))
        };
        let made = own("ours");
        let target = &made.targets[0];
        assert_eq!(target.model_profile_id, "our");
        assert_eq!(target.context_window, 16384);
        assert_eq!(target.sampling.temperature, Some(0.2));
        assert_eq!(target.sampling.top_p, Some(1.0));
        assert!(!made.strict_mode);
        assert!(made.canonical_text().contains("\"description\":\"ours\""));
        assert_ne!(made.contract_hash(), own("other").contract_hash());
        // Without one, a contract is the document that it was before there were any.
        let without = contract("context_budget: {context_window: 9000}\n");
        assert_eq!(without.targets[0].model_profile_id, "unknown");
        assert!(!without.canonical_text().contains("model_profiles"));
    }

    #[test]
    fn a_faulty_profile_is_refused_with_its_place() {
        let check = |profile: &str, expect: &str| {
            let message = spec(&format!("model_profiles: [{profile}]\n")).unwrap_err();
            assert!(message.contains(expect), "{message}");
        };
        check("{context_window: 1}", "id");
        check("{id: a, widow: 1}", "widow");
        check(
            "{id: a, sampling: {temperature: 3}}",
            "temperature is 0 to 2",
        );
        check("{id: a, text_profiles: [llama]}", "expected one of hermes");
        check("{id: a, match: [{providers: [open], models: []}]}", "open");
    }
}
