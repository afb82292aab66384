//! What a server reports of calls that run, for what shows it: the newest report of each call. Records nothing, and prolongs nothing.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use tokio::sync::watch;

use monolith_core::message::char_prefix;

/// Bytes of a report's message.
const MESSAGE_BYTES: usize = 200;

/// The reports of one connection. What no call waits for is dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Reports(Arc<Mutex<HashMap<ProgressToken, watch::Sender<String>>>>);

/// The reports of one call, until it is dropped.
#[derive(Debug)]
pub(super) struct CallReports {
    newest: watch::Receiver<String>,
    reports: Reports,
    token: ProgressToken,
}

impl Reports {
    /// The reports of the call with that token, from now on.
    pub(super) fn of(&self, token: &ProgressToken) -> CallReports {
        let (sender, newest) = watch::channel(String::new());
        self.lock().insert(token.clone(), sender);
        CallReports {
            newest,
            reports: self.clone(),
            token: token.clone(),
        }
    }

    /// Takes a report in.
    pub(super) fn take(&self, report: &ProgressNotificationParam) {
        if let Some(call) = self.lock().get(&report.progress_token) {
            call.send_replace(text(report));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, watch::Sender<String>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallReports {
    /// Waits for the next report; those between are passed over. Never ends where none comes.
    pub(super) async fn next(&mut self) -> String {
        if self.newest.changed().await.is_err() {
            return std::future::pending().await;
        }
        self.newest.borrow_and_update().clone()
    }
}

impl Drop for CallReports {
    fn drop(&mut self) {
        self.reports.lock().remove(&self.token);
    }
}

/// A report in a few words, such as `3 of 10: reading`.
fn text(report: &ProgressNotificationParam) -> String {
    // Writing to a String cannot fail.
    let mut text = report.progress.to_string();
    if let Some(total) = report.total {
        let _ = write!(text, " of {total}");
    }
    if let Some(message) = report.message.as_deref().filter(|text| !text.is_empty()) {
        let _ = write!(text, ": {}", char_prefix(message, MESSAGE_BYTES));
    }
    text
}

#[cfg(test)]
mod tests {
    use rmcp::model::NumberOrString;

    use super::*;

    #[tokio::test]
    async fn a_call_gets_its_own_reports_the_newest_of_them_alone() {
        let reports = Reports::default();
        let token = |number| ProgressToken(NumberOrString::Number(number));
        let report = |number, progress: f64, message: &str| {
            let mut report = ProgressNotificationParam::new(token(number), progress);
            report.message = Some(message.to_owned());
            report
        };
        let mut one = reports.of(&token(1));
        reports.take(&report(2, 1.0, "another call"));
        reports.take(&report(1, 1.0, "old"));
        let mut newest = report(1, 2.5, "new");
        newest.total = Some(10.0);
        reports.take(&newest);
        assert_eq!(one.next().await, "2.5 of 10: new");
        reports.take(&report(1, 3.0, ""));
        assert_eq!(one.next().await, "3");
        drop(one);
        assert!(reports.lock().is_empty());
    }
}
