//! Why a workflow ended, in words. A function of its code.

use monolith_core::contract::WorkflowCode;

/// Why a workflow ended, in one sentence for people. Nothing ever matches on it.
#[must_use]
pub const fn workflow_sentence(code: WorkflowCode) -> &'static str {
    match code {
        WorkflowCode::AllSteps => "Every step has completed.",
        WorkflowCode::WithErrors => {
            "A step failed in a group that goes on, and everything else has completed."
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
