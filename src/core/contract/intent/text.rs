//! A task as text: prose apart from pasted code, sentences, clauses, words. Does not know any lexicon.

use std::sync::LazyLock;

use regex::Regex;

use super::lexicon::RuleSet;

/// The kind of what a user pasted beside the prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paste {
    /// Source code or commands.
    Code,
    /// An error message or a stack trace.
    Trace,
}

/// A task without what was pasted.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) paste: Option<Paste>,
    pub(super) prose: String,
}

/// One sentence: its clauses between commas, and whether a question mark ends it.
#[derive(Debug, Default)]
pub(super) struct Sentence<'t> {
    pub(super) asks: bool,
    pub(super) clauses: Vec<Vec<&'t str>>,
    /// Number of clauses before the first colon.
    pub(super) colon: Option<usize>,
}

/// Compiles a pattern of this file. An invalid one would match nothing; a test compiles all.
fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|regex| regex.is_match(text))
}

static TRACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)traceback|exception|error[:\[( ]|^error|panic|npm err|^\s*at |^#\d|segfault|goroutine|-->|warning:",
        r"|undefined reference|ld returned|errno|^[a-z]{2,}\d{3,}:|\(\d+,\d+\)$|\w\.\w+:\d+(:\d+)?\b",
        r"|^\w+: (\(\d+\)|fatal|error|command not found|no such)",
    ))
});
static REPORT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?i)\?$|^(i |my |users|the |we |please|how|what|why|can|console says)")
});
static PLAIN_LOCATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)^[a-z]{2,}\d{3,}:|\(\d+,\d+\)$|\w\.\w+:\d+(:\d+)?\b|^\w+: (\(\d+\)|fatal|error|command not found|no such)",
    )
});
static INDENTED: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^(\s{2,}|\t)\S"));
static STATEMENT_END: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[{};]\s*(//.*)?$"));
static CODE_START: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"^(def|class|import|from|func|fn|let|const|var|return|public|private|while|git|select|[A-Za-z_.\[\]]+ = )\b",
        r"|^(if|for) \(\b|^(#include|@|\$|>>>|%)\b|^[A-Za-z_.]+\([^ ]",
    ))
});
static CODE_SIGN: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[(){}=<>;:\[\]]|^git|^\$"));
static PROMPT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^[%$#>]"));
static BRACKET: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"[(){}=<>;]"));
static TOKEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"`[^`]*`|[^\W_][\w'’+#-]*(?:[./:\\_-]*[\w+#]+)*\+*|@?[\w./-]*/[\w./-]*",
        r"|[.?!;:,\n¿¡。？！，、—–]|->|\S",
    ))
});
static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^/?[\w.@-]+(/[\w.@-]+)+/?$"));
static FRACTION: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^\d+/\d+$"));
static ROOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"\.\w+$|/$|^(\./|\.\./|/|src/|tests?/|docs?/|lib/|app/|pkg/|cmd/|internal/|tools/|scripts?/|packages/|config/|api/)",
    )
});
static FOLDER: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(tools|src|scripts|docs|tests?|lib|app|pkg)/$"));
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^[a-z]+[A-Z]\w*$|^[A-Z][a-z0-9]+[A-Z]\w*$|^\w+_\w+(\(\))?$|^\w+\(\)$")
});

impl Task {
    /// Splits a task into prose and paste. A task of one line is prose.
    pub(super) fn of(text: &str) -> Self {
        let lines: Vec<&str> = text.split('\n').collect();
        let (mut code, mut prose) = (Vec::new(), Vec::new());
        let mut after_code = false;
        for line in &lines {
            let is_code = lines.len() > 1 && is_code(line, after_code);
            if is_code {
                code.push(*line);
            } else {
                prose.push(*line);
            }
            if !line.trim().is_empty() {
                after_code = is_code;
            }
        }
        let traced = code.iter().any(|line| is_match(&TRACE, line));
        let paste = match (code.is_empty(), traced) {
            (true, _) => None,
            (false, true) => Some(Paste::Trace),
            (false, false) => Some(Paste::Code),
        };
        Self {
            paste,
            prose: prose.join("\n"),
        }
    }
}

/// True if a line is code, a command's output or part of a stack trace.
fn is_code(line: &str, after_code: bool) -> bool {
    let text = line.trim();
    if text.is_empty() {
        return false;
    }
    if is_match(&PLAIN_LOCATION, text) || is_match(&INDENTED, line) {
        return true;
    }
    if is_match(&TRACE, text) && !text.ends_with('?') {
        return !is_match(&REPORT, text);
    }
    is_match(&STATEMENT_END, text)
        || is_match(&CODE_START, text) && is_match(&CODE_SIGN, text)
        || is_match(&PROMPT, text)
        || after_code && is_match(&BRACKET, text)
}

/// The words and marks of a text.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let regex = TOKEN.as_ref();
    regex
        .into_iter()
        .flat_map(move |regex| regex.find_iter(text).map(|found| found.as_str()))
}

/// The form of a word in the lexicons.
pub(super) fn folded(word: &str) -> String {
    word.to_lowercase().replace('’', "'")
}

/// True if a token is punctuation.
pub(super) fn is_mark(token: &str) -> bool {
    let mut chars = token.chars();
    match (chars.next(), chars.next()) {
        (Some(first), None) => ".?!;:,\n¿¡。？！，、—–".contains(first),
        _ => false,
    }
}

/// The sentences of a text.
pub(super) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut all = Vec::new();
    let mut sentence = Sentence {
        clauses: vec![Vec::new()],
        ..Sentence::default()
    };
    for token in tokens(text).chain(["\n"]) {
        match token {
            "." | "?" | "!" | ";" | "\n" => {
                sentence.asks = token == "?";
                sentence.clauses.retain(|clause| !clause.is_empty());
                if !sentence.clauses.is_empty() {
                    all.push(std::mem::take(&mut sentence));
                }
                sentence.clauses = vec![Vec::new()];
                sentence.colon = None;
            }
            ":" if sentence.colon.is_none() => {
                let before = sentence.clauses.iter().filter(|clause| !clause.is_empty());
                sentence.colon = Some(before.count());
                sentence.clauses.push(Vec::new());
            }
            "," | ":" | "—" | "–" | "-" => sentence.clauses.push(Vec::new()),
            word => {
                if let Some(clause) = sentence.clauses.last_mut() {
                    clause.push(word);
                }
            }
        }
    }
    all
}

/// True if a word names a file or folder.
pub(super) fn is_path(word: &str, rules: &RuleSet) -> bool {
    let word = word.trim_matches(|c| "`@\"'()[]".contains(c));
    let word = word.trim_end_matches(|c| ".,:;!?".contains(c));
    if word.starts_with("http") {
        return false;
    }
    if is_match(&PATH, word) && !is_match(&FRACTION, word) {
        return is_match(&ROOTED, word);
    }
    is_match(&FOLDER, word) || is_file(&word.to_lowercase(), rules)
}

fn is_file(word: &str, rules: &RuleSet) -> bool {
    let Some((stem, extension)) = word.rsplit_once('.') else {
        return false;
    };
    !stem.is_empty()
        && !word.contains('(')
        && !stem.chars().all(|c| c.is_ascii_digit() || c == '.')
        && rules.extensions.contains(extension)
        && !rules.not_files.contains(word)
}

/// True if a word looks like an identifier of somebody's code.
pub(super) fn is_name(word: &str, rules: &RuleSet) -> bool {
    !word.starts_with('`') && is_match(&NAME, word) && !rules.not_names.contains(word)
}

/// The language that a task is written in.
pub(super) fn language(task: &str, rules: &RuleSet) -> &'static str {
    let has = |range: std::ops::RangeInclusive<char>| task.chars().any(|c| range.contains(&c));
    if has('\u{3040}'..='\u{30ff}') {
        return "ja";
    }
    if has('\u{4e00}'..='\u{9fff}') {
        return "zh";
    }
    if has('\u{400}'..='\u{4ff}') {
        return "ru";
    }
    let lower = task.to_lowercase();
    if lower.contains(['¿', '¡', 'ñ']) {
        return "es";
    }
    if lower.contains(['ã', 'õ']) || lower.contains("ção") {
        return "pt";
    }
    if lower.contains(['ä', 'ö', 'ü', 'ß']) {
        return "de";
    }
    by_words(&lower, rules)
}

/// Chooses by function words; a verb of one language at the start counts, too.
fn by_words(lower: &str, rules: &RuleSet) -> &'static str {
    let words: Vec<String> = tokens(lower)
        .filter(|token| token.starts_with(char::is_alphabetic))
        .map(folded)
        .collect();
    let Some(english) = rules.lexicon("en") else {
        return "en";
    };
    let starts = |lexicon: &super::lexicon::Lexicon| {
        let verbs = [
            &lexicon.act,
            &lexicon.inspect,
            &lexicon.make,
            &lexicon.explain,
        ];
        verbs.iter().any(|verbs| verbs.lead(&words) > 0)
    };
    let starts_english = starts(english);
    let sign = |lexicon: &super::lexicon::Lexicon, word: &String| {
        lexicon.signs.lead(std::slice::from_ref(word)) > 0
    };
    let known = words.iter().filter(|word| sign(english, word)).count();
    // Halves, so that a verb counts more than one function word.
    let mut best = ("en", known * 2 + usize::from(starts_english));
    for code in ["de", "fr", "es", "pt"] {
        let Some(lexicon) = rules.lexicon(code) else {
            continue;
        };
        let own = words
            .iter()
            .filter(|word| sign(lexicon, word) && !sign(english, word));
        let verb = usize::from(starts(lexicon) && !starts_english);
        let score = own.count() * 2 + verb * 3;
        if score > best.1 {
            best = (code, score);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        let all = [
            &TRACE,
            &REPORT,
            &PLAIN_LOCATION,
            &INDENTED,
            &STATEMENT_END,
            &CODE_START,
            &CODE_SIGN,
            &PROMPT,
            &BRACKET,
            &TOKEN,
            &PATH,
            &FRACTION,
            &ROOTED,
            &FOLDER,
            &NAME,
        ];
        assert!(all.iter().all(|pattern| pattern.is_some()));
    }
}
