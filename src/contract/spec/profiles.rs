use super::reader::{Choice, Out, Read, Section};
use super::tree::Node;
use crate::contract::{ModelProfile, ProfileMatch, ProviderType, SamplingDefaults, TextProfile};

/// The longest id and the longest description of a profile.
const MAX_CHARS: usize = 200;

impl Choice for TextProfile {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("hermes", Self::Hermes),
        ("llama3", Self::Llama3),
        ("qwen", Self::Qwen),
    ];
}

impl Read for ModelProfile {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        let read = Section::read(node, out, |profile| {
            let id: Option<String> = profile.required("id");
            Some(Self {
                context_window: profile.nullable("context_window"),
                description: profile.get("description").unwrap_or_default(),
                grammar_profiles: profile.get("grammar_profiles").unwrap_or_default(),
                matches: profile.get("match").unwrap_or_default(),
                max_format_retries: profile.get("max_format_retries").unwrap_or(1),
                sampling: profile.section("sampling", |section| SamplingDefaults {
                    max_output_tokens: section.nullable("max_output_tokens"),
                    repeat_penalty: section.nullable("repeat_penalty"),
                    temperature: section.nullable("temperature"),
                    top_p: section.nullable("top_p"),
                }),
                strict_mode: profile.get("strict_mode").unwrap_or(true),
                supports_native_tools: profile.get("supports_native_tools").unwrap_or(true),
                template: profile.nullable("template"),
                text_profiles: profile.get("text_profiles").unwrap_or_default(),
                tokenizer: profile.nullable("tokenizer"),
                id: id?,
            })
        })??;
        if read.id.is_empty() || read.id.chars().count() > MAX_CHARS {
            let rule = "a profile's id has 1 to 200 characters".to_owned();
            out.below("id").refuse(node, rule, None);
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
            out.below("sampling").refuse(node, rule, None);
        }
        Some(read)
    }
}

impl Read for ProfileMatch {
    fn read(node: &Node, out: &Out<'_>) -> Option<Self> {
        Section::read(node, out, |section| {
            let models = section.required("models");
            let providers: Option<Vec<ProviderType>> = section.required("providers");
            Some(Self {
                models: models?,
                providers: providers?,
            })
        })?
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
    fn a_profile_of_the_authors_own_comes_first_and_stands_whole_in_the_contract() {
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
            let said = spec(&format!("model_profiles: [{profile}]\n")).unwrap_err();
            assert!(said.contains(expect), "{said}");
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
