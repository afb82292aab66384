//! The tools of one web service and their calls. Does not know how they were written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use monolith_core::contract::{
    HttpMethod, HttpOperation, ImportTerms, Imported, OpenapiFault, OpenapiTerms, RequestFault,
    RequestParts, RestTool, StreamReader, StreamTerms, WebLimits, imported, without_parameters,
};
use monolith_core::message::{ObjectText, amount};
use reqwest::Response;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED, LOCATION,
};
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;
use url::Url;

use super::exchange::{Exchange, WebFault};
use crate::inference::{BodyFault, HttpBody, Proxies};
use crate::store::open_regular;
use crate::tools::address_guard::{AddressGuard, SystemResolver};
use crate::tools::envelope::ToolResponse;
use crate::tools::offer::{Described, NAME_BYTES};
use crate::tools::web_answer::{body_of, charset_of, header, reason_of_body, text_of};
use crate::tools::{CallTerms, trace};

/// The tools of one web service.
#[derive(Debug)]
pub(in crate::tools) struct WebTools {
    exchange: Exchange,
    /// Operations that give no tool, by file and place, and why.
    left_out: Vec<(String, String)>,
    tools: BTreeMap<String, WebTool>,
}

/// One tool: what it offers, and how it is asked.
#[derive(Debug)]
struct WebTool {
    annotations: Value,
    form: RequestForm,
    description: String,
    input_schema: Value,
}

/// The form of a request.
#[derive(Debug)]
enum RequestForm {
    Operation(HttpOperation),
    /// With the type that the author sends its body with, where one is stated.
    Template(Box<RestTool>, Option<String>),
}

impl RequestForm {
    fn request(&self, arguments: &Map<String, Value>) -> Result<RequestParts, RequestFault> {
        match self {
            Self::Operation(operation) => operation.request(arguments),
            Self::Template(tool, stated) => tool.request(arguments, stated.as_deref()),
        }
    }

    const fn streaming(&self) -> Option<&StreamTerms> {
        match self {
            Self::Operation(_) => None,
            Self::Template(tool, _) => tool.streaming.as_ref(),
        }
    }
}

impl WebTools {
    /// A tool that its author wrote out, under its own name.
    ///
    /// # Errors
    /// Where no request can ever be sent to its address.
    pub(in crate::tools) fn of_rest(
        name: &str,
        tool: &RestTool,
        headers: &BTreeMap<String, String>,
        limits: &WebLimits,
        guard: AddressGuard,
    ) -> Result<Self, WebFault> {
        // No argument stands in a host.
        if let Ok(url) = Url::parse(&without_parameters(&tool.url)) {
            guard.vet_written(&url)?;
        }
        let mut stated = headers.iter();
        let stated = stated.find(|(name, _)| name.eq_ignore_ascii_case(CONTENT_TYPE.as_str()));
        let stated = stated.map(|(_, media_type)| media_type.clone());
        let offered = WebTool {
            annotations: tool.method.annotations(),
            form: RequestForm::Template(Box::new(tool.clone()), stated),
            description: tool.description.clone(),
            input_schema: tool.offered_schema(),
        };
        Ok(Self {
            exchange: Exchange::new(headers, limits, guard),
            left_out: Vec::new(),
            tools: BTreeMap::from([(name.to_owned(), offered)]),
        })
    }

    /// The operations of a service, whose exposed names begin with `prefix`. A path of the description begins in the folder.
    pub(in crate::tools) async fn of_openapi(
        prefix: &str,
        (terms, folder): (&OpenapiTerms, &Path),
        headers: &BTreeMap<String, String>,
        proxies: &Proxies,
    ) -> Result<Self, WebFault> {
        let guard = Self::vetted(terms, proxies)?;
        let text = description(terms, folder, guard.clone()).await?;
        let wanted = import_terms(prefix, terms, headers);
        let spec = terms.recorded_spec();
        let found = read(text, wanted)
            .await
            .map_err(|fault| WebFault::Description {
                fault,
                spec: spec.clone(),
            })?;
        let left_out = found.left_out.into_iter();
        let left_out = left_out.map(|(at, fault)| (format!("{spec}{at}"), fault.to_string()));
        let mut left_out: Vec<(String, String)> = left_out.collect();
        let (mut tools, mut unreachable) = (BTreeMap::new(), None);
        for tool in found.tools {
            // A description may name several services.
            let url = tool.operation.service();
            if let Some(Err(fault)) = url.map(|url| guard.vet_written(&url)) {
                left_out.push((format!("{spec}{}", tool.pointer), fault.to_string()));
                unreachable = Some(fault);
                continue;
            }
            let offered = WebTool {
                annotations: tool.operation.annotations(),
                form: RequestForm::Operation(tool.operation),
                description: tool.description,
                input_schema: tool.input_schema,
            };
            tools.insert(tool.name, offered);
        }
        if let (true, Some(fault)) = (tools.is_empty(), unreachable) {
            return Err(fault.into());
        }
        left_out.sort();
        Ok(Self {
            exchange: Exchange::new(headers, &terms.limits, guard),
            left_out,
            tools,
        })
    }

    /// The guard of a service. It allows the addresses that its author wrote out: its own, and that of its description.
    ///
    /// # Errors
    /// Where no request can ever be sent to one of them.
    pub(in crate::tools) fn vetted(
        terms: &OpenapiTerms,
        proxies: &Proxies,
    ) -> Result<AddressGuard, WebFault> {
        let resolver = Arc::new(SystemResolver);
        let guard = AddressGuard::of_service(&terms.limits, resolver, proxies);
        let spec = terms.is_at_address().then_some(terms.spec.as_str());
        let written = terms.base_url.as_deref().into_iter().chain(spec);
        // What is no address is reported where it is used.
        for url in written.filter_map(|text| Url::parse(text).ok()) {
            guard.vet_written(&url)?;
        }
        Ok(guard)
    }

    /// Operations that give no tool, and why.
    pub(in crate::tools) fn left_out(&self) -> impl Iterator<Item = (&str, &str)> {
        let left_out = self.left_out.iter();
        left_out.map(|(name, why)| (name.as_str(), why.as_str()))
    }

    /// Describes its tools.
    pub(in crate::tools) fn described(&self) -> Vec<Described> {
        let tools = self.tools.iter().map(|(name, tool)| Described {
            annotations: tool.annotations.clone(),
            description: tool.description.clone(),
            input_schema: tool.input_schema.clone(),
            name: name.clone(),
        });
        tools.collect()
    }

    /// Performs one call. None if no tool has that name.
    pub(in crate::tools) async fn call(
        &self,
        name: &str,
        arguments: &ObjectText,
        terms: &CallTerms<'_>,
    ) -> Option<ToolResponse> {
        let tool = self.tools.get(name)?;
        // It was an object when it was validated.
        let arguments: Map<String, Value> =
            serde_json::from_str(arguments.as_str()).unwrap_or_default();
        let done = self.perform(&tool.form, &arguments, (name, terms)).await;
        Some(done.unwrap_or_else(|fault| fault.response()))
    }

    async fn perform(
        &self,
        tool: &RequestForm,
        arguments: &Map<String, Value>,
        watched: (&str, &CallTerms<'_>),
    ) -> Result<ToolResponse, WebFault> {
        let request = tool.request(arguments)?;
        if trace::is_on() {
            let (name, terms) = watched;
            let shown = self.exchange.shown(&request);
            trace::sent(name, &terms.scrub.cut_text(&shown));
        }
        let response = self.exchange.send(request).await?;
        match tool.streaming() {
            Some(terms) if response.status().is_success() => {
                self.streamed(response, terms, watched).await
            }
            _ => self.answer(response).await,
        }
    }

    /// The whole answer: its body, and where it failed or has none what else is known of it.
    async fn answer(&self, response: Response) -> Result<ToolResponse, WebFault> {
        let status = response.status();
        let head = head_of(&response);
        let media_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let (body, whole) = body_of(response, self.most()).await.map_err(unread)?;
        let mut answer = ToolResponse::default();
        let text = match charset_of(&media_type) {
            Ok(charset) => text_of(body.clone(), charset, whole),
            Err(_) => None,
        };
        let cut = if whole { String::new() } else { self.cut() };
        match text {
            Some(text) if status.is_success() && !text.is_empty() => {
                answer.push_text(format!("{text}{cut}"));
            }
            Some(text) => answer.push_text(format!("{head}\n{text}{cut}").trim_end().to_owned()),
            None => {
                answer.push_text(format!("{head}{cut}").trim_end().to_owned());
                answer.push_resource(body, &media_type);
            }
        }
        if !status.is_success() {
            answer.mark_failed_as("HTTP_STATUS".to_owned());
        }
        Ok(answer)
    }

    /// The answer of a stream, which is read up to its last event.
    async fn streamed(
        &self,
        response: Response,
        terms: &StreamTerms,
        (name, watch): (&str, &CallTerms<'_>),
    ) -> Result<ToolResponse, WebFault> {
        let mut reader = StreamReader::new(terms);
        let mut body = HttpBody::new(response).map_err(unread)?;
        let (mut line, mut read, mut done) = (Vec::new(), 0_usize, false);
        while !done && read < self.most() {
            let Some(chunk) = body.chunk().await.map_err(unread)? else {
                break;
            };
            read = read.saturating_add(chunk.len());
            for byte in chunk {
                if byte != b'\n' {
                    line.push(byte);
                    continue;
                }
                done = done || reader.take(String::from_utf8_lossy(&line).trim_end_matches('\r'));
                line.clear();
            }
            watch.report(name, &amount(reader.length(), "byte"));
        }
        if !done {
            done = reader.take(String::from_utf8_lossy(&line).trim_end_matches('\r'));
        }
        let mut text = reader.finish();
        if !done && read >= self.most() {
            text.push_str(&self.cut());
        }
        Ok(ToolResponse::of_text(text))
    }

    fn most(&self) -> usize {
        usize::try_from(self.exchange.limits.max_bytes).unwrap_or(usize::MAX)
    }

    fn cut(&self) -> String {
        let kept = amount(self.exchange.limits.max_bytes, "byte");
        format!("\n[the first {kept} of a longer answer]")
    }
}

/// Reads a description on a separate thread: a large one takes seconds. It stops if the caller is dropped.
async fn read(text: String, terms: ImportTerms) -> Result<Imported, OpenapiFault> {
    let caller = Arc::new(());
    let awaited = Arc::downgrade(&caller);
    let reading = move || imported(&text, &terms, &|| awaited.strong_count() > 0);
    let read = tokio::task::spawn_blocking(reading).await;
    drop(caller);
    match read {
        Ok(read) => read,
        Err(fault) if fault.is_panic() => std::panic::resume_unwind(fault.into_panic()),
        Err(_) => Err(OpenapiFault::GivenUp),
    }
}

/// True if no tool may reach a service. Needs no request: the author wrote out its address or the one of its description.
pub(crate) fn is_out_of_reach(terms: &OpenapiTerms) -> bool {
    WebTools::vetted(terms, &Proxies::default()).is_err()
}

/// True if the description of a service is a file that gives no tools. A large file takes long, and is left to the run.
pub(crate) fn is_unreadable(
    prefix: &str,
    (terms, folder): (&OpenapiTerms, &Path),
    headers: &BTreeMap<String, String>,
) -> bool {
    if terms.is_at_address() {
        return false;
    }
    let Ok(file) = open_description(terms, folder) else {
        return true;
    };
    let mut bytes = Vec::new();
    if file.take(MOST_JUDGED).read_to_end(&mut bytes).is_err() {
        return true;
    }
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) >= MOST_JUDGED {
        return false;
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return true;
    };
    let wanted = import_terms(prefix, terms, headers);
    imported(&text, &wanted, &|| true).is_err()
}

fn import_terms(
    prefix: &str,
    terms: &OpenapiTerms,
    headers: &BTreeMap<String, String>,
) -> ImportTerms {
    ImportTerms {
        base_url: terms.base_url.clone(),
        include_methods: terms.include_methods.clone(),
        name_bytes: NAME_BYTES.saturating_sub(prefix.len()),
        own_headers: headers.keys().cloned().collect(),
        spec_url: terms.is_at_address().then(|| terms.spec.clone()),
        tags: terms.tags.clone(),
    }
}

/// The status of an answer, and the headers that say what it is about.
fn head_of(response: &Response) -> String {
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP {} {reason}\n", status.as_u16());
    let is_packed = response.headers().contains_key(CONTENT_ENCODING);
    for name in [CONTENT_TYPE, CONTENT_LENGTH, LOCATION, ETAG, LAST_MODIFIED] {
        // The length is that of the packed bytes.
        if is_packed && name == CONTENT_LENGTH {
            continue;
        }
        if let Some(value) = header(response.headers(), &name) {
            // Writing to a String cannot fail.
            let _ = writeln!(head, "{name}: {value}");
        }
    }
    head
}

fn unread(fault: BodyFault) -> WebFault {
    let reason = reason_of_body(fault);
    WebFault::Unreached { reason }
}

/// Bytes of a description that are read; the reader of descriptions refuses one that long.
const MOST_BYTES: usize = 16 * 1024 * 1024 + 1;
/// Bytes of a description that is read before a run.
const MOST_JUDGED: u64 = 1024 * 1024;

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
        let response = exchange.send(request).await?;
        let status = response.status();
        if !status.is_success() {
            let status = status.as_u16();
            return Err(WebFault::NoDescription { status });
        }
        let (bytes, _) = body_of(response, MOST_BYTES).await.map_err(unread)?;
        bytes
    } else {
        let file = open_description(terms, folder)?;
        let file = tokio::fs::File::from_std(file);
        let mut bytes = Vec::new();
        let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
        let read = file.take(most).read_to_end(&mut bytes).await;
        read.map_err(|fault| unread_file(&path_of(terms, folder), &fault))?;
        bytes
    };
    String::from_utf8(bytes).map_err(|_| WebFault::File {
        path: terms.recorded_spec(),
        reason: "it is not UTF-8".to_owned(),
    })
}

/// The path of a description that is a file.
fn path_of(terms: &OpenapiTerms, folder: &Path) -> PathBuf {
    folder.join(&terms.spec).components().collect()
}

fn open_description(terms: &OpenapiTerms, folder: &Path) -> Result<File, WebFault> {
    let path = path_of(terms, folder);
    // A pipe would be waited for, and a device may never end.
    open_regular(&path).map_err(|fault| unread_file(&path, &fault))
}

fn unread_file(path: &Path, fault: &io::Error) -> WebFault {
    WebFault::File {
        path: path.display().to_string(),
        reason: fault.to_string(),
    }
}
