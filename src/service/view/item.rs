//! A work item for display: state, admission with figures, changed paths with their diffs, tests and receipt. The same document on every
//! surface. Judges nothing: the entries of the item do.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::ServiceError;
use crate::secrets::holds_secret;
use crate::service::Service;
use crate::text::diff::LineDiff;
use crate::work_entries::{RecordedWork, WorkSource};
use monolith_core::message::{Digest, RunId};
use monolith_core::work::{
    AgentEnd, Capsule, Deltas, PathChange, TestEnd, TreeNode, Work, WorkEnd, WorkItem, WorkPath,
    WorkState, admit,
};

/// The most bytes of a content that is compared.
const MOST_COMPARED: u64 = 512 << 10;
/// The most bytes of all contents that are compared.
const MOST_OF_ALL: u64 = 16 << 20;

/// A work item as every surface shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ItemView {
    /// The figures of the last attempt, each with its limit.
    pub admission: Admission,
    /// The tree hash of the snapshot with the changes; null before they were compared.
    pub after: Option<Digest>,
    /// The tree hash of the snapshot; null before it was made.
    pub before: Option<Digest>,
    /// The changed paths of the last attempt, published or not.
    pub changes: Vec<ShownChange>,
    /// The first entry that is not the machine's, in words; null if all are.
    pub departure: Option<String>,
    /// Changed paths that are no part of the tree. They were thrown away.
    pub discarded: Vec<WorkPath>,
    /// The end; null before it.
    pub end: Option<WorkEnd>,
    /// Milliseconds from the start to the last event.
    pub execution_time_ms: u64,
    /// The item.
    pub item: WorkItem,
    /// The tree hash of the work tree after publishing; null if nothing was published.
    pub published: Option<Digest>,
    /// The reason of an end without success; null for any other.
    pub reason: Option<String>,
    /// The receipt; null before the end.
    pub receipt_id: Option<String>,
    /// The run of the agent; null before its end.
    pub run: Option<AgentEnd>,
    /// The state.
    pub state: WorkState,
    /// The end of the tests; null if they did not run.
    pub tests: Option<TestEnd>,
    /// The name of this attempt at the item.
    pub work_id: RunId,
}

/// The figures that admission is judged by.
#[derive(Clone, Debug, Serialize)]
pub struct Admission {
    /// The parts of the state changes; null before they were counted.
    pub deltas: Option<Deltas>,
    /// Tools that acted outside of the tree without being allowed to.
    pub external: Vec<String>,
    /// Files touched.
    pub files: Figure,
    /// True if the attempt is within its limits; null before it was compared.
    pub is_admitted: Option<bool>,
    /// State changes.
    pub state_changes: Figure,
    /// Tool calls.
    pub tool_calls: Figure,
}

/// A figure and its limit. A figure equal to its limit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// The figure.
    pub count: u64,
    /// The limit.
    pub limit: u64,
}

/// A changed path.
#[derive(Clone, Debug, Serialize)]
pub struct ShownChange {
    /// The node after; null for a deleted path.
    pub after: Option<TreeNode>,
    /// The node before; null for a created path.
    pub before: Option<TreeNode>,
    /// The changed lines; null if the content stays or is left out.
    pub diff: Option<LineDiff>,
    /// The reason that the changed content is left out; null with a diff.
    pub left_out: Option<LeftOut>,
    /// The path.
    pub path: WorkPath,
    /// The text that the diff leads from.
    #[serde(skip)]
    pub text_before: String,
}

/// The reason that a changed content is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    /// A content that is not UTF-8, or holds a NUL.
    Binary,
    /// A content that is too large to compare.
    Large,
    /// A content that is not kept here.
    Missing,
    /// A content with a secret.
    Secret,
}

impl LeftOut {
    /// Returns the reason in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Binary => "not a text",
            Self::Large => "too large to compare",
            Self::Missing => "contents not kept here",
            Self::Secret => "it holds a secret",
        }
    }
}

/// Kept contents by their digests; `None` for one that is not there.
type Contents<'c> = &'c dyn Fn(Digest) -> Option<Vec<u8>>;

impl ItemView {
    /// Reads an item, and the contents that it changed if they are kept here. `None` for a transcript without entries.
    ///
    /// # Errors
    /// The transcript cannot be read.
    pub fn read(service: &Service, source: &mut WorkSource) -> Result<Option<Self>, ServiceError> {
        let recorded = source.recorded()?;
        Self::of_recorded(service, source, recorded)
    }

    /// The same of an item that was read from that source.
    pub(crate) fn of_recorded(
        service: &Service,
        source: &WorkSource,
        recorded: RecordedWork,
    ) -> Result<Option<Self>, ServiceError> {
        let state = kept_folder(&service.store_path()?);
        // Contents of this store are no part of a transcript that comes from elsewhere.
        let is_stored = source.is_stored();
        let contents = |digest| kept(&state, digest).filter(|_| is_stored);
        Ok(Self::of(recorded, &contents))
    }

    /// The view of a recorded item.
    fn of(recorded: RecordedWork, contents: Contents<'_>) -> Option<Self> {
        let work = recorded.work?;
        let (started, end, capsule) = (work.started(), work.end(), work.capsule());
        let denial = end.and_then(|end| end.denial.as_ref().map(ToString::to_string));
        Some(Self {
            admission: Admission::of(&work),
            after: capsule.map(|capsule| capsule.output_hash),
            before: work.before(),
            changes: capsule.map_or_else(Vec::new, |capsule| shown(&capsule.changes, contents)),
            departure: recorded.departure.map(|error| error.to_string()),
            discarded: capsule.map_or_else(Vec::new, |capsule| capsule.discarded.clone()),
            end: end.cloned(),
            execution_time_ms: work.elapsed_ms(),
            item: started.item.clone(),
            published: work.published(),
            reason: end.and_then(|end| end.error.clone()).or(denial),
            receipt_id: recorded.receipt.map(|receipt| receipt.id()),
            run: work.run().cloned(),
            state: work.state(),
            tests: work.tests().cloned(),
            work_id: started.work_id.clone(),
        })
    }
}

impl Admission {
    fn of(work: &Work) -> Self {
        let limits = &work.started().item.constraints;
        let (capsule, calls) = (work.capsule(), work.run().map(|run| &run.calls));
        let judged = capsule.zip(calls);
        let figure = |count: Option<u64>, limit| Figure {
            count: count.unwrap_or_default(),
            limit,
        };
        Self {
            deltas: capsule.map(|capsule| capsule.deltas),
            external: calls.map_or_else(Vec::new, |calls| calls.external.clone()),
            files: figure(capsule.map(Capsule::files_touched), limits.max_files),
            is_admitted: judged.map(|(capsule, calls)| admit(limits, capsule, calls).is_ok()),
            state_changes: figure(
                capsule.map(|capsule| capsule.deltas.size()),
                limits.max_delta_size,
            ),
            tool_calls: figure(calls.map(|calls| calls.count), limits.max_tool_ops),
        }
    }
}

/// The folder of the file layer's state, next to a store.
pub(crate) fn kept_folder(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".work");
    PathBuf::from(path)
}

#[cfg(unix)]
fn kept(state: &Path, digest: Digest) -> Option<Vec<u8>> {
    monolith_host::work_tree::kept_content(state, digest, MOST_COMPARED).ok()?
}

#[cfg(not(unix))]
const fn kept(_: &Path, _: Digest) -> Option<Vec<u8>> {
    None
}

/// The changed paths with their diffs, as long as the contents are not too large together.
fn shown(changes: &[PathChange], contents: Contents<'_>) -> Vec<ShownChange> {
    let mut room = MOST_OF_ALL;
    let mut shown = Vec::new();
    for change in changes {
        let texts = texts_of(change, contents, &mut room);
        let (diff, left_out, text_before) = match texts {
            Ok(Some((before, after))) => (Some(LineDiff::between(&before, &after)), None, before),
            Ok(None) => (None, None, String::new()),
            Err(left_out) => (None, Some(left_out), String::new()),
        };
        shown.push(ShownChange {
            after: change.after.clone(),
            before: change.before.clone(),
            diff,
            left_out,
            path: change.path.clone(),
            text_before,
        });
    }
    shown
}

/// The texts before and after a change; `None` if the content stays.
fn texts_of(
    change: &PathChange,
    contents: Contents<'_>,
    room: &mut u64,
) -> Result<Option<(String, String)>, LeftOut> {
    let nodes = [&change.before, &change.after];
    let [before, after] = nodes.map(|node| node.as_ref().and_then(TreeNode::content).copied());
    if before == after {
        return Ok(None);
    }
    let sizes = nodes.into_iter().flatten().map(|node| match node {
        TreeNode::File { size, .. } => *size,
        TreeNode::Folder { .. } | TreeNode::Link { .. } => 0,
    });
    let sizes: Vec<u64> = sizes.collect();
    let all = sizes
        .iter()
        .fold(0_u64, |all, size| all.saturating_add(*size));
    if sizes.iter().any(|size| *size > MOST_COMPARED) || all > *room {
        return Err(LeftOut::Large);
    }
    let text = |digest: Option<Digest>| {
        let Some(digest) = digest else {
            return Ok(String::new());
        };
        let bytes = contents(digest).ok_or(LeftOut::Missing)?;
        let text = String::from_utf8(bytes).map_err(|_| LeftOut::Binary)?;
        if text.contains('\0') {
            return Err(LeftOut::Binary);
        }
        if holds_secret(&text) {
            return Err(LeftOut::Secret);
        }
        Ok(text)
    };
    let texts = (text(before)?, text(after)?);
    *room = room.saturating_sub(all);
    Ok(Some(texts))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use monolith_testkit::work::SampleWork;

    fn recorded() -> RecordedWork {
        RecordedWork {
            departure: None,
            entries: 6,
            head: Digest::ZERO,
            receipt: None,
            work: Some(SampleWork::new("work-1").work),
        }
    }

    /// The view of the sample with these kept contents.
    fn view(kept: &[&[u8]]) -> ItemView {
        let kept = kept.iter().map(|bytes| (Digest::of(bytes), bytes.to_vec()));
        let kept: BTreeMap<Digest, Vec<u8>> = kept.collect();
        ItemView::of(recorded(), &|digest| kept.get(&digest).cloned()).unwrap()
    }

    fn file(content: &[u8], size: u64) -> TreeNode {
        TreeNode::File {
            content: Digest::of(content),
            mode: 0o644,
            size,
        }
    }

    /// The reason that the change between two contents is left out.
    fn left_out(before: &[u8], after: &[u8]) -> Option<LeftOut> {
        let size = |content: &[u8]| u64::try_from(content.len()).unwrap();
        let change = PathChange {
            after: Some(file(after, size(after))),
            before: Some(file(before, size(before))),
            path: "a".parse().unwrap(),
        };
        let all = [before.to_vec(), after.to_vec()];
        let contents = |digest: Digest| all.iter().find(|one| Digest::of(one) == digest).cloned();
        shown(&[change], &contents).remove(0).left_out
    }

    #[test]
    fn an_item_has_its_figures_its_changes_and_its_tests() {
        let view = view(&[b"the page"]);
        assert_eq!(view.state, WorkState::Success);
        assert_eq!(view.admission.is_admitted, Some(true));
        assert_eq!(
            view.admission.files,
            Figure {
                count: 1,
                limit: 10
            }
        );
        assert_eq!(
            view.admission.tool_calls,
            Figure {
                count: 1,
                limit: 50
            }
        );
        let size = Figure {
            count: 1,
            limit: 100,
        };
        assert_eq!(view.admission.state_changes, size);
        let [change] = view.changes.as_slice() else {
            panic!("one change: {view:?}");
        };
        let diff = change.diff.as_ref().unwrap();
        assert_eq!(diff.hunks[0].lines, ["+the page"]);
        assert_eq!(view.tests.unwrap().output, "all is well");
    }

    #[test]
    fn a_content_that_is_not_kept_is_left_out_and_its_change_is_not() {
        let view = view(&[]);
        assert_eq!(view.changes[0].left_out, Some(LeftOut::Missing));
        assert_eq!(view.changes[0].path.to_string(), "page.md");
    }

    #[test]
    fn bytes_large_files_and_secrets_are_left_out() {
        assert_eq!(left_out(b"a\n", b"b\n"), None);
        assert_eq!(left_out(b"a\n", b"\xff"), Some(LeftOut::Binary));
        assert_eq!(left_out(b"a\0", b"a\n"), Some(LeftOut::Binary));
        let large = vec![b'a'; 600 << 10];
        assert_eq!(left_out(b"a\n", &large), Some(LeftOut::Large));
        let key = format!("key: ghp_{}\n", "a1B2".repeat(9));
        assert_eq!(left_out(b"a\n", key.as_bytes()), Some(LeftOut::Secret));
    }

    #[test]
    fn all_compared_contents_have_one_limit() {
        let change = |number: u64| PathChange {
            after: Some(file(b"b\n", MOST_COMPARED)),
            before: Some(file(b"a\n", MOST_COMPARED)),
            path: format!("f{number:02}").parse().unwrap(),
        };
        let changes: Vec<_> = (0..20).map(change).collect();
        let shown = shown(&changes, &|_| Some(b"text\n".to_vec()));
        let large = shown
            .iter()
            .filter(|it| it.left_out == Some(LeftOut::Large));
        assert_eq!(large.count(), 4);
    }

    #[test]
    fn a_changed_mode_has_no_lines() {
        let change = PathChange {
            after: Some(TreeNode::File {
                content: Digest::of(b"a"),
                mode: 0o755,
                size: 1,
            }),
            before: Some(file(b"a", 1)),
            path: "a".parse().unwrap(),
        };
        let shown = shown(&[change], &|_| None).remove(0);
        assert!(shown.diff.is_none() && shown.left_out.is_none());
    }
}
