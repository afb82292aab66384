//! The transcript of a workflow, in the store or in a file, read once for everything that shows it. Verifies nothing.

use std::path::Path;
use std::sync::Arc;

use crate::error::ServiceError;
use crate::error::transcript::TranscriptFault;
use crate::source::{Source, each_line};
use monolith_core::agent::{
    WorkflowAction, WorkflowEntry, WorkflowEvent, WorkflowEventKind, WorkflowView,
};
use monolith_core::contract::WorkflowDefinition;
use monolith_core::kernel::ParentRun;
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{Flaw, LineReader, Record, SealedMachineEntry, TranscriptKind};
use monolith_host::store::{StoreError, StoreReader};

/// A transcript that is that of a workflow.
pub struct WorkflowSource {
    document: String,
    /// Name of the run.
    pub run_id: RunId,
    source: Source,
}

impl WorkflowSource {
    /// The workflow that a source is, or the source where it is none.
    pub fn of(source: Source) -> Result<Result<Self, Source>, ServiceError> {
        let (document, run_id, source) = match source {
            Source::Run(run_id, mut reader) => {
                let run = reader.read_run(&run_id)?;
                let document = run
                    .row()
                    .is_workflow()
                    .then(|| run.contract_text().to_owned());
                drop(run);
                match document {
                    None => return Ok(Err(Source::Run(run_id, reader))),
                    Some(document) => (document, run_id.clone(), Source::Run(run_id, reader)),
                }
            }
            Source::File(path) => match header_of(&path)? {
                None => return Ok(Err(Source::File(path))),
                Some((document, run_id)) => (document, run_id, Source::File(path)),
            },
        };
        Ok(Ok(Self {
            document,
            run_id,
            source,
        }))
    }

    /// Reads its definition.
    pub fn definition(&mut self) -> Result<Arc<WorkflowDefinition>, ServiceError> {
        let definition = match &mut self.source {
            Source::Run(run_id, reader) => reader.read_run(run_id)?.definition()?,
            Source::File(path) => WorkflowDefinition::decode(&self.document)
                .map_err(|_| TranscriptFault::NoHeader { path: path.clone() })?,
        };
        Ok(Arc::new(definition))
    }

    /// Returns the store of its step runs, if it is in the store.
    pub const fn reader(&mut self) -> Option<&mut StoreReader> {
        match &mut self.source {
            Source::Run(_, reader) => Some(reader),
            Source::File(_) => None,
        }
    }

    /// The transcript.
    pub fn into_source(self) -> Source {
        self.source
    }

    /// Hands on each entry in order, decoded.
    pub fn each_entry(
        &mut self,
        mut take: impl FnMut(
            Digest,
            &WorkflowAction,
            Option<&WorkflowEvent>,
        ) -> Result<(), ServiceError>,
    ) -> Result<(), ServiceError> {
        let path = match &mut self.source {
            Source::Run(run_id, reader) => return each_entry(reader, run_id, take),
            Source::File(path) => path.clone(),
        };
        let mut reader = LineReader::new();
        each_line(&path, |line| {
            let record = reader.read(line).map_err(|fault| TranscriptFault::Line {
                path: path.clone(),
                fault,
            })?;
            match record {
                Record::Header(_) => {}
                Record::MachineEntry(entry) => {
                    let entry = SealedMachineEntry::from(&*entry);
                    let read = WorkflowEntry::decode(&entry);
                    let entry = read.map_err(|flaw| flawed(entry.seq, flaw))?;
                    take(entry.hash, &entry.action, entry.event.as_ref())?;
                }
                // Nothing but checkpoints stands behind the entries.
                _ => return Ok(false),
            }
            Ok(true)
        })
    }

    /// The view of it, and the hash of its last entry.
    pub fn view(&mut self) -> Result<(WorkflowView, Digest), ServiceError> {
        let mut view = WorkflowView::default();
        let mut head = Digest::ZERO;
        self.each_entry(|hash, action, event| {
            view.take(action, event);
            head = hash;
            Ok(())
        })?;
        Ok((view, head))
    }
}

/// The document and the name in the first line of a file, where that is a workflow's.
fn header_of(path: &Path) -> Result<Option<(String, RunId)>, ServiceError> {
    let mut found = None;
    each_line(path, |line| {
        // What does not read as a header is for the reader of the whole.
        if let Ok(Record::Header(header)) = LineReader::new().read(line)
            && header.kind() == TranscriptKind::Workflow
        {
            found = Some((header.contract.to_owned(), header.run_id));
        }
        Ok(false)
    })?;
    Ok(found)
}

/// The view of a stored workflow.
pub fn view_of(reader: &mut StoreReader, run_id: &RunId) -> Result<WorkflowView, ServiceError> {
    let mut view = WorkflowView::default();
    each_entry(reader, run_id, |_, action, event| {
        view.take(action, event);
        Ok(())
    })?;
    Ok(view)
}

/// The workflow that a stored one was forked from, as its first entry says; nothing more of it is read.
pub(crate) fn fork_parent(
    reader: &mut StoreReader,
    run_id: &RunId,
) -> Result<Option<ParentRun>, StoreError> {
    let Some(first) = reader.read_run(run_id)?.next_of_machine() else {
        return Ok(None);
    };
    let event: Option<WorkflowEvent> = first?.decode_event().ok().flatten();
    Ok(event.and_then(|event| match event.event {
        WorkflowEventKind::Started(started) => started.parent,
        _ => None,
    }))
}

/// Hands on each entry of a stored workflow in order, decoded.
pub fn each_entry(
    reader: &mut StoreReader,
    run_id: &RunId,
    mut take: impl FnMut(Digest, &WorkflowAction, Option<&WorkflowEvent>) -> Result<(), ServiceError>,
) -> Result<(), ServiceError> {
    let mut run = reader.read_run(run_id)?;
    run.each_of_workflow(
        |seq, flaw| flawed(seq, flaw).into(),
        |entry| take(entry.hash, &entry.action, entry.event.as_ref()),
    )
}

/// An entry that does not read.
const fn flawed(seq: u64, flaw: Flaw) -> TranscriptFault {
    TranscriptFault::Entry { seq, flaw }
}
