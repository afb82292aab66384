//! The tool that a name was probably meant to be.

use super::*;

impl Oracle {
    /// The three offered names that are nearest (§6). In these contracts all names are short, so a plain recursion will do.
    pub(super) fn near(&self, name: &str) -> String {
        let mut offered: Vec<(usize, &str)> = self
            .terms
            .offered_tools(false)
            .map(|t| t.name.as_str())
            .filter(|one| !self.facts.changed.contains(*one))
            .map(|one| (edits(name.as_bytes(), one.as_bytes()), one))
            .collect();
        offered.sort_unstable();
        let named: Vec<&str> = offered.iter().take(3).map(|(_, one)| *one).collect();
        if named.is_empty() {
            return String::new();
        }
        format!(" (nearest: {})", named.join(", "))
    }
}

/// The edit distance, by its definition.
fn edits(a: &[u8], b: &[u8]) -> usize {
    match (a, b) {
        ([], rest) | (rest, []) => rest.len(),
        ([x, a @ ..], [y, b @ ..]) if x == y => edits(a, b),
        ([_, short_a @ ..], [_, short_b @ ..]) => {
            1 + edits(short_a, b)
                .min(edits(a, short_b))
                .min(edits(short_a, short_b))
        }
    }
}
