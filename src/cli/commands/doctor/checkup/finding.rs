//! One thing that was looked at, what it came to, and how to fix it.

use serde::{Serialize, Serializer};

use monolith_service::text::command::unkept;

/// The status of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::commands::doctor) enum Status {
    /// It is there and works.
    Ok,
    /// It is not there, and only some things need it.
    Missing,
    /// It is there and does not work.
    Wrong,
}

/// One line of the doctor.
#[derive(Debug, Serialize)]
pub(in crate::commands::doctor) struct Finding {
    pub(in crate::commands::doctor) name: String,
    pub(in crate::commands::doctor) status: Status,
    pub(in crate::commands::doctor) detail: String,
    /// Steps to get it or to fix it. A terminal does not break the commands in it.
    #[serde(serialize_with = "plain")]
    pub(in crate::commands::doctor) fix: Option<String>,
}

/// For programs the spaces of a command are spaces.
#[expect(clippy::ref_option, reason = "serde hands it over so")]
fn plain<S: Serializer>(fix: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    fix.as_deref().map(unkept).serialize(to)
}

pub(super) fn ok(name: &str, detail: impl Into<String>) -> Finding {
    Finding {
        name: name.to_owned(),
        status: Status::Ok,
        detail: detail.into(),
        fix: None,
    }
}

pub(super) fn missing(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        status: Status::Missing,
        fix: Some(fix.into()),
        ..ok(name, detail)
    }
}

pub(super) fn wrong(name: &str, detail: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding {
        status: Status::Wrong,
        fix: Some(fix.into()),
        ..ok(name, detail)
    }
}
