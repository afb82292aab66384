//! Tools that are requests to web services: from a call's arguments to the parts of a request, and from a stream to its answer.
//!
//! Pure: it sends nothing and resolves no name. It knows what an author writes of a service (`tools.rest`, 001 §6). The guard, redirects, limits
//! and secrets are those of `tools/web`; the values of headers never come here.
//!
//! ```text
//!                      RestTool ┐
//!                               ├─ arguments ─▶ RequestParts {method, url, headers, body}
//! description ─▶ HttpOperation ┘
//! ```

mod openapi;
mod request;
mod rest_tool;
mod stream;
mod template;
#[cfg(test)]
mod tests;

pub use openapi::{HttpOperation, ImportTerms, Imported, OpenapiFault, imported};
pub use request::{HttpMethod, RequestFault, RequestParts};
pub(crate) use rest_tool::{DefinitionFault, RestTerms};
pub use rest_tool::{OpenapiTerms, RestTool, StreamTerms, WebLimits};
pub use stream::StreamReader;
pub use template::{recorded_template, without_parameters};
