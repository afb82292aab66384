//! A sentence for each outcome code. Knows no run.

use monolith_core::contract::WorkflowCode;
use monolith_core::kernel::OutcomeCode;

/// Returns the reason why a run ended, in one sentence for people. Nothing ever matches on it.
#[must_use]
pub const fn sentence(code: OutcomeCode) -> &'static str {
    match code {
        OutcomeCode::FinalReport => "The model handed in its final report.",
        OutcomeCode::TextFallback => "The model's last text was taken as its report.",
        OutcomeCode::Synthesis => {
            "A limit was near, so the model was asked once more, without tools, and answered."
        }
        OutcomeCode::FinalMessage => "The model gave its final answer.",
        OutcomeCode::ToolResult => "The call that the step consists of succeeded.",
        OutcomeCode::ContractInvalid => "The contract contradicts itself.",
        OutcomeCode::ContractHashMismatch => "The contract is not the one that its hash names.",
        OutcomeCode::ProvenanceMissing => "The contract does not say where it comes from.",
        OutcomeCode::FormatVersion => {
            "The contract is of a format or a version that this build does not know."
        }
        OutcomeCode::ProfileIncompatible => {
            "What the contract asks for does not go with the model's profile."
        }
        OutcomeCode::ContextInfeasible => {
            "The contract's reserves, or the first request, do not fit the context window."
        }
        OutcomeCode::ModelUnavailable => {
            "No provider has the model that the contract names, or takes the request for it."
        }
        OutcomeCode::ToolUnavailable => "A tool that the contract allows is not there.",
        OutcomeCode::ToolChanged => "A tool is not the one that the contract pins.",
        OutcomeCode::BackendUnavailable => "No model answered when it was asked before the run.",
        OutcomeCode::ProviderAuth => "The provider did not accept the key.",
        OutcomeCode::ProviderQuota => "The provider's quota is used up.",
        OutcomeCode::NoCallResponse => {
            "The contract requires a tool call, and the model answered without one."
        }
        OutcomeCode::SynthesisWithoutTools => {
            "No turn that offers tools was left, and no required tool call had been made."
        }
        OutcomeCode::ProofNotSucceeded => {
            "The contract requires a successful tool call, and every call failed."
        }
        OutcomeCode::FormatRetriesExhausted => {
            "The model's output could not be read, and no format retry was left."
        }
        OutcomeCode::ToolEnvelope => "A tool's answer was not a valid result.",
        OutcomeCode::Arguments => {
            "Turn after turn the model named unknown tools or gave arguments that break a tool's schema."
        }
        OutcomeCode::FinalReportSchema => "The final report did not have the demanded form.",
        OutcomeCode::Refusal => "The model refused.",
        OutcomeCode::ContentFilter => "A content filter stopped the model.",
        OutcomeCode::MaxTurnsExhausted => "The turns were used up without an answer.",
        OutcomeCode::MaxInferences => "The next request would have exceeded max_inferences.",
        OutcomeCode::MaxTokens => {
            "The token budget is used up, or the next request would have exceeded it."
        }
        OutcomeCode::MaxCost => {
            "The cost limit is reached, or the next request would have exceeded it."
        }
        OutcomeCode::MaxCalls => "The calls asked for would have exceeded max_calls.",
        OutcomeCode::IdenticalCalls => "The same call was asked for too often.",
        OutcomeCode::Context => "The conversation no longer fits the model's context window.",
        OutcomeCode::AttemptsExhausted => "Every attempt of the turn ended in a provider error.",
        OutcomeCode::StepTimeout => "A turn took longer than step_timeout_ms.",
        OutcomeCode::TotalTimeout => "The run took longer than total_timeout_ms.",
        OutcomeCode::ForbiddenCall => "The model asked for a tool, and the contract forbids tools.",
        OutcomeCode::ToolNotAllowed => {
            "The model asked for a tool that the contract does not allow."
        }
        OutcomeCode::CycleForbidden => {
            "The model asked for tools in an order that the contract forbids."
        }
        OutcomeCode::TokenGate => {
            "The model's server returned text where the contract allowed calls alone."
        }
        OutcomeCode::ContractMutated => "The contract changed while the run was under way.",
        OutcomeCode::FlowForbidden => "The call would have carried data where it may not go.",
        OutcomeCode::Stop => "Somebody asked the run to stop.",
        OutcomeCode::Abort => "The run was aborted: Ctrl-C twice, or the program that drives it.",
        OutcomeCode::Shutdown => "The process was ended.",
        OutcomeCode::Parent => "The run that delegated this one ended it.",
    }
}

/// Returns the reason why a workflow ended, in one sentence for people. Nothing ever matches on it.
#[must_use]
pub const fn workflow_sentence(code: WorkflowCode) -> &'static str {
    match code {
        WorkflowCode::AllSteps => "Every step has completed.",
        WorkflowCode::WithErrors => {
            "A step failed in a group that continues on errors; everything else has completed."
        }
        WorkflowCode::StepFailed => "The run of a step did not end well.",
        WorkflowCode::StepNotBegun => "The run of a step could not begin.",
        WorkflowCode::ToolError => "The tool of a step reported an error.",
        WorkflowCode::MaxSteps => "Another step would have been one more than max_steps allows.",
        WorkflowCode::MaxIterations => {
            "Another iteration would have been one more than max_iterations allows."
        }
        WorkflowCode::NotAList => "What a for_each was to go over is no JSON array.",
        WorkflowCode::InputSize => "What a step was to be given has too many bytes.",
        WorkflowCode::OutputSize => "What a step came to has too many bytes.",
        WorkflowCode::TotalTimeout => "The time of the whole workflow was over.",
        WorkflowCode::Stop => "It was asked to stop, and what was under way came to its end.",
        WorkflowCode::Abort => "It was asked to end at once.",
    }
}
