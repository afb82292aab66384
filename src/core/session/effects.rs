//! The machine's effects, as requests to a host.

use super::error::SessionError;
use super::output::{Append, Call, Delegation, Output};
use super::requests::BlobRequest;
use super::whole_run::{Progress, Session};
use crate::contract::{ExecutionContract, ServerKind};
use crate::kernel::{CallOrder, DelegateOrder, Effect, EntryDraft, EntryKind, Run};
use crate::message::{CallSeq, ToolOutcome};
use crate::transcript::{Checkpoint, SealedEntry};

impl Session {
    pub(super) fn take(&mut self, effects: Vec<Effect>) {
        let due = self.run().and_then(Run::next_deadline);
        for effect in effects {
            let output = match effect {
                Effect::Append(drafts) => self.append(drafts),
                Effect::Probe => Some(Output::Probe {
                    headers: self.requests.headers(),
                }),
                Effect::Infer(request) => {
                    let run = self.progress.as_ref().map(|progress| &progress.run);
                    let request = run.and_then(|run| self.requests.send(run, request));
                    request.map(Output::Send)
                }
                Effect::Summarise(summary) => {
                    let (full, inference) = (summary.full, summary.request.inference);
                    self.requests.await_blob(BlobRequest::Summary(summary));
                    Some(Output::Summarise { full, inference })
                }
                Effect::Sample(sample) => {
                    let (prompt, inference) = (sample.prompt, sample.request.inference);
                    self.requests.await_blob(BlobRequest::Sample(sample));
                    Some(Output::Sample { inference, prompt })
                }
                Effect::Execute(order) => self.call(order).map(Output::Call),
                Effect::Delegate(asked) => self.delegation(asked).map(Output::Delegate),
                Effect::AwaitApproval(order) => Some(Output::Ask(order)),
                // Its end is a deadline of the run.
                Effect::Wait { .. } => None,
                Effect::Cancel => {
                    self.requests.forget_awaited();
                    Some(Output::Cancel)
                }
                Effect::Finish(outcome) => {
                    // The last thing that a host hears of.
                    self.arm(due);
                    Some(Output::Done(outcome))
                }
            };
            self.outputs.extend(output);
        }
        self.arm(due);
    }

    /// Names the next deadline, where it is another one.
    fn arm(&mut self, due: Option<u64>) {
        if due != self.armed {
            self.armed = due;
            self.outputs.push(Output::Arm(due));
        }
    }

    /// Chains one step's entries.
    fn append(&mut self, drafts: Vec<EntryDraft>) -> Option<Output> {
        let progress = self.progress.as_mut()?;
        let before = progress.chain.length();
        let entries = drafts.iter().map(|draft| progress.chain.seal(draft));
        let entries: Vec<SealedEntry> = entries.collect();
        progress.first_entry = progress
            .first_entry
            .or_else(|| entries.first().map(|entry| entry.hash));
        let checkpoint = self
            .driven
            .then(|| checkpoint(&self.contract, progress, before, &drafts));
        if !self.driven {
            // Recorded entries are durable already.
            self.blobs.clear();
        }
        Some(Output::Append(Append {
            blobs: std::mem::take(&mut self.blobs),
            checkpoint: checkpoint.flatten(),
            drafts,
            entries,
        }))
    }

    /// Checks the sizes that a host hands in with the result of a call: a replay derives them again from the texts. The whole text
    /// of a cut result is the host's.
    pub(super) fn check_sizes(
        &self,
        call: CallSeq,
        outcome: &ToolOutcome,
    ) -> Result<(), SessionError> {
        let ToolOutcome::Returned(envelope) = outcome else {
            return Ok(());
        };
        let arguments = self.asked_bytes.get(&call).copied();
        let is_whole = envelope.full.is_none();
        let text = is_whole.then(|| length(&envelope.text()));
        for (member, given, expected) in [
            ("bytes_in", envelope.bytes_in, arguments),
            ("bytes_out", envelope.bytes_out, text),
        ] {
            if let Some(expected) = expected.filter(|expected| *expected != given) {
                return Err(SessionError::WrongSize {
                    call,
                    expected,
                    given,
                    member,
                });
            }
        }
        Ok(())
    }

    fn call(&mut self, order: CallOrder) -> Option<Call> {
        let size = length(order.invocation.arguments.as_str());
        self.asked_bytes.insert(order.call, size);
        let progress = self.progress.as_ref()?;
        Some(Call {
            idempotency_key: format!("{}:{}", progress.run_id, order.call),
            queue: self.queue_of(&order),
            order,
            output_limit_bytes: self.contract.tool_output_budget.max_bytes_per_call,
            timeout_ms: self.contract.tool_timeout_ms,
        })
    }

    fn delegation(&self, asked: DelegateOrder) -> Option<Delegation> {
        let DelegateOrder {
            grant,
            labels,
            order,
        } = asked;
        let progress = self.progress.as_ref()?;
        Some(Delegation {
            grant,
            labels,
            queue: self.queue_of(&order),
            run_id: progress.run_id.child(order.call),
            order,
            output_limit_bytes: self.contract.tool_output_budget.max_bytes_per_call,
        })
    }

    /// The queue that a call waits in.
    fn queue_of(&self, order: &CallOrder) -> Option<String> {
        let tool = self.contract.tool(&order.invocation.name)?;
        let (_, server) = self.contract.server_of(tool)?;
        let waits = server.kind != ServerKind::Builtin;
        server.queue.clone().filter(|_| waits)
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// The checkpoint at the head, where one is due: at the seal, and whenever so many entries have been added.
fn checkpoint(
    contract: &ExecutionContract,
    progress: &Progress,
    before: u64,
    drafts: &[EntryDraft],
) -> Option<String> {
    let last = drafts.last().map(|draft| &draft.action);
    let seal = last.filter(|action| action.kind == EntryKind::Seal);
    let passed = |count: u64| count.checked_div(contract.checkpoint_every);
    if seal.is_none() && passed(before) == passed(progress.chain.length()) {
        return None;
    }
    let outcome = seal.and_then(|action| action.outcome);
    Some(Checkpoint::of(&progress.chain, &progress.run_id, outcome).due())
}
