//! A shell command that starts one program and nothing else. Runs nothing.
//!
//! Knows the quotes of `/bin/sh` and the characters that mean more to it than themselves. A text that it does not read as one
//! program with fixed words is none, so a character that is missing here makes a person be asked.

/// Characters other than ASCII letters and digits that stand for themselves without quotes.
const PLAIN: &str = "_-+=/.,:@%";
/// First words that the shell takes as its grammar, or that run their arguments as further commands of the shell.
const NO_PROGRAM: [&str; 21] = [
    ".", "case", "coproc", "do", "done", "elif", "else", "esac", "eval", "fi", "for", "function",
    "if", "in", "select", "source", "then", "time", "trap", "until", "while",
];

/// The words of a command that starts one program, joined by single spaces; a word that needs quotes has single ones. `None` if the text
/// is anything else for a shell: operators, redirections, expansions, patterns, comments, assignments, several lines.
pub(super) fn simple_command(text: &str) -> Option<String> {
    let words = words(text)?;
    let program = words.first()?;
    if program.is_empty() || program.contains('=') || NO_PROGRAM.contains(&program.as_str()) {
        return None;
    }
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    Some(quoted.join(" "))
}

/// The words of a text without anything that the shell would replace; `None` if there is such a thing, or a quote has no end.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => single_quoted(&mut rest, word.get_or_insert_default())?,
            '"' => double_quoted(&mut rest, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(literal(rest.next()?)?),
            _ if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

/// Reads up to the closing quote.
fn single_quoted(rest: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '\'' => return Some(()),
            c => word.push(literal(c)?),
        }
    }
}

/// Reads up to the closing quote. A backslash stands for itself there, except before what it protects.
fn double_quoted(rest: &mut impl Iterator<Item = char>, word: &mut String) -> Option<()> {
    loop {
        match rest.next()? {
            '"' => return Some(()),
            '$' | '`' => return None,
            '\\' => match rest.next()? {
                c @ ('"' | '$' | '\\' | '`') => word.push(c),
                c => {
                    word.push('\\');
                    word.push(literal(c)?);
                }
            },
            c => word.push(literal(c)?),
        }
    }
}

/// A character that may stand in a word; a line break or another control character may not.
fn literal(c: char) -> Option<char> {
    (c == '\t' || !c.is_control()).then_some(c)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || PLAIN.contains(c)
}

fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const ONE_PROGRAM: [(&str, &str); 12] = [
        ("cargo test", "cargo test"),
        ("  cargo \t test  ", "cargo test"),
        ("'cargo' te\"st\"", "cargo test"),
        ("'cargo test' x", "'cargo test' x"),
        (r"car\go test\ x", "cargo 'test x'"),
        (
            r#"git commit -m "it's; done""#,
            r"git commit -m 'it'\''s; done'",
        ),
        (r#"echo "a\$b\"c\\d\e""#, r#"echo 'a$b"c\d\e'"#),
        ("grep 'a$|b' src", "grep 'a$|b' src"),
        ("echo '' \"\"", "echo '' ''"),
        ("./run --a=b,c:d@e%f+g_h", "./run --a=b,c:d@e%f+g_h"),
        ("echo '*' \\* \"~\"", "echo '*' '*' '~'"),
        ("env A=b id", "env A=b id"),
    ];

    #[test]
    fn one_program_with_fixed_words_has_one_text() {
        for (text, expect) in ONE_PROGRAM {
            assert_eq!(simple_command(text).as_deref(), Some(expect), "{text}");
        }
    }

    #[test]
    fn whatever_the_shell_would_do_more_is_no_single_program() {
        let more = [
            "",
            " ",
            "''",
            "cargo test;id",
            "cargo test ; id",
            "a && b",
            "a || b",
            "a & b",
            "a|b",
            "a\nb",
            "a\rb",
            "a > b",
            "a < b",
            "a 2>b",
            "a >| b",
            "(a)",
            "a $(id)",
            "a `id`",
            "a $HOME",
            "a ${x}",
            "a $'x'",
            "a \"$(id)\"",
            "a \"`id`\"",
            "a \"$x\"",
            "A=b a",
            "A= a",
            "a *",
            "a ?",
            "a [x]",
            "a {b,c}",
            "{ a",
            "! a",
            "a ~",
            "~/a",
            "a #b",
            "a 'b",
            "a \"b",
            "a \\",
            "a \\\nb",
            "a 'b\nc'",
            "a \"b\nc\"",
            "if a",
            "while a",
            "eval a",
            ". a",
            "source a",
            "trap a",
            "time a",
            "for a",
            "a \u{0}",
            "a \u{1b}[2K",
            "ä",
            "a\u{a0}b",
            "a^b",
        ];
        for text in more {
            assert_eq!(simple_command(text), None, "{text:?}");
        }
    }

    /// The shell itself starts the program with the words that were read.
    #[test]
    fn the_shell_reads_the_same_words() {
        let shown = |text: &str| {
            let script = format!("printf '<%s>' {text}");
            let left = Command::new("/bin/sh").args(["-c", &script]).output();
            left.map(|left| left.stdout).unwrap_or_default()
        };
        for (text, canonical) in ONE_PROGRAM {
            assert_eq!(shown(text), shown(canonical), "{text}");
            assert_eq!(simple_command(canonical).as_deref(), Some(canonical));
        }
    }
}
