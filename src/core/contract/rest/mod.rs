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

mod escape;
mod method;
mod openapi;
mod request;
mod rest_tool;
mod stream;
mod template;
mod terms;
#[cfg(test)]
mod tests;

pub use method::HttpMethod;
pub use openapi::{HttpOperation, ImportTerms, Imported, OpenapiFault, imported};
pub use request::{RequestFault, RequestParts};
pub(crate) use rest_tool::DefinitionFault;
pub use rest_tool::RestTool;
pub use stream::StreamReader;
pub use template::{recorded_template, without_parameters};
pub(crate) use terms::RestTerms;
pub use terms::{OpenapiTerms, StreamTerms, WebLimits};
