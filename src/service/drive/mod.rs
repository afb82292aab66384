//! Runs that are driven: accounting, snapshots, and what helps after their end.

pub mod accounts;
pub mod file_of_run;
pub mod lost_calls;
pub mod overwritten;
pub mod own_file;
pub mod snapshots;
pub mod typed_at;
pub mod unproven;
pub mod way_out;
