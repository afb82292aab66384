//! Questions of a run at the terminal: shows the call, and reads the answer or the fields of a form.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _};
#[cfg(not(unix))]
use std::sync::mpsc::{Receiver, sync_channel};

use serde_json::{Map, Value};

use super::leaving::LeavingArgs;
use super::question::{shown, shown_below};
use super::watched::Watched;
use monolith_core::kernel::{Approval, CallOrder};
use monolith_core::message::ObjectText;
use monolith_core::session::Control;
use monolith_service::drive::approvers::{Asked, Asker, Unasked, refused_now};
use monolith_service::drive::display::Display as _;
use monolith_service::drive::follower::Follower;
use monolith_service::form::{Field, fields, whole};
#[cfg(unix)]
use monolith_service::text::escape::brief;
use monolith_service::waiting_call::answering;

/// Maximum number of shown characters that were typed before a question.
#[cfg(unix)]
const DROPPED_CHARS: usize = 60;
/// Maximum number of bytes of them that are read; a terminal keeps less.
#[cfg(unix)]
const MAX_AHEAD: usize = 64 << 10;

/// Asks the person at the terminal on the screen of a run.
pub(crate) struct TerminalAsker<'a> {
    /// The form that is filled in, where a server asks for one.
    form: Option<Form>,
    leaving: LeavingArgs,
    /// The typed lines; none before the first question.
    #[cfg(not(unix))]
    lines: Option<Receiver<String>>,
    /// The run whose screen it asks on.
    root: &'a Follower,
}

impl<'a> TerminalAsker<'a> {
    /// An asker on the screen of the run that `root` follows.
    pub(crate) const fn new(root: &'a Follower, leaving: LeavingArgs) -> Self {
        Self {
            form: None,
            leaving,
            #[cfg(not(unix))]
            lines: None,
            root,
        }
    }

    fn on_screen<T>(&self, work: impl FnOnce(&mut Watched) -> T) -> Option<T> {
        self.root.with_display(work)
    }

    fn show(&self, text: &str) {
        let _ = self.on_screen(|screen| screen.ask(text));
    }

    /// The prompt for what is typed next: whether the call may be made, or a field of the form.
    fn prompt(&self) -> String {
        let form = self.form.as_ref();
        match form.map(|form| form.fields.front()) {
            None => "  allow it? [y/N] ".to_owned(),
            Some(None) => "  answer it? [y/N] ".to_owned(),
            Some(Some(field)) => {
                format!("  {}, `!` refuses it all: ", field.hint())
            }
        }
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

impl Asker for TerminalAsker<'_> {
    fn ask(&mut self, asked: &Asked<'_>) -> bool {
        let (order, run_id) = (&asked.question.order, &asked.question.run_id);
        let width = self.on_screen(|screen| screen.width()).unwrap_or(80);
        let mut call = shown(order, width, asked.change.as_ref());
        if asked.is_child {
            call = shown_below(run_id, &call);
        }
        // What is typed here is not signed.
        let signed = asked.needs_signature;
        let is_watched = self.on_screen(|screen| screen.is_watched()) == Some(true);
        let asks_here = is_watched && io::stdin().is_terminal() && !signed;
        if self.leaving.no_wait || !asks_here {
            let approve = answering("approve", run_id.as_str(), order, signed);
            let approve = self.on_screen(|screen| screen.hint(&approve));
            let approve = approve.unwrap_or_default();
            let how = match self.leaving {
                LeavingArgs { no_wait: true, .. } => format!("`{approve}` answers"),
                LeavingArgs { is_offered, .. } => {
                    let leave = is_offered && refused_now(order).is_none();
                    let or_leave = if leave {
                        "; with --no-wait the run is left, and the exit code is 8"
                    } else {
                        ""
                    };
                    format!("waits for an answer from elsewhere: `{approve}`{or_leave}")
                }
            };
            self.show(&format!("waits: {call}  {how}\n"));
            return false;
        }
        // What was typed before the question is no answer to it, whether it has been read or not.
        #[cfg(unix)]
        if let Some(dropped) = typed_ahead() {
            let dropped = brief(&dropped, DROPPED_CHARS);
            let note = "dropped: typed before the question, and no answer to it";
            let _ = self.on_screen(|screen| screen.note(&format!("{note}: {dropped}")));
        }
        #[cfg(not(unix))]
        {
            let lines = self.lines.get_or_insert_with(typed);
            while lines.try_recv().is_ok() {}
        }
        self.form = order.input.is_some().then(|| Form {
            content: Map::new(),
            fields: fields(&order.invocation.arguments).into(),
        });
        let prompt = self.prompt();
        self.show(&format!("{call}{prompt}"));
        true
    }

    fn answer(&mut self, order: &CallOrder) -> Option<Control> {
        let typed = self.typed()?;
        if typed.ends_with('\n') {
            let _ = self.on_screen(Watched::was_typed);
        }
        let entered = match &mut self.form {
            None => agreed(&typed).then_some(None),
            Some(form) => match form.take(typed.trim_end_matches(['\r', '\n']), typed.is_empty()) {
                Typed::More(fault) => {
                    let fault = fault.map_or_else(String::new, |fault| format!("  {fault}\n"));
                    let prompt = self.prompt();
                    self.show(&format!("{fault}{prompt}"));
                    return None;
                }
                Typed::Whole(content) => Some(Some(content)),
                Typed::Refused => None,
            },
        };
        Some(match entered {
            Some(content) => answer(order, true, content),
            None => answer(order, false, None),
        })
    }

    fn unask(&mut self, why: Unasked) {
        self.form = None;
        self.show(match why {
            Unasked::Answered(true) => "approved elsewhere\n",
            Unasked::Answered(false) => "denied elsewhere\n",
            Unasked::Over => "no answer is waited for any more\n",
        });
    }
}

/// Takes input that was typed but not read yet, including an unfinished line. Returns `None` if there is none.
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

/// A form that is being filled in.
struct Form {
    content: Map<String, Value>,
    /// The remaining fields.
    fields: VecDeque<Field>,
}

/// The result of a line typed into a form.
enum Typed {
    /// Another is to be typed, for the reason given where it was no value of its field.
    More(Option<String>),
    Refused,
    Whole(ObjectText),
}

impl Form {
    /// Takes a line; an empty one leaves its field to its default. The end of the input refuses.
    fn take(&mut self, typed: &str, ended: bool) -> Typed {
        if ended || typed == "!" {
            return Typed::Refused;
        }
        match self.fields.front() {
            None if agreed(typed) => {}
            None => return Typed::Refused,
            Some(field) => {
                let value = field.value(Some(typed).filter(|typed| !typed.is_empty()));
                let value = match value {
                    Ok(value) => value,
                    Err(fault) => return Typed::More(Some(fault)),
                };
                if let Some(value) = value {
                    self.content.insert(field.name().to_owned(), value);
                }
                self.fields.pop_front();
                if !self.fields.is_empty() {
                    return Typed::More(None);
                }
            }
        }
        whole(std::mem::take(&mut self.content)).map_or(Typed::Refused, Typed::Whole)
    }
}

/// Anything but yes is no.
pub(crate) fn agreed(typed: &str) -> bool {
    matches!(typed.trim(), "y" | "Y" | "yes")
}

fn answer(order: &CallOrder, approved: bool, content: Option<ObjectText>) -> Control {
    let approval = Approval {
        content: content.filter(|_| approved),
        ..Approval::to(order.call, order.arguments_hash)
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
