//! Both directions of a pipe to a host: reads its lines, and writes the outputs of its session.

use std::io::{self, BufRead};

use serde::Serialize;
use serde_json::json;

use super::line::{HostLine, NextLine, Refusal, SessionLine, next_line};
use super::opened::{Made, Opened};
use crate::error::ServiceError;
use crate::error::input::InputFault;
use crate::exit::Exit;
use crate::service::Service;
use crate::source::new_run_id;
use monolith_core::kernel::Run;
use monolith_core::message::{ContentBlock, Digest, ToolEnvelope, ToolOutcome};
use monolith_core::session::{Append, Control, Input, Output, Scrub, Session};
use monolith_core::transcript::{blob_line, entry_line};

/// Serves sessions, one after the other, until the host's input ends. `write` takes each line for the host. Returns the exit code of
/// the last run: a run without an end is suspended.
///
/// # Errors
///
/// The host's lines cannot be read, or it takes no more lines. A line that is wrong is answered on the pipe.
pub fn serve(
    service: &Service,
    mut input: impl BufRead,
    write: impl FnMut(&str) -> io::Result<()>,
) -> Result<Exit, ServiceError> {
    let mut pipe = Pipe {
        open: None,
        service,
        write,
    };
    let (mut line, mut number) = (Vec::new(), 0_u64);
    loop {
        number = number.saturating_add(1);
        let next = next_line(&mut input, &mut line).map_err(|fault| InputFault::Line {
            reason: fault.to_string(),
        })?;
        let taken = match next {
            NextLine::Line => pipe.take(&line),
            NextLine::Unusable(why) => Err(Refusal::malformed(why).into()),
            NextLine::End => return Ok(pipe.end()),
        };
        match taken {
            Ok(()) => {}
            Err(Fault::Refused(refusal)) => pipe.say(&refusal.answer(number))?,
            Err(Fault::Unread(fault)) => return Err(fault.into()),
        }
    }
}

/// The reason why a line has no effect, or its effect no reader.
enum Fault {
    Refused(Refusal),
    /// The host takes no more lines.
    Unread(io::Error),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Fault {
    fn from(fault: io::Error) -> Self {
        Self::Unread(fault)
    }
}

struct Pipe<'s, W> {
    open: Option<Open>,
    service: &'s Service,
    write: W,
}

/// The session that takes the host's inputs.
struct Open {
    /// Exit code of the run, once it is over.
    ended: Option<Exit>,
    /// True while the run is made again from its record, and asks for nothing.
    is_recorded: bool,
    opened: Opened,
    session: Session,
}

impl<W: FnMut(&str) -> io::Result<()>> Pipe<'_, W> {
    fn take(&mut self, line: &[u8]) -> Result<(), Fault> {
        match HostLine::read(line)? {
            HostLine::Input(at_ms, input) => self.input(at_ms, *input),
            HostLine::Session(SessionLine::Resume(resume)) => Ok(self.resume(resume.head)?),
            HostLine::Session(line) => self.open(line),
        }
    }

    /// Opens a session that replaces the previous one.
    fn open(&mut self, line: SessionLine) -> Result<(), Fault> {
        if self.open.as_ref().is_some_and(Open::is_under_way) {
            let why = "the run of this session has not ended: end it before the next one";
            return Err(Refusal::unexpected(why).into());
        }
        let open = |opened: Opened, session, is_recorded| Open {
            ended: None,
            is_recorded,
            opened,
            session,
        };
        match line {
            SessionLine::Make(request) => {
                let made = Made::by_host(self.service, *request)?;
                let session = made.opened.driven()?;
                self.open = Some(open(made.opened, session, false));
                self.say(&json!({"ready": {"header": made.header, "start": made.start}}))?;
            }
            SessionLine::New(opening) => {
                let opened = Opened::of_header(self.service, &opening)?;
                new_run_id(opened.run_id.as_str()).map_err(Refusal::malformed)?;
                let session = opened.driven()?;
                self.open = Some(open(opened, session, false));
            }
            SessionLine::Recorded(opening) => {
                let opened = Opened::of_header(self.service, &opening)?;
                let session = opened.recorded();
                self.open = Some(open(opened, session, true));
            }
            SessionLine::Resume(_) => {}
        }
        Ok(())
    }

    /// Continues the recorded run, if its record is the one that the host has.
    fn resume(&mut self, head: Digest) -> Result<(), Refusal> {
        let Some(open) = self.open.take_if(|open| open.is_recorded) else {
            return Err(Refusal::unexpected("no recorded session is open"));
        };
        let found = open.session.head();
        let is_over = open.session.run().and_then(Run::outcome).is_some();
        if found != Some(head) || is_over {
            self.open = Some(open);
            return Err(match found {
                None => Refusal::record("no event was handed in as `recorded`"),
                Some(_) if is_over => Refusal::unexpected("the recorded run has ended"),
                Some(found) => Refusal::record(format!(
                    "the recorded events give the head {found}, and the host has {head}"
                )),
            });
        }
        let session = open.opened.resumed(open.session)?;
        self.open = Some(Open {
            ended: None,
            is_recorded: false,
            opened: open.opened,
            session,
        });
        Ok(())
    }

    fn input(&mut self, at_ms: u64, input: Input) -> Result<(), Fault> {
        let Some(open) = &mut self.open else {
            return Err(Refusal::unexpected("an input comes before a session is open").into());
        };
        open.judge(&input)?;
        let input = open.scrubbed(input);
        let taken = open.session.handle(at_ms, input);
        taken.map_err(|fault| Refusal::refused(format!("failed to {fault}")))?;
        Ok(self.drain()?)
    }

    /// Writes what the session wants done.
    fn drain(&mut self) -> io::Result<()> {
        while let Some(open) = &mut self.open
            && let Some(output) = open.session.poll()
        {
            // Whatever a recorded run wanted was done by the process before.
            if open.is_recorded {
                continue;
            }
            if let Output::Done(outcome) = &output {
                open.ended = Some(Exit(outcome.exit_code()));
            }
            let line = match &output {
                Output::Append(append) => {
                    json!({"output": output, "transcript": transcript_of(append)})
                }
                _ => json!({"output": output}),
            };
            self.say(&line)?;
        }
        Ok(())
    }

    fn say(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_string(line).map_err(io::Error::from)?;
        text.push('\n');
        (self.write)(&text)
    }

    /// The end of the host's input: a run under way is suspended, so that another process can resume it.
    fn end(mut self) -> Exit {
        let Some(open) = &mut self.open else {
            return Exit::USAGE;
        };
        let is_suspended = open.session.run().map(Run::is_suspended);
        match (open.ended, is_suspended) {
            (Some(exit), _) => return exit,
            (None, None) => return Exit::USAGE,
            (None, Some(true)) => {}
            (None, Some(false)) => {
                let suspend = Input::Control(Control::Suspend);
                // One that was not resumed yet has nothing to suspend, and a host that has gone reads nothing.
                if !open.is_recorded && open.session.handle(0, suspend).is_ok() {
                    drop(self.drain());
                }
            }
        }
        Exit::SUSPENDED
    }
}

/// Returns the lines of a transcript file with these entries, and then with their blobs: a host hashes nothing.
fn transcript_of(append: &Append) -> Vec<String> {
    let blobs = append.blobs.iter();
    let blobs = blobs.map(|bytes| blob_line(Digest::of(bytes), bytes));
    append.entries.iter().map(entry_line).chain(blobs).collect()
}

impl Open {
    /// True if a run has begun and has not ended.
    fn is_under_way(&self) -> bool {
        !self.is_recorded && self.ended.is_none() && self.session.run().is_some()
    }

    /// Refuses an input that belongs to another run, or comes at a time when the session takes none like it.
    fn judge(&self, input: &Input) -> Result<(), Refusal> {
        let refuse = |why: &str| Err(Refusal::unexpected(why));
        match input {
            _ if self.ended.is_some() => refuse("the run is over"),
            Input::Recorded(_) => Ok(()),
            _ if self.is_recorded => refuse("only `recorded` comes before `resume`"),
            Input::Start(started) if started.run_id != self.opened.run_id => {
                let (other, own) = (&started.run_id, &self.opened.run_id);
                refuse(&format!(
                    "`start` is of run {other}, and the session of run {own}"
                ))
            }
            _ => Ok(()),
        }
    }

    /// Takes secrets out of the texts that a host in this process would have scrubbed itself.
    fn scrubbed(&self, input: Input) -> Input {
        let scrub = Scrub(self.opened.scrubber.as_ref());
        match input {
            Input::Start(mut started) => {
                let messages = std::mem::take(&mut started.messages);
                started.messages = scrub.opening(messages, self.opened.counter.as_ref());
                Input::Start(started)
            }
            Input::ToolResult {
                call,
                exchanges,
                outcome: ToolOutcome::Returned(envelope),
            } => Input::ToolResult {
                call,
                exchanges,
                outcome: ToolOutcome::Returned(self.scrubbed_result(envelope)),
            },
            Input::ChildEnded {
                call,
                child,
                outcome: ToolOutcome::Returned(envelope),
            } => Input::ChildEnded {
                call,
                child,
                outcome: ToolOutcome::Returned(self.scrubbed_result(envelope)),
            },
            other => other,
        }
    }

    fn scrubbed_result(&self, envelope: ToolEnvelope) -> ToolEnvelope {
        let scrubber = &self.opened.scrubber;
        let mut fields = envelope.into_fields();
        let length = |text: String| u64::try_from(text.len()).unwrap_or(u64::MAX);
        let before = length(fields.text());
        // What was cut may end with a part of a secret.
        let is_cut = fields.full.is_some();
        let clean = |text: &str| {
            if is_cut {
                scrubber.cut_text(text)
            } else {
                scrubber.text(text).into_owned()
            }
        };
        for block in &mut fields.content {
            if let ContentBlock::Text(text) = block {
                *text = clean(text);
            }
        }
        if let Some(error) = &mut fields.error {
            error.message = clean(&error.message);
        }
        let after = length(fields.text());
        fields.bytes_out = fields
            .bytes_out
            .saturating_add(after)
            .saturating_sub(before);
        ToolEnvelope::new(fields)
    }
}
