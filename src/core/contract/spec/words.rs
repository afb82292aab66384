//! The closed lists of words that a file chooses from.

use super::form::Choice;
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

/// A text profile, or `none` where the author wants no calls in text.
#[derive(Clone, Copy)]
pub(in crate::contract) struct TextForm(pub(super) Option<TextProfile>);

impl Choice for TextForm {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("hermes", Self(Some(TextProfile::Hermes))),
        ("llama3", Self(Some(TextProfile::Llama3))),
        ("qwen", Self(Some(TextProfile::Qwen))),
        ("none", Self(None)),
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

/// Whether prompts are cached.
#[derive(Clone, Copy)]
pub(in crate::contract) struct Caching(pub(super) &'static str);

impl Choice for Caching {
    // The second is one of the words for off, too.
    const WORDS: &'static [(&'static str, Self)] =
        &[("full", Self("full")), ("none", Self("none"))];
}

/// How much a model reasons.
#[derive(Clone, Copy)]
pub(in crate::contract) struct Level(pub(super) &'static str);

impl Choice for Level {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("minimal", Self("minimal")),
        ("low", Self("low")),
        ("medium", Self("medium")),
        ("high", Self("high")),
    ];
}

impl Choice for PriceUnit {
    const WORDS: &'static [(&'static str, Self)] =
        &[("per_1m", Self::PerMillion), ("per_1k", Self::PerThousand)];
}

/// A tool inside monolith.
#[derive(Clone, Copy)]
pub(in crate::contract) struct Builtin(pub(super) &'static str);

impl Choice for Builtin {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("apply_patch", Self("apply_patch")),
        ("clock", Self("clock")),
        ("edit_file", Self("edit_file")),
        ("echo", Self("echo")),
        ("glob", Self("glob")),
        ("grep", Self("grep")),
        ("http_get", Self("http_get")),
        ("list_directory", Self("list_directory")),
        ("read_file", Self("read_file")),
        ("shell", Self("shell")),
        ("write_file", Self("write_file")),
    ];
}
