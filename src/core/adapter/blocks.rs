//! The content blocks that Anthropic and Bedrock share. Does not know their events or requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::calls::GatheredCall;
use super::draft::{Draft, MAX_PARTS, too_many_parts};
use super::fold::{Failure, Progress, part};
use super::json::{Count, Raw, elements, object};
use super::streamed_call::StreamedCall;
use crate::message::{FailureCode, Usage, exact_sum};

/// The common state of Anthropic and Bedrock for an arriving message.
#[derive(Debug)]
pub(super) struct BlockMessage {
    pub blocks: Blocks,
    pub progress: Progress,
    pub saw_message: bool,
    usage: UsageReport,
}

impl BlockMessage {
    /// A message whose blocks are at `pointer`.
    pub(super) fn at(pointer: &'static str) -> Self {
        Self {
            blocks: Blocks::at(pointer),
            progress: Progress::default(),
            saw_message: false,
            usage: UsageReport::default(),
        }
    }

    /// The blocks of a message, or of the beginning of one, are given whole.
    pub(super) fn take_whole<'a, B: Deserialize<'a>>(
        &mut self,
        content: Raw<'a>,
        kind_of: impl Fn(&B, &str) -> BlockKind,
    ) -> Result<(), Failure> {
        let pointer = self.blocks.pointer;
        let shape = || Failure::new(FailureCode::BodyShape, pointer);
        let (blocks, more) = content
            .and_then(|content| elements(content, MAX_PARTS))
            .ok_or_else(shape)?;
        if more {
            return Err(too_many_parts(pointer));
        }
        self.saw_message = true;
        for (index, raw) in (0..).zip(blocks) {
            let block: B = part(Some(raw), &format!("{pointer}/{index}"))?;
            self.blocks.start(index, kind_of(&block, raw.get()))?;
            self.blocks.stop(index);
        }
        Ok(())
    }

    /// Takes a report of usage. Numbers of a stream grow; the last of each counts.
    pub(super) fn meter<'a, W: Deserialize<'a>>(
        &mut self,
        raw: Raw<'a>,
        note: impl FnOnce(&mut UsageReport, &W),
    ) {
        if let Some(wire) = raw.and_then(|raw| object::<W>(raw.get())) {
            note(&mut self.usage, &wire);
            self.progress.usage = self.usage.usage();
        }
    }
}

/// The content blocks of a message, as Anthropic and Bedrock send them: each started, continued and stopped under its
/// index, or given whole.
#[derive(Debug)]
pub(super) struct Blocks {
    list: Vec<Block>,
    /// The position of the block that is open under an index.
    open: BTreeMap<u64, usize>,
    /// Their place: an RFC 6901 pointer.
    pointer: &'static str,
}

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    stopped: bool,
}

/// The kind of a block, as far as it matters.
#[derive(Debug)]
pub(super) enum BlockKind {
    /// Content outside the message: a tool run by the provider, and its result.
    Foreign,
    /// Reasoning that only the provider can read.
    Redacted(String),
    /// Text for the reader.
    Text(String),
    /// Reasoning, and what vouches for it.
    Thinking { signature: String, text: String },
    /// A call. `whole` holds arguments that came with its start; `pieces` those that came after it.
    ToolUse {
        id: String,
        /// The members that no call holds, as an object; empty where there are none.
        members: String,
        name: String,
        pieces: String,
        whole: Option<String>,
    },
}

/// A piece of the block of that kind.
#[derive(Debug)]
pub(super) enum Piece {
    Arguments(String),
    Redacted(String),
    Signature(String),
    Text(String),
    Thinking(String),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Signed<'a> {
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
}

impl Blocks {
    const fn at(pointer: &'static str) -> Self {
        Self {
            list: Vec::new(),
            open: BTreeMap::new(),
            pointer,
        }
    }

    /// A block begins.
    pub(super) fn start(&mut self, index: u64, kind: BlockKind) -> Result<(), Failure> {
        if self.list.len() == MAX_PARTS {
            return Err(too_many_parts(self.pointer));
        }
        self.open.insert(index, self.list.len());
        self.list.push(Block {
            kind,
            stopped: false,
        });
        Ok(())
    }

    /// The block that is open under that index takes a piece. Where none is, the piece of a text begins one, since there is
    /// nothing to know of a text beforehand.
    pub(super) fn add(&mut self, index: u64, piece: Piece) -> Result<(), Failure> {
        if !self.open.contains_key(&index) {
            let kind = match &piece {
                Piece::Text(_) => BlockKind::Text(String::new()),
                Piece::Thinking(_) | Piece::Signature(_) => BlockKind::Thinking {
                    signature: String::new(),
                    text: String::new(),
                },
                Piece::Redacted(_) => BlockKind::Redacted(String::new()),
                Piece::Arguments(_) => return Err(self.misplaced(index)),
            };
            self.start(index, kind)?;
        }
        let misplaced = self.misplaced(index);
        let position = self.open.get(&index);
        let Some(block) = position.and_then(|position| self.list.get_mut(*position)) else {
            return Err(misplaced);
        };
        match (&mut block.kind, piece) {
            (BlockKind::Text(text) | BlockKind::Thinking { text, .. }, Piece::Text(piece))
            | (BlockKind::Thinking { text, .. }, Piece::Thinking(piece))
            | (BlockKind::Redacted(text), Piece::Redacted(piece))
            | (
                BlockKind::Thinking {
                    signature: text, ..
                },
                Piece::Signature(piece),
            )
            | (BlockKind::ToolUse { pieces: text, .. }, Piece::Arguments(piece)) => {
                text.push_str(&piece);
                Ok(())
            }
            (BlockKind::Foreign, _) => Ok(()),
            _ => Err(misplaced),
        }
    }

    /// The block under that index is whole.
    pub(super) fn stop(&mut self, index: u64) {
        let position = self.open.remove(&index);
        if let Some(block) = position.and_then(|position| self.list.get_mut(position)) {
            block.stopped = true;
        }
    }

    /// The text so far, if it is in one block.
    pub(super) fn only_text(&self) -> Option<&str> {
        let mut texts = self.list.iter().filter_map(|block| match &block.kind {
            BlockKind::Text(text) => Some(text.as_str()),
            _ => None,
        });
        let first = texts.next()?;
        texts.next().is_none().then_some(first)
    }

    /// The reasoning so far, if it is in one block.
    pub(super) fn only_reasoning(&self) -> Option<&str> {
        let mut thoughts = self.list.iter().filter_map(|block| match &block.kind {
            BlockKind::Thinking { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let first = thoughts.next()?;
        thoughts.next().is_none().then_some(first)
    }

    /// The call at that place among the calls, if its block has ended.
    pub(super) fn call(&self, at: usize) -> Option<StreamedCall<'_>> {
        let mut calls = self.list.iter().filter_map(|block| match &block.kind {
            BlockKind::ToolUse {
                id,
                name,
                pieces,
                whole,
                ..
            } => {
                let whole = whole.as_deref().unwrap_or("{}");
                let arguments = if pieces.is_empty() {
                    whole
                } else {
                    pieces.as_str()
                };
                let call = StreamedCall {
                    arguments,
                    id,
                    name,
                };
                Some((call, block.stopped))
            }
            BlockKind::Foreign
            | BlockKind::Redacted(_)
            | BlockKind::Text(_)
            | BlockKind::Thinking { .. } => None,
        });
        let (call, has_ended) = calls.nth(at)?;
        has_ended.then_some(call)
    }

    fn misplaced(&self, index: u64) -> Failure {
        Failure::new(FailureCode::BodyShape, format!("{}/{index}", self.pointer))
    }

    /// The message that the blocks are. `cut` where the output ended at its length limit: then a call at the very end is a
    /// cut one, even where what came of its arguments reads as an object.
    pub(super) fn into_draft(self, cut: bool, call_below: &str, arguments: &'static str) -> Draft {
        let mut draft = Draft::default();
        let last = self.list.len().saturating_sub(1);
        for (position, block) in self.list.into_iter().enumerate() {
            match block.kind {
                BlockKind::Foreign => {}
                BlockKind::Text(text) => draft.text(&text, String::new()),
                BlockKind::Thinking { signature, text } => {
                    draft.reasoning(&text);
                    if !signature.is_empty() {
                        draft.block(json(&Signed::Thinking {
                            thinking: &text,
                            signature: &signature,
                        }));
                    }
                }
                BlockKind::Redacted(data) => {
                    draft.block(json(&Signed::RedactedThinking { data: &data }));
                }
                BlockKind::ToolUse {
                    id,
                    members,
                    name,
                    pieces,
                    whole,
                } => {
                    let flaw = if !block.stopped {
                        Some((FailureCode::StreamIncomplete, ""))
                    } else if cut && position == last {
                        Some((FailureCode::ArgsInvalidJson, arguments))
                    } else if pieces.is_empty() && whole.as_deref() == Some("null") {
                        Some((FailureCode::ArgsNotObject, arguments))
                    } else {
                        None
                    };
                    let arguments = if pieces.is_empty() {
                        // The dialect's rule: a call without arguments sends no piece of them.
                        whole.unwrap_or_else(|| "{}".to_owned())
                    } else {
                        pieces
                    };
                    let pointer = format!("{}/{position}{call_below}", self.pointer);
                    draft.call(
                        GatheredCall {
                            arguments,
                            flaw,
                            id,
                            name,
                            pointer,
                        },
                        members,
                    );
                }
            }
        }
        draft
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A report of usage whose parts may come in several documents: the last number for each counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsageReport {
    /// Prompt tokens that no other number holds.
    pub beside: Count,
    pub cache_read: Count,
    /// Prompt tokens that were written into the cache, where they are no part of `input`.
    pub cache_write: Count,
    pub input: Count,
    /// True if `input` includes the tokens read from the cache.
    pub input_holds_cache: bool,
    pub output: Count,
    /// Reasoning, where it is no part of `output`.
    pub reasoning: Count,
}

impl UsageReport {
    /// Keeps a number where the field holds one.
    pub(super) fn note(slot: &mut Count, raw: Raw<'_>) {
        match Count::of(raw) {
            Count::Missing => {}
            count => *slot = count,
        }
    }

    /// The report, or none if it holds no token at all, or an absurd number. A cache read beyond the prompt
    /// is no part of the prompt.
    pub(super) fn usage(&self) -> Option<Usage> {
        let counts = [
            self.beside,
            self.cache_read,
            self.cache_write,
            self.input,
            self.output,
            self.reasoning,
        ];
        if counts.contains(&Count::Absurd) {
            return None;
        }
        let [beside, cache_read, cache_write, prompt, output, reasoning] =
            counts.map(|count| count.number().unwrap_or(0));
        let without = prompt.checked_sub(cache_read);
        let input = without.filter(|_| self.input_holds_cache).unwrap_or(prompt);
        let usage = Usage {
            cache_read,
            cache_write,
            cost_fault: false,
            cost_micro_usd: None,
            estimated: false,
            input: exact_sum(exact_sum(input, cache_write), beside),
            output: exact_sum(output, reasoning),
        };
        (usage.total() > 0).then_some(usage)
    }
}
