//! A rule that a contract's terms break. Does not find it.

/// A rule that a contract's terms break, and the value of the author's file that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermFault {
    /// The dotted paths of other values that the rule is about.
    pub also: &'static [&'static str],
    /// The dotted path of the value; `None` if the rule is about no value of the file.
    pub path: Option<String>,
    /// The rule, as a check records it.
    pub text: String,
    /// The tool that the rule is about, where the contract names one that no server offers.
    pub tool: Option<String>,
}

impl TermFault {
    /// A fault of the value at that path.
    pub(super) fn at(path: impl Into<String>, text: String) -> Self {
        Self {
            also: &[],
            path: Some(path.into()),
            text,
            tool: None,
        }
    }

    /// The same, about these values of the file, too.
    pub(super) const fn and(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    /// A fault of something that is not in the file, such as a tool that a server offers.
    pub(super) const fn elsewhere(text: String) -> Self {
        Self {
            also: &[],
            path: None,
            text,
            tool: None,
        }
    }
}
