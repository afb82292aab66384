//! The client's side of a connection: who it is, how often the server's tools changed, what it reports of calls, and what the contract
//! grants it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ElicitationCreateRequestMethod, ErrorData, FormElicitationCapability,
    Implementation, ListRootsRequestMethod, ListRootsResult, ProgressNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::Value;

use super::elicitation::with_defaults;
use super::progress::Reports;
use crate::contract::Elicitation;

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

/// Our side towards a server: hears that its tools changed, and grants it what the contract does.
#[derive(Clone, Debug, Default)]
pub(super) struct Listener {
    pub(super) changes: Changes,
    pub(super) elicitation: Elicitation,
    pub(super) reports: Reports,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = match self.elicitation {
            Elicitation::Denied => None,
            Elicitation::Defaults => {
                let form = FormElicitationCapability::default();
                Some(ElicitationCapability::new().with_form(form))
            }
        };
        ClientConfig::new(
            capabilities,
            Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")),
        )
        // The newest version that still has the `initialize` handshake we begin with.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.note();
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.reports.take(&report);
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListRootsRequestMethod>())
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match (self.elicitation, params) {
            (
                Elicitation::Defaults,
                ElicitRequestParams::FormElicitationParams {
                    requested_schema, ..
                },
            ) => {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                Ok(match with_defaults(&schema) {
                    Some(content) => ElicitResult::new(ElicitationAction::Accept)
                        .with_content(Value::Object(content)),
                    None => ElicitResult::new(ElicitationAction::Decline),
                })
            }
            // What is asked for at an address needs a person.
            _ => Err(ErrorData::method_not_found::<ElicitationCreateRequestMethod>()),
        }
    }
}
