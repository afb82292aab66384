//! Transcripts in other forms: the transcript itself, a page, a trajectory, a recorded terminal.

pub mod form;
#[cfg(test)]
mod form_tests;
mod forms;
pub mod html;
mod judged;
pub mod one;
pub mod tree;

pub use forms::write_to;
