//! The tools of one web service and their calls. Does not know how they were written down.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use reqwest::Response;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED, LOCATION};
use serde_json::{Map, Value};

use super::exchange::Exchange;
use super::fault::WebFault;
use crate::contract::{RestTool, StreamReader, StreamTerms, WebLimits};
use crate::message::{ObjectText, amount};
use crate::tools::CallTerms;
use crate::tools::address_guard::AddressGuard;
use crate::tools::envelope::ToolResponse;
use crate::tools::offer::Described;
use crate::tools::web_answer::{body_of, charset_of, header, reason_of, text_of};

/// The tools of one web service.
#[derive(Debug)]
pub(in crate::tools) struct WebTools {
    exchange: Exchange,
    tools: BTreeMap<String, RestTool>,
}

impl WebTools {
    /// A tool that its author wrote out, under its own name.
    pub(in crate::tools) fn of_rest(
        name: &str,
        tool: &RestTool,
        headers: &BTreeMap<String, String>,
        limits: &WebLimits,
        guard: AddressGuard,
    ) -> Self {
        Self {
            exchange: Exchange::new(headers, limits, guard),
            tools: BTreeMap::from([(name.to_owned(), tool.clone())]),
        }
    }

    /// What it offers.
    pub(in crate::tools) fn described(&self) -> Vec<Described> {
        let tools = self.tools.iter().map(|(name, tool)| Described {
            annotations: tool.method.annotations(),
            description: tool.description.clone(),
            input_schema: tool.parameters_schema.clone(),
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
        let done = self.perform(tool, &arguments, (name, terms)).await;
        Some(done.unwrap_or_else(|fault| fault.response()))
    }

    async fn perform(
        &self,
        tool: &RestTool,
        arguments: &Map<String, Value>,
        watched: (&str, &CallTerms<'_>),
    ) -> Result<ToolResponse, WebFault> {
        let response = self.exchange.send(tool.request(arguments)?).await?;
        match &tool.streaming {
            Some(terms) if response.status().is_success() => {
                self.streamed(response, terms, watched).await
            }
            _ => self.answer(response).await,
        }
    }

    /// The whole answer: its body, and where it failed or has none what else is known of it.
    async fn answer(&self, mut response: Response) -> Result<ToolResponse, WebFault> {
        let status = response.status();
        let head = head_of(&response);
        let media_type = header(response.headers(), &CONTENT_TYPE).unwrap_or_default();
        let (body, whole) = body_of(&mut response, self.most())
            .await
            .map_err(unreached)?;
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
        mut response: Response,
        terms: &StreamTerms,
        (name, watch): (&str, &CallTerms<'_>),
    ) -> Result<ToolResponse, WebFault> {
        let mut reader = StreamReader::new(terms);
        let (mut line, mut read, mut done) = (Vec::new(), 0_usize, false);
        while !done && read < self.most() {
            let Some(chunk) = response.chunk().await.map_err(unreached)? else {
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

/// The status of an answer, and the headers that say what it is about.
fn head_of(response: &Response) -> String {
    let status = response.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let mut head = format!("HTTP {} {reason}\n", status.as_u16());
    for name in [CONTENT_TYPE, CONTENT_LENGTH, LOCATION, ETAG, LAST_MODIFIED] {
        if let Some(value) = header(response.headers(), &name) {
            // Writing to a String cannot fail.
            let _ = writeln!(head, "{name}: {value}");
        }
    }
    head
}

fn unreached(fault: reqwest::Error) -> WebFault {
    let reason = reason_of(fault);
    WebFault::Unreached { reason }
}
