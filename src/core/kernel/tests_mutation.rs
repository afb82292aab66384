//! Each guard, and each pair of guards, is taken away: then some property must fail, or the guard guards nothing.

use std::collections::BTreeMap;

use super::guard::Guard;
use super::guard::mutation::without;
use super::tests_alphabet::Letter;
use super::tests_explore::{Watched, explore};
use super::tests_variants::{VARIANTS, Variant};
use monolith_testkit::depth::bound;

/// The variant that shows each guard's absence soonest.
const REVEALING: &[(&str, &[Guard])] = &[
    (
        "required, strict: what is said",
        &[
            Guard::Interrupted,
            Guard::TotalTimeout,
            Guard::StepTimeout,
            Guard::GateBreached,
            Guard::ToolNotAllowed,
            Guard::RequiredProof,
            Guard::FormatRetries,
            Guard::Refused,
            Guard::ProviderAttempts,
            Guard::RequiredAttempts,
            Guard::StrictRecovered,
            Guard::StrictRefuses,
            Guard::ExcessCalls,
            Guard::ClosingWithholds,
            Guard::StopStartsNothing,
            Guard::Stop,
            Guard::ClosingProof,
            Guard::ClosingSpent,
            Guard::LastTurn,
            Guard::AttemptLimit,
            Guard::BlankResponse,
            Guard::CutResponse,
            Guard::UnknownStop,
            Guard::RefusedResponse,
        ],
    ),
    (
        "optional: reports",
        &[
            Guard::ReportAttempts,
            Guard::PlainText,
            Guard::ReportFailed,
            Guard::ReportOnly,
        ],
    ),
    ("required: reports", &[Guard::ReportProof]),
    (
        "required, strict: life",
        &[
            Guard::ContractMutated,
            Guard::MaxResumes,
            Guard::NextInference,
            Guard::ValidateHead,
        ],
    ),
    (
        "required, proof of success: tools",
        &[Guard::MalformedEnvelope, Guard::ResultFit],
    ),
    (
        "optional: faults on two targets",
        &[Guard::FatalProviderFault],
    ),
    ("forbidden", &[Guard::ForbiddenCall]),
    (
        "optional: invalid turns on two targets",
        &[Guard::InvalidTurns, Guard::NoTargetLeft],
    ),
    (
        "optional: refused parameters and holds on two targets",
        &[Guard::WaitFits],
    ),
    (
        "required: a first prompt that does not fit",
        &[Guard::FirstRequestFits],
    ),
    ("optional: suspended between calls", &[Guard::Suspended]),
    (
        "optional: calls that start before their message is complete",
        &[Guard::EarlyReads, Guard::EarlyUnchanged],
    ),
    (
        "optional: tokens and cost",
        &[
            Guard::TokensExceeded,
            Guard::CostExceeded,
            Guard::NextTokens,
        ],
    ),
    ("optional, loose: what is said", &[Guard::UnreadableCall]),
    ("optional: prices", &[Guard::NextCost]),
    ("optional: context", &[Guard::ContextRatio]),
    ("required: context without a ratio", &[Guard::ContextFit]),
    (
        "optional: limits on calls, cycles",
        &[Guard::CallLimit, Guard::IdenticalCalls],
    ),
    (
        "optional: rules about calls, signed answers",
        &[Guard::RuleDenies, Guard::RuleAsks, Guard::Approvers],
    ),
    (
        "required: cycles without exceptions",
        &[Guard::CycleForbidden],
    ),
    (
        "optional, strict: flows that are denied",
        &[Guard::FlowDenied],
    ),
    ("optional: flows that are asked about", &[Guard::FlowAsked]),
    (
        "optional: flows from reports of agents",
        &[Guard::FlowReport],
    ),
    (
        "optional: flows from what a run inherits",
        &[Guard::FlowHandedDown, Guard::FlowInherited],
    ),
    (
        "optional: agents",
        &[Guard::DelegationBudget, Guard::DelegationReserve],
    ),
    (
        "optional: agents that may not be called",
        &[Guard::DelegationChain, Guard::DelegationDepth],
    ),
    ("optional: a granted budget", &[Guard::GrantWorstCase]),
];

fn revealing(guard: Guard) -> &'static str {
    let row = REVEALING.iter().find(|(_, guards)| guards.contains(&guard));
    row.map_or("", |(variant, _)| *variant)
}

/// The place where a guard's absence shows, and the letters before it.
struct Witness {
    variant: &'static Variant,
    path: Vec<Letter>,
}

/// Explores with `guards` taken away, the variants of `first` before the others.
fn exposed(guards: &[Guard], first: &[&str]) -> Option<Witness> {
    let ahead = VARIANTS.iter().filter(|v| first.contains(&v.name));
    let rest = VARIANTS.iter().filter(|v| !first.contains(&v.name));
    without(guards, || {
        ahead.chain(rest).find_map(|variant| {
            let breach = explore(variant).err()?;
            println!(
                "{guards:?}: {}: {} after {:?}",
                variant.name, breach.words, breach.path
            );
            Some(Witness {
                variant,
                path: breach.path,
            })
        })
    })
}

/// True if the letters of a witness also show the absence of `guards`.
fn shows(witness: &Witness, guards: &[Guard]) -> bool {
    without(guards, || {
        let mut node = Watched::new(witness.variant);
        for letter in &witness.path {
            match node.take(*letter) {
                Some(Ok((next, _))) => node = next,
                Some(Err(_)) => return true,
                None => return false,
            }
        }
        false
    })
}

#[test]
fn no_guard_and_no_pair_of_guards_can_be_taken_away_unseen() {
    let mut witnesses = BTreeMap::new();
    let mut unseen = Vec::new();
    for guard in Guard::ALL {
        match exposed(&[*guard], &[revealing(*guard)]) {
            Some(witness) => {
                witnesses.insert(*guard, witness);
            }
            None => unseen.push(vec![*guard]),
        }
    }
    let mut pairs = 0_usize;
    for (i, one) in Guard::ALL.iter().enumerate() {
        for other in &Guard::ALL[i + 1..] {
            pairs += 1;
            if !pairs.is_multiple_of(bound(5, 1)) {
                continue;
            }
            let pair = [*one, *other];
            let known = pair.iter().filter_map(|guard| witnesses.get(guard));
            let first = [revealing(*one), revealing(*other)];
            if !known.clone().any(|w| shows(w, &pair)) && exposed(&pair, &first).is_none() {
                unseen.push(pair.to_vec());
            }
        }
    }
    assert!(unseen.is_empty(), "nothing fails without any of {unseen:?}");
}
