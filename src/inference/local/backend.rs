use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::engine::{Engine, EngineFault, Listener, load};
use super::identity::processor_fault;
use super::template::TemplateRenderer;
use crate::adapter::{LocalLine, LocalRequest};
use crate::inference::backend::{Body, Patience, Probe, ResponseHead, wait};
use crate::inference::{ModelHeader, TransportFault, TransportFaultKind};
use crate::message::ProviderFaultClass;

/// Pieces that may wait for whoever reads them.
const WAITING_PIECES: usize = 64;

/// How an embedded model is run. None of it changes what the model writes, but the window and the mask.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// Tokens of the context.
    pub context_window: u32,
    /// Added to the logits, one for each token of the vocabulary.
    pub logits_mask: Option<Arc<[f64]>>,
    /// The model's file.
    pub path: PathBuf,
    /// Whether what prompts have in common stays in memory between requests.
    pub reuse: bool,
    /// The template that lays out prompts, where the requests leave that to the model's file.
    pub template: Option<TemplateRenderer>,
    /// Threads that compute.
    pub threads: u32,
}

/// What the gate has cost so far.
#[derive(Debug, Default)]
pub struct GateCost {
    masks: AtomicU64,
    nanoseconds: AtomicU64,
}

impl GateCost {
    /// Notes one mask.
    pub(super) fn note(&self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.masks.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// How many masks were made, and how long that took together.
    #[must_use]
    pub fn so_far(&self) -> (u64, Duration) {
        let nanoseconds = self.nanoseconds.load(Ordering::Relaxed);
        let masks = self.masks.load(Ordering::Relaxed);
        (masks, Duration::from_nanos(nanoseconds))
    }
}

/// An embedded model: one thread that loads it at the first question and answers one request after another.
#[derive(Debug)]
pub struct LocalBackend {
    gate_cost: Arc<GateCost>,
    options: LocalOptions,
    /// Whether header and template are good, and the weights are being read or have been.
    weights: Arc<AtomicBool>,
    worker: Mutex<Option<Worker>>,
}

#[derive(Debug)]
struct Worker {
    jobs: Sender<Job>,
    /// Set where loading is to end before the model is whole.
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// What the thread and whoever waits for it tell each other while it loads.
struct Loading {
    stop: Arc<AtomicBool>,
    weights: Arc<AtomicBool>,
}

enum Job {
    Probe(oneshot::Sender<Probe>),
    Infer(Box<LocalRequest>, mpsc::Sender<Event>),
}

/// What the thread says of one request.
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
            gate_cost: Arc::default(),
            options,
            weights: Arc::default(),
            worker: Mutex::new(None),
        }
    }

    /// What the gate has cost so far; whoever measures keeps it beside the backend.
    #[must_use]
    pub fn gate_cost(&self) -> Arc<GateCost> {
        Arc::clone(&self.gate_cost)
    }

    /// Loads the model, where that has not happened, and says whether it can answer. The weights of a large model may take
    /// longer than a probe: then its header and template have been found good, and the first request waits for the rest.
    pub(in crate::inference) async fn probe(&self, patience: &Patience) -> Probe {
        let (reply, answer) = oneshot::channel();
        let asked = self.ask(Job::Probe(reply));
        let probe = wait(patience, async {
            asked?;
            answer.await.map_err(|_| gone())
        });
        probe.await.unwrap_or_else(|fault| {
            let late = fault.kind == TransportFaultKind::Timeout;
            let responsive = late && self.weights.load(Ordering::Relaxed);
            let detail = match (late, responsive) {
                (true, true) => named(&self.options.path, "its weights are still being read"),
                (true, false) => {
                    let late = "whether it can be used was not found out in time";
                    named(&self.options.path, late)
                }
                (false, _) => fault.detail,
            };
            Probe { detail, responsive }
        })
    }

    pub(in crate::inference) async fn send(
        &self,
        body: &[u8],
        patience: &Patience,
    ) -> Result<(ResponseHead, Body), TransportFault> {
        let request: LocalRequest = serde_json::from_slice(body).map_err(|fault| {
            TransportFault::new(
                TransportFaultKind::Engine,
                format!("the request cannot be read: {fault}"),
            )
        })?;
        let (pieces, mut answer) = mpsc::channel(WAITING_PIECES);
        self.ask(Job::Infer(Box::new(request), pieces))?;
        let status = wait(patience, async {
            match answer.recv().await {
                Some(Event::Head(status)) => Ok(status),
                Some(Event::Fault(fault)) => Err(fault),
                Some(Event::Bytes(_)) | None => Err(gone()),
            }
        });
        let head = ResponseHead {
            headers: Vec::new(),
            status: status.await?,
        };
        Ok((head, Body::Local(LocalReply(answer))))
    }

    /// Hands a job to the thread, which begins with the first one.
    fn ask(&self, job: Job) -> Result<(), TransportFault> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if worker.is_none() {
            let (jobs, received) = channel();
            let options = self.options.clone();
            let stop = Arc::new(AtomicBool::new(false));
            let loading = Loading {
                stop: Arc::clone(&stop),
                weights: Arc::clone(&self.weights),
            };
            let cost = Arc::clone(&self.gate_cost);
            let thread = std::thread::Builder::new()
                .name("local model".to_owned())
                .spawn(move || serve(&options, &received, &loading, cost))
                .map_err(|fault| engine_fault(format!("no thread for the model: {fault}")))?;
            *worker = Some(Worker { jobs, stop, thread });
        }
        let sent = worker.as_ref().map(|worker| worker.jobs.send(job));
        match sent {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(gone()),
        }
    }
}

impl Drop for LocalBackend {
    /// Waits for the thread, so that the process never ends while llama.cpp computes: at most one batch, for nobody waits for
    /// an answer any more. Loading ends, too.
    fn drop(&mut self) {
        let worker = self
            .worker
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(Worker { jobs, stop, thread }) = worker.take() {
            stop.store(true, Ordering::Relaxed);
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

/// The thread: loads the model, then answers until nobody can ask any more.
fn serve(options: &LocalOptions, jobs: &Receiver<Job>, loading: &Loading, cost: Arc<GateCost>) {
    match prepare(options, loading) {
        Ok(model) => match Engine::new(&model, options, cost) {
            Ok(mut engine) => {
                let file = options
                    .path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy();
                let detail = format!("{file}, {} tokens of context", options.context_window);
                while let Ok(job) = jobs.recv() {
                    match job {
                        Job::Probe(reply) => {
                            let detail = detail.clone();
                            let responsive = true;
                            let _ = reply.send(Probe { detail, responsive });
                        }
                        Job::Infer(request, pieces) => answer(&mut engine, &request, pieces),
                    }
                }
            }
            Err(reason) => refuse(&named(&options.path, &reason), jobs),
        },
        Err(reason) => refuse(&named(&options.path, &reason), jobs),
    }
}

fn named(path: &Path, reason: &str) -> String {
    format!("{}: {reason}", path.display())
}

/// The model, where processor and file allow it. The file's header and template are judged before llama.cpp sees them.
fn prepare(
    options: &LocalOptions,
    loading: &Loading,
) -> Result<Arc<llama_cpp_2::model::LlamaModel>, String> {
    if let Some(fault) = processor_fault() {
        return Err(fault);
    }
    ModelHeader::read(&options.path).map_err(|fault| fault.to_string())?;
    if let Some(template) = &options.template {
        template.try_out()?;
    }
    loading.weights.store(true, Ordering::Relaxed);
    load(&options.path, Arc::clone(&loading.stop))
}

/// Answers everything with why nothing can be answered.
fn refuse(reason: &str, jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv() {
        match job {
            Job::Probe(reply) => {
                let detail = reason.to_owned();
                let responsive = false;
                let _ = reply.send(Probe { detail, responsive });
            }
            Job::Infer(_, pieces) => {
                let _ = pieces.blocking_send(Event::Fault(engine_fault(reason.to_owned())));
            }
        }
    }
}

/// Text on its way out.
struct Pieces {
    begun: bool,
    out: mpsc::Sender<Event>,
}

impl Pieces {
    /// One line of the answer, the head before the first one. Where nobody waits, the next step notices.
    fn line(&mut self, status: u16, line: &LocalLine) {
        if !std::mem::replace(&mut self.begun, true) {
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
        let text = text.to_owned();
        self.line(200, &LocalLine::Text { text });
    }
}

fn answer(engine: &mut Engine<'_>, request: &LocalRequest, out: mpsc::Sender<Event>) {
    let mut pieces = Pieces { begun: false, out };
    match engine.infer(request, &mut pieces) {
        Ok(ended) => pieces.line(
            200,
            &LocalLine::Stop {
                stop: ended.stop,
                usage: ended.usage,
            },
        ),
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
}
