//! The messages of a conversation as turns of two sides, which go on from one body to the next. Does not know the JSON of a message.

use std::sync::Arc;

use super::body::{GrowingBody, RequestBody};
use super::rendered_messages::common;
use crate::message::{AgentMessage, Role};

/// The side of a message in protocols with two sides and separate instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The contract's instructions.
    System,
    /// The task, observations, and monolith's notices.
    User,
    /// The model.
    Model,
}

impl Side {
    const fn of(role: Role) -> Self {
        match role {
            Role::System => Self::System,
            Role::User | Role::Tool => Self::User,
            Role::Assistant => Self::Model,
        }
    }
}

/// The form of turns in a protocol. Adjacent messages of one side share a turn, because protocols with two sides let them
/// alternate and want all observations of a message in one place.
#[derive(Debug)]
pub(super) struct TurnForm {
    /// The opening of a model's turn.
    pub model: &'static [u8],
    /// The opening of a turn of the other side.
    pub user: &'static [u8],
    /// The end of a turn.
    pub close: &'static [u8],
    /// The bytes in the last block of the last turn before its closing brace, if that turn is the user's; may be empty.
    pub mark: &'static [u8],
}

/// The bytes around the turns of one body.
#[derive(Debug)]
pub(super) struct Around {
    pub head: Vec<u8>,
    pub rest: Vec<u8>,
}

/// The turns of a conversation near the head of a body. What two bodies have in common is rendered, hashed and copied once.
#[derive(Debug)]
pub(super) struct JoinedTurns {
    body: GrowingBody,
    /// Each message that was rendered, and where it ends.
    ends: Vec<(Arc<AgentMessage>, End)>,
    form: TurnForm,
    head: Vec<u8>,
    /// The elements of the instructions, joined by commas.
    system: Vec<u8>,
}

/// The end of a message.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Length of the body up to its last byte, which is not counted: a mark may stand before it.
    length: usize,
    /// The turn that is open, and that last byte.
    open: Option<(Side, u8)>,
    /// Length of the instructions.
    system: usize,
}

impl JoinedTurns {
    pub(super) fn new(form: TurnForm) -> Self {
        Self {
            body: GrowingBody::of(&[]),
            ends: Vec::new(),
            form,
            head: Vec::new(),
            system: Vec::new(),
        }
    }

    /// Renders everything again: an earlier request may have been rendered by other rules.
    pub(super) fn forget(&mut self) {
        self.ends.clear();
    }

    /// The body of one request: the conversation, the notices that only this request has, and the bytes `around` them, which are given
    /// the instructions. `render` gives a message's elements, joined by commas, and is given the messages before it; one without
    /// elements is left out.
    pub(super) fn body(
        &mut self,
        conversation: &[Arc<AgentMessage>],
        notices: &[AgentMessage],
        render: impl Fn(&[Arc<AgentMessage>], &AgentMessage) -> Vec<u8>,
        around: impl Fn(&[u8]) -> Around,
    ) -> RequestBody {
        let known = common(&self.ends, conversation);
        self.ends.truncate(known);
        let kept = self.ends.last().map_or(self.start(), |(_, end)| *end);
        self.system.truncate(kept.system);
        let mut turns = Turns::after(&self.form, kept.open);
        for (at, message) in conversation.iter().enumerate().skip(known) {
            let before = conversation.get(..at).unwrap_or_default();
            turns.add(
                &mut self.system,
                Side::of(message.role),
                &render(before, message),
            );
            let end = End {
                length: kept.length + turns.out.len(),
                open: turns.open,
                system: self.system.len(),
            };
            self.ends.push((Arc::clone(message), end));
        }
        let mut own = Turns::after(&self.form, turns.open);
        let mut system = self.system.clone();
        for notice in notices {
            let elements = render(conversation, notice);
            own.add(&mut system, Side::of(notice.role), &elements);
        }
        let Around { head, rest } = around(&system);
        if head != self.head {
            // Nothing of the last body can be kept.
            self.body = GrowingBody::of(&head);
            self.head = head;
            self.ends.clear();
            return self.body(conversation, notices, render, around);
        }
        let end = own.closed();
        self.body.next(kept.length, &turns.out, &[&end, &rest])
    }

    /// Before the first message.
    fn start(&self) -> End {
        End {
            length: self.head.len(),
            open: None,
            system: 0,
        }
    }
}

/// Turns that are written after others.
struct Turns<'f> {
    form: &'f TurnForm,
    open: Option<(Side, u8)>,
    out: Vec<u8>,
}

impl<'f> Turns<'f> {
    const fn after(form: &'f TurnForm, open: Option<(Side, u8)>) -> Self {
        let out = Vec::new();
        Self { form, open, out }
    }

    /// Adds a message's elements to its side's turn, or to the instructions.
    fn add(&mut self, system: &mut Vec<u8>, side: Side, elements: &[u8]) {
        let Some((&last_byte, elements)) = elements.split_last() else {
            return;
        };
        if side == Side::System {
            if !system.is_empty() {
                system.push(b',');
            }
            system.extend_from_slice(elements);
            system.push(last_byte);
            return;
        }
        let opening = if side == Side::Model {
            self.form.model
        } else {
            self.form.user
        };
        match self.open {
            Some((open, last)) if open == side => self.out.extend_from_slice(&[last, b',']),
            Some((_, last)) => {
                self.out.push(last);
                self.out.extend_from_slice(self.form.close);
                self.out.push(b',');
                self.out.extend_from_slice(opening);
            }
            None => self.out.extend_from_slice(opening),
        }
        self.out.extend_from_slice(elements);
        self.open = Some((side, last_byte));
    }

    /// Returns the output, after closing the open turn.
    fn closed(mut self) -> Vec<u8> {
        if let Some((side, last)) = self.open {
            if side == Side::User && last == b'}' {
                self.out.extend_from_slice(self.form.mark);
            }
            self.out.push(last);
            self.out.extend_from_slice(self.form.close);
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Digest;

    const FORM: TurnForm = TurnForm {
        model: b"M[",
        user: b"U[",
        close: b"]",
        mark: b"!",
    };

    fn message(role: u8, text: &str) -> AgentMessage {
        let role = match role {
            0 => Role::System,
            1 => Role::Assistant,
            _ => Role::User,
        };
        AgentMessage::text(role, text, 1)
    }

    fn rendered(_: &[Arc<AgentMessage>], message: &AgentMessage) -> Vec<u8> {
        if message.content.is_empty() {
            return Vec::new();
        }
        format!("{{{}}}", message.content).into_bytes()
    }

    fn around(system: &[u8]) -> Around {
        Around {
            head: [b"head ", system, b": "].concat(),
            rest: b" end".to_vec(),
        }
    }

    /// The body as it is put together at once.
    fn at_once(messages: &[&AgentMessage]) -> String {
        let of = |side: fn(Role) -> bool| {
            let of_side = messages.iter().filter(move |m| side(m.role));
            of_side.filter(|m| !m.content.is_empty())
        };
        let system: Vec<String> = of(|role| role == Role::System)
            .map(|m| format!("{{{}}}", m.content))
            .collect();
        let mut turns: Vec<(Role, Vec<String>)> = Vec::new();
        for message in of(|role| role != Role::System) {
            let element = format!("{{{}}}", message.content);
            match turns.last_mut() {
                Some((role, elements)) if *role == message.role => elements.push(element),
                _ => turns.push((message.role, vec![element])),
            }
        }
        if let Some((Role::User, elements)) = turns.last_mut() {
            let last = elements.last_mut().unwrap();
            last.insert(last.len() - 1, '!');
        }
        let turns: Vec<String> = turns
            .into_iter()
            .map(|(role, elements)| {
                let side = if role == Role::User { "U" } else { "M" };
                format!("{side}[{}]", elements.join(","))
            })
            .collect();
        format!("head {}: {} end", system.join(","), turns.join(","))
    }

    proptest! {
        /// Whatever is cut off, added and noticed: each body and its digest are those of the body that is put together at once.
        #[test]
        fn each_body_is_that_of_its_messages(
            steps in proptest::collection::vec(
                (0_usize..9, proptest::collection::vec((0_u8..9, "[a-c]{0,3}"), 0..5), proptest::collection::vec((0_u8..9, "[a-c]{0,3}"), 0..3)),
                1..9,
            ),
        ) {
            let mut joined = JoinedTurns::new(FORM);
            let mut conversation: Vec<Arc<AgentMessage>> = Vec::new();
            for (kept, added, notices) in steps {
                conversation.truncate(kept);
                conversation.extend(added.iter().map(|(role, text)| Arc::new(message(*role, text))));
                let notices: Vec<AgentMessage> = notices.iter().map(|(role, text)| message(*role, text)).collect();
                let got = joined.body(&conversation, &notices, rendered, around);
                let all: Vec<&AgentMessage> = conversation.iter().map(|m| &**m).chain(&notices).collect();
                let expect = at_once(&all);
                prop_assert_eq!(String::from_utf8_lossy(&got), expect.as_str());
                prop_assert_eq!(got.digest, Digest::of(expect.as_bytes()));
            }
        }
    }
}
