//! A command that a person types next. Knows the quotes of a shell and that a command is never broken over lines; not what it does.

use monolith_core::message::escaped_line;

/// Stands for a space at which no line is broken, until the text is written: what is copied from a terminal is the command. No other
/// text has it, since [`escape`](crate::text::escape) writes it out.
pub const KEPT: char = '\u{1f}';

/// The command, with spaces at which no line is broken. Only a screen may write it.
pub fn command(words: &str) -> String {
    words.replace(' ', "\u{1f}")
}

/// The text with plain spaces, for a reader that breaks lines itself.
pub fn unkept(text: &str) -> String {
    text.replace(KEPT, " ")
}

/// A word as a POSIX shell reads it back: in quotes where it needs them.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Quotes a word for the next command; `…` replaces one that cannot be typed as it is printed.
pub fn typed_word(text: &str) -> String {
    if escaped_line(text) == text {
        shell_word(text)
    } else {
        "…".to_owned()
    }
}

/// An option and its value, as they are typed behind other words.
pub fn typed_again(typed: &str) -> String {
    match typed.split_once(' ') {
        Some((option, value)) => format!(" {option} {}", typed_word(value)),
        None => format!(" {typed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_a_shell_would_read_something_else() {
        let check = |word: &str, expect: &str| assert_eq!(shell_word(word), expect);
        check("agent.yaml", "agent.yaml");
        check("../a-b_c/größe.yml", "../a-b_c/größe.yml");
        check("my c.yaml", "'my c.yaml'");
        check("a;b", "'a;b'");
        check("$HOME", "'$HOME'");
        check("~", "'~'");
        check("it's", "'it'\\''s'");
        check("", "''");
    }
}
