//! The name of a run that is begun for a call of another one, or as a step of a workflow. Begins none.

use super::{CallSeq, Digest, RunId};

impl RunId {
    /// Returns the id of the child run for a call of this run: `<id>.<call>`, the same each time. If that is too long, 32
    /// digits of this id's digest replace the id.
    ///
    /// ```
    /// use monolith_core::message::{CallSeq, RunId};
    ///
    /// let parent = RunId::try_from("nightly-7".to_owned())?;
    /// assert_eq!(parent.child(CallSeq(2)).as_str(), "nightly-7.2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn child(&self, call: CallSeq) -> Self {
        let whole = Self::try_from(format!("{self}.{call}"));
        let short = || {
            let digest = Digest::of(self.as_str().as_bytes()).short(32);
            Self::try_from(format!("{digest}.{call}"))
        };
        // 32 digits, a point and a number of at most 20 digits always name a run.
        whole.or_else(|_| short()).unwrap_or_else(|_| self.clone())
    }

    /// The id of the run of a step of this workflow: `<id>.<number>`.
    ///
    /// # Errors
    /// Where that is too long; the names of workflows leave room for it.
    pub fn step(&self, number: u64) -> Result<Self, <Self as TryFrom<String>>::Error> {
        Self::try_from(format!("{self}.{number}"))
    }

    /// True if it is the run of that step of a workflow.
    pub fn is_step_of(&self, workflow: &Self, number: u64) -> bool {
        workflow.step(number).is_ok_and(|step| step == *self)
    }

    /// The workflow whose step it is by its name; `None` where it has the name of no step.
    pub fn workflow_of_step(&self) -> Option<Self> {
        let (workflow, number) = self.as_str().rsplit_once('.')?;
        let workflow = Self::try_from(workflow.to_owned()).ok()?;
        let number = number.parse().ok()?;
        self.is_step_of(&workflow, number).then_some(workflow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_of_a_call_has_a_name_of_its_own_however_long_its_parents_is() {
        let check = |parent: &str, call: u64, expect: &str| {
            let parent = RunId::try_from(parent.to_owned()).unwrap();
            assert_eq!(parent.child(CallSeq(call)).as_str(), expect);
        };
        check("a", 1, "a.1");
        check("a.1", 12, "a.1.12");
        let long = "a".repeat(63);
        let digest = Digest::of(long.as_bytes()).short(32);
        check(&long, u64::MAX, &format!("{digest}.{}", u64::MAX));
        check(&"a".repeat(62), 1, &format!("{}.1", "a".repeat(62)));
    }

    #[test]
    fn the_run_of_a_step_has_the_whole_name_of_its_workflow_before_its_number() {
        let check = |run: &str, expect: Option<&str>| {
            let run = RunId::try_from(run.to_owned()).unwrap();
            let workflow = run.workflow_of_step();
            assert_eq!(workflow.as_ref().map(RunId::as_str), expect, "{run}");
        };
        check("a.1", Some("a"));
        check("a.b.12", Some("a.b"));
        check("a.1.2", Some("a.1"));
        for none in ["a", "a.b", "a.", "a.01", "1"] {
            check(none, None);
        }
    }
}
