//! Fetches the description of a web service: a file, or an address behind the guard. Does not know what it says.

use std::collections::BTreeMap;
use std::path::Path;

use tokio::io::AsyncReadExt as _;
use url::Url;

use super::exchange::Exchange;
use super::fault::WebFault;
use crate::store::open_regular;
use crate::tools::address_guard::AddressGuard;
use crate::tools::web_answer::{body_of, reason_of};
use monolith_core::contract::{HttpMethod, OpenapiTerms, RequestFault, RequestParts};

/// Bytes of a description that are read; the reader of descriptions refuses one that long.
const MOST_BYTES: usize = 16 * 1024 * 1024 + 1;

/// The text of a description. The author's headers are for the service, and are not sent for it.
pub(super) async fn description(
    terms: &OpenapiTerms,
    folder: &Path,
    guard: AddressGuard,
) -> Result<String, WebFault> {
    let bytes = if terms.is_at_address() {
        let address = |reason: String| WebFault::Request(RequestFault::Address { reason });
        let url = Url::parse(&terms.spec).map_err(|fault| address(fault.to_string()))?;
        let request = RequestParts {
            body: None,
            headers: Vec::new(),
            method: HttpMethod::Get,
            url,
        };
        let exchange = Exchange::new(&BTreeMap::new(), &terms.limits, guard);
        let mut response = exchange.send(request).await?;
        let status = response.status();
        if !status.is_success() {
            let status = status.as_u16();
            return Err(WebFault::NoDescription { status });
        }
        let read = body_of(&mut response, MOST_BYTES).await;
        let (bytes, _) = read.map_err(|fault| WebFault::Unreached {
            reason: reason_of(fault),
        })?;
        bytes
    } else {
        let path = folder.join(&terms.spec);
        let fault = |fault: std::io::Error| WebFault::File {
            path: path.display().to_string(),
            reason: fault.to_string(),
        };
        // A pipe would be waited for, and a device may never end.
        let file = open_regular(&path).map_err(fault)?;
        let file = tokio::fs::File::from_std(file);
        let mut bytes = Vec::new();
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        file.take(most)
            .read_to_end(&mut bytes)
            .await
            .map_err(fault)?;
        bytes
    };
    String::from_utf8(bytes).map_err(|_| WebFault::File {
        path: terms.recorded_spec(),
        reason: "it is not UTF-8".to_owned(),
    })
}
