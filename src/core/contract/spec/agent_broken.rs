//! An agent's file some of whose includes cannot be followed: all that is wrong with it, at once.

use super::agent::AgentSource;
use super::agent_file::{AgentForm, BrokenIncludes, split};
use super::definitions::Definitions;
use super::error::{Findings, Origin, SpecErrors};
use super::keys::ContractSpec;

impl ContractSpec {
    /// The faults of such a file: its includes, and what else is wrong with it where they all stand in the prompt. `source` has the text of
    /// `broken`.
    pub fn broken_agent(
        source: &AgentSource<'_>,
        broken: &BrokenIncludes,
        sets: &[String],
        known: &dyn Definitions,
    ) -> SpecErrors {
        let findings = Findings::new(source.text, &[]);
        for (offset, len, rule) in broken.places() {
            findings.add(&Origin::File.place(offset, len), "", rule.to_owned(), None);
        }
        let errors = source.renamed(findings.errors(source.file, source.text, &[]));
        // Of front matter that is not whole nothing is known.
        let prompt = prompt_of(source);
        if broken.places().any(|(offset, ..)| offset < prompt) {
            return errors;
        }
        match Self::parse_agent(source, sets, known) {
            Ok(_) => errors,
            Err(mut all) => {
                all.errors.extend(errors.errors);
                all.errors
                    .sort_by_key(|error| (error.set.is_some(), error.offset));
                all
            }
        }
    }
}

/// The byte at which the prompt begins.
fn prompt_of(source: &AgentSource<'_>) -> usize {
    let text = source.text;
    match source.form {
        AgentForm::FrontMatter => split(text).map_or(text.len(), |parts| parts.body_at(text)),
        AgentForm::Profile => text.len(),
        AgentForm::Text => 0,
    }
}
