//! The contracts that exploration walks through: small budgets, each with the letters that matter to it.

pub(super) mod contracts;
mod starts;
mod variant;

use super::Interrupter;
use super::testing::{reporting, target};
use super::tests_alphabet::{Does, Letter, Response, When};
use super::tests_letters::*;
use crate::contract::{BigCount, Terms, ToolPolicy, ToolProof};
use crate::message::ProviderFaultClass as Fault;

use Letter::{Fails, Interrupt, LastTool, Returns, ReturnsAt, ReturnsFor, Timer, Tool, ToolAt};
use contracts::*;
pub(super) use variant::Variant;

/// Every variant; the cheap and telling ones first.
pub(super) const VARIANTS: &[Variant] = &[
    Variant {
        name: "required, strict: what is said",
        terms: || small(ToolPolicy::Required),
        letters: &[
            BASE,
            PROSE,
            CALLS,
            WRONG,
            &[Tool(Does::TimesOut), Letter::Stop],
        ],
    },
    Variant {
        name: "optional: reports",
        terms: || Terms {
            max_turns: 3,
            ..reporting(loose(ToolPolicy::Optional))
        },
        letters: &[BASE, PROSE, REPORTS, &[Tool(Does::TimesOut), Letter::Stop]],
    },
    Variant {
        name: "required: reports",
        terms: || Terms {
            max_turns: 3,
            token_gate: false,
            ..reporting(small(ToolPolicy::Required))
        },
        letters: &[BASE, REPORTS, BESIDE_REPORTS],
    },
    Variant {
        name: "required, gated: reports",
        terms: || reporting(small(ToolPolicy::Required)),
        letters: &[
            BASE,
            REPORTS,
            &[Returns(Response::Reasoning), Tool(Does::TimesOut)],
        ],
    },
    Variant {
        name: "forbidden: reports",
        terms: || reporting(small(ToolPolicy::Forbidden)),
        letters: &[BASE, PROSE, REPORTS, &[Letter::Stop]],
    },
    Variant {
        name: "required, strict: life",
        terms: || small(ToolPolicy::Required),
        letters: &[BASE, LIFE, STALE, LATE, &[Returns(Response::ReadWrite)]],
    },
    Variant {
        name: "required, proof of success: tools",
        terms: || Terms {
            tool_proof: ToolProof::Succeeded,
            max_turns: 3,
            ..loose(ToolPolicy::Required)
        },
        letters: &[BASE, TOOLS, &[Returns(Response::ReadWrite), Letter::Stop]],
    },
    Variant {
        name: "optional: faults on two targets",
        terms: || Terms {
            targets: vec![target("script"), target("other")],
            max_attempts_per_turn: 3,
            max_inferences: 4 + more(),
            ..loose(ToolPolicy::Optional)
        },
        letters: &[
            BASE,
            FAULTS,
            &[
                Returns(Response::Refused),
                Returns(Response::Blank),
                Returns(Response::Rejected),
                Letter::Stop,
                Letter::LostWait,
            ],
        ],
    },
    Variant {
        name: "required: faults on one target",
        terms: || loose(ToolPolicy::Required),
        letters: &[
            BASE,
            FAULTS,
            &[
                Returns(Response::Refused),
                Returns(Response::Blank),
                Returns(Response::Cut),
                Returns(Response::Rejected),
            ],
        ],
    },
    Variant {
        name: "optional, loose: what is said",
        terms: || loose(ToolPolicy::Optional),
        letters: &[BASE, PROSE, CALLS, WRONG, &[Letter::Stop]],
    },
    Variant {
        name: "optional, one turn",
        terms: || Terms {
            max_turns: 1,
            ..small(ToolPolicy::Optional)
        },
        letters: &[BASE, PROSE, CALLS, WRONG, FAULTS, LIFE, STALE, LATE],
    },
    Variant {
        name: "forbidden",
        terms: || small(ToolPolicy::Forbidden),
        letters: &[BASE, PROSE, CALLS, WRONG, LIFE, STALE, LATE],
    },
    Variant {
        name: "forbidden, two targets: faults",
        terms: || Terms {
            targets: vec![target("script"), target("other")],
            ..small(ToolPolicy::Forbidden)
        },
        letters: &[BASE, PROSE, FAULTS, WRONG, LATE, &[Letter::Stop]],
    },
    Variant {
        name: "optional: prices",
        terms: || priced(ToolPolicy::Optional),
        letters: &[BASE, PRICED],
    },
    Variant {
        name: "optional: tokens and cost",
        terms: || dear(ToolPolicy::Optional),
        letters: &[
            BASE,
            DEAR,
            &[
                Fails(Fault::RateLimit),
                Letter::StaleAnswer,
                Letter::Stop,
                LastTool(Does::Ok),
                Returns(Response::ReadWrite),
            ],
        ],
    },
    Variant {
        name: "optional: context",
        terms: || {
            let mut terms = Terms {
                max_turns: 3,
                ..loose(ToolPolicy::Optional)
            };
            terms.context_budget.force_synthesis_at_ratio = 0.5;
            terms
        },
        letters: &[
            BASE,
            &[
                ReturnsFor(Response::Read, 49_900),
                ReturnsFor(Response::Read, 60_000),
                ReturnsFor(Response::ReadWrite, 98_900),
                ReturnsFor(Response::Blank, 60_000),
                Returns(Response::Reasoning),
                ReturnsFor(Response::Reasoning, 60_000),
                Tool(Does::Large),
                Tool(Does::TimesOut),
                Fails(Fault::ContextOverflow),
                Letter::Stop,
                Returns(Response::ReadWrite),
            ],
        ],
    },
    Variant {
        name: "required: context without a ratio",
        terms: || Terms {
            max_turns: 3,
            ..loose(ToolPolicy::Required)
        },
        letters: &[
            BASE,
            &[
                ReturnsFor(Response::Read, 98_900),
                ReturnsFor(Response::ReadWrite, 50_000),
                ReturnsFor(Response::Reasoning, 99_500),
                Tool(Does::Large),
                Tool(Does::TimesOut),
                Fails(Fault::ContextOverflow),
                Returns(Response::ReadWrite),
            ],
        ],
    },
    Variant {
        name: "optional: windows of two targets",
        terms: two_windows,
        letters: &[
            BASE,
            &[
                ReturnsFor(Response::Read, 57_900),
                ReturnsFor(Response::Read, 57_980),
                ReturnsFor(Response::Reasoning, 97_980),
                ReturnsFor(Response::Reasoning, 99_000),
                Tool(Does::Large),
                Fails(Fault::ContextOverflow),
                Returns(Response::Refused),
                Letter::Stop,
            ],
        ],
    },
    Variant {
        name: "optional: a first prompt that does not fit",
        terms: first_prompt_of_tools,
        letters: &[BASE, PROSE, LIFE, STALE],
    },
    Variant {
        name: "required: a first prompt that does not fit",
        terms: first_prompt,
        letters: &[BASE, LIFE, STALE],
    },
    Variant {
        name: "optional: a target that the first prompt does not fit",
        terms: || Terms {
            max_turns: 2,
            max_inferences: 3 + more(),
            ..three_targets()
        },
        letters: &[
            BASE,
            FAULTS,
            &[
                Letter::ProbeDead,
                Tool(Does::Large),
                Returns(Response::Refused),
            ],
        ],
    },
    Variant {
        name: "optional: invalid turns on two targets",
        terms: || Terms {
            targets: vec![target("script"), target("other")],
            max_turns: 5,
            max_invalid_turns: 2,
            max_inferences: 5 + more(),
            ..loose(ToolPolicy::Optional)
        },
        letters: &[
            BASE,
            &[
                Returns(Response::Unknown),
                Returns(Response::Invalid),
                Returns(Response::ReadUnknown),
                Returns(Response::Outside),
                Returns(Response::Reasoning),
                Returns(Response::Rejected),
                Letter::FailsUnknown,
                Letter::Stop,
            ],
        ],
    },
    Variant {
        name: "optional: faults behind an invalid turn and a dropped target",
        terms: three_targets,
        letters: &[
            BASE,
            &[
                Returns(Response::Unknown),
                Letter::LimitedFor(7_000),
                Letter::FailsUnknown,
                Letter::FailsPermanently,
            ],
        ],
    },
    Variant {
        name: "optional: refused parameters and holds on two targets",
        terms: refusing,
        letters: &[BASE, REFUSALS],
    },
    Variant {
        name: "required, strict: invalid turns and reports",
        terms: || Terms {
            max_turns: 4,
            max_invalid_turns: 2,
            max_inferences: 4 + more(),
            ..reporting(small(ToolPolicy::Required))
        },
        letters: &[
            BASE,
            REPORTS,
            &[
                Returns(Response::Unknown),
                Returns(Response::ReadInvalid),
                Returns(Response::Rejected),
                Returns(Response::BreachedUnknown),
                ReturnsAt(Response::Unknown, When::PastStep),
                Letter::Stop,
            ],
        ],
    },
    Variant {
        name: "optional: invalid turns and reports",
        terms: || Terms {
            max_turns: 5,
            max_invalid_turns: 2,
            max_inferences: 4 + more(),
            ..reporting(loose(ToolPolicy::Optional))
        },
        letters: &[
            BASE,
            &[
                Returns(Response::Unknown),
                Returns(Response::ReadUnknown),
                Returns(Response::ReportUnknown),
                Returns(Response::Report),
                Returns(Response::ReadReport),
                Letter::Stop,
            ],
        ],
    },
    Variant {
        name: "optional: suspended between calls",
        terms: || Terms {
            parallel_tool_calls: true,
            parallel_safe: vec!["read".to_owned()],
            idempotent: vec!["read".to_owned()],
            require_approval: vec!["write".to_owned()],
            max_inferences: 3 + more(),
            ..loose(ToolPolicy::Optional)
        },
        letters: &[
            BASE,
            LIFE,
            STALE,
            APPROVALS,
            &[
                Returns(Response::ReadRead),
                Returns(Response::ReadWrite),
                Returns(Response::WriteRead),
                Fails(Fault::RateLimit),
                LastTool(Does::Ok),
            ],
        ],
    },
    Variant {
        name: "optional: limits on calls, cycles",
        terms: limits,
        letters: &[BASE, CALLS, WRONG, &[LastTool(Does::Ok)]],
    },
    Variant {
        name: "required: cycles without exceptions",
        terms: || Terms {
            max_turns: 3,
            cycle_forbid: vec![("write".to_owned(), "read".to_owned())],
            ..loose(ToolPolicy::Required)
        },
        letters: &[BASE, CALLS, &[Letter::Stop]],
    },
    Variant {
        name: "optional, strict: flows that are denied",
        terms: flows_denied,
        letters: &[BASE, FLOWS, &[Tool(Does::Error), Tool(Does::Large)]],
    },
    Variant {
        name: "optional: flows that are asked about",
        terms: flows_asked,
        letters: &[BASE, FLOWS, APPROVALS, SUSPENSIONS],
    },
    Variant {
        name: "optional: side by side",
        terms: || Terms {
            parallel_tool_calls: true,
            parallel_safe: vec!["read".to_owned()],
            idempotent: vec!["read".to_owned()],
            max_tool_calls_per_turn: 3,
            max_inferences: 2 + more(),
            ..loose(ToolPolicy::Optional)
        },
        letters: &[
            BASE,
            TOOLS,
            &[
                Returns(Response::ReadRead),
                Returns(Response::Three),
                Letter::LostCall,
                Letter::Stop,
                Letter::Resumed,
                Letter::ResumedOther,
                Letter::StaleAnswer,
                Interrupt(Interrupter::Parent),
                Timer(When::PastTotal),
                ToolAt(Does::Ok, When::PastStep),
            ],
        ],
    },
    Variant {
        name: "optional: summaries, life",
        terms: summaries,
        letters: &[
            BASE,
            LIFE,
            SUMMARIES,
            &[
                ReturnsAt(Response::Text, When::PastStep),
                ToolAt(Does::TooLong, When::PastStep),
            ],
        ],
    },
    Variant {
        name: "optional: summaries, what is said",
        terms: summaries,
        letters: &[BASE, PROSE, SUMMARIES, STALE, &[Letter::Stop]],
    },
    Variant {
        name: "optional: summaries by the one target, reports",
        terms: summaries_by_the_target,
        letters: &[
            BASE,
            &[
                Tool(Does::TooLong),
                LastTool(Does::TooLong),
                LastTool(Does::Large),
                Returns(Response::ReadRead),
                Returns(Response::ReadReport),
                Returns(Response::ReadReportBad),
                Letter::FailsUnknown,
                Letter::Stop,
                Timer(When::PastStep),
            ],
        ],
    },
    Variant {
        name: "optional: questions of servers",
        terms: questions,
        letters: &[
            BASE,
            APPROVALS,
            LIFE,
            &[
                Returns(Response::ReadWrite),
                Returns(Response::Write),
                Tool(Does::Asks),
                Tool(Does::AsksWaiting),
                Tool(Does::TimesOut),
                Tool(Does::Malformed),
                ToolAt(Does::Asks, When::PastStep),
                ToolAt(Does::AsksWaiting, When::PastTotal),
            ],
        ],
    },
    Variant {
        name: "optional: questions of servers, and what is late",
        terms: questions,
        letters: &[BASE, STALE, ASKED],
    },
    Variant {
        name: "optional: servers that have a model asked",
        terms: sampling,
        letters: &[BASE, LIFE, STALE, SAMPLES],
    },
    Variant {
        name: "required: approval",
        terms: || Terms {
            require_approval: vec!["read".to_owned()],
            max_inferences: 3,
            max_tokens_consumed: BigCount(310),
            ..small(ToolPolicy::Required)
        },
        letters: &[
            BASE,
            APPROVALS,
            LIFE,
            STALE,
            LATE,
            &[
                Returns(Response::ReadWrite),
                Returns(Response::ReadRead),
                Tool(Does::TimesOut),
            ],
        ],
    },
    starts::EARLY,
    DELEGATING,
    PROVING,
    NOT_ALLOWED,
    GRANTED,
    LABELLED,
    INHERITING,
    starts::BY_RULE,
];
