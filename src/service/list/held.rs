//! Holds the entries that a list reads anyway against their chain and the run's row. What lies between them, blobs and signatures
//! are `verify`'s.

use monolith_core::transcript::{Chain, Link, SealedEntry};
use monolith_host::store::RunRow;

/// The chain over the entries that were read.
pub(super) struct HeldEntries {
    chain: Chain,
    flaw: Option<String>,
    outcome: Option<(String, String)>,
}

impl HeldEntries {
    /// Starts before the first entry of the run.
    pub(super) fn of(row: &RunRow) -> Self {
        Self {
            chain: Chain::genesis(row.contract_hash, &row.run_id),
            flaw: None,
            outcome: None,
        }
    }

    /// Takes the next entry that was read; where some before it were not, its own hash is believed.
    pub(super) fn take(&mut self, entry: &SealedEntry) {
        let follows = self.chain.length() == entry.seq;
        let whole = match entry.decode_action() {
            Err(flaw) => Err(flaw.to_string()),
            Ok(action) => {
                let outcome = action.outcome.map(|outcome| {
                    let class = outcome.class.as_str().to_owned();
                    (class, outcome.code.as_str().to_owned())
                });
                self.outcome = outcome.or(self.outcome.take());
                let computed = self.chain.extend(&Link::of(entry, &action));
                if action.seq != entry.seq {
                    Err("its number is another one".to_owned())
                } else if follows && computed != entry.hash {
                    Err("its hash is not that of its bytes".to_owned())
                } else {
                    Ok(())
                }
            }
        };
        if let Err(why) = whole {
            self.mark(format!("entry {}: {why}", entry.seq));
        }
        let length = entry.seq.saturating_add(1);
        self.chain = Chain::resumed(self.chain.contract_hash(), entry.hash, length);
    }

    /// The first flaw, in words.
    pub(super) fn mark(&mut self, flaw: String) {
        self.flaw.get_or_insert(flaw);
    }

    /// The first flaw of what was read, which is all that there is to the run's end.
    pub(super) fn flaw(mut self, row: &RunRow) -> Option<String> {
        if self.chain.length() != row.length || self.chain.head() != row.head {
            self.mark("its row names another last entry".to_owned());
        }
        if row.outcome.is_some() && self.outcome != row.outcome {
            self.mark("its row names another outcome".to_owned());
        }
        self.flaw
    }
}
