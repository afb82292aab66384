//! The languages that grammars are printed in. Does not print.

/// A language that grammars are written in; each has its engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrammarLanguage {
    /// What the embedded engine, llguidance, reads.
    Lark,
    /// What a llama-server reads in its `grammar` field.
    Gbnf,
}

impl GrammarLanguage {
    const ALL: [Self; 2] = [Self::Lark, Self::Gbnf];

    /// The language of a contract's `grammar_profile`.
    #[must_use]
    pub(crate) fn by_profile(profile: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| known.profile() == profile)
    }

    /// Its name and the version of what this build writes in it, as contracts state it.
    #[must_use]
    pub const fn profile(self) -> &'static str {
        match self {
            Self::Lark => "lark/1",
            Self::Gbnf => "gbnf/1",
        }
    }
}
