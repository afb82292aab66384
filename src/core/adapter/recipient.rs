//! The target that requests go to: the state that is its own, and ids and names in the form that it takes. Knows no wire format.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::members::others;
use crate::contract::{ProviderType, TargetTerms, Terms};
use crate::message::{
    AgentMessage, Digest, Role, StateMember, StatePlace, StateTarget, ToolInvocation,
};

/// The longest name of a tool that every protocol takes.
const MAX_NAME: usize = 64;
/// The documented signature of a call that Gemini did not make, or whose own signature is lost.
pub(super) const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";
/// Characters of the digest that keeps a rewritten id apart from every other one.
const MARK: usize = 8;

/// The target of requests.
#[derive(Debug)]
pub(super) struct Recipient {
    form: IdForm,
    /// True if the target refused its own state.
    refuses_state: bool,
    rules: ServerRules,
    target: StateTarget,
    /// The names in the contract's manifests.
    tools: BTreeSet<String>,
}

/// The ids of calls that a protocol takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdForm {
    /// Any text of at most that many bytes.
    Text(usize),
    /// Letters, digits, `_` and `-`, at most that many.
    Word(usize),
    /// Exactly that many letters and digits.
    Letters(usize),
}

/// The rules of a server beyond its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerRules {
    /// The members of the model's messages that it takes; none if it takes every one that it sends.
    takes: Option<&'static [&'static str]>,
    /// True if every message with calls must have `reasoning_content`.
    pub wants_reasoning: bool,
    /// True if only the model may speak after a result.
    pub joins_results: bool,
    /// True if the first call of every message must have a signature of Gemini's.
    pub signs_calls: bool,
}

const ANY: ServerRules = ServerRules {
    takes: None,
    wants_reasoning: false,
    joins_results: false,
    signs_calls: false,
};

/// True if the model refuses a call without a signature: from Gemini 3 on, which the names of the latest ones are, too.
pub(super) fn wants_signatures(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let Some(version) = name.strip_prefix("gemini-") else {
        return false;
    };
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    major
        .parse::<u32>()
        .map_or_else(|_| version.contains("latest"), |major| major >= 3)
}

/// The servers of OpenAI's chat protocol with rules of their own: a part of the address or of the model's name, and the rules.
const SERVERS: [(&[&str], ServerRules, IdForm); 5] = [
    (
        &[
            "mistral",
            "ministral",
            "mixtral",
            "magistral",
            "devstral",
            "codestral",
            "pixtral",
            "voxtral",
        ],
        ServerRules {
            takes: Some(&[]),
            joins_results: true,
            ..ANY
        },
        IdForm::Letters(9),
    ),
    (
        &["deepseek", "moonshot", "kimi"],
        ServerRules {
            wants_reasoning: true,
            ..ANY
        },
        IdForm::Text(usize::MAX),
    ),
    (
        &["api.groq.com"],
        ServerRules {
            takes: Some(&["reasoning"]),
            ..ANY
        },
        IdForm::Text(usize::MAX),
    ),
    (
        &["googleapis.com"],
        ServerRules {
            signs_calls: true,
            ..ANY
        },
        IdForm::Text(usize::MAX),
    ),
    (
        &["api.openai.com", "openai.azure.com"],
        ANY,
        IdForm::Text(40),
    ),
];

/// A part of a message of the model, in the order in which it is sent, with the members that only the provider knows.
#[derive(Clone, Copy, Debug)]
pub(super) enum SentPart<'m> {
    /// The JSON text of a part as it came.
    Block(&'m str),
    /// A call.
    Call(&'m ToolInvocation, &'m str),
    /// Text.
    Text(&'m str, &'m str),
}

impl Recipient {
    /// The target of OpenAI's chat protocol.
    pub(super) fn of_chat(terms: &Terms, target: &TargetTerms) -> Self {
        let provider = terms.providers.get(&target.provider);
        let address = provider.and_then(|provider| provider.base_url.as_deref());
        // A router translates for the servers behind it.
        let is_router = provider.is_some_and(|p| p.provider_type == ProviderType::Openrouter);
        let names = [address.unwrap_or_default(), &target.model].map(str::to_lowercase);
        let rules = SERVERS.iter().find(|(words, rules, _)| {
            let is_known = |name: &String| words.iter().any(|word| name.contains(word));
            names.iter().any(is_known) && (!is_router || rules.wants_reasoning)
        });
        let (mut rules, form) = rules
            .map_or((ANY, IdForm::Text(usize::MAX)), |(_, rules, form)| {
                (*rules, *form)
            });
        rules.signs_calls |= !is_router && wants_signatures(&target.model);
        Self {
            rules,
            ..Self::of(terms, target, form)
        }
    }

    pub(super) fn of(terms: &Terms, target: &TargetTerms, form: IdForm) -> Self {
        Self {
            form,
            refuses_state: false,
            rules: ANY,
            target: target.owner_of_state(),
            tools: terms.tools.iter().map(|tool| tool.name.clone()).collect(),
        }
    }

    pub(super) const fn rules(&self) -> ServerRules {
        self.rules
    }

    /// Sends the target's own state back, or none of it; true if earlier renderings differ.
    pub(super) fn refuse_state(&mut self, refuses: bool) -> bool {
        std::mem::replace(&mut self.refuses_state, refuses) != refuses
    }

    /// True if a member of that name may be sent.
    pub(super) fn takes(&self, name: &str) -> bool {
        self.rules.takes.is_none_or(|taken| taken.contains(&name))
    }

    /// The members of `message` that this target gave.
    fn own<'m>(&self, message: &'m AgentMessage) -> &'m [StateMember] {
        let state = message.state.as_deref();
        let own = state.filter(|state| !self.refuses_state && state.target == self.target);
        own.map_or(&[], |state| &state.members)
    }

    /// The members of the message itself that go back to this target: key and JSON text.
    pub(super) fn members<'m>(
        &self,
        message: &'m AgentMessage,
    ) -> impl Iterator<Item = (&'m str, &'m str)> {
        let members = self.own(message).iter();
        members.filter_map(|member| {
            let name = member.name.as_deref().filter(|name| self.takes(name))?;
            (member.place == StatePlace::Message).then_some((name, member.bytes.as_str()))
        })
    }

    /// The members of one object of a part that go back to this target.
    pub(super) fn object_members<'m>(&self, object: &'m str) -> Vec<(String, &'m str)> {
        let members = others(object, &[]).into_iter();
        members
            .filter(|(name, _)| self.takes(name))
            .map(|(name, raw)| (name, raw.get()))
            .collect()
    }

    /// Each call of a message with the members that only this target knows.
    pub(super) fn calls<'m>(
        &self,
        message: &'m AgentMessage,
    ) -> Vec<(&'m ToolInvocation, &'m str)> {
        let own = self.own(message).iter();
        let own = own.filter(|member| member.place == StatePlace::Call);
        let mut own: Vec<&str> = own.map(|member| member.bytes.as_str()).collect();
        // A call was taken out of the message, or added: it is not known to which of them the others belong.
        if own.len() != message.tool_calls.len() {
            own.clear();
        }
        let own = own.into_iter().chain(std::iter::repeat(""));
        message.tool_calls.iter().zip(own).collect()
    }

    /// The blocks and texts of a message whose content is still what this target gave; none if it has no block.
    pub(super) fn content<'m>(&self, message: &'m AgentMessage) -> Option<Vec<SentPart<'m>>> {
        let own = self.own(message);
        let is_block = |member: &StateMember| member.place == StatePlace::Block;
        if !own.iter().any(is_block) {
            return None;
        }
        let texts = own.iter().filter(|member| member.place != StatePlace::Call);
        placed(texts, message)
    }

    /// The parts of a message in the order in which they are sent: with this target's own members where the message is still what it
    /// gave, else text and then calls.
    pub(super) fn parts<'m>(&self, message: &'m AgentMessage) -> Vec<SentPart<'m>> {
        if let Some(parts) = placed(self.own(message).iter(), message)
            && parts.iter().filter(|part| part.is_call()).count() == message.tool_calls.len()
            && !parts.is_empty()
        {
            return parts;
        }
        let text = Some(SentPart::Text(&message.content, ""));
        let calls = message.tool_calls.iter();
        text.into_iter()
            .chain(calls.map(|call| SentPart::Call(call, "")))
            .collect()
    }

    /// The id of a call of the message that follows `before`, in the target's form. An id that occurs again, and one that is of another
    /// form, is kept apart from all others by its digest.
    pub(super) fn call_id<'c>(&self, before: &[Arc<AgentMessage>], id: &'c str) -> Cow<'c, str> {
        let occurs = |message: &Arc<AgentMessage>| message.tool_calls.iter().any(|c| c.id == id);
        let at = before.len();
        if self.form.fits(id) && !before.iter().any(occurs) {
            return Cow::Borrowed(id);
        }
        Cow::Owned(self.form.rewritten(id, at))
    }

    /// The id that a result answers: that of the nearest call of this id before it.
    pub(super) fn result_id<'c>(&self, before: &[Arc<AgentMessage>], id: &'c str) -> Cow<'c, str> {
        let at = asked_at(before, id).unwrap_or(before.len());
        self.call_id(before.get(..at).unwrap_or_default(), id)
    }

    /// The name of a call as it is sent. One that no manifest has may hold anything that a model writes.
    pub(super) fn name<'c>(&self, name: &'c str) -> Cow<'c, str> {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let is_legal = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(letter);
        if is_legal || self.tools.contains(name) {
            return Cow::Borrowed(name);
        }
        let legal = name.chars().map(|c| if letter(c) { c } else { '_' });
        let legal: String = legal.take(MAX_NAME).collect();
        Cow::Owned(if legal.is_empty() {
            "unnamed".to_owned()
        } else {
            legal
        })
    }

    /// The name of the tool that the result `id` is of, as it is sent.
    pub(super) fn result_name<'m>(
        &self,
        before: &'m [Arc<AgentMessage>],
        id: &str,
    ) -> Cow<'m, str> {
        let asked = asked_at(before, id).and_then(|at| before.get(at));
        let mut calls = asked.into_iter().flat_map(|message| &message.tool_calls);
        let call = calls.find(|call| call.id == id);
        call.map_or(Cow::Borrowed(""), |call| self.name(&call.name))
    }
}

impl SentPart<'_> {
    const fn is_call(&self) -> bool {
        matches!(self, Self::Call(..))
    }
}

/// The parts that `members` name in `message`; none if it is not what it was. Text that was held back leaves the rest in place.
fn placed<'m>(
    members: impl Iterator<Item = &'m StateMember>,
    message: &'m AgentMessage,
) -> Option<Vec<SentPart<'m>>> {
    let mut rest = message.content.as_str();
    let held_back = rest.is_empty();
    let mut calls = message.tool_calls.iter();
    let mut parts = Vec::new();
    for member in members {
        match member.place {
            StatePlace::Message => {}
            StatePlace::Block => parts.push(SentPart::Block(&member.bytes)),
            StatePlace::Call => parts.push(SentPart::Call(calls.next()?, &member.bytes)),
            StatePlace::Text => {
                let length = usize::try_from(member.length.unwrap_or(0)).ok()?;
                if held_back && length > 0 {
                    continue;
                }
                let (text, after) = rest.split_at_checked(length)?;
                rest = after;
                parts.push(SentPart::Text(text, &member.bytes));
            }
        }
    }
    rest.is_empty().then_some(parts)
}

/// The place of the nearest message that has a call of that id.
fn asked_at(before: &[Arc<AgentMessage>], id: &str) -> Option<usize> {
    let has = |message: &Arc<AgentMessage>| message.tool_calls.iter().any(|call| call.id == id);
    before.iter().rposition(has)
}

/// True if a message of the model says nothing and asks for nothing: no protocol takes one.
pub(super) fn is_silent(message: &AgentMessage) -> bool {
    message.role == Role::Assistant
        && message.content.trim().is_empty()
        && message.tool_calls.is_empty()
}

impl IdForm {
    fn fits(self, id: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        match self {
            Self::Text(most) => !id.is_empty() && id.len() <= most,
            Self::Word(most) => !id.is_empty() && id.len() <= most && id.chars().all(is_word),
            Self::Letters(count) => {
                id.len() == count && id.chars().all(|c| c.is_ascii_alphanumeric())
            }
        }
    }

    /// The id of the call in the message at `at`, in this form.
    fn rewritten(self, id: &str, at: usize) -> String {
        let digest = Digest::of(format!("{at}:{id}").as_bytes()).to_string();
        let mark = |length: usize| digest.chars().take(length);
        match self {
            Self::Letters(count) => mark(count).collect(),
            Self::Text(most) | Self::Word(most) => {
                let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
                let clean = id.chars().map(|c| if is_word(c) { c } else { '_' });
                let room = most.min(MAX_NAME) - MARK - 1;
                clean.take(room).chain(['_']).chain(mark(MARK)).collect()
            }
        }
    }
}
