//! The text that a person signs who answers a call that waits, and whether a signature under it holds. Does not know whose answers
//! count.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::{PublicKey, SecretKey};
use crate::kernel::{Answerer, Approval};
use crate::message::{Digest, ObjectText};

/// The first line of the text; the number is its version.
const FIRST_LINE: &str = "monolith/answer/1";

/// The fault of a signed answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{rule}")]
pub struct AnswerFault {
    pub rule: &'static str,
}

impl Approval {
    /// The text that is signed: the run by the hash of its first entry, the call, its arguments and the decision; of what a person wrote
    /// the hashes, so that no line can be made of it.
    fn signed_text(&self, first_entry: Digest, approved: bool) -> String {
        let hash = |text: Option<&str>| {
            text.map_or_else(|| "-".to_owned(), |t| Digest::of(t.as_bytes()).to_string())
        };
        let content = hash(self.content.as_ref().map(ObjectText::as_str));
        let proposal = hash(self.proposal.as_ref().map(ObjectText::as_str));
        let reason = hash(self.reason.as_deref());
        let decision = if approved { "allowed" } else { "denied" };
        format!(
            "{FIRST_LINE}\nrun {first_entry}\ncall {}\narguments {}\n{decision}\ncontent {content}\nproposal {proposal}\nreason {reason}\n",
            self.call.0, self.arguments_hash
        )
    }

    /// Signs it and replaces any earlier signature.
    pub fn sign(&mut self, key: &SecretKey, first_entry: Digest, approved: bool) {
        let note = key.sign(self.signed_text(first_entry, approved));
        let signature = note.signatures.first().map(|signed| &signed.bytes);
        self.answerer = signature.map(|bytes| Answerer {
            key: key.public().to_string(),
            signature: BASE64.encode(bytes),
        });
    }

    /// Checks its signature, where it has one.
    ///
    /// # Errors
    /// The key or the signature is none, or does not hold over this answer to that run.
    pub fn check_signature(&self, first_entry: Digest, approved: bool) -> Result<(), AnswerFault> {
        let Some(answerer) = &self.answerer else {
            return Ok(());
        };
        let refuse = |rule| AnswerFault { rule };
        let key: PublicKey = answerer
            .key
            .parse()
            .map_err(|_| refuse("the key of its signature is no public key"))?;
        let bytes = BASE64
            .decode(&answerer.signature)
            .map_err(|_| refuse("its signature is no base64"))?;
        let text = self.signed_text(first_entry, approved);
        if key.cosigns() || !key.accepts(&text, &bytes) {
            return Err(refuse("its signature does not hold"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CallSeq;

    fn signed() -> (Approval, Digest) {
        let key = SecretKey::from_seed("anna", &[3; 32]).unwrap();
        let first = Digest::of(b"first");
        let mut answer = Approval {
            reason: Some("not today\n".to_owned()),
            ..Approval::to(CallSeq(2), Digest::of(b"{}"))
        };
        answer.sign(&key, first, false);
        (answer, first)
    }

    #[test]
    fn a_signature_holds_over_this_answer_to_this_run_and_over_no_other() {
        let (answer, first) = signed();
        assert_eq!(answer.check_signature(first, false), Ok(()));
        let not = |answer: Approval, first, approved| {
            let fault = answer.check_signature(first, approved).unwrap_err();
            assert_eq!(fault.rule, "its signature does not hold", "{answer:?}");
        };
        not(answer.clone(), first, true);
        not(answer.clone(), Digest::of(b"another run"), false);
        let changed = |change: fn(&mut Approval)| {
            let mut other = answer.clone();
            change(&mut other);
            not(other, first, false);
        };
        changed(|a| a.call = CallSeq(3));
        changed(|a| a.arguments_hash = Digest::of(b"{ }"));
        changed(|a| a.reason = Some("not today".to_owned()));
        changed(|a| a.reason = None);
        changed(|a| a.proposal = Some(ObjectText::empty()));
        changed(|a| a.content = Some(ObjectText::empty()));
    }

    #[test]
    fn a_signature_by_another_key_in_the_name_of_this_one_does_not_hold() {
        let (mut answer, first) = signed();
        let other = SecretKey::from_seed("anna", &[4; 32]).unwrap();
        let key = answer.answerer.clone().unwrap().key;
        answer.sign(&other, first, false);
        let signature = answer.answerer.clone().unwrap().signature;
        answer.answerer = Some(Answerer { key, signature });
        assert!(answer.check_signature(first, false).is_err());
        for (key, signature) in [("anna", "AA=="), ("anna+00000000+AQ==", "AA==")] {
            answer.answerer = Some(Answerer {
                key: key.to_owned(),
                signature: signature.to_owned(),
            });
            assert!(answer.check_signature(first, false).is_err(), "{key}");
        }
    }

    #[test]
    fn an_unsigned_answer_is_none_that_does_not_hold() {
        let answer = Approval::to(CallSeq(1), Digest::ZERO);
        assert_eq!(answer.check_signature(Digest::ZERO, true), Ok(()));
    }
}
