//! Reads the author's own model profiles. Does not match them to models.

use serde_json::Value;

use super::form::{Read, Schemas};
use super::keys::PROFILE;
use super::reporter::Reporter;
use super::section::Section;
use super::tree::Node;
use crate::contract::{ModelProfile, SamplingDefaults};

/// The longest id and the longest description of a profile.
const MAX_CHARS: usize = 200;

impl Read for ModelProfile {
    type Output = Self;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self> {
        let read: Self = Section::of(node, reporter, &PROFILE)?;
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

#[cfg(test)]
mod tests {
    use crate::contract::{CapabilityManifest, ContractFactory, ContractSpec, ExecutionContract};

    fn spec(profiles: &str) -> Result<ContractSpec, String> {
        let text = format!(
            "targets: [{{provider: p, model: our-8b}}]\nproviders: {{p: {{type: openai}}}}\n{profiles}"
        );
        ContractSpec::parse("c.yaml", &text, &[]).map_err(|errors| errors.to_string())
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
        assert_eq!(target.sampling.top_p, None);
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
