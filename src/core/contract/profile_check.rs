//! Checks of a contract against the profiles of its models, its transport and its grammar. Changes nothing.

use super::factory::adapter_of;
use super::grammar::grammar_faults;
use super::terms::TermFault;
use super::tokenizer::tokenizer_fault;
use super::{
    GrammarLanguage, ModelProfile, ProviderType, TargetTerms, Terms, TextProfile, ToolTransport,
};
use crate::message::amount;

/// The default prompt layout of the embedded engine, if the model's file has none.
const EMBEDDED_TEMPLATE: &str = "chatml";

/// Returns what the model profile, the transport or this build cannot do: FAILED_PREFLIGHT(profile_incompatible).
#[must_use]
pub fn profile_faults(terms: &Terms) -> Vec<TermFault> {
    let mut faults = Vec::new();
    let mut rule = |broken: bool, path: &str, text: String| {
        if broken {
            faults.push(TermFault::at(path, text));
        }
    };
    rule(
        terms.speculative_exec && terms.tool_transport != ToolTransport::Native,
        "speculative_exec",
        "speculative_exec true: calls in tags are known once the message is complete; set tool_transport: native".to_owned(),
    );
    rule(
        terms.tool_output_budget.summarizer_model.is_some() && terms.summarizer().is_none(),
        "tool_output_budget.summarizer_model",
        "tool_output_budget.summarizer_model names no target".to_owned(),
    );
    for (name, server) in &terms.servers {
        let Some(model) = &server.sampling else {
            continue;
        };
        let place = format!("servers.{name}.sampling");
        let known = terms.targets.iter().any(|target| target.is_named(model));
        rule(!known, &place, format!("{place} names no target"));
    }
    rule(
        terms.grammar.is_some() && terms.grammar_profile.is_none(),
        "grammar",
        "grammar without grammar_profile: nothing says how to read it".to_owned(),
    );
    let is_local = |target: &TargetTerms| {
        let provider = terms.providers.get(&target.provider);
        provider.is_some_and(|p| p.provider_type == ProviderType::Local)
    };
    let some_local = terms.targets.iter().any(is_local);
    if let Some(fault) = tokenizer_fault(terms, some_local) {
        rule(true, "tokenizer", fault);
    }
    for (n, target) in terms.targets.iter().enumerate() {
        let local = is_local(target);
        let place = format!("targets.{n}");
        rule(
            terms.logits_mask.is_some() && !local,
            "logits_mask",
            format!("logits_mask: targets.{n} is remote, a mask needs a local model"),
        );
        if let (Some(mask), Some(vocabulary)) = (&terms.logits_mask, target.vocabulary) {
            let given = mask.len();
            rule(
                u64::try_from(given) != Ok(vocabulary),
                "logits_mask",
                format!(
                    "logits_mask has {}, but the vocabulary of targets.{n} {}",
                    amount(given, "value"),
                    amount(vocabulary, "token")
                ),
            );
        }
        let id = &target.model_profile_id;
        let own = terms.model_profiles.iter().find(|own| own.id == *id);
        let Some(profile) = own.or_else(|| ModelProfile::by_id(id)) else {
            rule(
                true,
                &place,
                format!("targets.{n}: this build has no model profile `{id}`"),
            );
            continue;
        };
        if let Some(grammar) = &terms.grammar_profile {
            let embedded = grammar == GrammarLanguage::Lark.profile();
            // An embedded model always decodes under our own engine. Remote targets do not use it. A server that reads grammars
            // does so for every model whose calls are in the text.
            let sent = grammar == GrammarLanguage::Gbnf.profile();
            let text = TextProfile::of_version(&target.adapter_version);
            let tagged = text.is_some_and(|(_, text)| text.is_tagged());
            let supported = if local {
                embedded
            } else {
                embedded && some_local
                    || sent && (tagged || terms.exposed_tools().next().is_none())
                    || own.is_some_and(|own| own.grammar_profiles.contains(grammar))
            };
            let hint = if sent && !local {
                "; it needs text_profile hermes or qwen"
            } else {
                ""
            };
            rule(
                !supported,
                "grammar_profile",
                format!(
                    "grammar_profile {grammar}: targets.{n}, profile {id}, supports none of it{hint}"
                ),
            );
        }
        if let Some(fault) = alignment_fault(terms, n, target, profile) {
            rule(true, &place, fault);
        }
    }
    if let Some(mask) = &terms.logits_mask {
        rule(
            mask.iter().any(|bias| !bias.is_finite()),
            "logits_mask",
            "logits_mask holds a value that is not finite".to_owned(),
        );
    }
    faults.extend(grammar_faults(terms));
    faults
}

/// Returns the conflict between a target's adapter, its model profile, its provider and the transport of calls (002 Phase 2a,
/// rule 2): prompt and protocol must have one form, or the run does not begin.
fn alignment_fault(
    terms: &Terms,
    n: usize,
    target: &TargetTerms,
    profile: &ModelProfile,
) -> Option<String> {
    let (id, version) = (&profile.id, &target.adapter_version);
    let layered = TextProfile::of_version(version);
    let wire = layered.map_or(version.as_str(), |(wire, _)| wire);
    let provider_type = terms.providers.get(&target.provider)?.provider_type;
    if provider_type != ProviderType::Scripted && adapter_of(provider_type) != wire {
        let word = provider_type.as_str();
        return Some(format!(
            "targets.{n}: the adapter {version} does not speak the protocol of type {word}"
        ));
    }
    // The embedded engine has one layout, unless the model's own file has another.
    let laid_out = target.prompt_layout.is_none() && provider_type == ProviderType::Local;
    if let Some(template) = profile.template.as_deref().filter(|_| laid_out)
        && template != EMBEDDED_TEMPLATE
    {
        return Some(format!(
            "targets.{n}: profile {id} expects its prompts as {template}, the embedded engine lays out {EMBEDDED_TEMPLATE}, \
             and the model's file has no template that knows tools"
        ));
    }
    let transport = terms.tool_transport;
    match layered {
        Some((_, text)) if !profile.text_profiles.contains(&text) => {
            let known = match profile.text_profiles.as_slice() {
                [] => "only through its provider".to_owned(),
                forms => {
                    let words: Vec<&str> = forms.iter().map(|form| form.as_str()).collect();
                    format!("in text as {}", words.join(" or "))
                }
            };
            let form = text.as_str();
            Some(format!(
                "text_profile {form}: targets.{n}, profile {id}, calls tools {known}"
            ))
        }
        Some((_, text)) if transport != ToolTransport::Native => Some(format!(
            "text_profile {}: targets.{n} would carry calls in two forms, its own and the tags of tool_transport xml",
            text.as_str()
        )),
        // The embedded model's own protocol has calls, whatever the model.
        None if transport != ToolTransport::Xml
            && provider_type != ProviderType::Local
            && !profile.supports_native_tools
            && terms.native_tools(false).next().is_some() =>
        {
            Some(format!(
                "tool_transport native: targets.{n}, profile {id}, has no calls of its own"
            ))
        }
        Some(_) | None => None,
    }
}
