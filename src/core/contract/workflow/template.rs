//! Texts with places for outputs of earlier steps. Does not know which steps there are.

use super::StepId;

/// A text whose placeholders were read: `${input}`, `${steps.ID.output}`, in a `for_each` `${item}` and `${index}`, in a compensation
/// `${output}`. `$${` stands for `${` itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

/// One part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The text itself.
    Text(String),
    /// What the workflow was given.
    Input,
    /// The item of the innermost `for_each`.
    Item,
    /// Its number, from 0.
    Index,
    /// What an earlier step came to.
    Output(StepId),
    /// What the step came to that is compensated.
    Compensated,
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateFault {
    /// `${` without its `}`.
    #[error("a placeholder is not closed: `${{` without `}}`")]
    Open,
    /// No placeholder of that name.
    #[error("there is no placeholder `${{{0}}}`")]
    Unknown(String),
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// [`TemplateFault`] for the first placeholder that is none.
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateFault> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, from) = rest.split_at(at);
            let from = from.get(2..).unwrap_or_default();
            if let Some(before) = before.strip_suffix('$') {
                literal.push_str(before);
                literal.push_str("${");
                rest = from;
                continue;
            }
            literal.push_str(before);
            let (name, after) = from.split_once('}').ok_or(TemplateFault::Open)?;
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(placeholder(name)?);
            rest = after;
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self(parts))
    }

    /// Its parts, in their order.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.0
    }

    /// The text with `value` in the places; `None` if it has more than `most` bytes.
    pub(crate) fn filled(&self, most: usize, value: &dyn Fn(&Part) -> String) -> Option<String> {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(literal) => text.push_str(literal),
                part => text.push_str(&value(part)),
            }
            if text.len() > most {
                return None;
            }
        }
        Some(text)
    }
}

fn placeholder(name: &str) -> Result<Part, TemplateFault> {
    let unknown = || TemplateFault::Unknown(name.chars().take(80).collect());
    match name.trim() {
        "input" => Ok(Part::Input),
        "item" => Ok(Part::Item),
        "index" => Ok(Part::Index),
        "output" => Ok(Part::Compensated),
        name => {
            let id = name.strip_prefix("steps.");
            let id = id.and_then(|id| id.strip_suffix(".output"));
            let id = id.and_then(|id| StepId::try_from(id.to_owned()).ok());
            id.map(Part::Output).ok_or_else(unknown)
        }
    }
}
