//! The client's side of a connection: who it is, and how often the server's tools changed. Offers servers nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationCreateRequestMethod, ErrorData, Implementation, ListRootsRequestMethod,
    ListRootsResult, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};

/// How often a server has reported that its tools changed.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes(Arc<AtomicU64>);

impl Changes {
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Our side towards a server: hears that its tools changed, and grants it nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Listener {
    pub(super) changes: Changes,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::default(),
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        )
        // The newest version that still has the `initialize` handshake we begin with.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.note();
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>())
    }
}
