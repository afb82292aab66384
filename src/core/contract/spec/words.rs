//! The closed lists of words that a file chooses from.

use serde_json::{Value, json};

use super::form::{Choice, Read, Schemas, Setting};
use super::reader::choose;
use super::reporter::Reporter;
use super::tree::Node;
use crate::contract::prices::PriceUnit;
use crate::contract::{
    ApprovalAction, Beside, Completion, Elicitation, FlowAction, HealthProbe, Label, Network,
    OAuthGrant, Page, ProviderType, Remote, ReportFormat, TextProfile, ToolPolicy, ToolProof,
    ToolTransport, WebScheme,
};

impl Choice for ApprovalAction {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("allow", Self::Allow),
        ("ask", Self::Ask),
        ("deny", Self::Deny),
    ];
}

impl Choice for Page {
    const WORDS: &'static [(&'static str, Self)] = &[("chat", Self::Chat), ("code", Self::Code)];
}

impl Choice for Label {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("trusted", Self::Trusted),
        ("untrusted", Self::Untrusted),
        ("private", Self::Private),
    ];
}

impl Choice for FlowAction {
    const WORDS: &'static [(&'static str, Self)] = &[("deny", Self::Deny), ("ask", Self::Ask)];
}

impl Choice for Elicitation {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("denied", Self::Denied),
        ("defaults", Self::Defaults),
        ("ask", Self::Ask),
    ];
}

impl Choice for Network {
    const WORDS: &'static [(&'static str, Self)] = &[("off", Self::Off), ("on", Self::On)];
}

impl Choice for OAuthGrant {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("authorization_code", Self::AuthorizationCode),
        ("client_credentials", Self::ClientCredentials),
        ("cross_app_access", Self::CrossAppAccess),
    ];
}

impl Choice for HealthProbe {
    const WORDS: &'static [(&'static str, Self)] =
        &[("ping", Self::Ping), ("list_tools", Self::ListTools)];
}

impl Choice for Remote {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("http", Self::Http),
        ("sse", Self::Sse),
        ("websocket", Self::Websocket),
    ];
}

impl Choice for WebScheme {
    const WORDS: &'static [(&'static str, Self)] = &[("http", Self::Http), ("https", Self::Https)];
}

impl Choice for Beside {
    const WORDS: &'static [(&'static str, Self)] =
        &[("resources", Self::Resources), ("prompts", Self::Prompts)];
}

impl Choice for ToolPolicy {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("required", Self::Required),
        ("optional", Self::Optional),
        ("forbidden", Self::Forbidden),
    ];
}

impl Choice for Completion {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("message", Self::Message),
        ("final_report", Self::FinalReport),
    ];
}

impl Choice for ToolProof {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("executed", Self::Executed),
        ("succeeded", Self::Succeeded),
        ("lineage", Self::Lineage),
    ];
}

impl Choice for ToolTransport {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("native", Self::Native),
        ("xml-final", Self::XmlFinal),
        ("xml", Self::Xml),
    ];
}

impl Choice for ReportFormat {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("json", Self::Json),
        ("markdown", Self::Markdown),
        ("markdown+mermaid", Self::MarkdownMermaid),
        ("pipe", Self::Pipe),
        ("slack-block-kit", Self::SlackBlockKit),
        ("sub-agent", Self::SubAgent),
        ("text", Self::Text),
        ("tty", Self::Tty),
    ];
}

impl Choice for TextProfile {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("hermes", Self::Hermes),
        ("llama3", Self::Llama3),
        ("qwen", Self::Qwen),
    ];
}

impl Choice for ProviderType {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("openai", Self::Openai),
        ("openai_responses", Self::OpenaiResponses),
        ("anthropic", Self::Anthropic),
        ("google", Self::Google),
        ("openrouter", Self::Openrouter),
        ("ollama", Self::Ollama),
        ("local", Self::Local),
        ("scripted", Self::Scripted),
    ];
}

impl Choice for PriceUnit {
    const WORDS: &'static [(&'static str, Self)] =
        &[("per_1m", Self::PerMillion), ("per_1k", Self::PerThousand)];
}

/// A text profile, or `none` where the author wants no calls in text.
pub(in crate::contract) struct TextForm;

impl TextForm {
    const WORDS: [(&'static str, Setting<TextProfile>); 4] = [
        ("hermes", Setting::Value(TextProfile::Hermes)),
        ("llama3", Setting::Value(TextProfile::Llama3)),
        ("qwen", Setting::Value(TextProfile::Qwen)),
        ("none", Setting::Off),
    ];
}

impl Read for TextForm {
    type Output = Setting<TextProfile>;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        choose(node, reporter, &Self::WORDS)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"enum": Self::WORDS.map(|(word, _)| word)})
    }
}

/// Declares lists of words that stay text.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident: $($word:literal)+;)+) => {
        $($(#[$doc])*
        pub(in crate::contract) struct $name;

        impl Read for $name {
            type Output = String;

            fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
                choose(node, reporter, &[$(($word, $word)),+]).map(str::to_owned)
            }

            fn schema(_: &mut Schemas) -> Value {
                json!({"enum": [$($word),+]})
            }
        })+
    };
}

words! {
    /// The caching of prompts. The second is one of the words for off, too.
    Caching: "full" "none";
    /// How much a model reasons.
    Level: "minimal" "low" "medium" "high";
    /// A tool inside monolith.
    Builtin: "apply_patch" "clock" "edit_file" "echo" "glob" "grep" "http_get" "list_directory" "read_file" "shell" "write_file";
}
