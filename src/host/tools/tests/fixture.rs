//! Servers under test with everything a call needs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use tokio_util::sync::CancellationToken;

use crate::tools::mcp::Timeouts;
use crate::tools::{
    BlobSink, BringUp, CallTerms, Clock, ExchangeLog, RunFiles, ServerHost, ServerSpec, ToolServers,
};
use monolith_core::kernel::CallOrder;
use monolith_core::message::NoSecrets;
use monolith_core::message::{
    CallSeq, ContentBlock, Digest, ObjectText, ToolEnvelope, ToolInvocation, ToolOutcome,
};

/// Blobs in memory.
#[derive(Default)]
pub(super) struct MemoryBlobs(Mutex<BTreeMap<Digest, Vec<u8>>>);

impl BlobSink for MemoryBlobs {
    fn put(&self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.0.lock().unwrap().insert(digest, bytes);
        digest
    }
}

impl MemoryBlobs {
    pub(super) fn bytes(&self, digest: Digest) -> Vec<u8> {
        self.0.lock().unwrap().get(&digest).unwrap().clone()
    }
}

/// A clock that never moves: 2026-11-21T22:32:51.007Z, 5 s into the run.
pub(super) struct FixedClock;

impl Clock for FixedClock {
    fn run_ms(&self) -> u64 {
        5_000
    }

    fn unix_ms(&self) -> u64 {
        1_795_300_371_007
    }
}

/// Servers under test with everything a call needs.
pub(super) struct Fixture {
    pub(super) blobs: MemoryBlobs,
    pub(super) cancel: CancellationToken,
    pub(super) exchanges: Arc<ExchangeLog>,
    pub(super) files: Option<Arc<RunFiles>>,
    pub(super) limit: u64,
    pub(super) timeout_ms: u64,
    pub(super) up: BringUp,
}

impl Fixture {
    pub(super) async fn bring_up(
        specs: impl IntoIterator<Item = (&str, ServerSpec)>,
        root: &Path,
    ) -> Self {
        let host = ServerHost::alone(Arc::new(NoSecrets));
        Self::bring_up_at(&host, specs, root).await
    }

    /// [`Self::bring_up`], where servers may be running already.
    pub(super) async fn bring_up_at(
        host: &ServerHost,
        specs: impl IntoIterator<Item = (&str, ServerSpec)>,
        root: &Path,
    ) -> Self {
        let timeouts = Timeouts {
            initialise_ms: 20_000,
            list_ms: 20_000,
        };
        Self::bring_up_within(host, specs, root, timeouts).await
    }

    /// The same within those timeouts.
    pub(super) async fn bring_up_within(
        host: &ServerHost,
        specs: impl IntoIterator<Item = (&str, ServerSpec)>,
        root: &Path,
        timeouts: Timeouts,
    ) -> Self {
        let specs = specs
            .into_iter()
            .map(|(name, spec)| (name.to_owned(), spec))
            .collect();
        let cancel = CancellationToken::new();
        let timeouts = (timeouts, host);
        let up = ToolServers::bring_up_within(specs, root, timeouts, &cancel, &|_| ()).await;
        Self {
            blobs: MemoryBlobs::default(),
            cancel,
            exchanges: Arc::default(),
            files: None,
            limit: 12_288,
            timeout_ms: 20_000,
            up,
        }
    }

    pub(super) async fn call(&self, tool: &str, arguments: &str) -> ToolOutcome {
        let arguments = ObjectText::parse(arguments).unwrap();
        let order = CallOrder {
            asked_by: None,
            arguments_hash: arguments.digest(),
            call: CallSeq(1),
            input: None,
            invocation: ToolInvocation {
                arguments,
                id: "call-1".to_owned(),
                name: tool.to_owned(),
                fault: None,
                raw_payload: None,
                source_model: "m".to_owned(),
            },
        };
        let terms = CallTerms {
            blobs: &self.blobs,
            cancel: &self.cancel,
            clock: &FixedClock,
            exchanges: &self.exchanges,
            idempotency_key: "run:1",
            files: self.files.as_ref(),
            output_limit_bytes: self.limit,
            reports: None,
            scrub: &NoSecrets,
            timeout_ms: self.timeout_ms,
        };
        self.up.servers.call(&order, &terms).await
    }

    pub(super) async fn envelope(&self, tool: &str, arguments: &str) -> ToolEnvelope {
        match self.call(tool, arguments).await {
            ToolOutcome::Returned(envelope) => envelope,
            other => panic!("{tool} {arguments}: {other:?}"),
        }
    }

    /// The observation of a success, or `CODE: message` of a failure.
    pub(super) async fn text_of(&self, tool: &str, arguments: &str) -> String {
        let envelope = self.envelope(tool, arguments).await;
        match &envelope.error {
            Some(error) => format!("{}: {}", error.code, error.message),
            None => envelope.text(),
        }
    }

    pub(super) fn faults(&self) -> Vec<String> {
        let fault = |f: &monolith_core::kernel::BringUpFault| format!("{}: {}", f.server, f.detail);
        self.up.faults.iter().map(fault).collect()
    }
}

pub(super) fn texts(envelope: &ToolEnvelope) -> Vec<&str> {
    let mut texts = Vec::new();
    for block in &envelope.content {
        if let ContentBlock::Text(text) = block {
            texts.push(text.as_str());
        }
    }
    texts
}
