//! Remedies, and the words for each. Knows no run.

use super::commands::Commands;
use super::limit::Limit;
use super::server::ServerRemedy;
use crate::text::escape::line;
use crate::unreached::unreached;
use monolith_core::contract::ProviderType;
use monolith_core::kernel::OutcomeCode;
use monolith_core::message::Parameter;
use monolith_core::view::LastRequest;

/// A remedy for a run that failed, with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`words` documents each")]
pub enum Remedy {
    AcceptCalls {
        succeeded: bool,
    },
    AcceptedKey,
    AcceptedKeyIn {
        variable: String,
    },
    AllowCall,
    AllowTool,
    AllowTools,
    AnswerInTime,
    AnswerWithoutCall {
        change: (&'static str, &'static str),
        rule: String,
    },
    AskAgain,
    AskForTool,
    AskServer,
    BeginAgent {
        tool: String,
    },
    Blank,
    BringUpTools,
    ChangeRule,
    CheckFile,
    Continue,
    CorrectAddress {
        provider: String,
    },
    CorrectArguments,
    CorrectCall,
    CorrectModel,
    CountFailedCalls,
    CutAtWindow {
        window: Option<u64>,
    },
    CutByServer,
    CutShort,
    FitContext,
    FlowRules,
    KeepGrammar,
    KeepProtocol,
    KnownVersion,
    LargerContext,
    LooserFormat,
    LookFirst {
        suspended: bool,
        tool: String,
    },
    MoreCalls,
    NameKey {
        provider: String,
    },
    NameModel {
        provider: String,
    },
    NameTools {
        tries: bool,
    },
    NewRun,
    NoReport,
    OfferTool,
    OtherWords,
    PinTools,
    Quota,
    Raise {
        limit: Limit,
        to: Option<u64>,
    },
    RateLimited,
    ReachServer {
        address: Option<(ProviderType, String)>,
        has_key: bool,
        provider: String,
        went_away: bool,
    },
    ReadCalls {
        profiles: &'static str,
    },
    /// The provider refused parameters that nobody stated.
    RefusedDefaults {
        parameters: Vec<Parameter>,
    },
    /// The provider refused the request itself, for these stated parameters where it names any.
    RefusedRequest {
        parameters: Vec<Parameter>,
    },
    RestartServer,
    Servers(Vec<ServerRemedy>),
    ShowParent,
    SimplerReport,
    StartModelServer,
    StateOrder,
    TooLarge {
        window: Option<u64>,
    },
    UnknownModel,
}

impl Remedy {
    /// Returns what may help by the code alone; `None` if nothing failed.
    #[must_use]
    pub fn of_code(code: OutcomeCode) -> Option<Self> {
        let raise = |limit| Self::Raise { limit, to: None };
        Some(match code {
            OutcomeCode::FinalReport
            | OutcomeCode::TextFallback
            | OutcomeCode::Synthesis
            | OutcomeCode::FinalMessage
            | OutcomeCode::ToolResult => return None,
            OutcomeCode::ContractInvalid
            | OutcomeCode::ContractHashMismatch
            | OutcomeCode::ProvenanceMissing
            | OutcomeCode::ProfileIncompatible => Self::CheckFile,
            OutcomeCode::FormatVersion => Self::KnownVersion,
            OutcomeCode::ContextInfeasible => Self::FitContext,
            OutcomeCode::ModelUnavailable => Self::CorrectModel,
            OutcomeCode::ToolUnavailable => Self::BringUpTools,
            OutcomeCode::ToolChanged => Self::PinTools,
            OutcomeCode::BackendUnavailable => Self::StartModelServer,
            OutcomeCode::ProviderAuth => Self::AcceptedKey,
            OutcomeCode::ProviderQuota => Self::Quota,
            OutcomeCode::NoCallResponse => Self::AskForTool,
            OutcomeCode::SynthesisWithoutTools => raise(Limit::TurnsWithTools),
            OutcomeCode::ProofNotSucceeded => Self::CountFailedCalls,
            OutcomeCode::FormatRetriesExhausted => Self::LooserFormat,
            OutcomeCode::ToolEnvelope => Self::KeepProtocol,
            OutcomeCode::Arguments => Self::NameTools { tries: true },
            OutcomeCode::FinalReportSchema => Self::SimplerReport,
            OutcomeCode::Refusal | OutcomeCode::ContentFilter => Self::OtherWords,
            OutcomeCode::MaxTurnsExhausted => raise(Limit::Turns),
            OutcomeCode::MaxInferences => raise(Limit::Inferences),
            OutcomeCode::MaxTokens => raise(Limit::Tokens),
            OutcomeCode::MaxCost => raise(Limit::Cost),
            OutcomeCode::MaxCalls => raise(Limit::Calls),
            OutcomeCode::IdenticalCalls => raise(Limit::IdenticalCalls),
            OutcomeCode::Context => Self::LargerContext,
            OutcomeCode::AttemptsExhausted => Self::AskServer,
            OutcomeCode::StepTimeout => raise(Limit::StepTimeout),
            OutcomeCode::TotalTimeout => raise(Limit::TotalTimeout),
            OutcomeCode::ForbiddenCall => Self::AllowTools,
            OutcomeCode::ToolNotAllowed => Self::AllowTool,
            OutcomeCode::CycleForbidden => Self::StateOrder,
            OutcomeCode::TokenGate => Self::KeepGrammar,
            OutcomeCode::ContractMutated => Self::NewRun,
            OutcomeCode::FlowForbidden => Self::FlowRules,
            OutcomeCode::Stop | OutcomeCode::Abort | OutcomeCode::Shutdown => Self::Continue,
            OutcomeCode::Parent => Self::ShowParent,
        })
    }

    /// Returns what may help by what is recorded of the last request.
    #[must_use]
    pub const fn of_request(recorded: LastRequest) -> Self {
        match recorded {
            LastRequest::Blank => Self::Blank,
            LastRequest::CutAtLimit => Self::Raise {
                limit: Limit::OutputTokens { target: 0 },
                to: None,
            },
            LastRequest::CutByServer => Self::CutByServer,
            LastRequest::CutShort => Self::CutShort,
            LastRequest::NoReport => Self::NoReport,
            LastRequest::RateLimited => Self::RateLimited,
            LastRequest::Slow => Self::Raise {
                limit: Limit::LlmTimeout,
                to: None,
            },
            LastRequest::TooLarge => Self::TooLarge { window: None },
            LastRequest::UnknownModel => Self::UnknownModel,
        }
    }

    /// Returns the text, with the commands to type.
    #[must_use]
    pub fn words(&self, run: &Commands<'_>) -> String {
        match self {
            // Under `lineage` an agent that completed may be all there was.
            Self::AcceptCalls { succeeded: true } => format!(
                "have the agents call their tools, or count an agent that completed: {}",
                run.with_value("tool_proof", "succeeded")
            ),
            Self::AcceptCalls { succeeded: false } => format!(
                "correct what the calls failed with, or count a call that failed: {}",
                run.with_value("tool_proof", "executed")
            ),
            Self::AcceptedKeyIn { variable } => format!(
                "set {} to a key that the provider accepts, then {}",
                line(variable),
                run.next()
            ),
            Self::AllowCall => format!(
                "ask for something that needs no such call, or allow it when it is asked for again: {}",
                run.next()
            ),
            Self::ReadCalls { profiles } => format!(
                "the text that was held back has the form of a call: `text_profile: {profiles}` at the target reads it"
            ),
            Self::AnswerInTime => format!(
                "a longer `approval_timeout_ms`, or somebody who answers: {} asks again",
                run.next()
            ),
            Self::AnswerWithoutCall {
                change: (key, value),
                rule,
            } => format!(
                "{rule}. Ask for something that needs a tool, or allow an answer without one: {}",
                run.with_value(key, value)
            ),
            Self::AskAgain => format!(
                "it was cancelled before its result was there: {} asks again",
                run.next()
            ),
            Self::AskServer => format!(
                "the model's server failed at every attempt: its log says why, and {} asks it. Once it answers: {}",
                run.doctor(),
                run.next()
            ),
            Self::BeginAgent { tool } => format!(
                "{} was called, and its run did not begin: remove the cause that the error names, then {}",
                line(tool),
                run.corrected()
            ),
            Self::Blank => format!(
                "the model answers with nothing: a chat template or a `text_profile` that is not the model's, or a budget of thinking that takes all of `max_output_tokens`, does that; {} asks the server. More turns change nothing",
                run.doctor()
            ),
            Self::BringUpTools => format!(
                "{} and {} name what is missing",
                run.doctor(),
                run.check()
            ),
            Self::ChangeRule => format!(
                "a rule in `approval` denies that call: ask for what the rules allow, or change the rule, then {}",
                run.corrected()
            ),
            Self::CheckFile => {
                format!("{} names every value that is wrong, and its line", run.check())
            }
            Self::Continue => format!("continue from there with {}", run.next()),
            Self::CorrectAddress { provider } => {
                run.asks(format!("correct `base_url` of providers.{}", line(provider)))
            }
            Self::CorrectArguments => format!(
                "correct `arguments` of the step: {} shows what the tool takes; then {}",
                run.tools(" --schemas"),
                run.again()
            ),
            Self::CorrectCall => {
                format!("correct what the call failed with, then {}", run.again())
            }
            Self::CorrectModel => format!(
                "{} lists the models that the server has: correct `model` of the target, then {}",
                run.doctor(),
                run.corrected()
            ),
            Self::CutAtWindow { window } => format!(
                "the answer was cut at `max_output_tokens` of the target, which is as high as `context_window: {}` lets it be: ask for a shorter answer, or raise the window where the model has a larger one. Then {}",
                or_dots(*window),
                run.corrected()
            ),
            Self::CutByServer => format!(
                "the server cut the answer at a server-side limit: ask for a shorter answer, raise the server's limit, or state `max_output_tokens` at the target. Then {}",
                run.corrected()
            ),
            Self::CutShort => format!(
                "the server's answer broke off, or is none of its protocol: its log says why, and {} asks it. Once it answers whole: {}",
                run.doctor(),
                run.next()
            ),
            Self::FitContext => format!(
                "a shorter task, a model with a larger `context_window`, fewer tools, or smaller reserves; {} has the figures",
                run.check()
            ),
            Self::FlowRules => format!(
                "{} names the results that the model had seen; the rules stand in `flow`",
                run.show("--why")
            ),
            Self::KeepGrammar => format!(
                "a server that keeps to the grammar that it is sent; {} has its text",
                run.show("--withheld")
            ),
            Self::KeepProtocol => format!(
                "a tool server that keeps to its protocol; {} has what it returned",
                run.show("--full")
            ),
            Self::KnownVersion => format!(
                "take the build that wrote it; {} names what this one knows",
                run.typed("migrate --list")
            ),
            Self::LookFirst { suspended, tool } => {
                let (tool, next) = (line(tool), run.next());
                let what = if *suspended {
                    "the run was suspended, and its process left"
                } else {
                    "the process that drove the run ended"
                };
                format!(
                    "{what} in the middle of {tool}, and nothing recorded says what that did: look first; {next} asks again. `idempotent: [{tool}]` lets `resume` make such a call a second time"
                )
            }
            Self::NameKey { provider } => run.asks(format!(
                "if it wants a key, name the variable that holds it: `api_key_env` of providers.{}",
                line(provider)
            )),
            Self::NameModel { provider } => format!(
                "the script of providers.{} has a line for each answer, and none is left; {} writes a contract with a model",
                line(provider),
                run.typed("init")
            ),
            Self::NameTools { tries } => {
                let shown = format!(
                    "{} shows what each tool takes: say it in the system prompt, or take a larger model",
                    run.tools(" --schemas")
                );
                if *tries {
                    format!("{shown}; `max_invalid_turns` allows more tries")
                } else {
                    format!("{shown}; {} asks again", run.next())
                }
            }
            Self::NewRun => format!("begin a new run: {}", run.again()),
            Self::NoReport => format!(
                "say in the system prompt that the run ends with the final report, or take a larger model; `completion: message` takes the text as the answer. {} has what the model wrote",
                run.show("--full")
            ),
            Self::OfferTool if run.is_prompt() => {
                "offer it the tool that it asked for, or ask for what its tools can do".to_owned()
            }
            Self::OfferTool => format!(
                "{} lists what the model may call: offer it the tool that it asked for, or ask for what those can do",
                run.tools("")
            ),
            Self::PinTools => format!(
                "read what has changed; where it is meant: {}",
                run.pin()
            ),
            Self::Raise { limit, to } => format!(
                "{}: {}",
                limit.words(),
                run.with_value(&limit.key(), &or_dots(*to))
            ),
            Self::RateLimited => format!(
                "the provider limits the rate of requests: wait, or name another target. Then {}",
                run.next()
            ),
            Self::ReachServer {
                address,
                has_key,
                provider,
                went_away,
            } => {
                let at = address.as_ref().map(|(kind, address)| (*kind, address.as_str()));
                let reach = unreached(provider, at, run.address_key(), |_| *has_key);
                let reach = if run.is_prompt() {
                    let doctor = run.doctor();
                    format!("{reach}; {doctor} looks for the model servers of this machine")
                } else {
                    run.asks(reach)
                };
                if *went_away {
                    let next = run.next();
                    format!(
                        "{reach}. It answered earlier in this run: once it answers again, run {next}"
                    )
                } else {
                    reach
                }
            }
            Self::RestartServer => format!(
                "look why the tool server ended: its last output may name the fault, and {} starts it. Once it stays: {}",
                run.doctor(),
                run.next()
            ),
            Self::Servers(servers) => {
                let servers = servers.iter().map(|server| server.words(run));
                run.asks(servers.collect::<Vec<_>>().join("; "))
            }
            Self::ShowParent => format!("{} has the run that ended it", run.show("--tree")),
            Self::StartModelServer => format!(
                "start the model's server, or correct its `base_url`; {} asks it",
                run.doctor()
            ),
            Self::TooLarge { window } => format!(
                "the server takes less than `context_window: {}` of the target lets through: correct that, give the server a larger context, or take a task that reads less at once. Then {}",
                or_dots(*window),
                run.corrected()
            ),
            Self::RefusedRequest { parameters } if parameters.is_empty() => format!(
                "the provider refused the request: correct what its error names, then {}",
                run.corrected()
            ),
            Self::RefusedRequest { parameters } => format!(
                "the provider does not take {} as stated: remove it, or state a value that the model takes, then {}",
                named(parameters),
                run.corrected()
            ),
            Self::RefusedDefaults { parameters } => format!(
                "the provider does not take {}, which you did not state: name a model, or a `type` of provider, that takes it, then {}",
                named(parameters),
                run.corrected()
            ),
            // Only a run sends the key, so `doctor` cannot list the models.
            Self::UnknownModel => format!(
                "the server does not know the model: correct `model` of the target, then {}",
                run.corrected()
            ),
            Self::AcceptedKey => "set the variable that `api_key_env` names to a key that the provider accepts".to_owned(),
            Self::AllowTool => "name the tool in `allowed_tools`, or ask for what those can do".to_owned(),
            Self::AllowTools => "allow tools with `tool_policy`, or ask for what needs none".to_owned(),
            Self::AskForTool => "ask for something that needs a tool, or allow an answer without one (`tool_policy: optional`). Where the model wrote its call as text, `text_profile` at the target reads it; where the server takes a grammar, `grammar_profile` leaves the model no choice".to_owned(),
            Self::CountFailedCalls => "correct what the calls failed with, or count a call that failed (`tool_proof: executed`)".to_owned(),
            Self::LargerContext => "a model with a larger context window, or a task that reads less at once".to_owned(),
            Self::LooserFormat => "`strict_mode: false`, a `text_profile` where the model writes its calls as text, or a larger model".to_owned(),
            Self::MoreCalls => "a task that needs fewer calls, or higher limits in `max_calls`".to_owned(),
            Self::OtherWords => "word the task otherwise, or name a second target".to_owned(),
            Self::Quota => "wait until the provider grants more, or put a target of another provider in its place: a used-up quota ends the run, and no other target is asked".to_owned(),
            Self::SimplerReport => "a simpler form of the report, an example in the system prompt, or a larger model".to_owned(),
            Self::StateOrder => "say the order in the system prompt, or change `cycle_forbid`".to_owned(),
        }
    }
}

/// The names of parameters, quoted.
fn named(parameters: &[Parameter]) -> String {
    let names = parameters.iter().map(|one| format!("`{}`", one.as_str()));
    names.collect::<Vec<_>>().join(" and ")
}

/// A number, or dots where it is not known.
fn or_dots(number: Option<u64>) -> String {
    number.map_or_else(|| "…".to_owned(), |number| number.to_string())
}
