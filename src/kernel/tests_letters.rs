//! The letters of the variants, by what they are about.

use super::Interrupter;
use super::tests_alphabet::{Does, Letter, Said, When};
use crate::message::ProviderFaultClass as Fault;

use Letter::{Fails, Interrupt, LastTool, Says, SaysAt, SaysAtCost, SaysFor, Timer, Tool, ToolAt};

pub(super) const BASE: &[Letter] = &[
    Letter::Probed,
    Says(Said::Text),
    Says(Said::Read),
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
    Letter::StaleAnswer,
    Letter::StaleFailure,
    Letter::Started,
];
pub(super) const LATE: &[Letter] = &[
    SaysAt(Said::Text, When::PastStep),
    SaysAt(Said::Text, When::PastTotal),
    SaysAt(Said::Read, When::PastStep),
    SaysAt(Said::ReadWrite, When::PastTotal),
    SaysAt(Said::Rejected, When::PastStep),
    ToolAt(Does::Ok, When::PastStep),
    ToolAt(Does::Ok, When::PastTotal),
    ToolAt(Does::Malformed, When::PastStep),
];
pub(super) const PROSE: &[Letter] = &[
    Says(Said::Blank),
    Says(Said::Reasoning),
    Says(Said::Cut),
    Says(Said::Refused),
    Says(Said::Filtered),
    Says(Said::Breached),
    Says(Said::BreachedUnknown),
    Says(Said::RecoveredText),
];
pub(super) const CALLS: &[Letter] = &[
    Says(Said::ReadB),
    Says(Said::Write),
    Says(Said::CutRead),
    Says(Said::ReadWrite),
    Says(Said::ReadRead),
    Says(Said::WriteRead),
    Says(Said::Three),
    Says(Said::TextRead),
    Says(Said::RefusedRead),
    Says(Said::RecoveredRead),
];
pub(super) const WRONG: &[Letter] = &[
    Says(Said::Unknown),
    Says(Said::Outside),
    Says(Said::Invalid),
    Says(Said::ReadUnknown),
    Says(Said::ReadOutside),
    Says(Said::ReadInvalid),
    Says(Said::ReadUnreadable),
    Says(Said::OutsideReadRead),
    Says(Said::Rejected),
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
    SaysFor(Said::Text, 395),
    SaysFor(Said::Text, 396),
    SaysFor(Said::Read, 300),
    SaysFor(Said::ReadWrite, 396),
    SaysFor(Said::Blank, 200),
    SaysFor(Said::Rejected, 200),
    SaysAtCost(Said::Text, 5),
    SaysAtCost(Said::Text, 6),
    SaysAtCost(Said::ReadWrite, 6),
    Letter::FailsFor(Fault::Network, 200),
];
pub(super) const REPORTS: &[Letter] = &[
    Says(Said::Report),
    Says(Said::ReportBad),
    Says(Said::ReportCut),
    Says(Said::ReadReport),
    Says(Said::ReadReportBad),
    Says(Said::ReadReportUnreadable),
    Says(Said::Progress),
    Says(Said::ReadProgress),
    Says(Said::ReportUnknown),
    Says(Said::ProgressUnknown),
    Says(Said::Batch),
    Says(Said::BatchUnknown),
];
pub(super) const PRICED: &[Letter] = &[
    SaysFor(Said::Text, 396),
    SaysFor(Said::Read, 100),
    SaysFor(Said::Read, 140),
    SaysFor(Said::ReadWrite, 200),
    SaysFor(Said::Blank, 140),
    SaysAtCost(Said::Text, 5),
    SaysAtCost(Said::ReadWrite, 0),
    Letter::FailsFor(Fault::Network, 200),
];
/// A public key by its form.
pub(super) const APPROVER: &str = "anna+00000000+AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
pub(super) const RULED: &[Letter] = &[
    Says(Said::ReadB),
    Says(Said::Write),
    Says(Said::ReadWrite),
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
    Says(Said::Blank),
    Says(Said::TextRead),
    Says(Said::Rejected),
    Tool(Does::TimesOut),
    Tool(Does::Malformed),
    LastTool(Does::Ok),
    Letter::Stop,
    Timer(When::PastStep),
    Fails(Fault::ContextOverflow),
];
pub(super) const FLOWS: &[Letter] = &[
    Says(Said::Write),
    Says(Said::ReadWrite),
    Says(Said::WriteRead),
    Tool(Does::TimesOut),
    LastTool(Does::Ok),
    Letter::Stop,
];
pub(super) const AGENTS: &[Letter] = &[
    Says(Said::Write),
    Says(Said::ReadRead),
    Says(Said::Three),
    Says(Said::Invalid),
    Tool(Does::Error),
    Tool(Does::ChildOverspends),
    Tool(Does::ChildCosts),
    SaysFor(Said::Read, 390),
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
pub(super) const SAMPLES: &[Letter] = &[
    Says(Said::Write),
    Tool(Does::Samples),
    Tool(Does::SamplesWaiting),
    Tool(Does::TimesOut),
    Letter::FailsUnknown,
    Letter::Stop,
    ToolAt(Does::Samples, When::PastStep),
    SaysAt(Said::Text, When::PastStep),
];
