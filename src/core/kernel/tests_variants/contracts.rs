//! The contracts that variants share, or that are long.

use std::collections::BTreeMap;

use super::super::testing::{reporting, target, terms};
use super::super::tests_filter::rule;
use super::super::tests_letters::APPROVER;
use super::*;
use crate::contract::{
    AGENT_PREFIX, AGENTS, AgentId, AgentLink, ApprovalAction, BigCount, CycleException,
    DelegateTerms, DelegationTerms, FlowAction, FlowRule, Label, LabelRule, ModelPrice, PriceTable,
    ServerKind, ServerTerms, TargetTerms, Terms, ToolPolicy, ToolProof,
};
use crate::message::Digest;

/// `MONOLITH_EXPLORE_MORE=n` lets every variant make n inferences more; the number of states multiplies with each.
pub(super) fn more() -> u64 {
    std::env::var("MONOLITH_EXPLORE_MORE").map_or(0, |n| n.parse().expect("a number"))
}

pub(super) fn small(policy: ToolPolicy) -> Terms {
    Terms {
        max_turns: 2,
        max_attempts_per_turn: 2,
        max_inferences: 3 + more(),
        max_format_retries: 1,
        max_tool_calls_per_turn: 2,
        max_resumes: 1,
        ..terms(policy)
    }
}

pub(super) fn loose(policy: ToolPolicy) -> Terms {
    Terms {
        strict_mode: false,
        ..small(policy)
    }
}

pub(super) fn dear(policy: ToolPolicy) -> Terms {
    Terms {
        max_tokens_consumed: BigCount(400),
        max_cost_micro_usd: Some(BigCount(5)),
        ..loose(policy)
    }
}

/// A contract whose model has a price: a prompt of 100 tokens costs two, and one at least where the cache holds it.
pub(in crate::kernel) fn priced(policy: ToolPolicy) -> Terms {
    let price = ModelPrice {
        cache_read_pico_usd: BigCount(10_000),
        cache_write_pico_usd: BigCount(30_000),
        input_pico_usd: BigCount(20_000),
        output_pico_usd: BigCount(40_000),
    };
    let terms = dear(policy);
    let target = &terms.targets[0];
    let models = BTreeMap::from([(target.model.clone(), price)]);
    Terms {
        max_tokens_consumed: BigCount(1_000_000),
        prices: Some(PriceTable {
            models: BTreeMap::from([(target.provider.clone(), models)]),
            version: "1".to_owned(),
        }),
        ..terms
    }
}

/// A contract with two targets, whose author stated the limit of the first one's answers.
pub(super) fn refusing() -> Terms {
    let mut terms = Terms {
        max_attempts_per_turn: 3,
        max_inferences: 4 + more(),
        targets: vec![target("script"), target("other")],
        ..small(ToolPolicy::Optional)
    };
    let defaulted = &mut terms.targets[1].sampling.defaulted;
    defaulted.push("max_output_tokens".to_owned());
    terms
}

/// The same contract whose tools of these names are agents: letters call them so.
pub(in crate::kernel) fn with_agents(names: &[&str], mut terms: Terms) -> Terms {
    let renamed = |name: &mut String| {
        if names.contains(&name.as_str()) {
            *name = format!("{AGENT_PREFIX}{name}");
        }
    };
    for tool in &mut terms.tools {
        renamed(&mut tool.name);
        if tool.name.starts_with(AGENT_PREFIX) {
            tool.origin = AGENTS.to_owned();
        }
    }
    terms.tools.sort_by(|one, other| one.name.cmp(&other.name));
    let lists = [&mut terms.parallel_safe, &mut terms.require_approval];
    let allowed = terms.allowed_tools.iter_mut();
    lists.into_iter().chain(allowed).flatten().for_each(renamed);
    let server = ServerTerms {
        available: true,
        kind: ServerKind::Agents,
        ..ServerTerms::builtin()
    };
    terms.servers.insert(AGENTS.to_owned(), server);
    terms
}

/// A contract whose tool `read` is an agent; `write` is another one, whose file states its limits.
pub(super) fn delegating() -> Terms {
    let terms = Terms {
        agents: BTreeMap::from([
            ("agent__read".to_owned(), agent("read")),
            (
                "agent__write".to_owned(),
                DelegateTerms {
                    max_cost_micro_usd: Some(BigCount(2)),
                    max_tokens_consumed: Some(BigCount(120)),
                    ..agent("write")
                },
            ),
        ]),
        delegation: Some(below_none(5)),
        max_cost_micro_usd: Some(BigCount(10)),
        max_tokens_consumed: BigCount(400),
        max_inferences: 2 + more(),
        max_tool_calls_per_turn: 3,
        parallel_tool_calls: true,
        parallel_safe: vec!["read".to_owned()],
        ..loose(ToolPolicy::Optional)
    };
    with_agents(&["read", "write"], terms)
}

/// The contract of an agent's run, whose grant allows a few answers of 1,000 tokens, and not all that it may ask for.
pub(super) fn granted() -> Terms {
    let mut delegation = below_none(5);
    delegation.chain.push(AgentLink {
        digest: Digest::of(b"scout"),
        id: None,
        name: "scout".to_owned(),
    });
    Terms {
        delegation: Some(delegation),
        max_cost_micro_usd: Some(BigCount(45)),
        max_tokens_consumed: BigCount(1_150),
        ..priced(ToolPolicy::Optional)
    }
}

/// The same where `write` is a tool, and `read` waits for a person.
pub(super) fn delegating_beside_a_tool() -> Terms {
    let Terms {
        agents, delegation, ..
    } = delegating();
    let agents = agents.into_iter().filter(|(name, _)| name == "agent__read");
    let terms = Terms {
        agents: agents.collect(),
        delegation,
        require_approval: vec!["read".to_owned()],
        tool_proof: ToolProof::Lineage,
        ..loose(ToolPolicy::Required)
    };
    with_agents(&["read"], terms)
}

/// A contract whose tool `read` is another version of the agent itself, and `write` one that stands too deep.
pub(super) fn delegating_to_none() -> Terms {
    let Terms { agents, .. } = delegating();
    let agents = agents.into_iter().map(|(name, terms)| {
        let id = match name.as_str() {
            "agent__read" => lead(),
            _ => None,
        };
        (name, DelegateTerms { id, ..terms })
    });
    let terms = Terms {
        agents: agents.collect(),
        delegation: Some(below_none(0)),
        ..loose(ToolPolicy::Optional)
    };
    with_agents(&["read", "write"], terms)
}

fn agent(name: &str) -> DelegateTerms {
    DelegateTerms {
        below: BTreeMap::new(),
        digest: Digest::of(name.as_bytes()),
        file: format!("{name}.ai"),
        grant: None,
        id: None,
        least_tokens: 60,
        max_cost_micro_usd: None,
        max_tokens_consumed: None,
        total_timeout_ms: 1_000,
    }
}

fn lead() -> Option<AgentId> {
    AgentId::try_from("lead".to_owned()).ok()
}

/// Returns the terms of a tree's first run.
fn below_none(max_depth: u32) -> DelegationTerms {
    DelegationTerms {
        chain: vec![AgentLink {
            digest: Digest::of(b"own"),
            id: lead(),
            name: "lead".to_owned(),
        }],
        granted: Vec::new(),
        max_depth,
    }
}

/// A tool whose calls wait for one approver, and one of whose calls some are denied.
pub(super) fn ruled() -> Terms {
    Terms {
        approval: vec![
            rule("read", Some("b"), ApprovalAction::Deny),
            rule("read", Some("c"), ApprovalAction::Ask),
            rule("wri*", None, ApprovalAction::Ask),
        ],
        approvers: vec![APPROVER.to_owned()],
        parallel_tool_calls: true,
        parallel_safe: vec!["read".to_owned(), "write".to_owned()],
        ..small(ToolPolicy::Optional)
    }
}

/// A small target before a large one, with reserves.
pub(super) fn two_windows() -> Terms {
    let mut terms = Terms {
        targets: vec![
            TargetTerms {
                context_window: 60_000,
                ..target("small")
            },
            target("script"),
        ],
        max_turns: 3,
        max_attempts_per_turn: 1,
        ..loose(ToolPolicy::Optional)
    };
    terms.context_budget.reserved_synthesis = 2_000;
    terms.context_budget.reserved_system = 100;
    terms
}

/// Feasible by PRECHECK's arithmetic, and still too small for the first prompt with its tools.
pub(super) fn first_prompt_of_tools() -> Terms {
    let mut terms = small(ToolPolicy::Optional);
    terms.context_budget.context_window = 1_060;
    for tool in &mut terms.tools {
        tool.schema_tokens = 50;
    }
    terms.context_budget.reserved_synthesis = 0;
    terms
}

/// The same under required: no closing turn could follow.
pub(super) fn first_prompt() -> Terms {
    let mut terms = small(ToolPolicy::Required);
    terms.context_budget.context_window = 1_020;
    terms.context_budget.reserved_synthesis = 0;
    terms
}

/// Three targets, of which the second does not hold the first prompt.
pub(super) fn three_targets() -> Terms {
    Terms {
        targets: vec![
            target("script"),
            TargetTerms {
                context_window: 1_010,
                ..target("small")
            },
            target("other"),
        ],
        max_attempts_per_turn: 3,
        max_turns: 4,
        max_inferences: 5 + more(),
        ..loose(ToolPolicy::Optional)
    }
}

/// Long results are summarised by a model that attempts do not go to.
pub(super) fn summaries() -> Terms {
    let mut terms = loose(ToolPolicy::Optional);
    terms.targets.push(TargetTerms {
        summarizer: true,
        ..target("small")
    });
    terms.tool_output_budget.summarizer_model = Some("small".to_owned());
    terms.tool_output_budget.max_bytes_per_call = 200;
    Terms {
        max_inferences: 4,
        max_tokens_consumed: BigCount(400),
        parallel_tool_calls: true,
        parallel_safe: vec!["read".to_owned()],
        idempotent: vec!["read".to_owned()],
        ..terms
    }
}

/// The servers of tools may ask a person. What comes late uses the tokens up.
pub(super) fn questions() -> Terms {
    Terms {
        idempotent: vec!["write".to_owned()],
        max_inferences: 3,
        max_tokens_consumed: BigCount(310),
        ..small(ToolPolicy::Optional)
    }
}

/// The server of the tools may have a model asked that attempts do not go to.
pub(super) fn sampling() -> Terms {
    let mut terms = loose(ToolPolicy::Optional);
    terms.targets.push(TargetTerms {
        summarizer: true,
        ..target("small")
    });
    for server in terms.servers.values_mut() {
        server.sampling = Some("small".to_owned());
    }
    Terms {
        max_inferences: 3,
        max_tokens_consumed: BigCount(310),
        idempotent: vec!["write".to_owned()],
        ..terms
    }
}

/// Long results are summarised by the one model that there is.
pub(super) fn summaries_by_the_target() -> Terms {
    let mut terms = reporting(loose(ToolPolicy::Optional));
    terms.tool_output_budget.summarizer_model = Some("script".to_owned());
    terms.tool_output_budget.max_bytes_per_call = 200;
    Terms {
        max_turns: 3,
        max_inferences: 5 + more(),
        parallel_tool_calls: true,
        parallel_safe: vec!["read".to_owned()],
        ..terms
    }
}

/// After what a stranger wrote nothing is written.
pub(super) fn flows_denied() -> Terms {
    Terms {
        max_turns: 3,
        labels: vec![
            label("read", Label::Untrusted),
            label("write", Label::Trusted),
        ],
        flow: vec![flow(&[Label::Untrusted], Some("write"), FlowAction::Deny)],
        ..small(ToolPolicy::Optional)
    }
}

/// After what a stranger wrote a person is asked before anything is sent, and once both were seen nothing is read.
pub(super) fn flows_asked() -> Terms {
    let both = [Label::Private, Label::Untrusted];
    Terms {
        max_turns: 4,
        max_inferences: 4 + more(),
        labels: vec![
            label("read", Label::Untrusted),
            label("write", Label::Private),
        ],
        flow: vec![
            flow(&[Label::Untrusted], None, FlowAction::Ask),
            flow(&both, Some("read"), FlowAction::Deny),
        ],
        parallel_tool_calls: true,
        parallel_safe: vec!["read".to_owned(), "write".to_owned()],
        ..loose(ToolPolicy::Optional)
    }
}

/// `read` is an agent that a rule calls trusted; after what a stranger wrote nothing is written.
pub(super) fn flows_from_agents() -> Terms {
    let Terms {
        agents, delegation, ..
    } = delegating();
    let agents = agents.into_iter().filter(|(name, _)| name == "agent__read");
    let terms = Terms {
        agents: agents.collect(),
        delegation,
        flow: vec![flow(&[Label::Untrusted], Some("write"), FlowAction::Deny)],
        labels: vec![
            label("agent__read", Label::Trusted),
            label("write", Label::Private),
        ],
        max_inferences: 3 + more(),
        max_turns: 3,
        ..loose(ToolPolicy::Optional)
    };
    with_agents(&["read"], terms)
}

/// The same in a run that begins with the words of another one, which saw what is private.
pub(super) fn flows_inherited() -> Terms {
    let both = [Label::Private, Label::Untrusted];
    Terms {
        flow: vec![
            flow(&[Label::Private], Some("write"), FlowAction::Ask),
            flow(&both, Some("agent__read"), FlowAction::Deny),
        ],
        labels: vec![label("write", Label::Trusted)],
        parent_contract_hash: Some(Digest::ZERO),
        ..flows_from_agents()
    }
}

fn label(tool: &str, label: Label) -> LabelRule {
    LabelRule {
        labels: [label].into(),
        tool: tool.to_owned(),
    }
}

fn flow(from: &[Label], to: Option<&str>, action: FlowAction) -> FlowRule {
    FlowRule {
        action,
        from: from.iter().copied().collect(),
        to: to.map(str::to_owned),
        unless_given: Vec::new(),
    }
}

/// Limits on calls, and forbidden pairs of them.
pub(super) fn limits() -> Terms {
    let mut terms = Terms {
        max_turns: 3,
        max_identical_calls: Some(2),
        cycle_forbid: vec![
            ("write".to_owned(), "read".to_owned()),
            ("write".to_owned(), "write".to_owned()),
        ],
        ..small(ToolPolicy::Optional)
    };
    terms.max_calls.run = Some(3);
    terms.max_calls.per_tool.insert("write".to_owned(), 1);
    terms.metadata.cycle_exceptions.push(CycleException {
        from: "write".to_owned(),
        max: 1,
        to: "read".to_owned(),
    });
    terms
}

pub(super) const DELEGATING: Variant = Variant {
    name: "optional: agents",
    terms: delegating,
    letters: &[BASE, super::AGENTS, SUSPENSIONS, &[Letter::ResumedOther]],
};

pub(super) const PROVING: Variant = Variant {
    name: "required, proof of lineage: agents",
    terms: delegating_beside_a_tool,
    letters: &[
        BASE,
        APPROVALS,
        &[
            Returns(Response::Write),
            Returns(Response::ReadWrite),
            Tool(Does::Error),
            Tool(Does::ChildProves),
            Letter::LostCall,
            Letter::Resumed,
            Letter::Stop,
        ],
    ],
};

pub(super) const LABELLED: Variant = Variant {
    name: "optional: flows from reports of agents",
    terms: flows_from_agents,
    letters: &[BASE, REPORTS_OF_AGENTS],
};

pub(super) const INHERITING: Variant = Variant {
    name: "optional: flows from what a run inherits",
    terms: flows_inherited,
    letters: &[BASE, REPORTS_OF_AGENTS, SUSPENSIONS],
};

/// Agents stand at the end of the chain, or above the run.
pub(super) const NOT_ALLOWED: Variant = Variant {
    name: "optional: agents that may not be called",
    terms: delegating_to_none,
    letters: &[BASE, CALLS, WRONG],
};

/// The run is an agent's: its answers are reserved before they come.
pub(super) const GRANTED: Variant = Variant {
    name: "optional: a granted budget",
    terms: granted,
    letters: &[BASE, PRICED],
};
