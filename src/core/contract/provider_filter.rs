//! The tools of a contract that a target's requests offer: the provider's filter (001 §6), and what the protocol cannot carry.
//! Reads terms; changes none.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::wire_names::WireNames;
use super::wire_schema::{SchemaRules, may_take_objects};
use super::{
    FinalReportTerms, ProviderTerms, TargetTerms, Terms, TextProfile, ToolTerms, ToolTransport,
    Validators, tool_filter,
};

impl ProviderTerms {
    /// True if models here are offered every tool that the contract exposes.
    #[must_use]
    pub const fn offers_all_tools(&self) -> bool {
        self.tools_allowed.is_none() && self.tools_denied.is_empty()
    }
}

impl Terms {
    /// True if requests to the target at `target` offer a tool: they do not leave it out, and its provider offers it to its models. A
    /// filter names a tool by its exposed name or by its name on the server. The session's own tools pass every filter.
    #[must_use]
    pub fn offers_to(&self, target: usize, tool: &ToolTerms) -> bool {
        let Some(target) = self.targets.get(target) else {
            return true;
        };
        let provider = self.providers.get(&target.provider);
        !target.left_out.contains_key(&tool.name)
            && provider.is_none_or(|provider| self.passes(provider, tool))
    }

    /// These terms as requests to the target at `target` state them: the tools that it is offered and no others, with their wire names
    /// and with schemas in the form of its protocol.
    pub(crate) fn as_sent_to(&self, target: usize) -> Cow<'_, Self> {
        let names = WireNames::of(self);
        let rules = self.targets.get(target);
        let rules = rules.and_then(|target| SchemaRules::of(self, target));
        let sent = |tool: &ToolTerms| {
            let schema = rules.and_then(|rules| rules.wire_schema(&tool.input_schema).ok());
            ToolTerms {
                input_schema: schema.unwrap_or_else(|| tool.input_schema.clone()),
                name: names.wire(&tool.name),
                ..tool.clone()
            }
        };
        let exposed = self.exposed_tools();
        let offered = exposed.filter(|tool| self.offers_to(target, tool));
        let tools: Vec<ToolTerms> = offered.map(sent).collect();
        let session_tools: Vec<ToolTerms> = self.session_tools.iter().map(sent).collect();
        if tools == self.tools && session_tools == self.session_tools {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self {
            allowed_tools: None,
            session_tools,
            tools,
            ..self.clone()
        })
    }

    /// The form that requests to a target ask for; `None` where any text will do, or where the model writes its calls as text, too.
    pub(crate) fn asked_format(&self, target: &TargetTerms) -> Option<&FinalReportTerms> {
        let in_text = self.tool_transport != ToolTransport::Native
            || TextProfile::of_version(&target.adapter_version).is_some();
        self.response_format.as_ref().filter(|_| !in_text)
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

    /// The targets of attempts that are offered none of the tools that the contract exposes, where it exposes any.
    pub(super) fn targets_without_tools(&self) -> Vec<usize> {
        let has_none = |target: &usize| {
            let mut exposed = self.exposed_tools().peekable();
            exposed.peek().is_some() && !exposed.any(|tool| self.offers_to(*target, tool))
        };
        (0..self.attempt_targets()).filter(has_none).collect()
    }

    /// True if the requests of every target leave the tool out.
    pub(super) fn is_left_out(&self, tool: &ToolTerms) -> bool {
        let mut targets = self.targets.iter().filter(|target| !target.summarizer);
        let Some(first) = targets.next() else {
            return false;
        };
        let mut targets = targets.chain([first]);
        targets.all(|target| target.left_out.contains_key(&tool.name))
    }

    /// Decides which of the exposed tools the requests of each target leave out: those whose arguments cannot be validated, and those
    /// whose schema has no form that the target's protocol takes.
    pub(super) fn leave_out_tools(&mut self, validators: &Validators) {
        let left_out = |target: &TargetTerms| -> BTreeMap<String, String> {
            let rules = SchemaRules::of(self, target);
            let reason = |tool: &ToolTerms| {
                if let Some(fault) = validators.fault(tool) {
                    let (at, rule) = (fault.pointer, fault.rule);
                    return Some(format!("its input schema at {at:?}: {rule}"));
                }
                let form = match rules {
                    Some(rules) => rules.wire_schema(&tool.input_schema).map(drop),
                    None if may_take_objects(&tool.input_schema) => Ok(()),
                    None => Err("it takes no object, and arguments are one".to_owned()),
                };
                form.err().map(|rule| format!("its input schema: {rule}"))
            };
            let exposed = self.exposed_tools();
            let left_out = exposed.filter_map(|tool| Some((tool.name.clone(), reason(tool)?)));
            left_out.collect()
        };
        let targets = self.targets.iter();
        let targets = targets.map(|target| TargetTerms {
            left_out: left_out(target),
            ..target.clone()
        });
        self.targets = targets.collect();
    }

    /// The tools that requests leave out, each with its server and one line that says why, and for which targets where not for all.
    #[must_use]
    pub fn left_out(&self) -> Vec<(String, String)> {
        let mut reasons: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
        for target in self.targets.iter().filter(|target| !target.summarizer) {
            let name = format!("{}/{}", target.provider, target.model);
            for (tool, reason) in &target.left_out {
                let targets = reasons.entry((tool, reason)).or_default();
                targets.push(name.clone());
            }
        }
        let lines = reasons.into_iter().filter_map(|((name, reason), targets)| {
            let tool = self.tool(name)?;
            let (server, _) = self.server_of(tool)?;
            let own = self.own_name_of(tool);
            let of = if targets.len() == self.attempt_targets() {
                String::new()
            } else {
                format!(" of requests to {}", targets.join(", "))
            };
            let line = format!("tool {own:?} left out{of}: {reason}");
            Some((server.to_owned(), line))
        });
        lines.collect()
    }
}
