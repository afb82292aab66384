//! The marks of a clause, and what was found in a task. Plain data.

use std::collections::BTreeSet;

use super::reference::Reference;

/// The verdict, with the grounds in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// Each as `rule: words`; the words are the rule set's or a file's name.
    pub(super) grounds: Vec<String>,
    pub(super) needs_tools: bool,
}

/// A mark of a clause, a sentence or a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// A question mark ends the sentence.
    Asks,
    /// A colon follows, and text may follow that.
    Colon,
    /// The first clause of its sentence.
    FirstClause,
    /// It is about things in general.
    Generic,
    /// It asks for instructions.
    Howto,
    /// No clause of the sentence was judged before.
    Starts,
    /// The case is hypothetical.
    Suppose,
    /// The whole task is hypothetical.
    SupposedTask,
    /// A definite noun stands beside a language or a tool.
    Topic,
    /// The object needs no workspace.
    Toy,
}

/// The marks of one clause.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pub(super) all: BTreeSet<Mark>,
    pub(super) reference: Option<Reference>,
}

impl Marks {
    pub(super) fn has(&self, mark: Mark) -> bool {
        self.all.contains(&mark)
    }

    pub(super) fn is(&self, reference: Reference) -> bool {
        self.reference == Some(reference)
    }

    /// True if the clause is about one workspace and not about workspaces in general.
    pub(super) fn is_own(&self) -> bool {
        self.is(Reference::Path) || self.is(Reference::Ours)
    }
}

/// The marks that hold.
pub(super) fn marks_of(marks: impl IntoIterator<Item = (Mark, bool)>) -> BTreeSet<Mark> {
    let holding = marks.into_iter().filter(|(_, holds)| *holds);
    holding.map(|(mark, _)| mark).collect()
}

/// A finding about a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Finding {
    /// A question or order about things in general.
    Concept,
    /// An order, which holds whatever the task's mood is.
    Order,
    /// A question about the user's own workspace.
    OwnQuestion,
    /// The rest of the task is the object of an order.
    Inline,
    /// A complaint or a wish, which counts where nothing is asked in general.
    Statement,
    /// Any ground but a statement.
    Strong,
}

/// The findings so far, and their grounds.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub(super) findings: BTreeSet<Finding>,
    pub(super) grounds: Vec<String>,
}

impl Gathered {
    pub(super) fn ground(&mut self, rule: &str, words: &[String]) {
        self.findings.insert(Finding::Strong);
        self.note(rule, words);
    }

    pub(super) fn note(&mut self, rule: &str, words: &[String]) {
        let ground = if words.is_empty() {
            rule.to_owned()
        } else {
            format!("{rule}: {}", words.join(" "))
        };
        self.grounds.push(ground);
    }
}

/// The grounds of a verdict, each once.
pub(super) fn distinct(grounds: Vec<String>, most: usize) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let new = grounds
        .into_iter()
        .filter(|ground| seen.insert(ground.clone()));
    new.take(most).collect()
}
