//! Adapts the number of threads to the processors that are free. Does not decode.

use std::time::{Duration, Instant};

/// Minimum decoding time measured before any conclusion.
const LEAST: Duration = Duration::from_secs(1);
/// So many times what a token took before, no other load makes of it: the process was stopped, or weights came from the disk.
/// A token alone takes up to ten times what it takes in a batch.
const FAR: u32 = 16;
/// The share of the time asked for that threads get where nothing else wants their processors, in thousandths; less is too
/// little. Beginning and ending them takes some of it.
const ENOUGH: u64 = 850;

/// The number of computing threads, and their share of the processors.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Processor time that they received.
    given: Duration,
    /// Time per token in the last work.
    last: Option<Duration>,
    /// For how many threads there were processors when that was last looked at, where that was too few.
    poor: Option<u32>,
    /// True if the number of threads is fixed, whatever time they receive.
    settled: bool,
    threads: u32,
    took: Duration,
}

impl Pace {
    pub(super) const fn new(threads: u32) -> Self {
        Self {
            given: Duration::ZERO,
            last: None,
            poor: None,
            settled: false,
            threads,
            took: Duration::ZERO,
        }
    }

    /// So many threads that got nothing, twice.
    #[cfg(test)]
    pub(super) const fn starved(threads: u32) -> Self {
        Self {
            poor: Some(1),
            took: LEAST,
            ..Self::new(threads)
        }
    }

    /// Returns the number of threads.
    pub(super) const fn threads(&self) -> u32 {
        self.threads
    }

    /// It stays with as many threads as there are.
    pub(super) fn settle(&mut self) {
        self.settled = true;
    }

    /// Does something to so many tokens with all threads, and notes what they got for it.
    pub(super) fn timed<T>(&mut self, tokens: usize, work: impl FnOnce() -> T) -> T {
        let watched = self.threads > 1 && !self.settled;
        let before = watched.then(process_time).flatten();
        let began = Instant::now();
        let done = work();
        if let Some(before) = before
            && let Some(after) = process_time()
        {
            self.note(tokens, began.elapsed(), after.saturating_sub(before));
        }
        done
    }

    fn note(&mut self, tokens: usize, took: Duration, given: Duration) {
        let each = took / u32::try_from(tokens).unwrap_or(u32::MAX).max(1);
        let last = self.last.replace(each);
        if took >= LEAST && last.is_none_or(|last| each > last.saturating_mul(FAR)) {
            self.took = Duration::ZERO;
            self.given = Duration::ZERO;
        } else {
            self.took += took;
            self.given += given;
        }
    }

    /// Returns the number of threads that the processors allow, if it was too small twice in a row: the larger number of the
    /// two. If nothing comes of it, the next call asks again.
    pub(super) fn fewer(&mut self) -> Option<u32> {
        if self.took < LEAST {
            return None;
        }
        let asked = self.took.as_millis() * u128::from(self.threads);
        let given = std::mem::take(&mut self.given).as_millis();
        self.took = Duration::ZERO;
        let share = u64::try_from(given * 1000 / asked.max(1)).unwrap_or(u64::MAX);
        let poor = (share < ENOUGH).then(|| {
            let there = u64::from(self.threads) * share / 1000;
            u32::try_from(there)
                .unwrap_or(1)
                .clamp(1, self.threads.saturating_sub(1).max(1))
        });
        let before = std::mem::replace(&mut self.poor, poor);
        Some(poor?.max(before?))
    }
}

/// Returns the processor time of this process, to a hundredth of a second, if the system states it.
fn process_time() -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name is in brackets, and may hold anything.
    let (_, numbers) = text.rsplit_once(") ")?;
    let ticks: u64 = numbers
        .split(' ')
        .skip(11)
        .take(2)
        .map(str::parse::<u64>)
        .sum::<Result<_, _>>()
        .ok()?;
    Some(Duration::from_millis(ticks.saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pace after so many seconds of tokens that take 50 ms each, with what was given of the processors in each of them.
    fn check(threads: u32, given_ms: &[u64], expect: Option<u32>) {
        let mut pace = Pace::new(threads);
        let mut fewer = None;
        for given in given_ms {
            assert_eq!(fewer, None, "{threads}: {given_ms:?}");
            for _ in 0..20 {
                pace.note(
                    1,
                    Duration::from_millis(50),
                    Duration::from_micros(given * 50),
                );
            }
            fewer = pace.fewer();
        }
        assert_eq!(fewer, expect, "{threads}: {given_ms:?}");
        assert_eq!(pace.threads, threads);
    }

    #[test]
    fn threads_that_wait_for_processors_become_as_many_as_there_are_processors_for() {
        check(2, &[1900, 1900], None);
        check(2, &[1300, 1300], Some(1));
        check(8, &[6000, 6000], Some(6));
        check(8, &[6790, 6790], Some(6));
        check(8, &[50, 50], Some(1));
    }

    #[test]
    fn one_poor_second_proves_nothing() {
        check(16, &[10], None);
        check(16, &[10, 15_900], None);
        check(16, &[10, 15_900, 10], None);
        check(16, &[10, 8000], Some(8));
        check(16, &[8000, 10], Some(8));
        check(16, &[15_900, 10, 10], Some(1));
    }

    #[test]
    fn less_than_a_second_proves_nothing() {
        let mut pace = Pace::starved(2);
        pace.took -= Duration::from_millis(1);
        assert_eq!(pace.fewer(), None);
        assert_eq!(pace.poor, Some(1));
    }

    #[test]
    fn a_process_that_was_stopped_has_not_waited_for_processors() {
        let (token, batch) = (Duration::from_millis(50), Duration::from_secs(2));
        let stopped = Duration::from_secs(300);
        let looked_at = |did: &[(usize, Duration)]| {
            let mut pace = Pace::new(16);
            for (tokens, took) in did {
                pace.note(*tokens, *took, Duration::ZERO);
            }
            pace.took
        };
        let zero = Duration::ZERO;
        assert_eq!(looked_at(&[(1, token), (1, stopped)]), zero);
        assert_eq!(looked_at(&[(1, token), (1, stopped), (1, token)]), token);
        assert_eq!(looked_at(&[(128, batch), (128, stopped)]), zero);
        // The first one reads the weights.
        assert_eq!(looked_at(&[(128, batch)]), zero);
        // A batch after tokens, and a token after a batch, are nothing odd.
        assert_eq!(looked_at(&[(1, token), (128, batch)]), token + batch);
        let slow = Duration::from_millis(1200);
        let long = Duration::from_secs(20);
        let both = looked_at(&[(1, token), (128, long), (1, slow)]);
        assert_eq!(both, token + long + slow);
    }

    #[test]
    fn a_settled_pace_and_one_thread_are_never_measured_and_a_decision_resets_the_measure() {
        let mut settled = Pace::new(4);
        settled.settle();
        for mut pace in [Pace::new(1), settled] {
            pace.timed(1, || ());
            assert_eq!((pace.last, pace.took), (None, Duration::ZERO));
            assert_eq!(pace.fewer(), None);
        }
        let mut pace = Pace::new(4);
        pace.timed(1, || ());
        assert_eq!(pace.last.is_some(), cfg!(target_os = "linux"));
        let mut pace = Pace::new(4);
        pace.took = LEAST;
        pace.given = LEAST * 4;
        assert_eq!(pace.fewer(), None);
        assert_eq!((pace.took, pace.given), (Duration::ZERO, Duration::ZERO));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_reports_what_the_process_had() {
        let before = process_time().unwrap();
        let began = Instant::now();
        let mut sum: u64 = 0;
        while process_time().unwrap() == before && began.elapsed() < Duration::from_secs(60) {
            sum = (0..100_000).fold(sum, |sum, n| std::hint::black_box(sum ^ n));
        }
        assert!(process_time().unwrap() > before, "{sum}");
    }
}
