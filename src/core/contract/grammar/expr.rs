//! The parts of a grammar. Does not know schemas.

use std::borrow::Cow;

/// A part of a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    /// One of these; never empty.
    Alt(Vec<Expr>),
    /// One character of a class; the text between the brackets, the same in both languages.
    Class(Cow<'static, str>),
    /// A part that an engine with a lexer reads as one word; it names no rule.
    Lexeme(Box<Expr>),
    /// This text.
    Literal(String),
    /// At least so many, at most so many.
    Repeat(Box<Expr>, u32, u32),
    /// The rule of that index; it comes before every rule that names it.
    Rule(usize),
    /// One after the other.
    Seq(Vec<Expr>),
}

/// A character of a JSON string that is not escaped.
pub(super) const PLAIN: &str = r#"^"\\\x00-\x1F\x7F"#;
/// The characters allowed after a backslash; `\u` is omitted: every character except the controls can be written as it is.
const ESCAPED: &str = r#""\\bfnrt"#;

/// The most bytes of one character of a class.
const CHARACTER_BYTES: u64 = 4;
/// The most bytes of one character of a string, escapes included.
const STRING_CHARACTER_BYTES: u64 = 4;

impl Expr {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self::Literal(text.into())
    }

    pub(super) const fn class(text: &'static str) -> Self {
        Self::Class(Cow::Borrowed(text))
    }

    pub(super) fn repeat(self, least: u32, most: u32) -> Self {
        Self::Repeat(Box::new(self), least, most)
    }

    pub(super) fn lexeme(self) -> Self {
        match self {
            Self::Literal(_) | Self::Lexeme(_) => self,
            _ => Self::Lexeme(Box::new(self)),
        }
    }

    /// A JSON string of so many characters.
    pub(super) fn string(least: u32, most: u32) -> Self {
        let character = Self::character();
        let quote = || Self::literal("\"");
        Self::seq(vec![quote(), character.repeat(least, most), quote()]).lexeme()
    }

    /// Any character of a string.
    fn character() -> Self {
        let escape = Self::seq(vec![Self::literal("\\"), Self::class(ESCAPED)]);
        Self::Alt(vec![Self::class(PLAIN), escape])
    }

    /// The parts in their order; literals that meet become one.
    pub(super) fn seq(parts: Vec<Self>) -> Self {
        let mut joined: Vec<Self> = Vec::with_capacity(parts.len());
        for part in parts {
            let flat = match part {
                Self::Seq(inner) => inner,
                other => vec![other],
            };
            for part in flat {
                match (joined.last_mut(), part) {
                    (Some(Self::Literal(before)), Self::Literal(after)) => before.push_str(&after),
                    (_, Self::Literal(empty)) if empty.is_empty() => {}
                    (_, part) => joined.push(part),
                }
            }
        }
        if joined.len() == 1 {
            joined.remove(0)
        } else {
            Self::Seq(joined)
        }
    }

    /// One of the alternatives; the only one where there is only one.
    pub(super) fn alt(mut alternatives: Vec<Self>) -> Self {
        if alternatives.len() == 1 {
            alternatives.remove(0)
        } else {
            Self::Alt(alternatives)
        }
    }

    /// Returns the number of parts, for the limit on the grammar's size.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Class(_) | Self::Literal(_) | Self::Rule(_) => 1,
            Self::Lexeme(inner) | Self::Repeat(inner, ..) => 1 + inner.size(),
            Self::Alt(parts) | Self::Seq(parts) => 1 + parts.iter().map(Self::size).sum::<usize>(),
        }
    }

    /// Returns the closing cost, given the costs of the rules before.
    pub(super) fn closing(&self, rules: &[ClosingCost]) -> ClosingCost {
        match self {
            Self::Literal(text) => ClosingCost::both(text.len() as u64),
            Self::Class(_) => ClosingCost::both(CHARACTER_BYTES),
            Self::Rule(index) => rules.get(*index).copied().unwrap_or_default(),
            Self::Lexeme(inner) => inner.lexeme_closing(),
            Self::Repeat(inner, least, _) => {
                let one = inner.closing(rules);
                let needed = one.whole.saturating_mul(u64::from(*least));
                ClosingCost {
                    rest: one.rest.saturating_add(needed),
                    whole: needed,
                }
            }
            Self::Alt(parts) => parts
                .iter()
                .map(|part| part.closing(rules))
                .fold(ClosingCost::default(), ClosingCost::worse),
            Self::Seq(parts) => parts
                .iter()
                .rev()
                .fold(ClosingCost::default(), |after, part| {
                    let one = part.closing(rules);
                    let whole = one.whole.saturating_add(after.whole);
                    let started = one.rest.saturating_add(after.whole);
                    ClosingCost {
                        rest: after.rest.max(started).max(whole),
                        whole,
                    }
                }),
        }
    }

    /// A string is closed by its quote as soon as it is long enough; of any other word all may still come.
    fn lexeme_closing(&self) -> ClosingCost {
        if let Self::Seq(parts) = self
            && let [
                Self::Literal(_),
                Self::Repeat(_, least, _),
                Self::Literal(_),
            ] = parts.as_slice()
        {
            let whole = 2 + u64::from(*least) * STRING_CHARACTER_BYTES;
            return ClosingCost {
                rest: whole + STRING_CHARACTER_BYTES,
                whole,
            };
        }
        ClosingCost::both(self.longest())
    }

    /// The most bytes of a part that names no rule.
    pub(super) fn longest(&self) -> u64 {
        match self {
            Self::Literal(text) => text.len() as u64,
            Self::Class(_) => CHARACTER_BYTES,
            Self::Rule(_) => 0,
            Self::Lexeme(inner) => inner.longest(),
            Self::Repeat(inner, _, most) => inner.longest().saturating_mul(u64::from(*most)),
            Self::Alt(parts) => parts.iter().map(Self::longest).max().unwrap_or_default(),
            Self::Seq(parts) => parts.iter().map(Self::longest).fold(0, u64::saturating_add),
        }
    }
}

/// Maximum cost of finishing a part, if every choice that can end something does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClosingCost {
    /// Bytes from the worst place inside it, or from its beginning.
    pub(super) rest: u64,
    /// Bytes from its beginning.
    pub(super) whole: u64,
}

impl ClosingCost {
    const fn both(bytes: u64) -> Self {
        Self {
            rest: bytes,
            whole: bytes,
        }
    }

    fn worse(self, other: Self) -> Self {
        Self {
            rest: self.rest.max(other.rest),
            whole: self.whole.max(other.whole),
        }
    }
}
