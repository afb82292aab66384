//! The states of a regular expression, bounded. Does not match texts.

use regex_syntax::hir::{Class, Hir, HirKind};

/// The longest regular expression in bytes.
const MAX_BYTES: usize = 4096;
/// The most states of one: an honest one has a few hundred.
const MAX_STATES: u64 = 8192;
/// How deeply its groups may nest.
const MAX_DEPTH: u32 = 64;

/// About how many states the automaton of a regular expression has: no byte of a text costs more steps than that.
///
/// # Errors
/// Why a linear engine cannot take it: look-around, back-references, too many states.
pub(super) fn pattern_states(pattern: &str) -> Result<u64, String> {
    if pattern.len() > MAX_BYTES {
        return Err(format!("its pattern is longer than {MAX_BYTES} bytes"));
    }
    let translated = jsonschema_regex::to_rust_regex(pattern)
        .map_err(|()| "its pattern is no regular expression".to_owned())?;
    let mut parser = regex_syntax::ParserBuilder::new()
        .nest_limit(MAX_DEPTH)
        .build();
    let parsed = parser.parse(&translated).map_err(|fault| {
        let why = match &fault {
            regex_syntax::Error::Parse(fault) => fault.kind().to_string(),
            regex_syntax::Error::Translate(fault) => fault.kind().to_string(),
            _ => "it cannot be read".to_owned(),
        };
        format!("its pattern cannot be matched in linear time: {why}")
    })?;
    let states = states(&parsed);
    if states > MAX_STATES {
        return Err(format!("its pattern has more than {MAX_STATES} states"));
    }
    Ok(states)
}

fn states(hir: &Hir) -> u64 {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let sum = |parts: &[Hir]| {
        let parts = parts.iter().map(|part| states(part).saturating_add(1));
        parts.fold(1, u64::saturating_add)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => 1,
        HirKind::Literal(literal) => count(literal.0.len()),
        // One character is up to four bytes.
        HirKind::Class(Class::Unicode(class)) if class.is_ascii() => 1,
        HirKind::Class(Class::Unicode(class)) => count(class.ranges().len()).saturating_mul(4),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min).max(1);
            let each = states(&repeated.sub).saturating_add(1);
            each.saturating_mul(u64::from(times)).saturating_add(1)
        }
        HirKind::Capture(group) => states(&group.sub).saturating_add(2),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}
