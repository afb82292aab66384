//! Parses a model's final report in the format that the contract requires (000 §1, §5, §11).
//!
//! Three layers: the transport gave arguments; here they are read by format; what comes out holds nothing of the wrapper.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{
    ArgumentFault, FinalReport, FinalReportTerms, ReportContent, ReportFormat, Validators,
};
use crate::message::{ObjectFault, ObjectText, char_prefix, exact_value, is_blank, nearest_value};

/// Maximum number of fields of one report that may be text holding JSON.
const MAX_REPAIRS: usize = 16;

/// The arguments of `agent__final_report`. Other members are left out.
#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow, default)]
    content_json: Option<&'a RawValue>,
    #[serde(borrow, default)]
    encoding: Option<&'a RawValue>,
    #[serde(borrow, default)]
    format: Option<&'a RawValue>,
    #[serde(borrow, default)]
    messages: Option<&'a RawValue>,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    report_content: Option<&'a RawValue>,
}

/// One object with a list of messages, as some models give it.
#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
}

fn fault(pointer: &str, rule: impl Into<String>) -> ArgumentFault {
    ArgumentFault {
        pointer: pointer.to_owned(),
        rule: rule.into(),
    }
}

impl FinalReportTerms {
    /// Reads the arguments of a call of `agent__final_report`.
    ///
    /// # Errors
    /// The first rule that the report breaks, and where.
    pub fn read(
        &self,
        arguments: &ObjectText,
        validators: &Validators,
    ) -> Result<FinalReport, ArgumentFault> {
        let given: Arguments<'_> = serde_json::from_str(arguments.as_str())
            .map_err(|error| fault("", error.to_string()))?;
        let mut warnings = Vec::new();
        self.check_format(given.format.map(nearest_value).as_ref(), &mut warnings);
        let text = given
            .report_content
            .map(|content| {
                let encoding = given.encoding.map(nearest_value);
                decoded(&nearest_value(content), encoding.as_ref())
            })
            .transpose()?;
        let content = match self.format {
            ReportFormat::Json => match (given.content_json, text) {
                (Some(json), _) => {
                    self.json(json.get(), "/content_json", validators, &mut warnings)?
                }
                (None, Some(text)) => {
                    self.json(&text, "/report_content", validators, &mut warnings)?
                }
                (None, None) => {
                    return Err(fault("", "required: \"content_json\" is missing"));
                }
            },
            ReportFormat::SlackBlockKit => match (given.messages, text) {
                (Some(messages), _) => messages_of(messages.get(), "/messages", &mut warnings)?,
                (None, Some(text)) => messages_of(&text, "/report_content", &mut warnings)?,
                (None, None) => return Err(fault("", "required: \"messages\" is missing")),
            },
            ReportFormat::Markdown
            | ReportFormat::MarkdownMermaid
            | ReportFormat::Pipe
            | ReportFormat::SubAgent
            | ReportFormat::Text
            | ReportFormat::Tty => {
                let text =
                    text.ok_or_else(|| fault("", "required: \"report_content\" is missing"))?;
                plain(text, "/report_content")?
            }
        };
        let metadata = given
            .metadata
            .map(RawValue::get)
            .filter(|text| text.starts_with('{'))
            .map(str::to_owned);
        if given.metadata.is_some() && metadata.is_none() {
            warnings.push("the metadata are no object and were left out".to_owned());
        }
        Ok(FinalReport {
            content,
            format: self.format,
            metadata,
            warnings,
        })
    }

    /// Reads text in place of a report: only in a closing turn (000 §5).
    ///
    /// # Errors
    /// The first rule of the format that it breaks.
    pub fn read_text(
        &self,
        text: &str,
        validators: &Validators,
    ) -> Result<FinalReport, ArgumentFault> {
        let mut warnings = Vec::new();
        let content = match self.format {
            ReportFormat::Json => self.json(text, "", validators, &mut warnings)?,
            ReportFormat::SlackBlockKit => messages_of(text, "", &mut warnings)?,
            ReportFormat::Markdown
            | ReportFormat::MarkdownMermaid
            | ReportFormat::Pipe
            | ReportFormat::SubAgent
            | ReportFormat::Text
            | ReportFormat::Tty => plain(text.to_owned(), "")?,
        };
        Ok(FinalReport {
            content,
            format: self.format,
            metadata: None,
            warnings,
        })
    }

    /// Checks a text that must have the form as it is written: nothing of it is repaired.
    ///
    /// # Errors
    /// The first rule of the format that it breaks.
    pub fn check_text(&self, text: &str, validators: &Validators) -> Result<(), ArgumentFault> {
        let report = self.read_text(text, validators)?;
        match report.warnings.first() {
            Some(warning) => Err(fault("", warning.clone())),
            None => Ok(()),
        }
    }

    /// A format of another name is a warning, never a fault (000 §5).
    fn check_format(&self, given: Option<&Value>, warnings: &mut Vec<String>) {
        let expected = self.format.as_str();
        let Some(given) = given.filter(|given| given.as_str() != Some(expected)) else {
            return;
        };
        let shown = given.to_string();
        let shown = char_prefix(&shown, 60);
        warnings.push(format!("the format {shown} was taken as {expected}"));
    }

    /// One JSON value that fits the schema. Where a field that breaks a rule is text that holds JSON, that JSON takes its place.
    fn json(
        &self,
        text: &str,
        at: &str,
        validators: &Validators,
        warnings: &mut Vec<String>,
    ) -> Result<ReportContent, ArgumentFault> {
        let mut value = exact_value(text.trim()).map_err(|flaw| fault(at, rule_of(&flaw)))?;
        let mut repaired = false;
        for _ in 0..=MAX_REPAIRS {
            let broken = match validators.validate_report(&value) {
                Ok(()) if self.schema.is_some() || value.is_object() => {
                    let text = if repaired {
                        value.to_string()
                    } else {
                        text.trim().to_owned()
                    };
                    return Ok(ReportContent::Json(text));
                }
                Ok(()) => fault("", "type: the report is not of type \"object\""),
                Err(broken) => broken,
            };
            if !unfold(&mut value, &broken.pointer) {
                let pointer = format!("{at}{}", broken.pointer);
                return Err(fault(&pointer, broken.rule));
            }
            repaired = true;
            let place = format!("{at}{}", broken.pointer);
            warnings.push(format!(
                "the text at {place:?} was read as the JSON it holds"
            ));
        }
        let rule = format!("more than {MAX_REPAIRS} fields are text that holds JSON");
        Err(fault(at, rule))
    }
}

/// Puts the JSON that the text at `pointer` holds in its place; false where there is no such text.
fn unfold(value: &mut Value, pointer: &str) -> bool {
    let Some(place) = value.pointer_mut(pointer) else {
        return false;
    };
    let held = match place {
        Value::String(text) => exact_value(text).ok(),
        _ => None,
    };
    match held.filter(|held| !held.is_string()) {
        Some(held) => {
            *place = held;
            true
        }
        None => false,
    }
}

/// A list of messages: the list itself, an object that holds it, or text of one of the two.
fn messages_of(
    text: &str,
    at: &str,
    warnings: &mut Vec<String>,
) -> Result<ReportContent, ArgumentFault> {
    let text = text.trim();
    let unfolded: String;
    let text = match serde_json::from_str::<String>(text) {
        Ok(held) => {
            warnings.push(format!("the text at {at:?} was read as the JSON it holds"));
            unfolded = held;
            unfolded.trim()
        }
        Err(_) => text,
    };
    // A list would be read as an object, field by field.
    let wrapped = text
        .starts_with('{')
        .then(|| serde_json::from_str::<Wrapped<'_>>(text).ok());
    let list = wrapped.flatten().map_or(text, |held| held.messages.get());
    let no_list = "type: the messages are not of type \"array\"";
    let messages = exact_value(list).map_err(|flaw| match flaw {
        ObjectFault::InvalidJson { .. } => fault(at, no_list),
        rule => fault(at, rule_of(&rule)),
    })?;
    let messages = messages.as_array().ok_or_else(|| fault(at, no_list))?;
    if messages.is_empty() {
        return Err(fault(at, "minItems: there is no message"));
    }
    if let Some(n) = messages.iter().position(|message| !message.is_object()) {
        let pointer = format!("{at}/{n}");
        return Err(fault(
            &pointer,
            "type: the message is not of type \"object\"",
        ));
    }
    Ok(ReportContent::Messages(list.to_owned()))
}

fn plain(text: String, at: &str) -> Result<ReportContent, ArgumentFault> {
    if is_blank(&text) {
        return Err(fault(at, "minLength: the report is empty"));
    }
    Ok(ReportContent::Text(text))
}

/// The text of `report_content`, out of its encoding.
fn decoded(content: &Value, encoding: Option<&Value>) -> Result<String, ArgumentFault> {
    let at = "/report_content";
    let text = content
        .as_str()
        .ok_or_else(|| fault(at, "type: the report is not of type \"string\""))?;
    match encoding.map(|encoding| encoding.as_str()) {
        None | Some(Some("raw")) => Ok(text.to_owned()),
        Some(Some("base64")) => {
            let compact: String = text.split_ascii_whitespace().collect();
            let bytes = STANDARD
                .decode(&compact)
                .or_else(|_| STANDARD_NO_PAD.decode(&compact))
                .map_err(|_| fault(at, "encoding: the report is not valid base64"))?;
            String::from_utf8(bytes)
                .map_err(|_| fault(at, "encoding: the decoded report is not UTF-8"))
        }
        Some(_) => Err(fault(
            "/encoding",
            "enum: value is not one of \"raw\" or \"base64\"",
        )),
    }
}

/// The rule in the words that are recorded.
fn rule_of(flaw: &ObjectFault) -> String {
    match flaw {
        ObjectFault::InvalidJson { line, column } => {
            format!("not valid JSON: line {line}, column {column}")
        }
        other => other.to_string(),
    }
}
