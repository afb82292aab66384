//! The words of a scripted model, before a protocol gives them a form.

use serde_json::{Value, json};

/// One answer of the model.
#[derive(Clone, Debug)]
pub enum Said {
    /// Text, and calls: a part of the tool's name and the arguments. Without calls the turn ends.
    Message(&'static str, Vec<(&'static str, Value)>),
    /// A call that is not whole: arguments that are cut, or a protocol's word for that.
    Malformed(&'static str),
    /// An error of the service, with this status.
    Fault(u16),
}

impl Said {
    pub fn text(text: &'static str) -> Self {
        Self::Message(text, Vec::new())
    }

    pub fn calls(calls: &[(&'static str, Value)]) -> Self {
        Self::Message("", calls.to_vec())
    }
}

/// The answers by round: the calls that the conversation of a request holds already choose the round, so the script works for a
/// server that takes over, too. The requests of a round get its answers in order, and then the last one again.
#[derive(Clone, Debug)]
pub struct Script(pub Vec<Vec<Said>>);

impl Script {
    /// Three turns with calls of `echo` and `clock`, and the answer.
    pub fn four_turns() -> Self {
        Self::of(&[
            Said::calls(&[("echo", json!({"text": "one"}))]),
            Said::Message(
                "I look further.",
                vec![
                    ("echo", json!({"text": "two"})),
                    ("echo", json!({"text": "three"})),
                ],
            ),
            Said::calls(&[("clock", json!({}))]),
            Said::text("It is done."),
        ])
    }

    /// A script with one answer in each round.
    pub fn of(rounds: &[Said]) -> Self {
        Self(rounds.iter().map(|said| vec![said.clone()]).collect())
    }

    /// The answer to a request of `round` after `asked` earlier ones.
    pub fn at(&self, round: usize, asked: usize) -> &Said {
        let answers = &self.0[round.min(self.0.len() - 1)];
        &answers[asked.min(answers.len() - 1)]
    }
}
