//! The reasons that no contract can be made. Knows no terminal.

use super::{Grounds, ModelProfile, ProviderType, Resolution, TextProfile, ToolPolicy};

/// The rule of [`is_tool_name`](super::is_tool_name), for people.
pub const NAME_RULE: &str =
    "it is not 1 to 256 bytes of visible characters without `*`, which rules read as a pattern";

/// The reason that no contract can be made. All are faults of the author, or of the tool servers the author chose.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactoryError {
    /// The file names an agent, and no one read the agent's own file.
    #[error(
        "agents: the agent {file} was not read; only a contract that is itself a file can name it"
    )]
    AgentUnread {
        /// Its file, as the author names it.
        file: String,
    },
    /// The file demands an adapter other than the one its first target has.
    #[error("adapter_version is {given}, but the first target's adapter is {chosen}")]
    AdapterDisagrees {
        /// The factory's choice.
        chosen: String,
        /// The file's value.
        given: String,
    },
    /// The tools that the servers offer are too many, or their definitions too long.
    #[error(
        "the definitions of all tools up to `{name}` are longer than {max} bytes; name fewer tool servers"
    )]
    DefinitionsTooLarge {
        /// The most bytes of all definitions.
        max: usize,
        /// The exposed name of the tool with which it is passed.
        name: String,
    },
    /// The task is not the input that the agent's file asks for.
    #[error("invalid_parameters: {0}")]
    Input(String),
    /// A target's requests are to name no limit, and its protocol takes none without.
    #[error(
        "target {target}: max_output_tokens cannot be switched off; every request of type {} states it",
        provider_type.as_str()
    )]
    OutputUnbounded {
        /// The provider's type.
        provider_type: ProviderType,
        /// Index in `targets`, from 0.
        target: usize,
    },
    /// A target names a provider that the file does not define.
    #[error("target {target} names the provider `{provider}`, which is not defined")]
    ProviderUndefined {
        /// The name.
        provider: String,
        /// Index in `targets`, from 0.
        target: usize,
    },
    /// The file names a profile that monolith does not have.
    #[error("no model profile is called `{id}`; known are {}", known_profiles())]
    ProfileUnknown {
        /// The name.
        id: String,
    },
    /// The page leads to another policy than the one that the file states.
    #[error("tool_policy is {}, but {}", policy_word(*given), explain(resolution))]
    PolicyDisagrees {
        /// The decision of the rules, and why.
        resolution: Resolution,
        /// The file's value.
        given: ToolPolicy,
    },
    /// A target asks for calls in text over a wire protocol that is not used that way.
    #[error(
        "provider `{provider}`: text_profile {} is not built over {wire} (type {}); leave text_profile out or `none`",
        text_profile.as_str(),
        provider_type.as_str()
    )]
    TextProfileNotBuilt {
        /// The key under `providers`.
        provider: String,
        /// Its type.
        provider_type: ProviderType,
        /// The profile of the target.
        text_profile: TextProfile,
        /// The adapter of the provider's wire protocol; that of its records where it is scripted.
        wire: String,
    },
    /// No reader would take the document.
    #[error("the contract {0}; name fewer tool servers")]
    TooLarge(String),
    /// Two tools would be offered under one name.
    #[error("two tools would be called `{name}`: one of {first}, one of {second}")]
    ToolNameTwice {
        /// Origin of one.
        first: String,
        /// The exposed name.
        name: String,
        /// Origin of the other.
        second: String,
    },
    /// No contract can hold a tool of that name.
    #[error("the tool name {name:?} of {origin}: {}", NAME_RULE)]
    ToolNameIllegal {
        /// The exposed name, cut to 100 characters.
        name: String,
        /// Its origin.
        origin: String,
    },
}

fn known_profiles() -> String {
    let ids = ModelProfile::all().iter().map(|p| p.id.as_str());
    ids.collect::<Vec<_>>().join(", ")
}

const fn policy_word(policy: ToolPolicy) -> &'static str {
    match policy {
        ToolPolicy::Required => "required",
        ToolPolicy::Optional => "optional",
        ToolPolicy::Forbidden => "forbidden",
    }
}

fn explain(resolution: &Resolution) -> String {
    let decision = &resolution.decision;
    let policy = policy_word(decision.policy);
    let version = decision.rules_version;
    match decision.grounds {
        Grounds::ChatPage => {
            format!("page: chat makes it {policy}; --set page=null leaves the page out")
        }
        Grounds::CodeIntent => format!(
            "page: code makes it {policy}, because the task says {} (rules {version}); --set page=null leaves the page out",
            resolution.matched.join(", ")
        ),
        Grounds::CodeConceptual => format!(
            "page: code makes it {policy}, because no word of the task names a file, a command or \
             the workspace (rules {version}); --set page=null leaves the page out"
        ),
        // Without a page the file's own policy holds, so there is nothing to disagree with.
        Grounds::Given | Grounds::Default => format!("the rules make it {policy}"),
    }
}
