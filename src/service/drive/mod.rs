//! Runs that are driven: accounting, snapshots, and what helps after their end.

pub mod accounts;
pub mod approvers;
pub mod background;
pub mod display;
pub mod ended;
pub mod follower;
pub mod fork;
pub mod lost_calls;
pub mod overwritten;
pub mod own_file;
pub mod resume;
pub mod run;
pub mod snapshots;
pub mod typed_at;
pub mod unanswered;
