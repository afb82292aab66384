//! The addresses of a run's servers, and their statements about themselves. Does not know requests.

use crate::kernel::{BringUpFault, InferenceReturned, ProviderAddress, Resumed, RunStarted};
use crate::message::{NamedText, ServedBy, ServerConfinement, ToolServerStatement};

/// The address of a provider, if the contract gives it by a variable's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressFrom {
    /// The provider, and its address.
    pub is: ProviderAddress,
    /// The entry from which on it was there.
    pub seq: u64,
}

/// The statement of a model server about itself in its answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerFrom {
    /// The headers in which it says what it is.
    pub headers: Vec<NamedText>,
    /// The first entry with an answer that says so, where the one before of that target said something else.
    pub seq: u64,
    /// The statement in the answer itself.
    pub served_by: Option<ServedBy>,
    /// Index of the target.
    pub target: u32,
}

/// The statement of a tool server at its introduction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServerFrom {
    /// The statement.
    pub said: ToolServerStatement,
    /// The entry from which on it was so.
    pub seq: u64,
}

/// The difference between a tool server's offer and the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServerDiffers {
    /// The server, and what differs.
    pub is: BringUpFault,
    /// The entry from which on it was so.
    pub seq: u64,
}

/// The confinement of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinedFrom {
    /// The program, and the decision on it.
    pub is: ServerConfinement,
    /// The entry from which on it was so.
    pub seq: u64,
}

/// The known facts about a run's servers: for each, one value per change, in the order of the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Servers {
    pub(super) addresses: Vec<AddressFrom>,
    pub(super) answers: Vec<AnswerFrom>,
    pub(super) confined: Vec<ConfinedFrom>,
    pub(super) differing: Vec<ToolServerDiffers>,
    pub(super) statements: Vec<ToolServerFrom>,
}

impl Servers {
    /// Takes the start of the run, in the entry `seq`.
    pub(super) fn started(&mut self, seq: u64, started: &RunStarted) {
        self.take(seq, &started.addresses, &started.tool_servers);
        self.confine(seq, &started.confinement);
    }

    /// Applies the entry `seq`, in which a process resumes the run.
    pub(super) fn resumed(&mut self, seq: u64, resumed: &Resumed) {
        self.take(seq, &resumed.addresses, &resumed.tool_servers);
        self.differ(seq, &resumed.bring_up);
        self.confine(seq, &resumed.confinement);
    }

    /// Takes where providers are from the entry `seq` on, and what tool servers say.
    fn take(
        &mut self,
        seq: u64,
        addresses: &[ProviderAddress],
        introduced: &[ToolServerStatement],
    ) {
        for is in addresses {
            let mut known = self.addresses.iter().rev();
            let last = known.find(|known| known.is.provider == is.provider);
            if last.is_none_or(|last| last.is != *is) {
                self.addresses.push(AddressFrom {
                    is: is.clone(),
                    seq,
                });
            }
        }
        for said in introduced {
            let mut known = self.statements.iter().rev();
            let last = known.find(|known| known.said.server == said.server);
            if last.is_none_or(|last| last.said != *said) {
                self.statements.push(ToolServerFrom {
                    said: said.clone(),
                    seq,
                });
            }
        }
    }

    /// Takes the confinement of programs from the entry `seq` on.
    fn confine(&mut self, seq: u64, confinement: &[ServerConfinement]) {
        for is in confinement {
            let mut known = self.confined.iter().rev();
            let last = known.find(|known| known.is.server == is.server);
            if last.is_none_or(|last| last.is != *is) {
                self.confined.push(ConfinedFrom {
                    is: is.clone(),
                    seq,
                });
            }
        }
    }

    /// Takes what tool servers offer otherwise from the entry `seq` on.
    fn differ(&mut self, seq: u64, differing: &[BringUpFault]) {
        for is in differing {
            let mut known = self.differing.iter().rev();
            let last = known.find(|known| known.is.server == is.server);
            if last.is_none_or(|last| last.is != *is) {
                self.differing.push(ToolServerDiffers {
                    is: is.clone(),
                    seq,
                });
            }
        }
    }

    /// Takes what the server of a target says of itself in the response of the entry `seq`, where that is new.
    pub(super) fn answered(&mut self, seq: u64, target: u32, returned: &InferenceReturned) {
        let (headers, served_by) = (&returned.server_headers, &returned.result.served_by);
        let mut known = self.answers.iter().rev();
        let same = match known.find(|known| known.target == target) {
            Some(last) => last.headers == *headers && last.served_by == *served_by,
            None => headers.is_empty() && served_by.is_none(),
        };
        if !same {
            self.answers.push(AnswerFrom {
                headers: headers.clone(),
                seq,
                served_by: served_by.clone(),
                target,
            });
        }
    }
}
