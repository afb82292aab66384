//! The claims about an item that other tools read: in-toto Statements v1 in signed envelopes. A function of the receipt.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Receipt, ReceiptError, WorkStatus};
use crate::message::rfc3339;
use crate::transcript::{Envelope, EnvelopeError, PublicKey, SecretKey};

/// The payload type of a statement's envelope.
pub const STATEMENT_PAYLOAD: &str = "application/vnd.in-toto+json";
/// The predicate type of a receipt.
pub const RECEIPT_PREDICATE: &str = "urn:monolith:work-receipt:1";
/// The type of SLSA's predicate.
pub const PROVENANCE_PREDICATE: &str = "https://slsa.dev/provenance/v1";
/// The type of the predicate of test results.
pub const TEST_RESULT_PREDICATE: &str = "https://in-toto.io/attestation/test-result/v0.1";

const STATEMENT: &str = "https://in-toto.io/Statement/v1";
/// The name of the receipt among subjects.
const RECEIPT_NAME: &str = "RECEIPT.json";
/// The name of the tree among subjects, and the name of its digest's algorithm, which is not plain BLAKE3.
const TREE: (&str, &str) = ("work tree", "monolithTreeV1");
/// SLSA's type of a build: its parameters are an item and a contract.
const BUILD_TYPE: &str = "urn:monolith:work-item:1";
/// SLSA's id of the builder.
const BUILDER: &str = "urn:monolith:work";

/// An in-toto Statement v1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    #[serde(rename = "_type")]
    of_type: String,
    /// The claim.
    pub predicate: Value,
    /// The type of the claim, a URI.
    #[serde(rename = "predicateType")]
    pub predicate_type: String,
    /// The things that it is about.
    pub subject: Vec<Subject>,
}

/// A subject of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Hex digests by algorithm.
    pub digest: BTreeMap<String, String>,
    /// A path of the work tree that begins with `./`, `RECEIPT.json`, or `work tree`.
    pub name: String,
}

/// The reason that an envelope is no statement about a receipt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// The envelope.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The signed bytes are no statement.
    #[error("the signed payload is not an in-toto Statement v1: {0}")]
    Syntax(String),
    /// The statement has another predicate.
    #[error("predicate type {got:?} is not {RECEIPT_PREDICATE:?}")]
    Predicate {
        /// Its type.
        got: String,
    },
    /// The receipt in it.
    #[error(transparent)]
    Receipt(#[from] ReceiptError),
    /// The subjects are not those of the receipt.
    #[error("the subjects of the statement are not those of its receipt")]
    Subject,
}

impl Statement {
    /// The statement that holds the whole receipt. Its subjects are the receipt and the artifacts.
    #[must_use]
    pub fn of_receipt(receipt: &Receipt) -> Self {
        let bytes = receipt.to_bytes();
        let mut subject = vec![Subject::new(
            RECEIPT_NAME,
            &[
                ("blake3", receipt.hash().to_string()),
                ("sha256", sha256(&bytes)),
            ],
        )];
        subject.extend(artifacts(receipt));
        let predicate = serde_json::from_slice(&bytes).unwrap_or_default();
        Self::new(RECEIPT_PREDICATE, predicate, subject)
    }

    /// SLSA Provenance v1 of the artifacts; none without any.
    #[must_use]
    pub fn provenance(receipt: &Receipt) -> Option<Self> {
        let subject: Vec<_> = artifacts(receipt).collect();
        if subject.is_empty() || receipt.end.status != WorkStatus::Success {
            return None;
        }
        let run = receipt.run.as_ref().map(|run| run.run_id.as_str());
        let predicate = json!({
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"item": receipt.item},
                "internalParameters": {"agent_run": run},
                "resolvedDependencies": [
                    {"digest": {"blake3": receipt.contract_hash}, "name": "contract"},
                    {"digest": {(TREE.1): receipt.before}, "name": TREE.0},
                ],
            },
            "runDetails": {
                "builder": {"id": BUILDER, "version": {"monolith": receipt.toolchain}},
                "byproducts": [{"digest": {"blake3": receipt.hash()}, "name": RECEIPT_NAME}],
                "metadata": {
                    "finishedOn": rfc3339(receipt.finished_unix_ms),
                    "invocationId": receipt.id(),
                    "startedOn": rfc3339(receipt.started_unix_ms),
                },
            },
        });
        Some(Self::new(PROVENANCE_PREDICATE, predicate, subject))
    }

    /// Test Result v0.1 of the tested tree; none if no test command ran.
    #[must_use]
    pub fn test_result(receipt: &Receipt) -> Option<Self> {
        let (tests, capsule) = (receipt.tests.as_ref()?, receipt.capsule.as_ref()?);
        let command = receipt.item.test_command.as_deref()?;
        let counts = json!({
            "exit_code": tests.exit_code,
            "failed": tests.failed,
            "output_blake3": tests.output_digest,
            "passed": tests.passed,
        });
        let predicate = json!({
            "configuration": [{
                "annotations": counts,
                "digest": {"sha256": sha256(command.as_bytes())},
                "name": "test_command",
            }],
            "result": if tests.is_pass() { "PASSED" } else { "FAILED" },
        });
        let tree = Subject::new(TREE.0, &[(TREE.1, capsule.output_hash.to_string())]);
        Some(Self::new(TEST_RESULT_PREDICATE, predicate, vec![tree]))
    }

    /// The signed envelope.
    #[must_use]
    pub fn sign(&self, key: &SecretKey) -> Envelope {
        let payload = serde_json_canonicalizer::to_vec(self).unwrap_or_default();
        Envelope::sign(STATEMENT_PAYLOAD, &payload, key)
    }

    /// Reads a statement that one of the keys signed.
    ///
    /// # Errors
    /// [`StatementError::Envelope`] or [`StatementError::Syntax`]
    pub fn verify(envelope: &Envelope, keys: &[PublicKey]) -> Result<Self, StatementError> {
        let payload = envelope.verify(STATEMENT_PAYLOAD, keys)?;
        let read: Self = serde_json::from_slice(&payload)
            .map_err(|error| StatementError::Syntax(error.to_string()))?;
        if read.of_type != STATEMENT {
            return Err(StatementError::Syntax(format!("_type {:?}", read.of_type)));
        }
        Ok(read)
    }

    /// Reads the receipt that one of the keys signed.
    ///
    /// # Errors
    /// [`StatementError`]
    pub fn verified_receipt(
        envelope: &Envelope,
        keys: &[PublicKey],
    ) -> Result<Receipt, StatementError> {
        let read = Self::verify(envelope, keys)?;
        if read.predicate_type != RECEIPT_PREDICATE {
            let got = read.predicate_type;
            return Err(StatementError::Predicate { got });
        }
        let bytes = serde_json_canonicalizer::to_vec(&read.predicate).unwrap_or_default();
        let receipt = Receipt::parse(&bytes)?;
        if Self::of_receipt(&receipt).subject == read.subject {
            Ok(receipt)
        } else {
            Err(StatementError::Subject)
        }
    }

    fn new(predicate_type: &str, predicate: Value, subject: Vec<Subject>) -> Self {
        Self {
            of_type: STATEMENT.to_owned(),
            predicate,
            predicate_type: predicate_type.to_owned(),
            subject,
        }
    }
}

impl Subject {
    fn new(name: &str, digests: &[(&str, String)]) -> Self {
        let digest = digests
            .iter()
            .map(|(algorithm, hex)| ((*algorithm).to_owned(), hex.clone()));
        Self {
            digest: digest.collect(),
            name: name.to_owned(),
        }
    }

    /// True for RECEIPT.json.
    #[must_use]
    pub fn is_receipt(&self) -> bool {
        self.name == RECEIPT_NAME && self.digest.contains_key("blake3")
    }
}

/// The created and modified files. Their names begin with `./`, so none is that of the receipt.
fn artifacts(receipt: &Receipt) -> impl Iterator<Item = Subject> {
    receipt.artifacts.iter().map(|(path, artifact)| {
        let digests = [
            ("blake3", artifact.blake3.to_string()),
            ("sha256", artifact.sha256.clone()),
        ];
        Subject::new(&format!("./{path}"), &digests)
    })
}

/// Lower-case hex, 64 characters.
fn sha256(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in <[u8; 32]>::from(Sha256::digest(bytes)) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
