//! Members of a message that its provider wants back unchanged. Opaque here.

use serde::{Deserialize, Serialize};

/// The state that a provider gave with a message, and the target that gave it.
///
/// An encoder sends it to the same target, unchanged and in its places, and leaves it out of every other request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderState {
    /// Members that are not kept, because a secret had to be taken out of them: the name, else the place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The members, in the order of the message.
    pub members: Vec<StateMember>,
    /// The target that gave it; no other one gets it.
    pub target: StateTarget,
}

/// The target that a state belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateTarget {
    /// The adapter that read it, such as `anthropic-messages/1`.
    pub adapter_version: String,
    /// The model that was asked.
    pub model: String,
    /// The provider's name in the contract.
    pub provider: String,
}

/// One member of a state. Texts and calls of the message are named by reference, everything else is verbatim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateMember {
    /// The JSON text as received: of a `call` or a `text` an object with the members that the message does not hold, empty if it
    /// has none.
    pub bytes: String,
    /// Of a `text`: its length in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Of a `message` member: its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The place in the received message. Blocks, calls and texts follow each other as they came.
    pub place: StatePlace,
}

/// The place of a member in the received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatePlace {
    /// A part of the content that is neither text nor call.
    Block,
    /// The next call.
    Call,
    /// The message itself.
    Message,
    /// The next bytes of the text.
    Text,
}

/// The state of a message in the conversation that a run starts with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpeningState {
    /// The message's place in the conversation, from 0.
    pub message: u64,
    /// Its state.
    pub provider_state: ProviderState,
}

impl StateMember {
    pub(crate) const fn block(bytes: String) -> Self {
        Self::at(StatePlace::Block, bytes)
    }

    pub(crate) const fn call(bytes: String) -> Self {
        Self::at(StatePlace::Call, bytes)
    }

    pub(crate) fn message(name: String, bytes: String) -> Self {
        Self {
            name: Some(name),
            ..Self::at(StatePlace::Message, bytes)
        }
    }

    pub(crate) fn text(length: usize, bytes: String) -> Self {
        Self {
            length: Some(u64::try_from(length).unwrap_or(u64::MAX)),
            ..Self::at(StatePlace::Text, bytes)
        }
    }

    /// True if more text without members belongs to it.
    pub(crate) fn continues_as_text(&self) -> bool {
        self.place == StatePlace::Text && self.bytes.is_empty()
    }

    pub(crate) fn lengthen(&mut self, by: usize) {
        let by = u64::try_from(by).unwrap_or(u64::MAX);
        self.length = self.length.map(|length| length.saturating_add(by));
    }

    const fn at(place: StatePlace, bytes: String) -> Self {
        Self {
            bytes,
            length: None,
            name: None,
            place,
        }
    }

    /// True if it holds something that the message does not.
    pub(crate) const fn has_content(&self) -> bool {
        matches!(self.place, StatePlace::Block | StatePlace::Message) || !self.bytes.is_empty()
    }

    /// Its name in a list of members that were left out.
    pub(crate) fn shown(&self) -> String {
        match (&self.name, self.place) {
            (Some(name), _) => name.clone(),
            (None, StatePlace::Block) => "block".to_owned(),
            (None, StatePlace::Call) => "call".to_owned(),
            (None, StatePlace::Message) => "message".to_owned(),
            (None, StatePlace::Text) => "text".to_owned(),
        }
    }
}

impl ProviderState {
    /// The state of those members, target still unknown; none if there are none.
    pub(crate) fn of(members: Vec<StateMember>) -> Option<Box<Self>> {
        (!members.is_empty()).then(|| {
            Box::new(Self {
                members,
                ..Self::default()
            })
        })
    }

    /// Keeps the members of the message itself: blocks, calls and texts belong to the content as it was.
    pub(crate) fn drop_parts(&mut self) {
        self.members
            .retain(|member| member.place == StatePlace::Message);
    }

    /// Drops the members that repeat a text that is held back.
    pub(crate) fn drop_repeats(&mut self, text: &str) {
        let quoted = serde_json::to_string(text.trim()).unwrap_or_default();
        let inside = quoted.trim_matches('"');
        if !inside.is_empty() {
            self.members.retain(|member| !member.bytes.contains(inside));
        }
    }

    /// Leaves out the members that are `changed`, and names them. True if there are any.
    pub(crate) fn leave_out(&mut self, changed: impl Fn(&StateMember) -> bool) -> bool {
        let before = self.left_out.len();
        self.members.retain_mut(|member| {
            if !changed(member) {
                return true;
            }
            self.left_out.push(member.shown());
            // Texts and calls keep their places.
            member.bytes.clear();
            matches!(member.place, StatePlace::Call | StatePlace::Text)
        });
        self.left_out.len() > before
    }
}
