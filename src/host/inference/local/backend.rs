//! The thread that owns an embedded model, and the backend that queues jobs for it. Does not know prompts.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use llama_cpp_2::model::LlamaModel;
use tokio::sync::{mpsc, oneshot};

use super::cache::EngineFault;
use super::engine::{Ended, Engine, Listener};
use super::llama::load;
use super::options::{EngineCost, LocalOptions};
use super::trial::{TrialProcess, processor_fault};
use crate::inference::http::ResponseHead;
use crate::inference::timeouts::{Timeouts, wait};
use crate::inference::{FileChanged, ModelFile, Probe, TransportFault, TransportFaultKind};
use monolith_core::adapter::{LocalLine, LocalRequest};
use monolith_core::message::ProviderFaultClass;

/// Pieces that may wait for their reader.
const WAITING_PIECES: usize = 64;

/// An embedded model: one thread that loads it at the first question and answers one request after another.
#[derive(Debug)]
pub struct LocalBackend {
    cost: Arc<EngineCost>,
    options: LocalOptions,
    /// True if header and template are good, and the weights are being read or have been.
    weights: Arc<AtomicBool>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct Worker {
    jobs: Sender<Job>,
    /// Set where loading is to end before the model is whole.
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
    trial: TrialProcess,
}

/// The state that the thread and its callers share while it loads.
struct Loading {
    stop: Arc<AtomicBool>,
    trial: TrialProcess,
    weights: Arc<AtomicBool>,
}

enum Job {
    Probe(oneshot::Sender<Probe>),
    Infer(Box<LocalRequest>, mpsc::Sender<Event>),
}

/// The thread's events for one request.
#[derive(Debug)]
enum Event {
    Bytes(Vec<u8>),
    Fault(TransportFault),
    Head(u16),
}

/// An answer that is being written.
#[derive(Debug)]
pub(in crate::inference) struct LocalReply(mpsc::Receiver<Event>);

impl LocalBackend {
    /// A backend for one model; loads nothing yet.
    #[must_use]
    pub fn new(options: LocalOptions) -> Self {
        Self {
            cost: Arc::default(),
            options,
            weights: Arc::default(),
            worker: Mutex::new(None),
        }
    }

    /// Returns its cost so far; a benchmark keeps it with the backend.
    #[must_use]
    pub fn cost(&self) -> Arc<EngineCost> {
        Arc::clone(&self.cost)
    }

    /// Loads the model, if that has not happened, and reports whether it can answer. The weights of a large model may take
    /// longer than a probe: then its header and template have been found good, and the first request waits for the rest.
    pub(in crate::inference) async fn probe(&self, timeouts: &Timeouts) -> Probe {
        let (reply, generate) = oneshot::channel();
        let sent = self.ask(Job::Probe(reply));
        let probe = wait(timeouts, async {
            sent?;
            generate.await.map_err(|_| gone())
        });
        probe.await.unwrap_or_else(|fault| {
            let late = fault.kind == TransportFaultKind::Timeout;
            let responsive = late && self.weights.load(Ordering::Relaxed);
            let detail = match (late, responsive) {
                (true, true) => named(self.options.file.path(), "its weights are still being read"),
                (true, false) => {
                    let late = "whether it can be used was not found out in time";
                    named(self.options.file.path(), late)
                }
                (false, _) => fault.detail,
            };
            Probe {
                detail,
                responsive,
                ..Probe::default()
            }
        })
    }

    pub(in crate::inference) async fn send(
        &self,
        body: &[u8],
        timeouts: &Timeouts,
    ) -> Result<(ResponseHead, LocalReply), TransportFault> {
        let request: LocalRequest = serde_json::from_slice(body).map_err(|fault| {
            TransportFault::new(
                TransportFaultKind::Engine,
                format!("the request cannot be read: {fault}"),
            )
        })?;
        let (pieces, mut generate) = mpsc::channel(WAITING_PIECES);
        self.ask(Job::Infer(Box::new(request), pieces))?;
        let status = wait(timeouts, async {
            match generate.recv().await {
                Some(Event::Head(status)) => Ok(status),
                Some(Event::Fault(fault)) => Err(fault),
                Some(Event::Bytes(_)) | None => Err(gone()),
            }
        });
        let head = ResponseHead {
            headers: Vec::new(),
            status: status.await?,
        };
        Ok((head, LocalReply(generate)))
    }

    /// Hands a job to the thread, which begins with the first one.
    fn ask(&self, job: Job) -> Result<(), TransportFault> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            let (jobs, received) = channel();
            let options = self.options.clone();
            let stop = Arc::new(AtomicBool::new(false));
            let trial = TrialProcess::default();
            let loading = Loading {
                stop: Arc::clone(&stop),
                trial: trial.clone(),
                weights: Arc::clone(&self.weights),
            };
            let cost = Arc::clone(&self.cost);
            let thread = std::thread::Builder::new()
                .name("local model".to_owned())
                .spawn(move || serve(&options, &received, &loading, cost))
                .map_err(|fault| engine_fault(format!("no thread for the model: {fault}")))?;
            *worker = Some(Worker {
                jobs,
                stop,
                thread,
                trial,
            });
        }
        let sent = worker.as_ref().map(|worker| worker.jobs.send(job));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(gone()),
        }
    }
}

impl Drop for LocalBackend {
    /// Waits for the thread, so that the process never ends while llama.cpp computes: at most one batch, for no caller waits for
    /// an answer any more. Loading ends, too.
    fn drop(&mut self) {
        let worker = self
            .worker
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = worker.take() {
            let Worker {
                jobs,
                stop,
                thread,
                trial,
            } = worker;
            stop.store(true, Ordering::Relaxed);
            trial.end();
            drop(jobs);
            let _ = thread.join();
        }
    }
}

impl LocalReply {
    pub(in crate::inference) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, TransportFault> {
        match self.0.recv().await {
            Some(Event::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Event::Fault(fault)) => Err(fault),
            Some(Event::Head(_)) | None => Ok(None),
        }
    }
}

fn gone() -> TransportFault {
    engine_fault("the model's thread has ended".to_owned())
}

fn engine_fault(detail: String) -> TransportFault {
    TransportFault::new(TransportFaultKind::Engine, detail)
}

/// The thread: loads the model, then answers until the last sender is gone.
fn serve(options: &LocalOptions, jobs: &Receiver<Job>, loading: &Loading, cost: Arc<EngineCost>) {
    match prepare(options, loading) {
        Ok(model) => match ready(&model, options, cost) {
            Ok(mut engine) => {
                let file = options
                    .file
                    .path()
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy();
                let detail = format!("{file}, {} tokens of context", options.context_window);
                let mut early = None;
                while let Some(job) = early.take().or_else(|| jobs.recv().ok()) {
                    match job {
                        Job::Probe(reply) => {
                            let detail = detail.clone();
                            let responsive = true;
                            let _ = reply.send(Probe {
                                detail,
                                responsive,
                                ..Probe::default()
                            });
                        }
                        Job::Infer(request, pieces) => {
                            let generated = generate(&mut engine, &request, &options.file, pieces);
                            let next = Cell::new(None);
                            let idle = || match jobs.try_recv() {
                                Ok(job) => {
                                    next.set(Some(job));
                                    false
                                }
                                Err(TryRecvError::Empty) => true,
                                Err(TryRecvError::Disconnected) => false,
                            };
                            if let Some(generated) = generated {
                                engine.look_ahead(&request, &generated, &idle);
                            }
                            early = next.into_inner();
                        }
                    }
                }
            }
            Err(reason) => refuse(&named(options.file.path(), &reason), jobs),
        },
        Err(reason) => refuse(&named(options.file.path(), &reason), jobs),
    }
}

fn named(path: &Path, reason: &str) -> String {
    format!("{}: {reason}", path.display())
}

/// The model, where processor and file allow it. The file's header and template are judged before llama.cpp sees them, and
/// another process loads it before this one does.
fn prepare(options: &LocalOptions, loading: &Loading) -> Result<Arc<LlamaModel>, String> {
    if let Some(fault) = processor_fault() {
        return Err(fault);
    }
    let file = &options.file;
    file.header().map_err(|fault| fault.to_string())?;
    if let Some(template) = &options.template {
        template.try_out()?;
    }
    if let Some(trial) = &options.trial {
        let window = options.context_window;
        trial.pass(file, window, &loading.stop, &loading.trial)?;
    }
    loading.weights.store(true, Ordering::Relaxed);
    let name = file.name_here().map_err(|fault| fault.to_string())?;
    let model = load(&name, Arc::clone(&loading.stop))?;
    file.unchanged().map_err(|fault| fault.to_string())?;
    Ok(model)
}

/// The engine for a model that can be asked.
fn ready<'m>(
    model: &'m Arc<LlamaModel>,
    options: &LocalOptions,
    cost: Arc<EngineCost>,
) -> Result<Engine<'m>, String> {
    let engine = Engine::new(model, options, cost)?;
    engine.can_be_asked()?;
    Ok(engine)
}

/// Answers everything with why nothing can be answered.
fn refuse(reason: &str, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Probe(reply) => {
                let detail = reason.to_owned();
                let responsive = false;
                let _ = reply.send(Probe {
                    detail,
                    responsive,
                    ..Probe::default()
                });
            }
            Job::Infer(_, pieces) => {
                let _ = pieces.blocking_send(Event::Fault(engine_fault(reason.to_owned())));
            }
        }
    }
}

/// Text on its way out.
struct Pieces {
    head_sent: bool,
    out: mpsc::Sender<Event>,
    /// All of it so far.
    generated: String,
}

impl Pieces {
    /// One line of the answer, the head before the first one. If no caller waits, the next step notices.
    fn line(&mut self, status: u16, line: &LocalLine) {
        if !std::mem::replace(&mut self.head_sent, true) {
            let _ = self.out.blocking_send(Event::Head(status));
        }
        let _ = self.out.blocking_send(Event::Bytes(line.to_bytes()));
    }
}

impl Listener for Pieces {
    fn waits(&self) -> bool {
        !self.out.is_closed()
    }

    fn text(&mut self, text: &str) {
        self.generated.push_str(text);
        let text = text.to_owned();
        self.line(200, &LocalLine::Text { text });
    }
}

/// One answer, and its text where it came about. Its weights are looked at in the file as they are needed, so what was changed in it meanwhile spoils the answer.
fn generate(
    engine: &mut Engine<'_>,
    request: &LocalRequest,
    file: &ModelFile,
    out: mpsc::Sender<Event>,
) -> Option<String> {
    let mut pieces = Pieces {
        head_sent: false,
        out,
        generated: String::new(),
    };
    let unchanged = || {
        let changed =
            |fault: FileChanged| EngineFault::Failed(named(file.path(), &fault.to_string()));
        file.unchanged().map_err(changed)
    };
    let answered = unchanged()
        .and_then(|()| engine.infer(request, &mut pieces))
        .and_then(|ended| unchanged().map(|()| ended));
    match answered {
        Ok(ended) => {
            let Ended { stop, usage } = ended;
            pieces.line(200, &LocalLine::Stop { stop, usage });
            return Some(pieces.generated);
        }
        Err(EngineFault::Cancelled) => {}
        Err(EngineFault::Overflow(message)) => pieces.line(
            400,
            &LocalLine::Fault {
                fault: ProviderFaultClass::ContextOverflow,
                message,
            },
        ),
        Err(EngineFault::Failed(reason)) => {
            let _ = pieces.out.blocking_send(Event::Fault(engine_fault(reason)));
        }
    }
    None
}
