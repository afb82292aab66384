//! Initialises llama.cpp and loads models, one at a time. Does not generate.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;

/// llama.cpp, begun once in a process.
static LLAMA: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
/// Models and contexts are made one after another: making them at once is unsound.
pub(super) static INIT_LOCK: Mutex<()> = Mutex::new(());
/// Tokens of a prompt that are computed beside each other. llama.cpp rearranges the weights of some quantisations when it
/// loads them, and then multiplies 16 columns in one order, the four and the single ones that are left over in others: so
/// every token that is kept has to be in sixteens that begin at a multiple of 16, as it is where nothing was kept.
pub(super) const TILE: usize = 16;

/// The output of llama.cpp to the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogOutput {
    /// No output.
    Silent,
    /// Everything: for a process whose output is read.
    Shown,
}

/// Initialises llama.cpp once. The first caller decides what it writes to the terminal.
pub(super) fn begin(log_output: LogOutput) -> Result<&'static LlamaBackend, String> {
    let begun = LLAMA.get_or_init(|| {
        let mut backend = LlamaBackend::init().map_err(|fault| fault.to_string())?;
        if log_output == LogOutput::Silent {
            backend.void_logs();
        }
        Ok(backend)
    });
    begun.as_ref().map_err(Clone::clone)
}

/// Loads a model; ends without one once `stop` is set.
pub(super) fn load(path: &Path, stop: Arc<AtomicBool>) -> Result<Arc<LlamaModel>, String> {
    let llama = begin(LogOutput::Silent)?;
    let _lock = INIT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let params =
        LlamaModelParams::default().with_progress_callback(move |_| !stop.load(Ordering::Relaxed));
    let model = LlamaModel::load_from_file(llama, path, &params);
    model
        .map(Arc::new)
        .map_err(|fault| format!("llama.cpp does not load it: {fault}"))
}

/// Loads the vocabulary of a model, and nothing of its weights.
pub(super) fn load_vocabulary(path: &Path) -> Result<Arc<LlamaModel>, String> {
    let llama = begin(LogOutput::Silent)?;
    let _lock = INIT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let params = LlamaModelParams::default().with_vocab_only(true);
    let model = LlamaModel::load_from_file(llama, path, &params);
    model
        .map(Arc::new)
        .map_err(|fault| format!("llama.cpp does not load its vocabulary: {fault}"))
}
