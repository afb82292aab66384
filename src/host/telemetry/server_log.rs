//! The log that a tool server left on its standard error, shortened to the lines that name a fault. Knows words, no server.

use std::borrow::Cow;

/// The text before the quoted end of a standard error.
const MARK: &str = "standard error ended with: ";
/// The text between its lines.
const BETWEEN: &str = " | ";
/// Maximum number of lines kept.
const MOST_LINES: usize = 3;
/// Maximum number of characters kept of a line.
const MOST_CHARS: usize = 200;
/// The labels that npm puts before each line of a fault.
const LABELS: [&str; 2] = ["npm error", "npm ERR!"];
/// The beginnings of lines that name no fault.
const NOISE: [&str; 6] = [
    "npm warn",
    "npm WARN",
    "npm notice",
    "at ",
    "File \"",
    "Node.js v",
];
/// The words of a line that names a fault, in lower case.
const FAULTS: [&str; 14] = [
    "error",
    "exception",
    "panic",
    "not found",
    "not in",
    "no such",
    "cannot",
    "can't",
    "unable",
    "denied",
    "failed",
    "refused",
    "invalid",
    "missing",
];

/// The text with no more of a quoted log than the lines that name a fault, the last ones where none does; then how many others there are, and
/// `rest`, which says where they stand.
pub fn with_short_log<'t>(text: &'t str, rest: &str) -> Cow<'t, str> {
    let Some((before, log)) = text.split_once(MARK) else {
        return Cow::Borrowed(text);
    };
    let lines: Vec<&str> = log.split(BETWEEN).collect();
    if lines.len() <= MOST_LINES {
        return Cow::Borrowed(text);
    }
    let kept = worth_keeping(&lines);
    let others = lines.len().saturating_sub(kept.len());
    let kept: Vec<String> = kept.into_iter().map(cut).collect();
    let noun = if others == 1 { "line" } else { "lines" };
    Cow::Owned(format!(
        "{before}{MARK}{} ({others} more {noun}{rest})",
        kept.join(BETWEEN)
    ))
}

fn worth_keeping<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let plain: Vec<&str> = lines.iter().filter_map(|line| plain(line)).collect();
    let names_fault = |line: &&&str| {
        let small = line.to_lowercase();
        FAULTS.iter().any(|word| small.contains(word))
    };
    let named: Vec<&str> = plain.iter().filter(names_fault).copied().collect();
    let mut kept = if named.is_empty() { plain } else { named };
    if kept.is_empty() {
        kept = lines.to_vec();
    }
    let skipped = kept.len().saturating_sub(MOST_LINES);
    kept.split_off(skipped)
}

/// The message of a line, without a label and a repeated code; `None` if that is nothing, or names no fault.
fn plain(line: &str) -> Option<&str> {
    let line = line.trim();
    if NOISE.iter().any(|noise| line.starts_with(noise)) {
        return None;
    }
    let said = LABELS.iter().find_map(|label| line.strip_prefix(label));
    let said = said.unwrap_or(line).trim();
    let words = said.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    words.contains(char::is_alphabetic).then_some(said)
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_log_the_lines_are_kept_that_name_a_fault() {
        let check = |lines: &[&str], expect: &str| {
            let text = format!("it ended; its {MARK}{}", lines.join(BETWEEN));
            let short = with_short_log(&text, ": show --full");
            assert_eq!(short, format!("it ended; its {MARK}{expect}"));
        };
        let npm = [
            "npm warn config production Use `--omit=dev` instead.",
            "npm error code E404",
            "npm error 404 Not Found - GET https://registry.example/x - Not found",
            "npm error 404",
            "npm error 404  'x@*' is not in this registry.",
            "npm error 404",
            "npm error 404 Note that you can also install from a",
            "npm error 404 tarball, folder, http url, or git folder.",
            "npm error A complete log of this run can be found in: debug-0.log",
        ];
        check(
            &npm,
            "404 Not Found - GET https://registry.example/x - Not found | 404  'x@*' is not in this registry. (7 more lines: show --full)",
        );
        let node = [
            "node:internal/modules/cjs/loader:1148",
            "throw err;",
            "^",
            "Error: Cannot find module '/srv/x.js'",
            "at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15)",
            "Node.js v20.1.0",
        ];
        check(
            &node,
            "Error: Cannot find module '/srv/x.js' (5 more lines: show --full)",
        );
        check(&["one", "two", "three"], "one | two | three");
        check(
            &["one", "two", "three", "four"],
            "two | three | four (1 more line: show --full)",
        );
        check(
            &["1", "2", "3", "4"],
            "2 | 3 | 4 (1 more line: show --full)",
        );
        let long = "x".repeat(300);
        let expect = format!("b | c | {}… (1 more line: show --full)", "x".repeat(200));
        check(&["a", "b", "c", &long], &expect);
        assert_eq!(with_short_log("no log", ""), "no log");
    }
}
