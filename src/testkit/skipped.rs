//! The cases that a test leaves out because this machine lacks what they need, with their count.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The cases that this test program has skipped.
static SKIPPED: AtomicUsize = AtomicUsize::new(0);

/// Reports `count` skipped cases of the running test, and returns how many the program has skipped until now.
///
/// The line goes to stderr directly, because the test runner hides the output of a passing test.
pub fn skip(count: usize, cases: &str, why: &str) -> usize {
    let total = SKIPPED.fetch_add(count, Ordering::Relaxed) + count;
    let line = format!("skipped {count} {cases}: {why}; {total} skipped so far\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_cases_are_added_up() {
        let before = skip(2, "cases", "nothing is missing");
        assert_eq!(skip(3, "cases", "nothing is missing"), before + 3);
    }
}
