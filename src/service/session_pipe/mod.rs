//! Sessions over a pipe: lines of JSON from a host in any language, and lines of JSON to it (docs/session-api.md).
//!
//! Knows which line may follow which. Answers an invalid line with an error, and changes nothing. It deliberately does not know how a
//! host carries out outputs: models, tools, files and the clock are the host's.
//!
//! ```text
//! host ─ line ─▶ Pipe ─ Input ─▶ Session ─ Output ─▶ Pipe ─ line ─▶ host
//! ```

mod line;
mod opened;
mod pipe;

pub use pipe::serve;
