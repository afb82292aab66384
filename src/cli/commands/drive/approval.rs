//! Approvals while a run is driven: asks on the terminal, and takes what `monolith approve` left in the store.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, IsTerminal as _};
#[cfg(not(unix))]
use std::sync::mpsc::{Receiver, sync_channel};

use serde_json::{Map, Value};

use super::awaited::Question;
use super::leaving::LeavingArgs;
use super::live::Live;
use super::question::{shown, shown_below};
use super::unanswered::refused_now;
use monolith_core::kernel::{Approval, CallOrder};
use monolith_core::message::{ObjectText, RunId};
use monolith_core::session::Control;
use monolith_host::store::{Answer, Store};
use monolith_service::form::{Field, fields, whole};
#[cfg(unix)]
use monolith_service::text::escape::brief;
use monolith_service::text::escape::line;
use monolith_service::waiting_call::answering;

/// How much of what was typed before a question is shown.
#[cfg(unix)]
const DROPPED_CHARS: usize = 60;
/// How much of it is read; a terminal keeps less.
#[cfg(unix)]
const MAX_AHEAD: usize = 64 << 10;

/// Brings the answers of people to the run that waits for them: from the person at the terminal, and from
/// `monolith approve` in another process.
pub(crate) struct Approver<'a> {
    /// The question that was asked last, by its number.
    asked: Option<u64>,
    /// The one that was answered last, and what was handed to the run: a machine that takes no such answer waits on.
    answered: Option<(u64, Control)>,
    /// Whether an answer is waited for at this terminal.
    at_terminal: bool,
    /// The form that is filled in there, where a server asks for one.
    form: Option<Form>,
    /// What was typed; none before the first question.
    #[cfg(not(unix))]
    lines: Option<Receiver<String>>,
    leaving: LeavingArgs,
    /// Whether an answer is there that its run has not recorded yet.
    is_pending: bool,
    /// Where it asks.
    live: &'a Live,
    /// The run that waits.
    run: Live,
    /// Whether it was reported that what was left as an answer is none.
    refused: bool,
    store: &'a Store,
}

impl<'a> Approver<'a> {
    /// For `run`, which is the one that is watched, or below it.
    pub(super) const fn of(
        store: &'a Store,
        live: &'a Live,
        run: Live,
        leaving: LeavingArgs,
    ) -> Self {
        Self {
            asked: None,
            answered: None,
            at_terminal: false,
            form: None,
            #[cfg(not(unix))]
            lines: None,
            leaving,
            is_pending: false,
            live,
            run,
            refused: false,
            store,
        }
    }

    /// Whether an answer is typed at the terminal.
    pub(super) const fn is_at_terminal(&self) -> bool {
        self.at_terminal
    }

    /// Called about ten times a second: asks about a call that waits and was not asked about yet, and returns an answer to it. Where it may not ask,
    /// it takes what was left elsewhere.
    pub(super) async fn look(&mut self, may_ask: bool) -> Option<Control> {
        self.is_pending = false;
        let Some(question) = self.run.question() else {
            self.stop_asking();
            return None;
        };
        let Question {
            number,
            order,
            run_id,
        } = &question;
        if let Some(left) = self.answer_left(order, run_id) {
            self.is_pending = true;
            return self.once(&question, left);
        }
        let was_answered = self.answered.as_ref().is_some_and(|(n, _)| n == number);
        if !may_ask || was_answered {
            return None;
        }
        if self.asked.replace(*number) != Some(*number) {
            self.ask(order, run_id).await;
            return None;
        }
        let typed = self.answer_typed(order)?;
        self.once(&question, typed)
    }

    /// What was asked at the terminal is over without an answer from there: another run of the tree may ask.
    fn stop_asking(&mut self) {
        if std::mem::take(&mut self.at_terminal) {
            self.form = None;
            self.live.ask("no answer is waited for any more\n");
        }
    }

    /// Whether an answer is there that the run has not recorded yet.
    pub(super) const fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// What is handed to the run for that question; `None` if it was handed over before: recording it takes a moment.
    pub(super) fn once(&mut self, question: &Question, control: Control) -> Option<Control> {
        let answer = Some((question.number, control.clone()));
        (self.answered.replace(answer.clone()?) != answer).then_some(control)
    }

    async fn ask(&mut self, order: &CallOrder, run_id: &RunId) {
        let change = match self.run.changes() {
            Some(changes) => changes.of_call(order).await,
            None => None,
        };
        let mut call = shown(order, self.live.width(), change.as_ref());
        let lineage = self
            .store
            .reader()
            .and_then(|reader| reader.lineage(run_id));
        if lineage.is_ok_and(|found| found.is_some_and(|found| found.is_below())) {
            call = shown_below(run_id, &call);
        }
        // What is typed here is not signed.
        let signed = self.run.takes_signed_answers();
        let asks_here = self.live.is_watched() && io::stdin().is_terminal() && !signed;
        if self.leaving.no_wait || !asks_here {
            let approve = answering("approve", run_id.as_str(), order, signed);
            let approve = self.live.hint(&approve);
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
        self.form = order.input.is_some().then(|| Form {
            content: Map::new(),
            fields: fields(&order.invocation.arguments).into(),
        });
        let prompt = self.prompt();
        self.live.ask(&format!("{call}{prompt}"));
    }

    /// What is typed next: whether the call may be made, or a field of the form.
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

    /// What another process left. An answer to another call, or to other arguments, is none.
    fn answer_left(&mut self, order: &CallOrder, run_id: &RunId) -> Option<Control> {
        let call = (order.call, order.arguments_hash);
        let left = self.store.answer_to(run_id, call).unwrap_or_else(|fault| {
            if !std::mem::replace(&mut self.refused, true) {
                let text = line(&format!(
                    "run {run_id}: no answer is taken: failed to {fault}"
                ));
                self.live.ask(&format!("warning: {text}\n"));
            }
            None
        });
        let left = left?;
        if left.is_forged() {
            // No one knows who gave it.
            drop(self.store.drop_answer(run_id, &left.approval));
            if !std::mem::replace(&mut self.refused, true) {
                let text =
                    format!("run {run_id}: an answer is not taken: its signature does not hold");
                self.live.ask(&format!("warning: {}\n", line(&text)));
            }
            return None;
        }
        if std::mem::take(&mut self.at_terminal) {
            let how = if left.approved { "approved" } else { "denied" };
            self.live.ask(&format!("{how} elsewhere\n"));
        }
        Some(control_of(left))
    }

    fn answer_typed(&mut self, order: &CallOrder) -> Option<Control> {
        if !self.at_terminal {
            return None;
        }
        let typed = self.typed()?;
        if typed.ends_with('\n') {
            self.live.was_typed();
        }
        let entered = match &mut self.form {
            None => agreed(&typed).then_some(None),
            Some(form) => match form.take(typed.trim_end_matches(['\r', '\n']), typed.is_empty()) {
                Typed::More(fault) => {
                    let fault = fault.map_or_else(String::new, |fault| format!("  {fault}\n"));
                    let prompt = self.prompt();
                    self.live.ask(&format!("{fault}{prompt}"));
                    return None;
                }
                Typed::Whole(content) => Some(Some(content)),
                Typed::Refused => None,
            },
        };
        self.at_terminal = false;
        Some(match entered {
            Some(content) => answer(order, true, content),
            None => answer(order, false, None),
        })
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

/// What was typed and not read yet, also of a line without an end; `None` if there is nothing. It is taken away.
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

/// What was left, as it is handed to the machine.
fn control_of(left: Answer) -> Control {
    if left.approved {
        Control::Approve(left.approval)
    } else {
        Control::Deny(left.approval)
    }
}

/// A form that is being filled in.
struct Form {
    content: Map<String, Value>,
    /// Those that are left.
    fields: VecDeque<Field>,
}

/// What a line comes to that was typed into a form.
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
