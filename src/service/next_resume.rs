//! The effect of the next process on a run that none drives: it resumes or ends the run. Changes nothing.

use crate::error::ServiceError;
use crate::service::Service;
use crate::source::Source;
use crate::workflow_entries::view_of;
use monolith_core::kernel::Run;
use monolith_core::message::RunId;
use monolith_core::transcript::ParentFound;

/// Deeper than any tree of runs.
const MOST_LEVELS: usize = 100;

/// The effect of the next process on a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct NextResume {
    /// It ends the run: `max_resumes` of it or of a run above it are used up, or one above has ended or is about to.
    pub ends: bool,
    /// It lets the run come to its end: that, or one above it, was asked to stop.
    pub(crate) stops: bool,
}

impl NextResume {
    /// By the runs above it alone, the nearest first. A workflow lets each step go on whose end it has not requested.
    pub fn above(service: &Service, run_id: &RunId) -> Result<Self, ServiceError> {
        let (mut found, mut below) = (Self::default(), run_id.clone());
        for _ in 0..MOST_LEVELS {
            let Some(mut reader) = service.reader()? else {
                break;
            };
            let lineage = reader.lineage(&below)?;
            let lineage = lineage.filter(|lineage| lineage.is_below() && lineage.names(&below));
            let Some(lineage) = lineage else { break };
            if !matches!(lineage.found, ParentFound::Entry(_)) {
                break;
            }
            let above = lineage.parent.run_id.clone();
            if !reader.is_open(&above)? {
                found.ends = true;
                break;
            }
            if lineage.is_workflow() {
                let view = view_of(&mut reader, &above)?;
                found.stops |= view.is_end_requested(below.as_str());
                break;
            }
            if lineage.is_step() {
                // A work item drives its run on, whatever it does next.
                break;
            }
            found = found.and(Self::stored(service, &above)?);
            below = above;
        }
        Ok(found)
    }

    /// By that run alone.
    pub fn by(run: &Run) -> Self {
        Self {
            ends: run.ends_if_resumed() || run.is_ending(),
            stops: run.is_stopping(),
        }
    }

    /// By that run of the store alone.
    fn stored(service: &Service, run_id: &RunId) -> Result<Self, ServiceError> {
        let Some(reader) = service.reader()? else {
            return Ok(Self::default());
        };
        let view = Source::Run(run_id.clone(), reader).each_step(|_, _, _| Ok(()))?;
        Ok(view.machine().map(Self::by).unwrap_or_default())
    }

    /// By both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            ends: self.ends || other.ends,
            stops: self.stops || other.stops,
        }
    }
}
