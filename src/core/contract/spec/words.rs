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

/// Declares the words of closed lists: a value for each. With `as_str`, the value knows its word.
macro_rules! choices {
    (@as_str [] $($rest:tt)+) => {};
    (@as_str [as_str] $name:ident $($word:literal $value:ident),+) => {
        impl $name {
            /// The word of a contract file.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word),+
                }
            }
        }
    };
    ($($name:ident $($as_str:ident)?: $($word:literal $value:ident),+;)+) => {
        $(impl Choice for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$value)),+];
        }
        choices!(@as_str [$($as_str)?] $name $($word $value),+);)+
    };
}

choices! {
    ApprovalAction: "allow" Allow, "ask" Ask, "deny" Deny;
    Page: "chat" Chat, "code" Code;
    Label: "trusted" Trusted, "untrusted" Untrusted, "private" Private;
    FlowAction: "deny" Deny, "ask" Ask;
    Elicitation: "denied" Denied, "defaults" Defaults, "ask" Ask;
    Network: "off" Off, "on" On;
    OAuthGrant: "authorization_code" AuthorizationCode, "client_credentials" ClientCredentials, "cross_app_access" CrossAppAccess;
    HealthProbe: "ping" Ping, "list_tools" ListTools;
    Remote: "http" Http, "sse" Sse, "websocket" Websocket;
    WebScheme as_str: "http" Http, "https" Https;
    Beside: "resources" Resources, "prompts" Prompts;
    ToolPolicy: "required" Required, "optional" Optional, "forbidden" Forbidden;
    Completion: "message" Message, "final_report" FinalReport;
    ToolProof: "executed" Executed, "succeeded" Succeeded, "lineage" Lineage;
    ToolTransport: "native" Native, "xml-final" XmlFinal, "xml" Xml;
    ReportFormat as_str: "json" Json, "markdown" Markdown, "markdown+mermaid" MarkdownMermaid, "pipe" Pipe, "slack-block-kit" SlackBlockKit, "sub-agent" SubAgent, "text" Text, "tty" Tty;
    TextProfile as_str: "hermes" Hermes, "llama3" Llama3, "qwen" Qwen;
    ProviderType as_str: "openai" Openai, "openai_responses" OpenaiResponses, "anthropic" Anthropic, "google" Google, "openrouter" Openrouter, "ollama" Ollama, "local" Local, "scripted" Scripted;
    PriceUnit: "per_1m" PerMillion, "per_1k" PerThousand;
}

/// The most characters of a text of a profile.
pub(in crate::contract) const MOST_CHARS: usize = 4_096;

/// A text that says something.
pub(in crate::contract) struct Text;

impl Read for Text {
    type Output = String;

    fn read(node: &Node, reporter: &Reporter<'_>) -> Option<Self::Output> {
        let text = String::read(node, reporter)?;
        let chars = text.chars().count();
        if text.trim().is_empty() || chars > MOST_CHARS {
            let rule = format!("expected a text of 1 to {MOST_CHARS} characters, got {chars}");
            reporter.refuse(node, rule, None);
            return None;
        }
        Some(text)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({"type": "string", "pattern": "\\S", "maxLength": MOST_CHARS})
    }
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
    /// The complexity of a work item.
    ComplexityWord: "low" "medium" "high";
    /// The answer of a work item to a conflict.
    OnConflictWord: "fail" "serialize";
    /// The answer to a failed call.
    ToolErrorsWord: "fail" "allow";
    /// A level of reasoning.
    Level: "minimal" "low" "medium" "high";
    /// A tool inside monolith.
    Builtin: "apply_patch" "clock" "edit_file" "echo" "glob" "grep" "http_get" "list_directory" "read_file" "shell" "write_file";
}
