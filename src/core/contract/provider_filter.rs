//! Filters that decide which tools of a contract a provider's models are offered (001 §6). Reads terms; changes none.

use std::borrow::Cow;

use super::{ProviderTerms, Terms, ToolTerms, tool_filter};

impl ProviderTerms {
    /// True if models here are offered every tool that the contract exposes.
    #[must_use]
    pub const fn offers_all_tools(&self) -> bool {
        self.tools_allowed.is_none() && self.tools_denied.is_empty()
    }
}

impl Terms {
    /// True if the provider of the target at `target` offers a tool to its models. A filter names a tool by its exposed name or
    /// by its name on the server. The session's own tools pass every filter.
    #[must_use]
    pub fn offers_to(&self, target: usize, tool: &ToolTerms) -> bool {
        let target = self.targets.get(target);
        let provider = target.and_then(|target| self.providers.get(&target.provider));
        provider.is_none_or(|provider| self.passes(provider, tool))
    }

    /// These terms with no other tools than the target at `target` is offered.
    pub(crate) fn as_offered_to(&self, target: usize) -> Cow<'_, Self> {
        if self.tools.iter().all(|tool| self.offers_to(target, tool)) {
            return Cow::Borrowed(self);
        }
        let mut narrowed = self.clone();
        narrowed.tools.retain(|tool| self.offers_to(target, tool));
        Cow::Owned(narrowed)
    }

    fn passes(&self, provider: &ProviderTerms, tool: &ToolTerms) -> bool {
        if provider.offers_all_tools() || tool.is_of_session() {
            return true;
        }
        let own = self.own_name_of(tool);
        let allowed = provider.tools_allowed.as_deref();
        let denied = provider.tools_denied.as_slice();
        let is_allowed = |name: &str| tool_filter::takes(allowed, &[], name);
        let is_kept = |name: &str| tool_filter::takes(None, denied, name);
        (is_allowed(&tool.name) || is_allowed(own)) && is_kept(&tool.name) && is_kept(own)
    }

    /// The targets of attempts whose providers leave them none of the tools that the contract exposes, where it exposes any.
    pub(super) fn targets_without_tools(&self) -> Vec<usize> {
        let has_none = |target: &usize| {
            let mut exposed = self.exposed_tools().peekable();
            exposed.peek().is_some() && !exposed.any(|tool| self.offers_to(*target, tool))
        };
        (0..self.attempt_targets()).filter(has_none).collect()
    }
}
