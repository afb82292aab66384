//! The checks of a contract that fail before anything runs. Reports nothing.

use crate::check::check_report::{awaits_window, down_detail, not_known};
use crate::check::dry_precheck::dry_precheck;
use monolith_core::kernel::CheckName;
use monolith_host::driver::Preview;

/// The checks that fail, and why; not those that fail for a context window that is not known, which is unmet already.
pub fn failures(preview: &Preview) -> Vec<(CheckName, String)> {
    let failed = dry_precheck(preview).checks.into_iter();
    let failed = failed.filter(|check| !check.ok && !awaits_window(preview, check));
    failed.map(|check| (check.name, check.detail)).collect()
}

/// The checks that fail whatever servers offer that were not started, and why.
pub fn known_failures(preview: &Preview) -> Vec<(CheckName, String)> {
    let failed = dry_precheck(preview)
        .checks
        .into_iter()
        .filter(|check| !check.ok);
    let failed = failed.filter_map(|check| match down_detail(preview, &check) {
        Some(detail) => Some((check.name, detail)),
        None => not_known(preview, &check)
            .is_none()
            .then_some((check.name, check.detail)),
    });
    failed.collect()
}
