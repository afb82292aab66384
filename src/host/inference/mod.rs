//! Backends that carry bytes between monolith and a model.
//!
//! Knows connections, statuses, headers, chunks, and how a transport fails. It deliberately does not know what a
//! message, a tool or a contract is: bodies come in and go out as bytes, judged by `adapter` alone. It spawns no task and
//! reads no wall clock; every wait has a limit that the caller gives, and ends at once when its token is cancelled.
//!
//! ```text
//! body ─▶ Backend::send ─▶ Reply { head } ─▶ chunk ─▶ chunk ─▶ end
//!              └────────── TransportFault ◀────┘
//! ```

mod backend;
mod fault;
mod gguf;
mod http;
mod http_body;
mod json_request;
#[cfg(feature = "local")]
mod local;
mod model_file;
mod model_hash;
mod model_store;
mod processor;
mod proxies;
mod reply;
mod scripted;
mod timeouts;
mod tokenizers;

pub use backend::Backend;
pub(crate) use backend::UnavailableBackend;
pub(crate) use fault::{TransportFault, TransportFaultKind};
pub(crate) use gguf::HeaderFault;
pub use gguf::ModelHeader;
pub use http::Probe;
pub(crate) use http::{BackendError, HttpBackend, HttpTarget, header_holds};
pub(crate) use http_body::{BodyFault, HttpBody};
pub use json_request::{ServerAnswer, answer_at, probe_address, request_json};
#[cfg(feature = "local")]
pub use local::{EngineCost, LocalBackend, LocalOptions};
#[cfg(feature = "local")]
pub(crate) use local::{LocalVocabulary, ModelTrial, TemplateRenderer, TrialEnd, engine_identity};
#[cfg(feature = "local")]
pub use local::{TEMPLATE_COMMAND, TRIAL_COMMAND, template_process, trial_process};
#[cfg(feature = "local")]
pub(crate) use model_file::FileChanged;
pub use model_file::ModelFile;
pub(crate) use model_hash::ModelHash;
pub use model_hash::Reading;
pub use model_store::{
    Hub, HubFile, HubReference, KNOWN_MODELS, KnownModel, ModelStore, ModelStoreError, NewModel,
    Partial, PullError, PullLock, StoredModel, USUAL_HUB, check_space,
};
pub use processor::{engine_features, lacking_features};
pub(crate) use proxies::through;
pub use proxies::{Proxies, ProxyFault, shown_proxy};
pub(crate) use reply::Reply;
pub(crate) use scripted::ScriptedBackend;
pub use timeouts::{Secret, Timeouts};
pub use tokenizers::BuiltInTokenizers;

#[cfg(test)]
mod http_tests;
#[cfg(test)]
mod scripted_tests;
