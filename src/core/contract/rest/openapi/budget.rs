//! The work that reading one description may cost, counted in steps and in bytes. Reads nothing.
//!
//! A short description can describe a lot: references repeat a component in each operation, and a component may hold others. So the work is
//! bounded, not the text. The counts depend on the text alone: the same description is refused on every machine.

use std::cell::Cell;

use super::fault::OpenapiFault;

/// The most values that a description holds.
const MOST_VALUES: usize = 1 << 19;
/// The most steps to read one operation: values looked at, references followed, and each 32 bytes that are written.
const MOST_STEPS: u64 = 1 << 20;
/// The most steps to read all operations.
const MOST_STEPS_IN_ALL: u64 = 1 << 23;
/// The most bytes of the schemas of all operations and of what their requests are made of: a contract holds no more.
const MOST_BYTES_IN_ALL: u64 = 4 * 1024 * 1024;
/// Steps between two checks that the description is still awaited.
const STEPS_PER_CHECK: u64 = 256;
/// Values between two such checks.
const VALUES_PER_CHECK: usize = 4096;
/// Bytes that are written or compared in one step.
const BYTES_PER_STEP: usize = 32;

/// The work that one description may still cost.
pub(super) struct Budget<'w> {
    /// False once nobody waits for the description.
    awaited: &'w dyn Fn() -> bool,
    bytes: Cell<u64>,
    is_given_up: Cell<bool>,
    of_operation: Cell<u64>,
    steps: Cell<u64>,
    values: Cell<usize>,
}

impl<'w> Budget<'w> {
    pub(super) const fn new(awaited: &'w dyn Fn() -> bool) -> Self {
        Self {
            awaited,
            bytes: Cell::new(0),
            is_given_up: Cell::new(false),
            of_operation: Cell::new(0),
            steps: Cell::new(0),
            values: Cell::new(0),
        }
    }

    /// Counts a value of the text.
    ///
    /// # Errors
    /// The description has too many, or nobody waits for it.
    pub(super) fn value(&self) -> Result<(), OpenapiFault> {
        let values = self.values.get().saturating_add(1);
        self.values.set(values);
        if values.is_multiple_of(VALUES_PER_CHECK) && !(self.awaited)() {
            self.is_given_up.set(true);
        }
        self.checked()
    }

    /// Judges the text as far as it is read.
    ///
    /// # Errors
    /// The limit that it has passed.
    pub(super) fn checked(&self) -> Result<(), OpenapiFault> {
        if self.is_given_up.get() {
            return Err(OpenapiFault::GivenUp);
        }
        if self.values.get() > MOST_VALUES {
            return Err(OpenapiFault::TooManyValues { most: MOST_VALUES });
        }
        Ok(())
    }

    /// Begins to count the steps of another operation.
    pub(super) fn next_operation(&self) {
        self.of_operation.set(0);
    }

    /// Counts steps before they are taken.
    ///
    /// # Errors
    /// The limit that they pass. Once one is passed, every further step is an error too.
    pub(super) fn spend(&self, steps: u64) -> Result<(), OpenapiFault> {
        let before = self.steps.get();
        let all = before.saturating_add(steps);
        self.steps.set(all);
        let of_operation = self.of_operation.get().saturating_add(steps);
        self.of_operation.set(of_operation);
        let is_due = before / STEPS_PER_CHECK != all / STEPS_PER_CHECK;
        if self.is_given_up.get() || is_due && !(self.awaited)() {
            self.is_given_up.set(true);
            return Err(OpenapiFault::GivenUp);
        }
        if all > MOST_STEPS_IN_ALL {
            return Err(OpenapiFault::too_much("steps to read", MOST_STEPS_IN_ALL));
        }
        if of_operation > MOST_STEPS {
            return Err(OpenapiFault::TooLargeOperation { most: MOST_STEPS });
        }
        Ok(())
    }

    /// Counts the steps of so many bytes.
    pub(super) fn spend_bytes(&self, bytes: usize) -> Result<(), OpenapiFault> {
        let steps = bytes.div_euclid(BYTES_PER_STEP).saturating_add(1);
        self.spend(u64::try_from(steps).unwrap_or(u64::MAX))
    }

    /// Counts bytes that are kept: of a schema, a name, an address.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), OpenapiFault> {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        let all = self.bytes.get().saturating_add(bytes);
        self.bytes.set(all);
        if all > MOST_BYTES_IN_ALL {
            return Err(OpenapiFault::too_much(
                "bytes of schemas and names",
                MOST_BYTES_IN_ALL,
            ));
        }
        Ok(())
    }
}
