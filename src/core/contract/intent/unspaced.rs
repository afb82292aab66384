//! The verdict over a task in a language without blanks between words. Matches substrings.

use regex::Regex;

use super::findings::Verdict;
use super::lexicon::{Phrases, RuleSet};
use super::text;

/// Least number of characters of a statement that counts.
const STATEMENT_CHARS: usize = 5;

/// Judges a task.
pub(super) fn judge(task: &str, language: &str, rules: &RuleSet) -> Verdict {
    let Some(lexicon) = rules.lexicon(language) else {
        return Verdict::default();
    };
    let has = |phrases: &Phrases| phrases.within(task).is_some();
    let end = task.trim_end_matches(|c: char| "。.!！".contains(c) || c.is_whitespace());
    let shaped = |shape: &Option<String>, text: &str| {
        let regex = shape.as_deref().and_then(|shape| Regex::new(shape).ok());
        regex.is_some_and(|regex| regex.is_match(text))
    };
    let ascii = task.split(|c: char| !c.is_ascii() || c.is_ascii_whitespace());
    let ascii: Vec<&str> = ascii.filter(|word| !word.is_empty()).collect();
    let path = ascii
        .iter()
        .copied()
        .find(|word| text::is_path(word, rules));
    let topics: Vec<String> = ascii.iter().map(|word| text::folded(word)).collect();

    let generic = has(&lexicon.generic);
    let here = has(&lexicon.here);
    let explains = has(&lexicon.explain);
    let ordered = shaped(&lexicon.order, end) && !explains;
    let acts = has(&lexicon.act) || ordered;
    let asks = has(&lexicon.ask) && !ordered;
    let requests = has(&lexicon.request);
    let symptom = has(&lexicon.symptom);
    let inspects = has(&lexicon.inspect);

    let found = |rule: &str, phrases: &Phrases| match phrases.within(task) {
        Some(phrase) => format!("{rule}: {phrase}"),
        None => rule.to_owned(),
    };
    let quiet = has(&lexicon.quiet) || has(&lexicon.suppose);
    let asked_end = end.trim_end_matches(['？', '?']);
    let ground = if let Some(path) = path.filter(|_| !generic || here || acts) {
        Some(format!("file: {path}"))
    } else if quiet || generic {
        None
    } else if acts
        && ((requests || !asks) && !(explains && !here && !requests)
            || shaped(&lexicon.order_end, asked_end) && (here || !explains))
    {
        Some(found("order", &lexicon.act))
    } else if inspects && here {
        Some(found("inspect", &lexicon.inspect))
    } else if asks && here && (symptom || !rules.topics.occurs(&topics)) {
        Some(found("question", &lexicon.here))
    } else if !explains
        && (symptom || !asks && !has(&lexicon.smalltalk) && end.chars().count() >= STATEMENT_CHARS)
    {
        Some(found("statement", &lexicon.symptom))
    } else {
        None
    };
    Verdict {
        needs_tools: ground.is_some(),
        grounds: ground.into_iter().collect(),
    }
}
