//! The two languages: the same grammar, other signs.

use std::fmt::Write as _;

use super::expr::Expr;

/// The grammar's text: one rule a line, the start rule first.
pub(super) fn grammar(language: GrammarLanguage, rules: &[Expr], start: &Expr) -> String {
    let (name, is) = match language {
        GrammarLanguage::Lark => ("start", ":"),
        GrammarLanguage::Gbnf => ("root", " ::="),
    };
    let mut text = format!("{name}{is} {}\n", printed(language, start, Position::Rule));
    for (n, rule) in rules.iter().enumerate() {
        // Writing to a string does not fail.
        let _ = writeln!(text, "r{n}{is} {}", printed(language, rule, Position::Rule));
    }
    text
}

/// The grammar of any text in which `marker` does not occur.
pub(super) fn prose(language: GrammarLanguage, marker: &str) -> String {
    match language {
        GrammarLanguage::Lark => {
            let marker = regex_literal(marker);
            format!("start: PROSE\nPROSE: /(?s:.*)/ & ~/(?s:.*){marker}(?s:.*)/\n")
        }
        GrammarLanguage::Gbnf => automaton(marker),
    }
}

/// Returns one rule for each prefix of the marker that the text may have ended with so far. Only the marker's first character
/// starts it again: none of its other characters is the same.
fn automaton(marker: &str) -> String {
    let signs: Vec<char> = marker.chars().collect();
    let Some(first) = signs.first().copied() else {
        return "root ::= \"\"\n".to_owned();
    };
    let mut text = "root ::= p0\n".to_owned();
    for (n, next) in signs.iter().copied().enumerate() {
        let again = class_text(first);
        let sign = class_text(next);
        let onward = if n > 0 && n + 1 < signs.len() {
            format!(" | [{sign}] p{}", n + 1)
        } else {
            String::new()
        };
        let others = if n > 0 {
            format!("{again}{sign}")
        } else {
            again.clone()
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "p{n} ::= \"\" | [^{others}] p0 | [{again}] p1{onward}"
        );
    }
    text
}

fn class_text(sign: char) -> String {
    match sign {
        '\\' | ']' | '[' | '^' | '-' | '"' => format!("\\{sign}"),
        _ => sign.to_string(),
    }
}

/// The position of a part: it decides whether the part needs brackets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Rule,
    Seq,
    Repeat,
}

fn printed(language: GrammarLanguage, expr: &Expr, position: Position) -> String {
    match expr {
        Expr::Literal(text) => quoted(language, text),
        Expr::Rule(index) => format!("r{index}"),
        Expr::Lexeme(inner) => match language {
            GrammarLanguage::Lark => format!("/{}/", regex(inner, Position::Rule)),
            GrammarLanguage::Gbnf => printed(language, inner, position),
        },
        Expr::Class(class) => match language {
            GrammarLanguage::Lark => format!("/[{class}]/"),
            GrammarLanguage::Gbnf => format!("[{class}]"),
        },
        Expr::Repeat(inner, least, most) => {
            format!(
                "{}{{{least},{most}}}",
                printed(language, inner, Position::Repeat)
            )
        }
        Expr::Alt(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| printed(language, part, Position::Seq))
                .collect();
            bracketed(parts.join(" | "), position != Position::Rule)
        }
        Expr::Seq(parts) if parts.is_empty() => "\"\"".to_owned(),
        Expr::Seq(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| printed(language, part, Position::Seq))
                .collect();
            bracketed(parts.join(" "), position == Position::Repeat)
        }
    }
}

fn bracketed(text: String, brackets: bool) -> String {
    if brackets { format!("({text})") } else { text }
}

fn regex(expr: &Expr, position: Position) -> String {
    match expr {
        Expr::Literal(text) => {
            let many = text.chars().nth(1).is_some();
            bracketed(regex_literal(text), many && position == Position::Repeat)
        }
        Expr::Class(class) => format!("[{class}]"),
        // A lexeme names no rule.
        Expr::Rule(_) => String::new(),
        Expr::Lexeme(inner) => regex(inner, position),
        Expr::Repeat(inner, least, most) => {
            format!("{}{{{least},{most}}}", regex(inner, Position::Repeat))
        }
        Expr::Alt(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| regex(part, Position::Seq))
                .collect();
            bracketed(parts.join("|"), position != Position::Rule)
        }
        Expr::Seq(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|part| regex(part, Position::Seq))
                .collect();
            bracketed(parts.concat(), position == Position::Repeat)
        }
    }
}

/// The text as a regular expression that matches nothing else.
fn regex_literal(text: &str) -> String {
    let mut out = String::new();
    for sign in text.chars() {
        if sign.is_ascii_punctuation() && !matches!(sign, '<' | '>' | '_') {
            out.push('\\');
        }
        out.push(sign);
    }
    out
}

fn quoted(language: GrammarLanguage, text: &str) -> String {
    let mut out = "\"".to_owned();
    for sign in text.chars() {
        match sign {
            '"' | '\\' => out.extend(['\\', sign]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control.is_ascii_control() => {
                let code = u32::from(control);
                let _ = match language {
                    GrammarLanguage::Lark => write!(out, "\\u{code:04x}"),
                    GrammarLanguage::Gbnf => write!(out, "\\x{code:02X}"),
                };
            }
            _ => out.push(sign),
        }
    }
    out.push('"');
    out
}

/// A language that grammars are written in; each has its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrammarLanguage {
    /// The language of the embedded engine, llguidance.
    Lark,
    /// The language of a llama-server's `grammar` field.
    Gbnf,
}

impl GrammarLanguage {
    const ALL: [Self; 2] = [Self::Lark, Self::Gbnf];

    /// The language of a contract's `grammar_profile`.
    #[must_use]
    pub(crate) fn by_profile(profile: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| known.profile() == profile)
    }

    /// Its name and the version of what this build writes in it, as contracts state it.
    #[must_use]
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Lark => "lark/1",
            Self::Gbnf => "gbnf/1",
        }
    }
}
