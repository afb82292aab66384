//! Checks over what a contract says of its models: prices and parameters. Does not change them.

use super::catalogue::known_retirement;
use super::terms::TermFault;
use super::{ProviderType, Terms};

/// Models without a known price, under a limit on cost.
pub(super) fn unknown_prices(terms: &Terms) -> Vec<TermFault> {
    let targets = terms.targets.iter().enumerate();
    targets
        .filter(|(n, _)| terms.max_cost_micro_usd.is_some() && needs_price(terms, *n))
        .map(|(n, target)| {
            let (model, provider) = (&target.model, &target.provider);
            let text = format!(
                "max_cost_micro_usd needs the price of targets.{n}, the model `{model}` of provider `{provider}`: \
                 state it under prices"
            );
            TermFault::at("max_cost_micro_usd", text)
        })
        .collect()
}

/// True if the cost of a request to that target needs a price that is missing. Embedded and scripted models cost nothing.
fn needs_price(terms: &Terms, target: usize) -> bool {
    let provider = terms.targets.get(target).map(|target| &target.provider);
    let provider = provider.and_then(|name| terms.providers.get(name));
    let free = provider.is_some_and(|provider| {
        matches!(
            provider.provider_type,
            ProviderType::Local | ProviderType::Scripted
        )
    });
    !free && terms.price(target).is_none()
}

/// Warns about parameters that an author states and the model refuses, by the catalogue of models. They are sent.
pub(super) fn refused_parameters(terms: &Terms) -> Vec<String> {
    let mut warnings = Vec::new();
    for (n, target) in terms.targets.iter().enumerate() {
        let Some(facts) = &target.facts else {
            continue;
        };
        let (model, sampling) = (&target.model, &target.sampling);
        let mut refused = |key: &str, remedy: &str| {
            warnings.push(format!(
                "targets.{n}: `{model}` refuses {key}, by the catalogue of models; it is sent as stated, and the provider may refuse the \
                 request: {remedy}"
            ));
        };
        for (key, value) in [
            ("temperature", sampling.temperature),
            ("top_p", sampling.top_p),
        ] {
            if value.is_some() && sampling.is_stated(key) && facts.refuses(key) {
                refused(key, "leave it out");
            }
        }
        if sampling.reasoning_count().is_some() && facts.refuses("budget_tokens") {
            refused(
                "a number of tokens for reasoning",
                "state a level, such as `reasoning: high`",
            );
        }
        let tokens = sampling.max_output_tokens;
        if let Some(most) = facts.max_output_tokens.filter(|most| *most < tokens) {
            refused(
                &format!("max_output_tokens of {tokens}"),
                &format!("it gives at most {most}"),
            );
        }
    }
    warnings
}

/// Warns about models that their vendor stops, by the catalogue of models, with the day.
pub(super) fn retiring_models(terms: &Terms) -> Vec<String> {
    let targets = terms.targets.iter().enumerate();
    let warnings = targets.filter_map(|(n, target)| {
        let provider = terms.providers.get(&target.provider)?;
        // The host of an address in a variable is not known.
        let address = Some(provider.base_url.as_deref()?);
        let model = &target.model;
        let day = known_retirement(provider.provider_type, address, model)?;
        Some(format!(
            "targets.{n}: `{model}` retires on {day}, by the catalogue of models: choose another model before that day"
        ))
    });
    warnings.collect()
}
