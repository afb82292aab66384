//! The contract of a file, made without a run.

use tokio_util::sync::CancellationToken;

use crate::contract_file::ContractFile;
use crate::error::ServiceError;
use crate::service::Service;
use monolith_core::contract::ContractSpec;
use monolith_core::message::AgentMessage;
use monolith_core::session::RedactionKey;
use monolith_host::driver::{self, Preview, ServersToStart};

/// Makes the contract of a file. `saved` are messages that stand before the task.
pub async fn preview(
    service: &Service,
    file: &ContractFile,
    spec: ContractSpec,
    saved: Vec<AgentMessage>,
    servers: ServersToStart,
) -> Result<Preview, ServiceError> {
    // A contract knows no run, so nothing is committed to.
    let request = file.request(service, spec, RedactionKey::new([0; 32]));
    let cancel = CancellationToken::new();
    let preview = driver::preview_loaded(saved, &request, servers, &cancel).await;
    preview.map_err(|fault| file.located(fault))
}
