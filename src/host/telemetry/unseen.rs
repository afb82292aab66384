//! The results that the model did not see because they did not fit its context. Decides no outcome: their calls stay executed.

use monolith_core::view::RunView;

/// How many calls are named.
const MOST_NAMED: usize = 3;

/// Which results the model did not see, and what helps; `None` if it saw all.
#[must_use]
pub fn unseen_results(view: &RunView) -> Option<String> {
    let calls = view.calls().iter().filter(|(_, call)| {
        let last = call.executions.last();
        last.is_some_and(|execution| execution.dropped.is_some())
    });
    let mut named: Vec<String> = calls
        .map(|(number, call)| format!("{number} ({})", call.name))
        .collect();
    let (results, calls, them) = match named.len() {
        0 => return None,
        1 => ("the result", "call", "it"),
        _ => ("the results", "calls", "them"),
    };
    let more = named.len().saturating_sub(MOST_NAMED);
    named.truncate(MOST_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let named = named.join(", ");
    Some(format!(
        "{results} of {calls} {named} did not fit the context, and the model did not see {them}: \
         a larger context_window of the target or a smaller tool_output_budget.max_bytes_per_call helps"
    ))
}
