//! The work tree seen with the ignore rules of a kept tree, and single paths of it seen without any. Changes nothing.

use std::path::PathBuf;

use monolith_core::message::Digest;
use monolith_core::work::PathChange;

use super::error::WorkTreeError;
use super::folder::{place_error, read_node};
use super::locked_tree::WorkTree;
use super::rules::{Baseline, ScanRules, ScanTerms, has_rules_of};
use super::scan::Scan;
use super::watch::Watch;

impl WorkTree {
    /// The path of a kept content, for a program that reads it. There may be no such file.
    #[must_use]
    pub fn content_path(&self, digest: Digest) -> PathBuf {
        self.blobs.path(digest)
    }

    /// Scans the tree with the ignore rules of a kept one, and with every path that is part of that one; `None` if it is not kept.
    ///
    /// # Errors
    /// The errors of [`Self::scan`].
    pub fn scan_by(
        &self,
        kept: Digest,
        terms: ScanTerms<'_>,
        watch: Watch<'_>,
    ) -> Result<Option<Scan>, WorkTreeError> {
        let refuse = |fault| place_error(self.path(), fault);
        let Some(manifest) = self.manifest(kept).map_err(refuse)? else {
            return Ok(None);
        };
        let baseline = Baseline {
            blobs: &self.blobs,
            manifest: &manifest,
        };
        let rules = ScanRules::new(terms, Some(baseline));
        let scan = self.scan_below((self.root(), self.found.id), &rules, watch)?;
        Ok(Some(scan))
    }

    /// The hash that a scanned tree has with the ignore rules of a kept one; `None` if that is not kept.
    ///
    /// # Errors
    /// The errors of [`Self::scan`].
    pub fn hash_by(
        &self,
        kept: Digest,
        scan: &Scan,
        terms: ScanTerms<'_>,
        watch: Watch<'_>,
    ) -> Result<Option<Digest>, WorkTreeError> {
        let refuse = |fault| place_error(self.path(), fault);
        let Some(manifest) = self.manifest(kept).map_err(refuse)? else {
            return Ok(None);
        };
        if has_rules_of(&scan.manifest, &manifest) {
            return Ok(Some(scan.manifest.hash()));
        }
        let scan = self.scan_by(kept, terms, watch)?;
        Ok(scan.map(|scan| scan.manifest.hash()))
    }

    /// True if every changed path is as the changes left it, whatever the ignore rules are now.
    ///
    /// # Errors
    /// An error of the system.
    pub fn has(&self, changes: &[PathChange]) -> Result<bool, WorkTreeError> {
        for change in changes {
            let now = match read_node(self.root(), &change.path) {
                Err(WorkTreeError::Moved { .. }) => return Ok(false),
                now => now?.map(|now| now.node),
            };
            if now != change.after {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
