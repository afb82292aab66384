//! Values that several commands take as arguments, read from their texts.

use clap::ValueEnum;
use serde::Deserialize as _;
use serde::de::value::{self, StrDeserializer};

use crate::cli::context::source::is_named_as_transcript;
use crate::cli::ui::numbers::counted;
use crate::kernel::{AgentOutcome, OutcomeCode};
use crate::message::RunId;
use crate::store::{Durability, NEWEST};

/// What an entry must survive.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(in crate::cli) enum DurabilityArg {
    #[default]
    Full,
    Normal,
}

impl From<DurabilityArg> for Durability {
    fn from(arg: DurabilityArg) -> Self {
        match arg {
            DurabilityArg::Full => Self::Full,
            DurabilityArg::Normal => Self::Normal,
        }
    }
}

/// The number of an entry.
pub(in crate::cli) fn entry_number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of an entry, such as 3; `show RUN` lists them".to_owned())
}

/// The class or the code of an outcome, in any case.
pub(in crate::cli) fn outcome(text: &str) -> Result<String, String> {
    let classes = AgentOutcome::ALL.map(AgentOutcome::as_str);
    let known = text.to_ascii_lowercase();
    let code = OutcomeCode::deserialize(StrDeserializer::<value::Error>::new(&known));
    match code {
        Err(fault) if !classes.iter().any(|class| class.eq_ignore_ascii_case(text)) => {
            let fault = fault.to_string();
            let codes = fault.split_once("expected one of ");
            let codes = codes.map_or("", |(_, codes)| codes);
            let classes = classes.join(", ");
            Err(format!(
                "no run ends so; the classes are {classes}, the codes {codes}"
            ))
        }
        _ => Ok(text.to_owned()),
    }
}

/// The name of a run that is to be made. Wherever a run is asked for, `last` is the newest, and what ends in `.jsonl` is a file.
pub(in crate::cli) fn run_id(text: &str) -> Result<RunId, String> {
    if text == NEWEST || is_named_as_transcript(text) {
        return Err(format!(
            "`{text}` means something else: `{NEWEST}` is the newest run, and what ends in .jsonl is a file"
        ));
    }
    RunId::try_from(text.to_owned()).map_err(|fault| fault.to_string())
}

/// Why something is erased or deleted.
pub(in crate::cli) fn reason(text: &str) -> Result<String, String> {
    let most = crate::transcript::MAX_REASON_BYTES;
    if text.len() > most {
        return Err(format!("a reason has at most {}", counted(most, "byte")));
    }
    if let Some(control) = text.chars().find(|c| c.is_control()) {
        let code = u32::from(control);
        return Err(format!(
            "a reason is one line, and this one holds the control character U+{code:04X}"
        ));
    }
    Ok(text.to_owned())
}
