//! Approvals while a run is driven: asks on the terminal, and takes what `monolith approve` left in the store.

use std::io::{self, BufRead as _, IsTerminal as _};
#[cfg(not(unix))]
use std::sync::mpsc::{Receiver, sync_channel};

use super::leaving::LeavingArgs;
use super::live::Live;
#[cfg(unix)]
use crate::cli::ui::escape::brief;
use crate::cli::ui::escape::{hides, line};
use crate::cli::ui::numbers::counted;
use crate::cli::ui::wrap::filled;
use crate::driver::Reopened;
use crate::kernel::{Approval, CallOrder};
use crate::message::{CallSeq, RunId};
use crate::session::Control;
use crate::store::{Answer, Store, StoreError};

/// How much of what was typed before a question is shown.
#[cfg(unix)]
const DROPPED_CHARS: usize = 60;
/// How much of it is read; a terminal keeps less.
#[cfg(unix)]
const MAX_AHEAD: usize = 64 << 10;
/// The column that the arguments of a call stand in.
const ARGUMENTS_AT: usize = 13;

/// Brings the answers of people to the run that waits for them: from whoever sits at the terminal, and from
/// `monolith approve` in another process.
pub(in crate::cli) struct Approver<'a> {
    asked: Option<CallSeq>,
    /// Whether an answer is waited for at this terminal.
    at_terminal: bool,
    /// What was typed; none before the first question.
    #[cfg(not(unix))]
    lines: Option<Receiver<String>>,
    leaving: LeavingArgs,
    live: &'a Live,
    /// Whether it was said that what was left as an answer is none.
    refused: bool,
    store: &'a Store,
}

impl<'a> Approver<'a> {
    pub(in crate::cli) const fn new(
        store: &'a Store,
        live: &'a Live,
        leaving: LeavingArgs,
    ) -> Self {
        Self {
            asked: None,
            at_terminal: false,
            #[cfg(not(unix))]
            lines: None,
            leaving,
            live,
            refused: false,
            store,
        }
    }

    /// Called about ten times a second: asks where a call waits that nobody was asked about, and returns an answer to it.
    pub(in crate::cli) fn look(&mut self) -> Option<Control> {
        let (order, run_id) = self.live.awaited()?;
        let answered = self.answer_left(&order, &run_id);
        if answered.is_some() {
            return answered;
        }
        if self.asked != Some(order.call) {
            self.asked = Some(order.call);
            self.ask(&order, &run_id);
            return None;
        }
        self.answer_typed(&order)
    }

    fn ask(&mut self, order: &CallOrder, run_id: &RunId) {
        let call = shown(order, self.live.width());
        if self.leaving.no_wait || !self.live.is_watched() || !io::stdin().is_terminal() {
            let approve = self.live.hint(&format!("approve {run_id}"));
            let how = match self.leaving {
                LeavingArgs { no_wait: true, .. } => format!("`{approve}` answers"),
                LeavingArgs { is_offered, .. } => {
                    let or_leave = if is_offered {
                        "; with --no-wait the run is left, and the exit code is 8"
                    } else {
                        ""
                    };
                    format!("waits for an answer from elsewhere: `{approve}`{or_leave}")
                }
            };
            self.live.ask(&format!("waits: {call}  {how}\n"));
            return;
        }
        // What was typed before the question is no answer to it, whether it has been read or not.
        #[cfg(unix)]
        if let Some(dropped) = typed_ahead() {
            let dropped = brief(&dropped, DROPPED_CHARS);
            let note = "dropped: typed before the question, and no answer to it";
            self.live.note(&format!("{note}: {dropped}"));
        }
        #[cfg(not(unix))]
        {
            let lines = self.lines.get_or_insert_with(typed);
            while lines.try_recv().is_ok() {}
        }
        self.at_terminal = true;
        self.live.ask(&format!("{call}  allow it? [y/N] "));
    }

    /// What another process left. An answer to another call, or to other arguments, is none.
    fn answer_left(&mut self, order: &CallOrder, run_id: &RunId) -> Option<Control> {
        let taken = self.store.take_answer(run_id).unwrap_or_else(|fault| {
            if !std::mem::replace(&mut self.refused, true) {
                let text = line(&format!("no answer is taken: failed to {fault}"));
                self.live.ask(&format!("{text}\n"));
            }
            None
        });
        let approved = is_approved(&taken?, order)?;
        if std::mem::take(&mut self.at_terminal) {
            // The question stands there without an answer, and the next line behind it.
            let how = if approved { "approved" } else { "denied" };
            self.live.ask(&format!("\n{how} elsewhere\n"));
        }
        Some(answer(order, approved))
    }

    fn answer_typed(&mut self, order: &CallOrder) -> Option<Control> {
        if !self.at_terminal {
            return None;
        }
        let typed = self.typed()?;
        self.at_terminal = false;
        Some(answer(order, agreed(&typed)))
    }

    /// The line that was typed since, if one was. Nothing waits for it: a reader that waited would take the next line of a
    /// conversation once the answer had come another way.
    #[cfg(unix)]
    #[expect(clippy::unused_self, reason = "elsewhere a thread waits for the line")]
    fn typed(&self) -> Option<String> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let stdin = io::stdin();
        let now = Timespec {
            tv_nsec: 0,
            tv_sec: 0,
        };
        // A terminal has something to read once a whole line is there, and at its end.
        let ready = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&now));
        if !ready.is_ok_and(|ready| ready > 0) {
            return None;
        }
        let mut typed = String::new();
        // The end of the input is a no.
        drop(stdin.lock().read_line(&mut typed));
        Some(typed)
    }

    #[cfg(not(unix))]
    fn typed(&self) -> Option<String> {
        self.lines.as_ref()?.try_recv().ok()
    }
}

/// What was typed and not read yet, also of a line without an end; none where there is nothing. It is taken away.
#[cfg(unix)]
fn typed_ahead() -> Option<String> {
    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
    let stdin = io::stdin();
    let lines = tcgetattr(&stdin).ok()?;
    let mut characters = lines.clone();
    // Characters can be read before their line has an end, and where there are none nothing waits for them.
    characters
        .local_modes
        .remove(LocalModes::ICANON | LocalModes::ECHO);
    characters.special_codes[SpecialCodeIndex::VMIN] = 0;
    characters.special_codes[SpecialCodeIndex::VTIME] = 0;
    tcsetattr(&stdin, OptionalActions::Now, &characters).ok()?;
    let mut typed = Vec::new();
    let mut piece = [0; 1024];
    while typed.len() < MAX_AHEAD
        && let Ok(length @ 1..) = rustix::io::read(&stdin, &mut piece)
    {
        typed.extend(piece.iter().take(length));
    }
    // What came in between is lost with the settings: it was no answer either.
    let _ = tcsetattr(&stdin, OptionalActions::Flush, &lines);
    let typed = String::from_utf8_lossy(&typed);
    let typed = typed.split_whitespace().collect::<Vec<_>>().join(" ");
    (!typed.is_empty()).then_some(typed)
}

/// What an answer that was left says to that call; none where it is to another call, or to other arguments.
fn is_approved(left: &Answer, order: &CallOrder) -> Option<bool> {
    left.to(order.call, order.arguments_hash)
}

/// What was left as an answer to that call, for a run that waits for none. What cannot be read stays there and is reported: the run can be
/// resumed.
pub(in crate::cli) fn left_answer(
    live: &Live,
    store: &Store,
    order: &CallOrder,
    run_id: &RunId,
) -> Option<Control> {
    let left = store.take_answer(run_id).unwrap_or_else(|fault| {
        warn_untaken(live, run_id, &fault);
        None
    });
    Some(answer(order, is_approved(&left?, order)?))
}

/// Whether a run waits for a person who has not answered: a process that goes on with it would only wait. Takes no answer.
pub(in crate::cli) fn waits_unanswered(
    live: &Live,
    store: &Store,
    run_id: &RunId,
    reopened: &Reopened,
) -> bool {
    let Some(order) = reopened.awaited() else {
        return false;
    };
    let call = (order.call, order.arguments_hash);
    let left = store
        .reader()
        .and_then(|reader| reader.answer_to(run_id, call));
    let left = left.unwrap_or_else(|fault| {
        warn_untaken(live, run_id, &fault);
        None
    });
    left.is_none()
}

/// Reports an answer that cannot be read: it stays there, and the run can be resumed.
fn warn_untaken(live: &Live, run_id: &RunId, fault: &StoreError) {
    let text = format!("run {run_id}: no answer is taken: failed to {fault}");
    live.ask(&format!("warning: {}\n", line(&text)));
}

/// Anything but yes is no.
pub(in crate::cli) fn agreed(typed: &str) -> bool {
    matches!(typed.trim(), "y" | "Y" | "yes")
}

/// The whole call as a person judges it on a terminal of so many cells: the tool, every byte of its arguments with nothing in them
/// that could hide or move another, how many bytes they are, and the hash that the answer is bound to.
pub(in crate::cli) fn shown(order: &CallOrder, width: usize) -> String {
    let arguments = order.invocation.arguments.as_str();
    let hidden = if hides(arguments) {
        "; characters that a terminal does not show are written as \\u{…}"
    } else {
        ""
    };
    format!(
        "call {} of {} asks for your approval\n  arguments  {}\n  length     {}{hidden}\n  blake3     {}\n",
        order.call.0,
        line(&order.invocation.name),
        filled(&line(arguments), ARGUMENTS_AT, width),
        counted(arguments.len(), "byte"),
        order.arguments_hash
    )
}

const fn answer(order: &CallOrder, approved: bool) -> Control {
    let approval = Approval {
        arguments_hash: order.arguments_hash,
        call: order.call,
    };
    if approved {
        Control::Approve(approval)
    } else {
        Control::Deny(approval)
    }
}

/// The lines that are typed from now on. The thread that waits for them ends with the process: nothing wakes it otherwise.
#[cfg(not(unix))]
fn typed() -> Receiver<String> {
    let (sender, lines) = sync_channel(16);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut typed = String::new();
            // The end of the input is a no.
            let ended = !matches!(stdin.read_line(&mut typed), Ok(1..));
            if sender.send(typed).is_err() || ended {
                break;
            }
        }
    });
    lines
}
