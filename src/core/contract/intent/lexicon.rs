//! The words of the intent rules, per language, and their lookup in a clause. Does not know how a clause is judged.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// The rule set as data.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSet {
    /// A name with one of these endings is a file.
    pub(super) extensions: BTreeSet<String>,
    /// Lexicons by language code.
    languages: BTreeMap<String, Lexicon>,
    /// Names that only look like files.
    pub(super) not_files: BTreeSet<String>,
    /// Well-known names that look like identifiers of a workspace.
    pub(super) not_names: BTreeSet<String>,
    /// Programs that a short task starts with.
    pub(super) programs: BTreeSet<String>,
    /// Languages and tools; a question about one of them is rarely about the workspace.
    pub(super) topics: Phrases,
    pub(super) version: u32,
}

impl RuleSet {
    /// The lexicon of a language; English where the set has none of that code.
    pub(super) fn lexicon(&self, language: &str) -> Option<&Lexicon> {
        let found = self.languages.get(language);
        found.or_else(|| self.languages.get("en"))
    }
}

/// The words of one language. Languages without blanks between words are matched by substrings.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Lexicon {
    /// Verbs of work on the workspace.
    pub(super) act: Phrases,
    /// Objects of `write` that belong to a workspace.
    pub(super) artifacts: Phrases,
    /// Openings of a question.
    pub(super) ask: Phrases,
    /// Verbs that open a question only at the start of a sentence.
    pub(super) auxiliaries: Phrases,
    /// Words that end a noun phrase.
    pub(super) breaks: Phrases,
    /// Verbs of inspection that need no named object.
    pub(super) check: Phrases,
    /// Openings of a condition.
    pub(super) condition: Phrases,
    /// Conjunctions between clauses.
    pub(super) conjunctions: Phrases,
    /// Words before a definite noun.
    pub(super) determiners: Phrases,
    /// Words between two things to choose from.
    pub(super) either: Phrases,
    /// Verbs that ask for an explanation.
    pub(super) explain: Phrases,
    /// Words at the start of a clause that say nothing.
    pub(super) fillers: Phrases,
    /// Marks of a question about things in general.
    pub(super) generic: Phrases,
    /// Marks of the workspace or the machine.
    pub(super) here: Phrases,
    /// Negations at the start of a clause.
    pub(super) hold: Phrases,
    /// Openings of a question for instructions.
    pub(super) howto: Phrases,
    /// Indefinite articles.
    pub(super) indefinite: Phrases,
    /// Verbs of inspection.
    pub(super) inspect: Phrases,
    /// Verbs of creation.
    pub(super) make: Phrases,
    /// Determiners that point at the user's own things.
    pub(super) near: Phrases,
    /// Nouns that belong to a workspace when they are definite.
    pub(super) nouns: Phrases,
    /// Openings before a noun of the workspace without an article.
    pub(super) open: Phrases,
    /// Shape of an order in a language without blanks, as a regular expression.
    pub(super) order: Option<String>,
    /// End of an order with a verb of work in a language without blanks, as a regular expression.
    pub(super) order_end: Option<String>,
    /// Possessives and other marks of the user's own workspace.
    pub(super) ours: Phrases,
    /// Questions for what follows from a condition.
    pub(super) outcome: Phrases,
    /// Openings of an order not to stop before an end.
    pub(super) persist: Phrases,
    /// Openings of a statement about people.
    pub(super) person: Phrases,
    /// Verbs whose object may be a toy.
    pub(super) play: Phrases,
    /// Verbs of creation whose object is a file unless it is a toy.
    pub(super) produce: Phrases,
    /// Objects whose text may stand in the task, behind a colon.
    pub(super) prose: Phrases,
    /// Requests to leave the workspace alone.
    pub(super) quiet: Phrases,
    /// Verbs of work on numbers, which may stand in the task.
    pub(super) reckon: Phrases,
    /// Words that open an indirect question.
    pub(super) relative: Phrases,
    /// Openings of a polite request.
    pub(super) request: Phrases,
    /// Function words by which the language is recognised.
    pub(super) signs: Phrases,
    /// Greetings, thanks and other talk.
    pub(super) smalltalk: Phrases,
    /// Words between a polite request and its verb.
    pub(super) softeners: Phrases,
    /// Marks of a hypothetical case.
    pub(super) suppose: Phrases,
    /// Complaints.
    pub(super) symptom: Phrases,
    /// Objects that need no workspace.
    pub(super) toy: Phrases,
    /// Marks of a wish.
    pub(super) wish: Phrases,
}

/// A list of phrases: words in a row; a word that ends in `*` matches every word with that beginning.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Vec<String>")]
pub(super) struct Phrases {
    /// By the first word.
    by_word: BTreeMap<String, Vec<Vec<String>>>,
    /// Phrases whose first word is a stem.
    by_stem: Vec<Vec<String>>,
    /// The phrases as written.
    texts: Vec<String>,
}

impl From<Vec<String>> for Phrases {
    fn from(texts: Vec<String>) -> Self {
        let mut phrases = Self::default();
        for text in &texts {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            match words.first() {
                Some(first) if first.ends_with('*') => phrases.by_stem.push(words),
                Some(first) => {
                    let known = phrases.by_word.entry(first.clone()).or_default();
                    known.push(words);
                }
                None => {}
            }
        }
        phrases.texts = texts;
        phrases
    }
}

impl Phrases {
    /// Number of words of the longest phrase at the start of `words`; 0 if none begins there.
    pub(super) fn lead(&self, words: &[String]) -> usize {
        let Some(first) = words.first() else {
            return 0;
        };
        let by_word = self.by_word.get(first).into_iter().flatten();
        let all = by_word.chain(&self.by_stem);
        let here = all.filter(|phrase| {
            phrase.len() <= words.len() && phrase.iter().zip(words).all(|(p, w)| matches(p, w))
        });
        here.map(Vec::len).max().unwrap_or(0)
    }

    /// The first phrase anywhere in `words`.
    pub(super) fn find<'w>(&self, words: &'w [String]) -> Option<&'w [String]> {
        (0..words.len()).find_map(|at| {
            let rest = words.get(at..)?;
            rest.get(..self.lead(rest))
                .filter(|found| !found.is_empty())
        })
    }

    /// True if a phrase occurs anywhere in `words`.
    pub(super) fn occurs(&self, words: &[String]) -> bool {
        self.find(words).is_some()
    }

    /// The first of the phrases that is a substring of `text`.
    pub(super) fn within(&self, text: &str) -> Option<&str> {
        let mut texts = self.texts.iter().map(String::as_str);
        texts.find(|phrase| text.contains(phrase))
    }
}

fn matches(pattern: &str, word: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => pattern == word,
    }
}
