//! The keys of providers, targets and sampling, with types, defaults and meanings. Data only.

use std::collections::BTreeMap;

use crate::contract::prices::PriceUnit;
use crate::contract::spec::declare::form;
use crate::contract::spec::foreign::ProviderOptions;
use crate::contract::spec::form::FromLayer::{AsIs, Later, Located, Names, Parameters, Variable};
use crate::contract::spec::form::{DefaultText, NEEDED, Setting};
use crate::contract::spec::reasoning::ReasoningMap;
use crate::contract::spec::texts::{
    ClampedTo, Dollars, EnvName, Headers, KeyEnv, NotNegative, ReasoningTokens, StopTexts, Url,
};
use crate::contract::spec::tree::Node;
use crate::contract::spec::words::{Caching, Level, TextForm};
use crate::contract::{
    ModelProfile, PriceTable, ProfileMatch, ProviderType, SamplingDefaults, TextProfile,
};

/// Providers that are reached over a network.
const SERVERS: &[ProviderType] = &[
    ProviderType::Openai,
    ProviderType::OpenaiResponses,
    ProviderType::Anthropic,
    ProviderType::Google,
    ProviderType::Openrouter,
    ProviderType::Ollama,
];

/// All but the embedded model.
const ALL_BUT_LOCAL: &[ProviderType] = &[
    ProviderType::Openai,
    ProviderType::OpenaiResponses,
    ProviderType::Anthropic,
    ProviderType::Google,
    ProviderType::Openrouter,
    ProviderType::Ollama,
    ProviderType::Scripted,
];

form! {
    /// One entry of `targets`.
    TARGET: TargetKeys, "target", "a model to ask" [
        #[derive(Clone, Debug, Default, PartialEq)] pub struct TargetSpec {
            /// True if it makes summaries and nothing else.
            pub summarizer: bool,
        }
    ];
    "target": {
        provider: String => needed, DefaultText = NEEDED,
        "A name under `providers`.";
        model: String => needed, DefaultText = NEEDED,
        "The model's name there.";
        context_window: u64, DefaultText = DefaultText("the model's at its provider, the file's, the catalogue's, the profile's"),
        "Its window in tokens. Needed for a model that the catalogue does not know ([models.md](models.md#the-catalogue-of-models)).";
        model_profile_id: String, DefaultText = DefaultText("the file's, else found by the model's name"),
        "The profile that describes it." => nullable;
        sampling: SamplingSpec => or_empty, DefaultText = DefaultText("none"),
        "What differs from the file's `sampling` for this target; the same keys.";
        text_profile: TextForm as Setting<TextProfile> => or_empty, DefaultText = DefaultText("the profile's"),
        "How a model without calls on the wire calls tools in its text; `none`: not at all ([text-profiles.md](text-profiles.md)).";
    }
}

form! {
    /// One entry of `providers`.
    PROVIDER: ProviderKeys, "provider", "where models are" [#[derive(Clone, Default, PartialEq)] pub struct ProviderSpec judged elsewhere];
    "provider": {
        provider_type as "type": ProviderType => needed_somewhere, DefaultText = NEEDED,
        "The wire protocol." => layers(AsIs);
        base_url: Url as String, DefaultText = DefaultText("the public address of the type"),
        "With the version: `http://127.0.0.1:8080/v1`. No user name and no password." => nullable, only_for(SERVERS), layer_name("baseUrl"), layers(AsIs);
        base_url_env: EnvName as String, DefaultText = DefaultText("none"),
        "Name of a variable that holds the address, in place of `base_url`: a model server that moves. The contract holds the name, the \
         run's record the address." => nullable, only_for(SERVERS), not_with(&["base_url"]), layers(Variable);
        api_key_env: KeyEnv as String, DefaultText = DefaultText("for the provider's own hosts the usual variable, such as `OPENAI_API_KEY`; else none"),
        "Name of the variable that holds the key. A key goes to another host only where you name it here. The usual one may be unset: \
         then no key is sent. One that you name must be set."
            => nullable, only_for(SERVERS), layer_name("apiKey"), layers(Variable);
        headers: Headers as BTreeMap<String, String> => or_empty, DefaultText = DefaultText("none"),
        "Extra headers. Values may hold `${NAME}`, which is the variable of that name." => only_for(SERVERS), layers(Later);
        file: String, DefaultText = DefaultText("scripted: a built-in script, which answers everything alike; local: the stored model of the target's name"),
        "The script or the model, found from the contract file's folder."
            => nullable, only_for(&[ProviderType::Scripted, ProviderType::Local]), layers(Located);
        overrides: SamplingSpec => or_empty, DefaultText = DefaultText("none"),
        "What differs from the file's `sampling` for every model here; the same keys." => layers(Parameters);
        reasoning: ReasoningMap, DefaultText = DefaultText("the protocol's own"),
        "What the levels are called here: one value, or four, `[minimal, low, medium, high]`. A value is a word, a number of tokens, \
         or null, which switches the level off." => layers(AsIs);
        provider_options: ProviderOptions as String, DefaultText = DefaultText("none"),
        "Members of every request's body, as they are written. See below." => nullable, only_for(ALL_BUT_LOCAL);
        context_window: u64, DefaultText = DefaultText("the file's, the catalogue's, the profile's"),
        "The window in tokens of every model here that states none." => nullable, layer_name("contextWindow"), layers(AsIs);
        tokenizer: String => or_off, DefaultText = DefaultText("the profile's"),
        "What tokens of its models are estimated with; null: bytes / 4." => layers(AsIs);
        buffer: u64, DefaultText = DefaultText("the file's"),
        "Tokens that are kept free in each request; the largest of the targets counts where the file states no `context_budget.buffer`." => nullable, layer_name("contextWindowBufferTokens"), layers(AsIs);
        tools_allowed: Vec<String>, DefaultText = DefaultText("all"),
        "The tools of the contract that its models are offered, each as models call it (`fs__read_file`) or as its server does \
         (`read_file`). Case does not count; `*` and `any` mean every tool. The session's own tools are always offered." => nullable, layer_name("toolsAllowed"), layers(Names);
        tools_denied: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "The tools that its models are not offered, whatever `tools_allowed` says; written in the same way. A call of one is refused \
         as a call outside `allowed_tools` is." => nullable, layer_name("toolsDenied"), layers(Names);
        models: BTreeMap<String, ModelSpec> => or_empty, DefaultText = DefaultText("none"),
        "By the model's name: `overrides`, `reasoning`, `context_window`, `tokenizer` and `buffer` for this model." => layers(AsIs);
    }
}

form! {
    /// One entry of `providers.<name>.models`.
    MODEL: ModelKeys, "model", "what differs for one model of a provider" [#[derive(Clone, Debug, Default, PartialEq)] pub struct ModelSpec];
    "model": {
        context_window: u64, DefaultText = DefaultText("the provider's, the file's, the catalogue's, the profile's"),
        "Its window in tokens." => nullable, layer_name("contextWindow"), layers(AsIs);
        overrides: SamplingSpec => or_empty, DefaultText = DefaultText("none"),
        "What differs from the provider's `overrides`; the same keys as `sampling`." => layers(Parameters);
        reasoning: ReasoningMap, DefaultText = DefaultText("the provider's"),
        "What the levels of reasoning are called for it." => layers(AsIs);
        tokenizer: String => or_off, DefaultText = DefaultText("the provider's, the profile's"),
        "What its tokens are estimated with; null: bytes / 4." => layers(AsIs);
        buffer: u64, DefaultText = DefaultText("the provider's"),
        "Tokens that are kept free in each request to it." => nullable, layer_name("contextWindowBufferTokens"), layers(AsIs);
    }
}

form! {
    /// Parameters of requests.
    SAMPLING: SamplingKeys, "sampling", "parameters of requests" [
        #[derive(Clone, Debug, Default, PartialEq)] pub struct SamplingSpec {
            /// The part from overrides of the command line; it comes before every other.
            pub commanded: Option<Box<SamplingSpec>>,
        } by hand
    ];
    "sampling": {
        temperature: ClampedTo<2> as f64 => or_off_word, DefaultText = DefaultText("not sent; 0.7 in an agent file and for `local`"),
        "0 to 2." => front(&["temperature"]);
        top_p: ClampedTo<1> as f64 => or_off_word, DefaultText = DefaultText("not sent; 1 in an agent file and for `local`"),
        "0 to 1." => front(&["topP"]);
        repeat_penalty: NotNegative as f64 => or_off_word, DefaultText = DefaultText("not sent; 1.1 in an agent file and for `local`"),
        "At least 0." => front(&["repeatPenalty"]);
        max_output_tokens: u64 => or_off_word, DefaultText = DefaultText("4096, or fewer where the model gives fewer; see below"),
        "Tokens of one answer; `off`: no request states them, and the default is reserved all the same (not for `anthropic` and `local`)." => undefined_is_off, front(&["maxOutputTokens"]);
        seed: u64 => or_off_word, DefaultText = DefaultText("not sent; 0 for `local`"),
        "Sent where the protocol has one.";
        stop: StopTexts as Vec<String> => or_off_word, DefaultText = DefaultText("none"),
        "Up to 4 texts that end an answer.";
        stream: bool, bool = false,
        "Whether answers are streamed." => front(&["stream"]);
        reasoning: Level as String => or_off_word, DefaultText = DefaultText("not sent"),
        "`minimal`, `low`, `medium`, `high`." => front(&["reasoning"]);
        reasoning_tokens: ReasoningTokens as u64 => or_off_word, DefaultText = DefaultText("not sent"),
        "Tokens; `disabled` or 0: reasoning is switched off where the protocol can." => front(&["reasoningTokens"]);
        caching: Caching as String => or_off_word, &'static str = "full",
        "`full`, `none`: prompt caching, where the protocol has it." => front(&["caching"]);
    }
}

form! {
    /// One entry of `model_profiles`.
    PROFILE: ProfileKeys, "profile", "what is known of a family of models" [reads ModelProfile by hand];
    "profile": {
        id: String => needed, DefaultText = NEEDED,
        "What contracts call it; 1 to 200 characters.";
        description: String => or_empty, DefaultText = DefaultText("empty"),
        "One sentence for people.";
        matches as "match": Vec<ProfileMatch> => or_empty, DefaultText = DefaultText("none"),
        "Which targets it describes.";
        context_window: u64, DefaultText = DefaultText("none"),
        "The window in tokens." => nullable;
        supports_native_tools: bool => or_default, bool = true,
        "Whether it calls tools through its provider's own form.";
        text_profiles: Vec<TextProfile> => or_empty, DefaultText = DefaultText("none"),
        "The forms in which it writes calls into its text.";
        template: String, DefaultText = DefaultText("the provider's affair"),
        "How its weights expect a conversation to be laid out." => nullable;
        tokenizer: String, DefaultText = DefaultText("bytes / 4"),
        "What its tokens are estimated with." => nullable;
        grammar_profiles: Vec<String> => or_empty, DefaultText = DefaultText("none"),
        "Languages of the token gate that can be had with it.";
        strict_mode: bool => or_default, bool = true,
        "Whether answers are judged strictly where the file does not say.";
        max_format_retries: u32 => or_default, u32 = 1,
        "Format retries of a run whose file names none.";
        sampling: SamplingDefaults => or_empty, DefaultText = DefaultText("none"),
        "Parameters of targets where neither target nor file says otherwise.";
    }
}

form! {
    /// Parameters in a profile.
    PROFILE_SAMPLING: ProfileSamplingKeys, "profile-sampling", "parameters that a family of models is best asked with" [reads SamplingDefaults];
    "profile-sampling": {
        max_output_tokens: u64, DefaultText = DefaultText("none"),
        "Tokens of one answer." => nullable;
        repeat_penalty: f64, DefaultText = DefaultText("none"),
        "At least 0." => nullable;
        temperature: f64, DefaultText = DefaultText("none"),
        "0 to 2." => nullable;
        top_p: f64, DefaultText = DefaultText("none"),
        "0 to 1." => nullable;
    }
}

form! {
    /// One entry of a profile's `match`.
    MATCH: MatchKeys, "match", "models of some providers" [reads ProfileMatch];
    "match": {
        models: Vec<String> => needed, DefaultText = NEEDED,
        "Names, case-insensitive; `*` stands for any run of characters.";
        providers: Vec<ProviderType> => needed, DefaultText = NEEDED,
        "Their types.";
    }
}

form! {
    /// The section `prices`.
    PRICES: PricesKeys, "prices", "what models cost" [reads PriceTable];
    "prices": {
        version: String => needed, DefaultText = NEEDED,
        "Your name for the state of the table.";
        models: BTreeMap<String, BTreeMap<String, PriceEntry>> => needed, DefaultText = NEEDED,
        "Prices by provider and model.";
    }
}

form! {
    /// The price of one model.
    PRICE: PriceKeys, "price", "what one model costs, in US dollars" [pub(in crate::contract) struct PriceEntry judged];
    "price": {
        input: Dollars as Node, DefaultText = NEEDED,
        "What a prompt costs." => needed, layers(AsIs), layer_name("prompt");
        output: Dollars as Node, DefaultText = NEEDED,
        "What an answer costs." => needed, layers(AsIs), layer_name("completion");
        cache_read: Dollars as Node, DefaultText = DefaultText("that of `input`"),
        "What is read from a cache." => layers(AsIs), layer_name("cacheRead");
        cache_write: Dollars as Node, DefaultText = DefaultText("that of `input`"),
        "What is written to a cache." => layers(AsIs), layer_name("cacheWrite");
        unit: PriceUnit => or_default, PriceUnit = PriceUnit::PerMillion,
        "For how many tokens the prices are: `per_1m`, `per_1k`." => layers(AsIs);
    }
}
