use std::time::{Duration, Instant};

/// How much decoding is looked at before anything is said of it.
const LEAST: Duration = Duration::from_secs(1);
/// The share of the time asked for that threads get where nothing else wants their processors, in thousandths; less is too
/// little. Beginning and ending them takes some of it.
const ENOUGH: u64 = 850;

/// How many threads compute, and whether there are processors for them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// What they were given of the processors.
    given: Duration,
    threads: u32,
    took: Duration,
}

impl Pace {
    pub(super) const fn new(threads: u32) -> Self {
        Self {
            given: Duration::ZERO,
            threads,
            took: Duration::ZERO,
        }
    }

    /// So many threads that got nothing.
    #[cfg(test)]
    pub(super) const fn starved(threads: u32) -> Self {
        Self {
            took: LEAST,
            ..Self::new(threads)
        }
    }

    /// Does something with all threads, and notes what they got for it.
    pub(super) fn timed<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = (self.threads > 1).then(process_time).flatten();
        let began = Instant::now();
        let done = work();
        if let Some(before) = before
            && let Some(after) = process_time()
        {
            self.note(began.elapsed(), after.saturating_sub(before));
        }
        done
    }

    fn note(&mut self, took: Duration, given: Duration) {
        self.took += took;
        self.given += given;
    }

    /// How many threads there are processors for, where that is fewer than there are; from then on there are so many.
    pub(super) fn fewer(&mut self) -> Option<u32> {
        if self.took < LEAST {
            return None;
        }
        let asked = self.took.as_millis() * u128::from(self.threads);
        let given = std::mem::take(&mut self.given).as_millis();
        self.took = Duration::ZERO;
        let share = u64::try_from(given * 1000 / asked.max(1)).unwrap_or(u64::MAX);
        if share >= ENOUGH {
            return None;
        }
        let there = u64::from(self.threads) * share / 1000;
        let fewer = u32::try_from(there).unwrap_or(1).clamp(1, self.threads - 1);
        tracing::info!(
            threads = self.threads,
            fewer,
            "the processors are busy: the embedded model goes on with fewer threads"
        );
        self.threads = fewer;
        Some(fewer)
    }
}

/// What this process has had of the processors, to a hundredth of a second, where the system says it.
fn process_time() -> Option<Duration> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The program's name stands in brackets, and may hold anything.
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

    #[test]
    fn threads_that_wait_for_processors_become_as_many_as_there_are_processors_for() {
        let check = |threads, took_ms, given_ms, expect: Option<u32>| {
            let mut pace = Pace::new(threads);
            pace.note(
                Duration::from_millis(took_ms),
                Duration::from_millis(given_ms),
            );
            assert_eq!(pace.fewer(), expect, "{threads}: {given_ms} in {took_ms}");
            assert_eq!(pace.threads, expect.unwrap_or(threads));
        };
        check(2, 1000, 1900, None);
        check(2, 1000, 1300, Some(1));
        check(2, 999, 1300, None);
        check(8, 2000, 12_000, Some(6));
        check(8, 2000, 13_590, Some(6));
        check(8, 2000, 100, Some(1));
    }

    #[test]
    fn one_thread_is_never_looked_at_and_what_was_judged_is_forgotten() {
        let mut pace = Pace::new(1);
        pace.timed(|| ());
        assert_eq!((pace.took, pace.fewer()), (Duration::ZERO, None));
        let mut pace = Pace::new(4);
        pace.note(LEAST, LEAST * 4);
        assert_eq!(pace.fewer(), None);
        assert_eq!((pace.took, pace.given), (Duration::ZERO, Duration::ZERO));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_says_what_the_process_had() {
        let before = process_time().unwrap();
        let began = Instant::now();
        let mut sum: u64 = 0;
        while process_time().unwrap() == before && began.elapsed() < Duration::from_secs(60) {
            sum = (0..100_000).fold(sum, |sum, n| std::hint::black_box(sum ^ n));
        }
        assert!(process_time().unwrap() > before, "{sum}");
    }
}
