//! A result that is too large, summarised by a model: with the real driver and store, cut at every boundary and resumed.

use super::tests::{Watcher, call, end, replay, run, say};
use super::tests_resume::{batches, cut, lost, replays, request, resume, stored};
use monolith_core::kernel::LostEffect;
use monolith_core::message::InferenceSeq;

const SETS: [&str; 3] = [
    "idempotent=[read_file]",
    "tool_output_budget.max_bytes_per_call=100",
    "tool_output_budget.summarizer_model=demo/small",
];
const TOLD: &str = "[SUMMARY] Original size 5000 bytes; summarized to 12 bytes.\nIt says MIT.";

#[tokio::test]
async fn a_large_result_is_summarised_by_its_model_and_survives_every_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    std::fs::write(folder.join("big.txt"), "MIT, ".repeat(1_000)).expect("written");
    let script = [
        call("read_file", r#"{"path":"big.txt"}"#),
        say("It says MIT."),
        say("MIT"),
    ];
    let whole = run(folder, &script, &SETS, Watcher::default()).await;
    assert_eq!(end(&whole), "COMPLETED_WITH_TOOLS (final_message)");
    assert_eq!(whole.run.counters().inferences, 3);
    assert_eq!(whole.run.conversation()[2].content, TOLD);
    let report = replay(folder, &whole);
    assert!(report.same, "{:#?}", report.first_difference);

    let from = folder.join("runs.db");
    let mut summaries_lost = 0;
    for kept in 1..batches(&stored(&from)).len() {
        let to = folder.join(format!("cut-{kept}.db"));
        cut(&from, &to, kept).await;
        let resumed = resume(&to, request(folder, &SETS)).await.expect("resumed");
        let expect = "COMPLETED_WITH_TOOLS (final_message)";
        assert_eq!(end(&resumed), expect, "cut after batch {kept}");
        assert!(replays(&to));
        let observed = &resumed.run.conversation()[2].content;
        let lost = lost(&stored(&to));
        // It is not asked for again: the cut is shown, and the script goes on with its next record.
        if lost.contains(&LostEffect::Inference(InferenceSeq(2)))
            && observed.starts_with("[TRUNCATED]")
        {
            summaries_lost += 1;
        } else {
            assert_eq!(observed, TOLD, "cut after batch {kept}");
        }
    }
    assert_eq!(summaries_lost, 1);
}
