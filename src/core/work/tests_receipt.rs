//! Receipt, result and statements of ended items: every field of 004's `RunResult`, and each contradiction that a receipt may hold.

use serde_json::{Value, json};

use super::testing::*;
use super::*;
use crate::transcript::{Envelope, EnvelopeError, SecretKey};

fn places() -> ResultPlaces {
    ResultPlaces {
        proof_script: Some("/state/work/r/replay-w.sh".to_owned()),
        receipt_path: "/state/work/r/RECEIPT.json".to_owned(),
        work_tree: "/tree".to_owned(),
    }
}

fn result(item: WorkItem, events: Vec<WorkEventKind>) -> Value {
    let result = RunResult::of_receipt(&receipt(item, events), places());
    serde_json::to_value(result).expect("JSON")
}

fn key() -> SecretKey {
    SecretKey::from_seed("local", &[1; 32]).expect("a key")
}

/// 004/3.result.1, 004/3.result.3, 004/3.result.7, 004/3.result.8, 004/3.metrics.1,
/// 004/3.metrics.2, 004/3.metrics.3, 004/3.metrics.4, 004/3.verification.2, 004/4.atomic.9,
/// 004/10.usage.2
#[test]
fn a_success_has_every_field_of_004_and_no_other() {
    let receipt = receipt(item(), success());
    let expect = json!({
        "status": "success",
        "receipt_id": receipt.id(),
        "receipt_path": "/state/work/r/RECEIPT.json",
        "modified_files": [],
        "created_files": ["/tree/f0"],
        "deleted_files": [],
        "output_hash": digest("after"),
        "artifact_hashes": {"/tree/f0": digest("content 0")},
        "metrics": {
            "execution_time_ms": 50,
            "tool_ops_count": 2,
            "delta_size": 1,
            "files_touched": 1,
            "tests_passed": 5,
            "tests_failed": 0,
        },
        "test_output": "the output",
        "proof_script": "/state/work/r/replay-w.sh",
    });
    assert_eq!(result(item(), success()), expect);
}

/// 004/3.result.4, 004/3.result.6
#[test]
fn modified_and_deleted_files_have_lists_and_folders_have_none() {
    let file = |text: &str| TreeNode::File {
        content: digest(text),
        mode: 0o644,
        size: 1,
    };
    let change = |text: &str, before, after| PathChange {
        after,
        before,
        path: path(text),
    };
    let mut capsule = changes(0);
    capsule.changes = vec![
        change("d", None, Some(TreeNode::Folder { mode: 0o755 })),
        change("f0", Some(file("old")), Some(file("new"))),
        change("f1", Some(file("old")), None),
    ];
    let compared = WorkEventKind::Compared(Box::new(capsule));
    let result = result(
        untested(),
        vec![prepared(), run_ended(1), compared, published()],
    );
    assert_eq!(result["modified_files"], json!(["/tree/f0"]));
    assert_eq!(result["created_files"], json!([]));
    assert_eq!(result["deleted_files"], json!(["/tree/f1"]));
    assert_eq!(
        result["artifact_hashes"],
        json!({"/tree/f0": digest("new")})
    );
    assert!(result.get("test_output").is_none());
    assert!(result["metrics"].get("tests_passed").is_none());
}

/// 004/3.result.1, 004/3.verification.4
#[test]
fn a_denial_has_its_reason_its_figures_and_the_tree_as_it_was() {
    let events = vec![prepared(), run_ended(2), compared(3)];
    let result = result(item(), events);
    assert_eq!(result["status"], "denied");
    assert_eq!(result["denial_reason"], "Exceeded max files: 3 > 2");
    assert!(result.get("error").is_none());
    assert_eq!(result["created_files"], json!([]));
    assert_eq!(result["output_hash"], json!(digest("before")));
    assert_eq!(result["metrics"]["files_touched"], 3);
}

/// 004/3.result.1, 004/3.verification.1, 004/3.verification.3, 004/10.usage.2
#[test]
fn a_failure_has_its_error_and_the_output_of_its_tests() {
    let events = vec![prepared(), run_ended(2), compared(1), tested(1)];
    let result = result(item(), events);
    assert_eq!(result["status"], "failure");
    assert_eq!(result["error"], "Tests failed");
    assert_eq!(result["test_output"], "the output");
    assert_eq!(result["metrics"]["tests_failed"], 1);
    assert!(result.get("denial_reason").is_none());
    assert_eq!(result["output_hash"], json!(digest("before")));
}

#[test]
fn a_path_that_is_not_utf8_is_written_in_its_text_form() {
    let mut capsule = changes(1);
    capsule.changes[0].path = WorkPath::from_bytes(b"a\xff").expect("a path");
    let compared = WorkEventKind::Compared(Box::new(capsule));
    let (work, _) = driven(
        untested(),
        vec![prepared(), run_ended(1), compared, published()],
    );
    let missing = Receipt::of_work(&work, &facts(), &place()).expect_err("no hash of it");
    assert_eq!(missing.to_string(), "no SHA-256 of a%FF");
    let mut facts = facts();
    facts.sha256 = [(path("a%FF"), "0".repeat(64))].into();
    let receipt = Receipt::of_work(&work, &facts, &place()).expect("every hash");
    let result = RunResult::of_receipt(&receipt.expect("an end"), places());
    assert_eq!(result.created_files, ["/tree/a%FF"]);
}

#[test]
fn an_item_that_has_not_ended_has_no_receipt() {
    let (work, _) = driven(item(), vec![prepared()]);
    assert_eq!(Receipt::of_work(&work, &facts(), &place()), Ok(None));
}

/// 004/4.atomic.8
#[test]
fn every_end_has_a_receipt_that_is_read_as_it_was_written() {
    let failed = || WorkEventKind::HostFailed {
        reason: "down".to_owned(),
    };
    let ends = [
        success(),
        vec![failed()],
        vec![prepared(), failed()],
        vec![prepared(), run_ended(1), compared(3)],
        vec![prepared(), run_ended(1), compared(1), tested(1)],
        vec![WorkEventKind::Refused(Denial::Duplicate {
            receipt_id: "r".to_owned(),
        })],
    ];
    for events in ends {
        let receipt = receipt(item(), events);
        assert_eq!(Receipt::parse(&receipt.to_bytes()), Ok(receipt));
    }
}

/// 004/3.result.2
#[test]
fn the_id_is_a_uuid_of_version_8_made_of_the_hash() {
    let receipt = receipt(item(), success());
    let id = receipt.id();
    let hash = receipt.hash().to_string();
    let lengths: Vec<_> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert_eq!(id[..8], hash[..8]);
    assert_eq!(&id[14..15], "8", "{id}");
    assert!("89ab".contains(&id[19..20]), "{id}");
    assert_eq!(id[24..], hash[20..32]);
}

#[test]
fn receipts_are_counted_and_each_names_the_one_before() {
    let (work, _) = driven(item(), success());
    let first = receipt(item(), success());
    assert_eq!((first.count, first.previous), (1, None));
    let later = ReceiptPlace {
        previous: Some((first.hash(), first.count)),
        ..place()
    };
    let second = Receipt::of_work(&work, &facts(), &later)
        .expect("every hash")
        .expect("an end");
    assert_eq!((second.count, second.previous), (2, Some(first.hash())));
}

/// Each change of a receipt that its signer made, and what is found.
#[test]
fn a_receipt_that_contradicts_itself_is_refused() {
    let check = |receipt: &Receipt, claim| {
        let error = Receipt::parse(&receipt.to_bytes());
        assert_eq!(error, Err(ReceiptError::Contradiction(claim)));
    };
    let sound = || receipt(item(), success());
    let mut changed = sound();
    changed.after = digest("another");
    check(&changed, "the tree hash afterwards");
    let mut changed = sound();
    changed.published = None;
    check(&changed, "only a success is published");
    let mut changed = sound();
    changed.tests = None;
    check(&changed, "a success has passed its tests");
    let mut changed = sound();
    changed.metrics.tool_ops_count = 1;
    check(&changed, "the metrics");
    let mut changed = sound();
    changed.item.constraints.max_files = 0;
    check(&changed, "a success is admitted");
    let mut changed = sound();
    changed.artifacts.clear();
    check(&changed, "the artifacts");
    let denied = || receipt(item(), vec![prepared(), run_ended(1), compared(3)]);
    let mut changed = denied();
    changed.end.denial = Some(Denial::MaxFiles { count: 4, limit: 2 });
    check(&changed, "the reason of the denial");
    let mut changed = denied();
    changed.end.denial = None;
    check(&changed, "a denial has a reason");
}

#[test]
fn bytes_that_are_no_receipt_are_refused_by_their_reason() {
    let receipt = receipt(item(), success());
    let text = String::from_utf8(receipt.to_bytes()).expect("UTF-8");
    let parse = |text: &str| Receipt::parse(text.as_bytes()).expect_err("an error");
    assert_eq!(parse(&format!(" {text}")), ReceiptError::Form);
    let got = "other/1".to_owned();
    assert_eq!(
        parse(&text.replace(RECEIPT_FORMAT, "other/1")),
        ReceiptError::Format { got }
    );
    assert!(matches!(parse("{"), ReceiptError::Syntax(_)));
    let unknown = text.replace("\"count\"", "\"counts\"");
    assert!(matches!(parse(&unknown), ReceiptError::Syntax(_)));
}

#[test]
fn a_signed_receipt_is_read_back_and_a_changed_subject_is_found() {
    let receipt = receipt(item(), success());
    let keys = [key().public()];
    let statement = Statement::of_receipt(&receipt);
    let verified = Statement::verified_receipt(&statement.sign(&key()), &keys);
    assert_eq!(verified, Ok(receipt.clone()));
    let mut changed = statement;
    changed.subject.pop();
    let verified = Statement::verified_receipt(&changed.sign(&key()), &keys);
    assert_eq!(verified, Err(StatementError::Subject));
    let other = Statement::provenance(&receipt).expect("artifacts");
    let verified = Statement::verified_receipt(&other.sign(&key()), &keys);
    let got = PROVENANCE_PREDICATE.to_owned();
    assert_eq!(verified, Err(StatementError::Predicate { got }));
}

#[test]
fn an_envelope_of_a_stranger_or_of_another_payload_is_no_statement() {
    let statement = Statement::of_receipt(&receipt(item(), success()));
    let stranger = SecretKey::from_seed("local", &[2; 32]).expect("a key");
    let verified = Statement::verify(&statement.sign(&key()), &[stranger.public()]);
    assert_eq!(
        verified,
        Err(StatementError::Envelope(EnvelopeError::Unsigned))
    );
    let envelope = Envelope::sign(STATEMENT_PAYLOAD, b"{}", &key());
    let verified = Statement::verify(&envelope, &[key().public()]);
    assert!(
        matches!(verified, Err(StatementError::Syntax(_))),
        "{verified:?}"
    );
}

/// <https://in-toto.io/Statement/v1>
#[test]
fn the_statement_names_the_receipt_and_every_artifact() {
    let receipt = receipt(item(), success());
    let statement = Statement::of_receipt(&receipt);
    assert!(statement.subject[0].is_receipt());
    let value = serde_json::to_value(&statement).expect("JSON");
    assert_eq!(value["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(value["predicateType"], RECEIPT_PREDICATE);
    let hash = receipt.hash().to_string();
    assert_eq!(value["subject"][0]["digest"]["blake3"], hash);
    let artifact = json!({
        "digest": {"blake3": digest("content 0"), "sha256": "0".repeat(64)},
        "name": "./f0",
    });
    assert_eq!(value["subject"][1], artifact);
    assert_eq!(value["predicate"]["format"], RECEIPT_FORMAT);
}

/// <https://slsa.dev/provenance/v1>
#[test]
fn provenance_names_the_item_the_contract_and_the_tree_before() {
    let receipt = receipt(item(), success());
    let statement = Statement::provenance(&receipt).expect("artifacts");
    let value = serde_json::to_value(statement).expect("JSON");
    assert_eq!(value["predicateType"], "https://slsa.dev/provenance/v1");
    let build = &value["predicate"]["buildDefinition"];
    assert_eq!(build["externalParameters"]["item"]["id"], "w");
    assert_eq!(build["internalParameters"]["agent_run"], "run-1");
    let inputs = &build["resolvedDependencies"];
    assert_eq!(inputs[0]["digest"]["blake3"], json!(digest("contract")));
    assert_eq!(
        inputs[1]["digest"]["monolithTreeV1"],
        json!(digest("before"))
    );
    let details = &value["predicate"]["runDetails"];
    assert_eq!(details["metadata"]["startedOn"], "2023-11-14T22:13:20.000Z");
    assert_eq!(
        details["metadata"]["finishedOn"],
        "2023-11-14T22:14:20.000Z"
    );
    assert_eq!(details["metadata"]["invocationId"], receipt.id());
    assert_eq!(details["builder"]["version"]["monolith"], "monolith test");
}

/// <https://in-toto.io/attestation/test-result/v0.1>
#[test]
fn a_test_result_is_about_the_tested_tree() {
    let statement = |code| {
        let events = vec![prepared(), run_ended(1), compared(1), tested(code)];
        let events = if code == 0 { success() } else { events };
        let statement = Statement::test_result(&receipt(item(), events)).expect("tests");
        serde_json::to_value(statement).expect("JSON")
    };
    let passed = statement(0);
    assert_eq!(
        passed["predicateType"],
        "https://in-toto.io/attestation/test-result/v0.1"
    );
    assert_eq!(passed["predicate"]["result"], "PASSED");
    assert_eq!(
        passed["predicate"]["configuration"][0]["annotations"]["passed"],
        5
    );
    let tree = json!([{"digest": {"monolithTreeV1": digest("after")}, "name": "work tree"}]);
    assert_eq!(passed["subject"], tree);
    assert_eq!(statement(1)["predicate"]["result"], "FAILED");
}

#[test]
fn what_did_not_happen_is_not_claimed() {
    let failed = receipt(
        item(),
        vec![prepared(), run_ended(1), compared(1), tested(1)],
    );
    assert_eq!(Statement::provenance(&failed), None);
    let denied = receipt(item(), vec![prepared(), run_ended(1), compared(3)]);
    assert_eq!(Statement::test_result(&denied), None);
}
