//! The letters of the variants, by what they are about.

use Letter::{
    Fails, Interrupt, LastTool, Returns, ReturnsAt, ReturnsAtCost, ReturnsFor, Timer, Tool, ToolAt,
};

use super::Interrupter;
use super::tests_alphabet::{Does, Letter, Response, When};
use crate::message::{
    AdapterStatus, AgentMessage, Digest, FailureCode, ObjectText, Parameter, ProtocolAdapterResult,
    ProviderFaultClass as Fault, Role, StopReason, ToolInvocation,
};

pub(super) const BASE: &[Letter] = &[
    Letter::Probed,
    Returns(Response::Text),
    Returns(Response::Read),
    Fails(Fault::Network),
    Tool(Does::Ok),
    Timer(When::AtDeadline),
];
pub(super) const LIFE: &[Letter] = &[
    Letter::ProbeDead,
    Letter::ProbedLate,
    Letter::Stop,
    Interrupt(Interrupter::Abort),
    Interrupt(Interrupter::Shutdown),
    Interrupt(Interrupter::Parent),
    Timer(When::Now),
    Timer(When::PastStep),
    Timer(When::PastTotal),
    Letter::Suspended,
    Letter::Resumed,
    Letter::ResumedOther,
    Letter::ResumedWithout,
    Letter::LostProbe,
    Letter::LostInference,
    Letter::LostWait,
    Letter::LostCall,
    Letter::LostOther,
    Letter::StaleTool,
    Letter::StaleApproval,
    Letter::StaleDenial,
    Letter::LostOtherInference,
    Letter::Started,
];
/// Events for a request that is over. Their tokens count, so each state has a twin behind it: the two variants with the most
/// states are explored without them.
pub(super) const STALE: &[Letter] = &[Letter::StaleAnswer, Letter::StaleFailure];
/// A server asks a person, and the process may go meanwhile.
pub(super) const ASKED: &[Letter] = &[
    Letter::Approved,
    Letter::Suspended,
    Letter::Resumed,
    Letter::LostCall,
    Returns(Response::ReadWrite),
    Tool(Does::Asks),
    Tool(Does::AsksWaiting),
];
pub(super) const LATE: &[Letter] = &[
    ReturnsAt(Response::Text, When::PastStep),
    ReturnsAt(Response::Text, When::PastTotal),
    ReturnsAt(Response::Read, When::PastStep),
    ReturnsAt(Response::ReadWrite, When::PastTotal),
    ReturnsAt(Response::Rejected, When::PastStep),
    ToolAt(Does::Ok, When::PastStep),
    ToolAt(Does::Ok, When::PastTotal),
    ToolAt(Does::Malformed, When::PastStep),
];
pub(super) const PROSE: &[Letter] = &[
    Returns(Response::Blank),
    Returns(Response::Reasoning),
    Returns(Response::Cut),
    Returns(Response::Unended),
    Returns(Response::Refused),
    Returns(Response::Filtered),
    Returns(Response::Breached),
    Returns(Response::BreachedUnknown),
    Returns(Response::RecoveredText),
];
pub(super) const SUMMARIES: &[Letter] = &[
    Tool(Does::TooLong),
    Tool(Does::Large),
    LastTool(Does::TooLong),
    Returns(Response::ReadRead),
    Returns(Response::ReadWrite),
    Returns(Response::Rejected),
    ReturnsFor(Response::Text, 400),
];
pub(super) const CALLS: &[Letter] = &[
    Returns(Response::ReadB),
    Returns(Response::Write),
    Returns(Response::CutRead),
    Returns(Response::ReadWrite),
    Returns(Response::ReadRead),
    Returns(Response::WriteRead),
    Returns(Response::Three),
    Returns(Response::TextRead),
    Returns(Response::RefusedRead),
    Returns(Response::RecoveredRead),
];
pub(super) const WRONG: &[Letter] = &[
    Returns(Response::Unknown),
    Returns(Response::Outside),
    Returns(Response::Invalid),
    Returns(Response::ReadUnknown),
    Returns(Response::ReadOutside),
    Returns(Response::ReadInvalid),
    Returns(Response::ReadUnreadable),
    Returns(Response::OutsideReadRead),
    Returns(Response::Rejected),
];
pub(super) const REFUSALS: &[Letter] = &[
    Letter::Refuses(Parameter::MaxOutputTokens),
    Letter::Refuses(Parameter::StreamOptions),
    Letter::FailsPermanently,
    Fails(Fault::Network),
    Letter::LimitedFor(3_000_000),
    Letter::Suspended,
    Letter::ResumedAfter(5_000),
    Letter::Stop,
];
pub(super) const FAULTS: &[Letter] = &[
    Fails(Fault::RateLimit),
    Letter::LimitedFor(7_000),
    Fails(Fault::Auth),
    Fails(Fault::Quota),
    Fails(Fault::Timeout),
    Fails(Fault::Model),
    Letter::FailsUnknown,
    Fails(Fault::ContextOverflow),
    Fails(Fault::InvalidResponse),
    Fails(Fault::Refusal),
    Fails(Fault::ContentFilter),
];
pub(super) const TOOLS: &[Letter] = &[
    Tool(Does::Error),
    Tool(Does::Malformed),
    Tool(Does::WrongId),
    Tool(Does::Contradicts),
    Tool(Does::TimesOut),
    Tool(Does::Disconnects),
    Tool(Does::Cancelled),
    Tool(Does::Changed),
    Tool(Does::Large),
    LastTool(Does::Ok),
    LastTool(Does::TimesOut),
];
pub(super) const DEAR: &[Letter] = &[
    ReturnsFor(Response::Text, 395),
    ReturnsFor(Response::Text, 396),
    ReturnsFor(Response::Read, 300),
    ReturnsFor(Response::ReadWrite, 396),
    ReturnsFor(Response::Blank, 200),
    ReturnsFor(Response::Rejected, 200),
    ReturnsAtCost(Response::Text, 5),
    ReturnsAtCost(Response::Text, 6),
    ReturnsAtCost(Response::ReadWrite, 6),
    Letter::FailsFor(Fault::Network, 200),
];
pub(super) const REPORTS: &[Letter] = &[
    Returns(Response::Report),
    Returns(Response::ReportBad),
    Returns(Response::ReportCut),
    Returns(Response::ReadReport),
    Returns(Response::ReadReportBad),
    Returns(Response::ReadReportUnreadable),
    Returns(Response::Progress),
    Returns(Response::ReadProgress),
    Returns(Response::ReportUnknown),
    Returns(Response::ProgressUnknown),
    Returns(Response::Batch),
    Returns(Response::BatchUnknown),
];
pub(super) const PRICED: &[Letter] = &[
    ReturnsFor(Response::Text, 396),
    ReturnsFor(Response::Read, 100),
    ReturnsFor(Response::Read, 140),
    ReturnsFor(Response::ReadWrite, 200),
    ReturnsFor(Response::Blank, 140),
    ReturnsAtCost(Response::Text, 5),
    ReturnsAtCost(Response::ReadWrite, 0),
    Letter::FailsFor(Fault::Network, 200),
];
/// A public key by its form.
pub(super) const APPROVER: &str = "anna+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
pub(super) const RULED: &[Letter] = &[
    Returns(Response::ReadB),
    Returns(Response::Write),
    Returns(Response::ReadWrite),
    Letter::Approved,
    Letter::ApprovedBy(APPROVER),
    Letter::ApprovedBy("another"),
    Letter::DeniedBy(APPROVER),
    Letter::DeniedBy("another"),
    Letter::Suspended,
    Letter::Resumed,
];
pub(super) const APPROVALS: &[Letter] = &[Letter::Approved, Letter::ApprovedOther, Letter::Denied];
pub(super) const BESIDE_REPORTS: &[Letter] = &[
    Returns(Response::Blank),
    Returns(Response::TextRead),
    Returns(Response::Rejected),
    Tool(Does::TimesOut),
    Tool(Does::Malformed),
    LastTool(Does::Ok),
    Letter::Stop,
    Timer(When::PastStep),
    Fails(Fault::ContextOverflow),
];
pub(super) const FLOWS: &[Letter] = &[
    Returns(Response::Write),
    Returns(Response::ReadWrite),
    Returns(Response::WriteRead),
    Tool(Does::TimesOut),
    LastTool(Does::Ok),
    Letter::Stop,
];
/// Letters whose results are reports of agents, with the labels that their runs saw.
pub(super) const REPORTS_OF_AGENTS: &[Letter] = &[
    Returns(Response::Write),
    Returns(Response::ReadWrite),
    Returns(Response::WriteRead),
    Tool(Does::ChildUntrusted),
    Tool(Does::ChildUnlabelled),
    Tool(Does::Error),
    LastTool(Does::Ok),
    LastTool(Does::ChildUntrusted),
    Letter::Stop,
];
pub(super) const AGENTS: &[Letter] = &[
    Returns(Response::Write),
    Returns(Response::ReadRead),
    Returns(Response::Three),
    Returns(Response::Invalid),
    Tool(Does::Error),
    Tool(Does::ChildOverspends),
    Tool(Does::ChildCosts),
    ReturnsFor(Response::Read, 390),
    Tool(Does::ChildDisagrees),
    Tool(Does::NotBegun),
    Tool(Does::Asks),
    LastTool(Does::Ok),
    Letter::LostCall,
    Letter::Stop,
    ToolAt(Does::Ok, When::PastStep),
    Interrupt(Interrupter::Parent),
];
pub(super) const SUSPENSIONS: &[Letter] = &[Letter::Suspended, Letter::Resumed];
/// Calls that are whole before their message, and the messages that may follow.
pub(super) const EARLY_CALLS: &[Letter] = &[
    Letter::Streams(Response::ReadRead, 0),
    Letter::Streams(Response::ReadRead, 1),
    Letter::Streams(Response::ReadB, 0),
    Letter::Streams(Response::Write, 0),
    Letter::Streams(Response::Invalid, 0),
    Returns(Response::ReadRead),
    Returns(Response::ReadB),
    Returns(Response::ReadWrite),
    Returns(Response::Write),
    Returns(Response::Rejected),
    Returns(Response::Refused),
    Tool(Does::TimesOut),
    LastTool(Does::Ok),
    Letter::LostCall,
    Letter::LostInference,
    Letter::Stop,
    Letter::Suspended,
    Letter::Resumed,
    Letter::ResumedWithout,
    Timer(When::PastStep),
    Interrupt(Interrupter::Abort),
    ReturnsAt(Response::Read, When::PastStep),
];
pub(super) const SAMPLES: &[Letter] = &[
    Returns(Response::Write),
    Tool(Does::Samples),
    Tool(Does::SamplesWaiting),
    Tool(Does::TimesOut),
    Letter::FailsUnknown,
    Letter::Stop,
    ToolAt(Does::Samples, When::PastStep),
    ReturnsAt(Response::Text, When::PastStep),
];

pub(super) fn native(message: AgentMessage) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        adapter_version: "openai-chat/1".to_owned(),
        canonical_message: Some(message),
        excerpt: None,
        failure_code: None,
        pointer: None,
        raw_hash: Digest::ZERO,
        repair: None,
        status: AdapterStatus::Native,
        stop: StopReason::End,
        stop_word: None,
        served_by: None,
        tag_warnings: Vec::new(),
        usage: None,
        withheld: None,
    }
}

pub(super) fn rejected(code: FailureCode) -> ProtocolAdapterResult {
    ProtocolAdapterResult {
        canonical_message: None,
        failure_code: Some(code),
        pointer: Some("/choices/0".to_owned()),
        status: AdapterStatus::Rejected,
        ..native(text(""))
    }
}

pub(super) fn text(content: &str) -> AgentMessage {
    AgentMessage::text(Role::Assistant, content, 0)
}

/// A message with one call for each name, ids `c1`, `c2`, …, arguments `{"path":"a"}`.
pub(super) fn calls(names: &[&str]) -> AgentMessage {
    AgentMessage {
        tool_calls: (1..)
            .zip(names)
            .map(|(n, name)| call(&format!("c{n}"), name, "{\"path\":\"a\"}"))
            .collect(),
        ..text("")
    }
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> ToolInvocation {
    ToolInvocation {
        arguments: ObjectText::parse(arguments).expect("an object"),
        id: id.to_owned(),
        name: name.to_owned(),
        fault: None,
        raw_payload: None,
        source_model: "script".to_owned(),
    }
}
