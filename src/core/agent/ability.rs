//! An ability: a text that an agent is given, and the words of tasks that it is for. Does not know where its file is.

use serde::Deserialize;

use super::registry::AbilityFault;
use super::selection::names;
use crate::contract::{AgentId, AgentProfile};
use crate::message::{Digest, is_blank, without_bom};

/// The line before and after the head of an ability's file.
const FENCE: &str = "---";

/// A text that an agent may be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ability {
    /// BLAKE3 of its file.
    pub(super) digest: Digest,
    keywords: Vec<AgentId>,
    pub(super) name: AgentId,
    pub(super) text: String,
}

/// The optional head before the text, between two lines `---`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    #[serde(default)]
    keywords: Vec<AgentId>,
}

impl Ability {
    /// Reads the file of an ability. Its name is a keyword of it.
    ///
    /// # Errors
    /// [`AbilityFault::Form`] where it says nothing, or its head is not of the right form.
    pub fn read(name: AgentId, file: &str) -> Result<Self, AbilityFault> {
        let refuse = |rule: String| AbilityFault::Form {
            name: name.clone(),
            rule,
        };
        let (head, text) = parts(file).ok_or_else(|| {
            refuse("its head is not closed: a second line `---` is missing".to_owned())
        })?;
        let head: Head = match head {
            Some(head) if !head.trim().is_empty() => serde_saphyr::from_str(head)
                .map_err(|fault| refuse(fault.without_snippet().to_string()))?,
            _ => Head::default(),
        };
        if is_blank(text) {
            return Err(refuse("its file has no text".to_owned()));
        }
        let mut keywords = head.keywords;
        if !keywords.contains(&name) {
            keywords.push(name.clone());
        }
        Ok(Self {
            digest: Digest::of(file.as_bytes()),
            keywords,
            text: text.trim().to_owned(),
            name,
        })
    }
}

/// The head and the text of a file; `None` if the head has no end.
fn parts(file: &str) -> Option<(Option<&str>, &str)> {
    let file = without_bom(file);
    let mut lines = file.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != FENCE {
        return Some((None, file));
    }
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == FENCE {
            let head = file.get(first.len()..at)?;
            return Some((Some(head), file.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// The abilities that a task names a keyword of, the one with the most keywords first; by their names where they have as many.
pub fn matched(task: &str, abilities: &[Ability]) -> Vec<AgentId> {
    let task = AgentProfile::normalized(task);
    let relevance = |ability: &Ability| {
        let keywords = ability.keywords.iter();
        keywords.filter(|keyword| names(&task, keyword)).count()
    };
    let ranked = abilities
        .iter()
        .map(|ability| (relevance(ability), &ability.name));
    let mut ranked: Vec<_> = ranked.filter(|(relevance, _)| *relevance > 0).collect();
    ranked.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
    ranked.into_iter().map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ability(name: &str, file: &str) -> Result<Ability, String> {
        Ability::read(AgentId::sanitized(name), file).map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_file_is_a_text_with_keywords_before_it() {
        let plain = ability("sql", "\n Use bound values.\n").unwrap();
        assert_eq!(plain.text, "Use bound values.");
        let with_head =
            ability("sql", "---\nkeywords: [database]\n---\nUse it.\n---\nMore.").unwrap();
        assert_eq!(with_head.text, "Use it.\n---\nMore.");
        let check = |file: &str, expect: &str| {
            let fault = ability("sql", file).unwrap_err();
            assert!(fault.contains(expect), "{fault}");
        };
        check("---\nkeywords: []\n", "not closed");
        check("---\nkeywords: []\n---\n \n", "no text");
        check("---\nkeyword: [a]\n---\nx", "keyword");
        check("---\nkeywords: [A b]\n---\nx", "lower-case");
    }

    #[test]
    fn the_ability_of_which_a_task_names_most_comes_first() {
        let read = |name: &str, file: &str| ability(name, file).unwrap();
        let abilities = [
            read("rust", "x"),
            read("http", "---\nkeywords: [rest-api, server]\n---\nx"),
            read("css", "x"),
            read("c", "---\nkeywords: [rust]\n---\nx"),
        ];
        let names = matched("Write a REST API server in Rust.", &abilities);
        let names: Vec<&str> = names.iter().map(AgentId::as_str).collect();
        assert_eq!(names, ["http", "c", "rust"]);
        assert!(matched("Cook.", &abilities).is_empty());
    }
}
