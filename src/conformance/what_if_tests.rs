//! A what-if under the same contract gives the recorded run: for every case, with and without reported usage.

use super::bring_up::{BringUp, bring_up};
use super::case::{Base, Case};
use super::drive::play;
use super::played::Played;
use super::script::{UsageText, What};
use super::source::Corpus;
use monolith_core::replay::WhatIf;
use monolith_testkit::depth::bound;

/// The usage report of every response of a case.
#[derive(Clone, Copy, Debug)]
enum Reports {
    AsWritten,
    Nothing,
    Something,
}

impl Reports {
    fn change(self, case: &mut Case) {
        let answers = case.script.iter_mut();
        for step in answers {
            if let What::Answer(answer) = &mut step.value.what {
                match self {
                    Self::AsWritten => {}
                    Self::Nothing => answer.usage = None,
                    Self::Something => {
                        answer.usage.get_or_insert(UsageText {
                            input: 40,
                            output: 7,
                            ..UsageText::default()
                        });
                    }
                }
            }
        }
    }
}

/// Everything in which the run differs from what it would have been under its own contract.
fn differences(played: &Played) -> Vec<String> {
    let contract = || (*played.contract).clone();
    let mut what_if = WhatIf::new(contract(), contract());
    for entry in &played.entries {
        what_if.take(entry, &played.blobs);
    }
    let report = what_if.finish();
    let mut found = Vec::new();
    found.extend(
        report
            .first_other_decision
            .map(|other| format!("{other:?}")),
    );
    found.extend(report.no_longer_fits.map(|end| format!("{end:?}")));
    if report.same_decisions != report.entries || !report.same_outcome {
        found.push(format!(
            "{} of {} entries, {:?} and {:?}",
            report.same_decisions, report.entries, report.recorded_outcome, report.outcome
        ));
    }
    found
}

#[test]
fn under_the_same_contract_everything_would_have_happened_as_it_did() {
    let corpus = Corpus::built_in();
    let base = Base::parse(&corpus.base).unwrap();
    let mut played = 0;
    for source in corpus.cases.iter().step_by(bound(4, 1)) {
        for reports in [Reports::AsWritten, Reports::Nothing, Reports::Something] {
            let Ok(mut case) = Case::parse(&source.id, &source.text) else {
                continue;
            };
            reports.change(&mut case);
            let id = &source.id;
            let Ok(BringUp::Made(brought_up)) = bring_up(id, &base, &case) else {
                continue;
            };
            // Other usage may end a run before its script does.
            let Ok(run) = play(id, &case, *brought_up) else {
                assert!(!matches!(reports, Reports::AsWritten), "{id} does not play");
                continue;
            };
            if run.replayable {
                played += 1;
                let found = differences(&run);
                assert!(found.is_empty(), "{id}, {reports:?}: {found:#?}");
            }
        }
    }
    assert!(
        played > bound(375, 1_500),
        "only {played} runs were compared"
    );
}
