//! Format versions of stored documents. Compares `NAME/NUMBER`; does not know the formats.

use jiff::Timestamp;

/// The fault of a stored format version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionFault {
    /// A newer build wrote it.
    #[error("its format is {found}, which is newer than {known}")]
    Newer {
        /// The stated format.
        found: String,
        /// The newest that this build knows.
        known: &'static str,
    },
    /// No build that this one knows of wrote it.
    #[error("its format is {found:?}, and this build knows {known}")]
    Unknown {
        /// The stated format, cut to 80 characters.
        found: String,
        /// The newest that this build knows.
        known: &'static str,
    },
}

/// Judges the version that a document states, `NAME/NUMBER`, against the newest that this build knows of that name.
///
/// Versions count from 1 and are read up to the known one: a format of before it is brought up by its migration.
///
/// # Errors
/// [`VersionFault`].
pub fn check_version(found: &str, known: &'static str) -> Result<u32, VersionFault> {
    let unknown = || VersionFault::Unknown {
        found: found.chars().take(80).collect(),
        known,
    };
    let parts = |text: &str| {
        let (name, number) = text.rsplit_once('/')?;
        let version: u32 = number.parse().ok()?;
        (version.to_string() == number).then(|| (name.to_owned(), version))
    };
    let (Some((name, version)), Some((expected, newest))) = (parts(found), parts(known)) else {
        return Err(unknown());
    };
    if name != expected || version == 0 {
        return Err(unknown());
    }
    if version > newest {
        return Err(VersionFault::Newer {
            found: found.chars().take(80).collect(),
            known,
        });
    }
    Ok(version)
}

/// A moment as RFC 3339 text in UTC with milliseconds, such as `2026-11-21T22:32:51.000Z`; one after the year 9999 as the last moment of
/// it.
#[must_use]
pub fn rfc3339(unix_ms: u64) -> String {
    format!("{:.3}", moment(unix_ms))
}

/// A moment in UTC to the second, for people: `2026-11-21 22:32:51`.
#[must_use]
pub fn utc(unix_ms: u64) -> String {
    moment(unix_ms).strftime("%F %T").to_string()
}

fn moment(unix_ms: u64) -> Timestamp {
    let moment = i64::try_from(unix_ms).map(Timestamp::from_millisecond);
    moment.ok().and_then(Result::ok).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::{rfc3339, utc, *};

    #[test]
    fn a_version_is_known_newer_or_none_of_this_format() {
        let check = |found: &str, expect: Result<u32, &str>| {
            let checked = check_version(found, "monolith-contract/2");
            let checked = checked.map_err(|fault| fault.to_string());
            assert_eq!(checked, expect.map_err(str::to_owned), "{found}");
        };
        check("monolith-contract/2", Ok(2));
        check("monolith-contract/1", Ok(1));
        check(
            "monolith-contract/3",
            Err("its format is monolith-contract/3, which is newer than monolith-contract/2"),
        );
        for other in [
            "monolith-contract/0",
            "monolith-contract/01",
            "monolith-contract",
            "monolith-transcript/1",
            "",
        ] {
            let message =
                format!("its format is {other:?}, and this build knows monolith-contract/2");
            check(other, Err(&message));
        }
    }

    #[test]
    fn moments_are_written_as_utc() {
        let check = |unix_ms, expect: &str| assert_eq!(rfc3339(unix_ms), expect);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_709_251_199_000, "2024-02-29T23:59:59.000Z");
        check(1_735_689_600_000, "2025-01-01T00:00:00.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(u64::MAX, "9999-12-30T22:00:00.999Z");
        assert_eq!(utc(1_795_301_679_999), "2026-11-21 22:54:39");
    }
}
