//! The functions for chat templates: JSON, and the time.

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

use monolith_core::message::rfc3339;

/// Maximum nesting depth of a template's blocks and calls, and of the values that it writes.
pub(super) const MAX_DEPTH: usize = 100;

/// JSON as Python writes it, which is what models were trained on: a blank behind every comma and colon.
#[expect(
    clippy::needless_pass_by_value,
    reason = "what a filter's arguments are"
)]
pub(super) fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    // Other options only change how the text looks.
    let _ = options.get::<Option<Value>>("ensure_ascii");
    let _ = options.get::<Option<Value>>("separators");
    let _ = options.get::<Option<Value>>("sort_keys");
    let mut out = String::new();
    write_json(value, indent, 0, &mut out)?;
    Ok(out)
}

fn write_json(
    value: &Value,
    indent: Option<usize>,
    depth: usize,
    out: &mut String,
) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        let reason = "a value is nested too deeply";
        return Err(Error::new(ErrorKind::InvalidOperation, reason));
    }
    let line = |out: &mut String, depth: usize| {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent.saturating_mul(depth)));
        }
    };
    let between = if indent.is_some() { "," } else { ", " };
    match value.kind() {
        ValueKind::Map => {
            out.push('{');
            for (index, key) in value.try_iter()?.enumerate() {
                if index > 0 {
                    out.push_str(between);
                }
                line(out, depth + 1);
                out.push_str(&serde_json::Value::from(key.to_string()).to_string());
                out.push_str(": ");
                write_json(&value.get_item(&key)?, indent, depth + 1, out)?;
            }
            if value.len() != Some(0) {
                line(out, depth);
            }
            out.push('}');
        }
        ValueKind::Seq | ValueKind::Iterable => {
            out.push('[');
            for (index, item) in value.try_iter()?.enumerate() {
                if index > 0 {
                    out.push_str(between);
                }
                line(out, depth + 1);
                write_json(&item, indent, depth + 1, out)?;
            }
            if value.len() != Some(0) {
                line(out, depth);
            }
            out.push(']');
        }
        _ => match serde_json::to_string(value) {
            Ok(text) => out.push_str(&text),
            Err(fault) => {
                let reason = fault.to_string();
                return Err(Error::new(ErrorKind::InvalidOperation, reason));
            }
        },
    }
    Ok(())
}

/// The time of a run's beginning in UTC, by the signs that chat templates use.
pub(super) fn strftime(format: &str, unix_ms: u64) -> Result<String, Error> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] = [
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
    ];
    let moment = rfc3339(unix_ms);
    let part = |from: usize, to: usize| moment.get(from..to).unwrap_or_default();
    let month: usize = part(5, 7).parse().unwrap_or(1);
    let month = MONTHS.get(month.saturating_sub(1)).copied();
    let day = usize::try_from(unix_ms / 86_400_000 % 7).unwrap_or_default();
    let day = DAYS.get(day).copied();
    let short = |name: Option<&str>| {
        name.and_then(|name| name.get(..3))
            .unwrap_or_default()
            .to_owned()
    };
    let mut out = String::new();
    let mut signs = format.chars();
    while let Some(sign) = signs.next() {
        if sign != '%' {
            out.push(sign);
            continue;
        }
        out.push_str(&match signs.next() {
            Some('Y') => part(0, 4).to_owned(),
            Some('y') => part(2, 4).to_owned(),
            Some('m') => part(5, 7).to_owned(),
            Some('d') => part(8, 10).to_owned(),
            Some('H') => part(11, 13).to_owned(),
            Some('M') => part(14, 16).to_owned(),
            Some('S') => part(17, 19).to_owned(),
            Some('F') => part(0, 10).to_owned(),
            Some('T') => part(11, 19).to_owned(),
            Some('B') => month.unwrap_or_default().to_owned(),
            Some('b' | 'h') => short(month),
            Some('A') => day.unwrap_or_default().to_owned(),
            Some('a') => short(day),
            Some('Z') => "UTC".to_owned(),
            Some('z') => "+0000".to_owned(),
            Some('%') => "%".to_owned(),
            other => {
                let other = other.map(String::from).unwrap_or_default();
                let reason = format!("strftime_now does not know %{other}");
                return Err(Error::new(ErrorKind::InvalidOperation, reason));
            }
        });
    }
    Ok(out)
}
