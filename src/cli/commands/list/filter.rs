//! Which runs `list` is asked for. Judges a row or its outline; reads neither.

use super::args::ListArgs;
use crate::commands::values::is_of_outcome;
use monolith_core::view::RunOutline;
use monolith_host::store::{RunFilter, RunRow};
use monolith_service::clock::unix_ms;

/// Which runs are asked for.
pub(crate) struct Wanted<'a> {
    args: &'a ListArgs,
    since_unix_ms: u64,
    /// In lower case.
    text: Option<String>,
}

impl<'a> Wanted<'a> {
    pub(crate) fn new(args: &'a ListArgs) -> Self {
        Self {
            since_unix_ms: args.since.map_or(0, |since| since.unix_ms(unix_ms())),
            text: args.text.as_deref().map(str::to_lowercase),
            args,
        }
    }

    /// Whether some runs may be left out.
    pub(crate) fn is_narrow(&self) -> bool {
        self.args.text.is_some() || self.is_narrow_without_text()
    }

    /// Whether runs are left out by the text in their task or name, and by nothing else.
    pub(crate) fn is_by_text_alone(&self) -> bool {
        self.args.text.is_some() && !self.is_narrow_without_text()
    }

    fn is_narrow_without_text(&self) -> bool {
        let ListArgs {
            outcome,
            since,
            model,
            contract,
            ..
        } = self.args;
        let texts = [outcome, model, contract];
        since.is_some() || texts.iter().any(|text| text.is_some())
    }

    /// What the store can tell.
    pub(crate) const fn filter(&self) -> RunFilter {
        match (self.args.open, &self.args.outcome) {
            (true, _) => RunFilter::Open,
            (false, Some(_)) => RunFilter::Sealed,
            (false, None) => RunFilter::All,
        }
    }

    /// What the row can tell.
    pub(crate) fn has_row(&self, row: &RunRow) -> bool {
        let ended_so = |asked: &String| {
            let outcome = row.outcome.as_ref();
            outcome.is_some_and(|(class, code)| is_of_outcome((class, code), asked))
        };
        row.created_unix_ms >= self.since_unix_ms && self.args.outcome.as_ref().is_none_or(ended_so)
    }

    /// What only the run can tell.
    pub(crate) fn has(&self, row: &RunRow, outline: Option<&RunOutline>) -> bool {
        let of_model = |asked: &String| {
            let asked = asked.to_lowercase();
            outline.is_some_and(|outline| {
                let mut models = outline.models.iter();
                models.any(|model| model.to_lowercase().contains(&asked))
            })
        };
        let hash = row.contract_hash.to_string();
        let under = |asked: &String| {
            let id = outline.is_some_and(|outline| outline.contract_id.starts_with(asked));
            id || hash.starts_with(asked)
        };
        let holds = |asked: &String| {
            let task = outline.and_then(|outline| outline.task.as_deref());
            let texts = [Some(row.run_id.as_str()), task].into_iter().flatten();
            texts
                .into_iter()
                .any(|text| text.to_lowercase().contains(asked))
        };
        // A run may have ended between the two looks at it.
        (!self.args.open || row.outcome.is_none())
            && self.args.contract.as_ref().is_none_or(under)
            && self.args.model.as_ref().is_none_or(of_model)
            && self.text.as_ref().is_none_or(holds)
    }
}
