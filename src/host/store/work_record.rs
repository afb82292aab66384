//! The transcripts of work items in a store: written entry by entry, sealed with a receipt, and read back.
//! Does not drive an item.

use std::sync::Arc;

use super::machine_record::MachineRecord;
use super::storable::NewReceipt;
use super::{Binding, Invocation, NewBlob, RunFilter, Store, StoreError, StoreReader};
use monolith_core::message::{Digest, RunId};
use monolith_core::transcript::{LogLeaf, TranscriptKind};
use monolith_core::work::{
    Receipt, ReceiptFacts, ReceiptPlace, Work, WorkDraft, WorkEntryKind, WorkFold, WorkStarted,
};

/// The transcript of one work item, open for writing.
#[derive(Debug)]
pub struct WorkRecord<'s> {
    machine: MachineRecord<'s>,
    /// The output of tests that the next entry names.
    output: Option<Vec<u8>>,
}

impl<'s> WorkRecord<'s> {
    /// Records an item from its beginning. Nothing is durable before the first entry is appended.
    #[must_use]
    pub fn begin(store: &'s Store, started: &WorkStarted, invocation: Option<Invocation>) -> Self {
        let binding = Binding::Work(Arc::new(started.document()));
        let (work_id, created) = (&started.work_id, started.started_unix_ms);
        Self::of(MachineRecord::beginning(
            store, binding, work_id, created, invocation,
        ))
    }

    /// Continues a stored item, and returns its machine where the entries end.
    ///
    /// # Errors
    /// The errors of [`Store::claim_run`] and [`StoreReader::work`].
    pub async fn resume(store: &'s Store, work_id: &RunId) -> Result<(Self, Work), StoreError> {
        // Nobody else appends between the claim and the reading.
        let handle = store.claim_run(work_id).await?;
        let work = store.reader()?.work(work_id)?;
        Ok((Self::of(MachineRecord::resumed(store, handle)), work))
    }

    const fn of(machine: MachineRecord<'s>) -> Self {
        let output = None;
        Self { machine, output }
    }

    /// Keeps the output of tests, which the next entry names. It becomes durable with that entry.
    pub fn keep_output(&mut self, output: Vec<u8>) {
        self.output = Some(output);
    }

    fn named_blobs(&mut self) -> Vec<NewBlob> {
        let output = self.output.take();
        output.map(NewBlob::Bytes).into_iter().collect()
    }

    /// The hash of the last entry.
    #[must_use]
    pub const fn head(&self) -> Digest {
        self.machine.head()
    }

    /// Appends an entry that is no seal. When this returns, it is durable.
    ///
    /// # Errors
    /// The errors of [`Store::append`], [`StoreError::RunExists`] for the first entry of an item whose name is
    /// taken, and [`StoreError::NoReceipt`] for a seal.
    pub async fn append(&mut self, draft: &WorkDraft) -> Result<(), StoreError> {
        if draft.action.kind == WorkEntryKind::Seal {
            return Err(StoreError::NoReceipt {
                run_id: self.machine.run_id().clone(),
                reason: "its seal needs a receipt".to_owned(),
            });
        }
        let mut chain = self.machine.chain().clone();
        let (entries, blobs) = (vec![draft.seal(&mut chain)], self.named_blobs());
        self.machine
            .append_sealed(chain, entries, blobs, None)
            .await
    }

    /// Appends the seal with the receipt. The entry, its signed checkpoint, the receipt and the leaf in the
    /// log are durable together.
    ///
    /// # Errors
    /// The errors of [`Store::append`], and [`StoreError::NoReceipt`] if the facts do not make a receipt of the
    /// item.
    pub async fn seal(
        &mut self,
        draft: &WorkDraft,
        work: &Work,
        facts: &ReceiptFacts,
    ) -> Result<Receipt, StoreError> {
        let refuse = |reason: String| StoreError::NoReceipt {
            run_id: work.started().work_id.clone(),
            reason,
        };
        let mut chain = self.machine.chain().clone();
        let named = self.named_blobs();
        let entry = draft.seal(&mut chain);
        loop {
            let place = ReceiptPlace {
                previous: self.machine.store().reader()?.last_receipt()?,
                work_head: entry.hash,
            };
            let receipt = Receipt::of_work(work, facts, &place);
            let receipt = receipt.map_err(|error| refuse(error.to_string()))?;
            let receipt = receipt.ok_or_else(|| refuse("the item has not ended".to_owned()))?;
            let new = NewReceipt {
                hash: receipt.hash(),
                previous: receipt.previous,
            };
            let entries = vec![entry.clone()];
            let bytes = NewBlob::Bytes(receipt.to_bytes());
            let blobs = [named.clone(), vec![bytes]].concat();
            let appended = self
                .machine
                .append_sealed(chain.clone(), entries, blobs, Some(new));
            match appended.await {
                // Another item has ended meanwhile, so that this receipt follows another one.
                Err(StoreError::ReceiptBehind { .. }) => {}
                Err(fault) => return Err(fault),
                Ok(()) => return Ok(receipt),
            }
        }
    }
}

impl StoreReader {
    /// The machine of an item where its entries end.
    ///
    /// # Errors
    /// [`StoreError::NoSuchRun`], [`StoreError::OtherKind`] for a run or a workflow, and
    /// [`StoreError::Corrupt`] where the entries are not those of an item.
    pub fn work(&mut self, work_id: &RunId) -> Result<Work, StoreError> {
        let mut run = self.read_run(work_id)?;
        let mut fold = WorkFold::default();
        run.expect_kind(TranscriptKind::Work)?;
        while let Some(entry) = run.next_of_machine() {
            fold.take(&entry?)
                .map_err(|error| run.refuse("entries", error))?;
        }
        let none = || run.refuse("entries", "it has none");
        fold.into_work().ok_or_else(none)
    }

    /// The receipt of an item; none before its seal.
    ///
    /// # Errors
    /// As [`Self::work`].
    pub fn receipt(&mut self, work_id: &RunId) -> Result<Option<Receipt>, StoreError> {
        let run = self.read_run(work_id)?;
        run.expect_kind(TranscriptKind::Work)?;
        if run.row().outcome.is_none() {
            return Ok(None);
        }
        drop(run);
        // No entry names the receipt: its leaf in the log does.
        let leaf = self.log_leaf(work_id)?;
        let named = leaf.and_then(|(_, text)| LogLeaf::decode(&text).ok()?.receipt);
        let run = self.read_run(work_id)?;
        let hashes = run.blob_hashes()?;
        let hash = named.filter(|hash| hashes.contains(hash));
        let bytes = hash.map(|hash| run.blob(hash)).transpose()?.flatten();
        let none = || run.refuse("run_blobs", "the receipt of the item is not there");
        let receipt = Receipt::parse(&bytes.ok_or_else(none)?);
        receipt
            .map(Some)
            .map_err(|error| run.refuse("blobs", error))
    }

    /// The receipts of all items, the newest first.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where the row of an item or a receipt does not read.
    pub fn receipts(&mut self) -> Result<Vec<Receipt>, StoreError> {
        let items = RunFilter::Kind(TranscriptKind::Work);
        let mut receipts = Vec::new();
        for row in self.list_rows(usize::MAX, items)? {
            let row = row.map_err(|damaged| damaged.fault)?;
            receipts.extend(self.receipt(&row.run_id)?);
        }
        Ok(receipts)
    }

    /// The hash of the last receipt in the log, and the number of receipts so far; none before the first.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where the leaf does not read.
    pub(super) fn last_receipt(&self) -> Result<Option<(Digest, u64)>, StoreError> {
        self.database.last_receipt()
    }
}
