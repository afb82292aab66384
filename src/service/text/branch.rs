//! The place of a line in a drawn tree, and the text drawn before it. Does not know what the tree is of.

/// The place of an item in a drawn tree.
#[derive(Clone, Debug, Default)]
pub struct Branch {
    /// Depth in the tree, from 0.
    pub depth: usize,
    /// The text before its mark: the lines of those above it that have more below them.
    indent: String,
    is_last: bool,
}

impl Branch {
    /// The first line of a tree.
    pub(crate) fn root() -> Self {
        Self {
            is_last: true,
            ..Self::default()
        }
    }

    /// The text before its first line.
    pub fn mark(&self) -> String {
        let mark = match (self.depth, self.is_last) {
            (0, _) => "",
            (_, true) => "└─ ",
            (_, false) => "├─ ",
        };
        format!("{}{mark}", self.indent)
    }

    /// The text before its further lines; `has_more` where something is drawn below it.
    pub fn further(&self, has_more: bool) -> String {
        let own = if has_more { "│  " } else { "   " };
        format!("{}{}{own}", self.indent, self.line())
    }

    /// Returns the place of an item below it.
    pub(crate) fn below(&self, is_last: bool) -> Self {
        Self {
            depth: self.depth.saturating_add(1),
            indent: format!("{}{}", self.indent, self.line()),
            is_last,
        }
    }

    const fn line(&self) -> &'static str {
        match (self.depth, self.is_last) {
            (0, _) => "",
            (_, true) => "   ",
            (_, false) => "│  ",
        }
    }
}
