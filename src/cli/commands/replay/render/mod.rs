//! What each kind of replay came to, as text for people.

mod live;
mod recorded;
mod what_if;

pub(in crate::commands::replay) use self::live::live_text;
pub(crate) use self::recorded::report_text;
pub(in crate::commands::replay) use self::what_if::what_if_text;
