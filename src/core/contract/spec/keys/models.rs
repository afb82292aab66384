//! The keys of providers, targets and sampling, with types, defaults and meanings. Data only.

use std::collections::BTreeMap;

use crate::contract::prices::PriceUnit;
use crate::contract::spec::contract_spec::{ModelSpec, ReasoningMap, SamplingSpec};
use crate::contract::spec::foreign::ProviderOptions;
use crate::contract::spec::form::{DefaultText, NEEDED, form};
use crate::contract::spec::reader::Big;
use crate::contract::spec::texts::{
    ClampedTo, Dollars, EnvName, Headers, KeyEnv, NotNegative, ReasoningTokens, StopTexts, Url,
};
use crate::contract::spec::words::{Caching, Level, TextForm};
use crate::contract::{ModelPrice, ProfileMatch, ProviderType, SamplingDefaults, TextProfile};

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
    TARGET: TargetKeys, "target", "a model to ask";
    "target": {
        provider: String, DefaultText = NEEDED,
        "A name under `providers`." => needed;
        model: String, DefaultText = NEEDED,
        "The model's name there." => needed;
        context_window: u64, DefaultText = DefaultText("the model's at its provider, the file's, the profile's"),
        "Its window in tokens. It must be known from somewhere.";
        model_profile_id: String, DefaultText = DefaultText("the file's, else found by the model's name"),
        "The profile that describes it." => nullable;
        sampling: SamplingSpec, DefaultText = DefaultText("none"),
        "What differs from the file's `sampling` for this target; the same keys.";
        text_profile: TextForm, DefaultText = DefaultText("the profile's"),
        "How a model without calls on the wire calls tools in its text; `none`: not at all ([text-profiles.md](text-profiles.md)).";
    }
}

form! {
    /// One entry of `providers`.
    PROVIDER: ProviderKeys, "provider", "where models are";
    "provider": {
        provider_type as "type": ProviderType, DefaultText = NEEDED,
        "The wire protocol." => needed_somewhere;
        base_url: Url, DefaultText = DefaultText("the public address of the type"),
        "With the version: `http://127.0.0.1:8080/v1`. No user name and no password." => nullable, only_for(SERVERS);
        base_url_env: EnvName, DefaultText = DefaultText("none"),
        "Name of a variable that holds the address, in place of `base_url`: a model server that moves. The contract holds the name, the \
         run's record the address." => nullable, only_for(SERVERS), not_with(&["base_url"]);
        api_key_env: KeyEnv, DefaultText = DefaultText("for the provider's own hosts the usual variable, such as `OPENAI_API_KEY`; else none"),
        "Name of the variable that holds the key. A key goes to another host only where you name it here. The usual one may be unset: \
         then no key is sent. One that you name must be set."
            => nullable, only_for(SERVERS);
        headers: Headers, DefaultText = DefaultText("none"),
        "Extra headers. Values may hold `${NAME}`, which is the variable of that name." => only_for(SERVERS);
        file: String, DefaultText = DefaultText("scripted: needed; local: the stored model of the target's name"),
        "The script or the model, found from the contract file's folder."
            => nullable, only_for(&[ProviderType::Scripted, ProviderType::Local]), needed_for(&[ProviderType::Scripted]);
        overrides: SamplingSpec, DefaultText = DefaultText("none"),
        "What differs from the file's `sampling` for every model here; the same keys.";
        reasoning: ReasoningMap, DefaultText = DefaultText("the protocol's own"),
        "What the levels are called here: one value, or four, `[minimal, low, medium, high]`. A value is a word, a number of tokens, \
         or null, which switches the level off.";
        provider_options: ProviderOptions, DefaultText = DefaultText("none"),
        "Members of every request's body, as they are written. See below." => nullable, only_for(ALL_BUT_LOCAL);
        context_window: u64, DefaultText = DefaultText("the file's, the profile's"),
        "The window in tokens of every model here that states none." => nullable;
        tokenizer: String, DefaultText = DefaultText("the profile's"),
        "What tokens of its models are estimated with; null: bytes / 4." => or_off;
        buffer: u64, DefaultText = DefaultText("the file's"),
        "Tokens that are kept free in each request; the largest of the targets counts where the file states no `context_budget.buffer`." => nullable;
        tools_allowed: Vec<String>, DefaultText = DefaultText("all"),
        "The tools of the contract that its models are offered, each as models call it (`fs__read_file`) or as its server does \
         (`read_file`). Case does not count; `*` and `any` mean every tool. The session's own tools are always offered." => nullable;
        tools_denied: Vec<String>, DefaultText = DefaultText("none"),
        "The tools that its models are not offered, whatever `tools_allowed` says; written in the same way. A call of one is refused \
         as a call outside `allowed_tools` is." => nullable;
        models: BTreeMap<String, ModelSpec>, DefaultText = DefaultText("none"),
        "By the model's name: `overrides`, `reasoning`, `context_window`, `tokenizer` and `buffer` for this model.";
    }
}

form! {
    /// One entry of `providers.<name>.models`.
    MODEL: ModelKeys, "model", "what differs for one model of a provider";
    "model": {
        context_window: u64, DefaultText = DefaultText("the provider's, the file's, the profile's"),
        "Its window in tokens." => nullable;
        overrides: SamplingSpec, DefaultText = DefaultText("none"),
        "What differs from the provider's `overrides`; the same keys as `sampling`.";
        reasoning: ReasoningMap, DefaultText = DefaultText("the provider's"),
        "What the levels of reasoning are called for it.";
        tokenizer: String, DefaultText = DefaultText("the provider's, the profile's"),
        "What its tokens are estimated with; null: bytes / 4." => or_off;
        buffer: u64, DefaultText = DefaultText("the provider's"),
        "Tokens that are kept free in each request to it." => nullable;
    }
}

form! {
    /// Parameters of requests.
    SAMPLING: SamplingKeys, "sampling", "parameters of requests";
    "sampling": {
        temperature: ClampedTo<2>, f64 = 0.7,
        "0 to 2." => or_off_word;
        top_p: ClampedTo<1>, f64 = 1.0,
        "0 to 1." => or_off_word;
        repeat_penalty: NotNegative, f64 = 1.1,
        "At least 0." => or_off_word;
        max_output_tokens: u64, u64 = 4096,
        "Tokens of one answer; `off`: no request says so, and the default is reserved all the same (not for `anthropic` and `local`)."
            => or_off_word;
        seed: Big, u64 = 0,
        "Sent where the protocol has one." => or_off_word;
        stop: StopTexts, DefaultText = DefaultText("none"),
        "Up to 4 texts that end an answer." => or_off_word;
        stream: bool, bool = false,
        "Whether answers are streamed.";
        reasoning: Level, DefaultText = DefaultText("not sent"),
        "`minimal`, `low`, `medium`, `high`." => or_off_word;
        reasoning_tokens: ReasoningTokens, DefaultText = DefaultText("not sent"),
        "Tokens; `disabled` or 0: reasoning is switched off where the protocol can." => or_off_word;
        caching: Caching, &'static str = "full",
        "`full`, `none`: prompt caching, where the protocol has it." => or_off_word;
    }
}

form! {
    /// One entry of `model_profiles`.
    PROFILE: ProfileKeys, "profile", "what is known of a family of models";
    "profile": {
        id: String, DefaultText = NEEDED,
        "What contracts call it; 1 to 200 characters." => needed;
        description: String, DefaultText = DefaultText("empty"),
        "One sentence for people.";
        matches as "match": Vec<ProfileMatch>, DefaultText = DefaultText("none"),
        "Which targets it describes.";
        context_window: u64, DefaultText = DefaultText("none"),
        "The window in tokens." => nullable;
        supports_native_tools: bool, bool = true,
        "Whether it calls tools through its provider's own form.";
        text_profiles: Vec<TextProfile>, DefaultText = DefaultText("none"),
        "The forms in which it writes calls into its text.";
        template: String, DefaultText = DefaultText("the provider's affair"),
        "How its weights expect a conversation to be laid out." => nullable;
        tokenizer: String, DefaultText = DefaultText("bytes / 4"),
        "What its tokens are estimated with." => nullable;
        grammar_profiles: Vec<String>, DefaultText = DefaultText("none"),
        "Languages of the token gate that can be had with it.";
        strict_mode: bool, bool = true,
        "Whether answers are judged strictly where the file does not say.";
        max_format_retries: u32, u32 = 1,
        "Format retries of a run whose file names none.";
        sampling: SamplingDefaults, DefaultText = DefaultText("none"),
        "Parameters of targets where neither target nor file says otherwise.";
    }
}

form! {
    /// Parameters in a profile.
    PROFILE_SAMPLING: ProfileSamplingKeys, "profile-sampling", "parameters that a family of models is best asked with";
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
    MATCH: MatchKeys, "match", "models of some providers";
    "match": {
        models: Vec<String>, DefaultText = NEEDED,
        "Names, case-insensitive; `*` stands for any run of characters." => needed;
        providers: Vec<ProviderType>, DefaultText = NEEDED,
        "Their types." => needed;
    }
}

form! {
    /// The section `prices`.
    PRICES: PricesKeys, "prices", "what models cost";
    "prices": {
        version: String, DefaultText = NEEDED,
        "Your name for the state of the table." => needed;
        models: BTreeMap<String, BTreeMap<String, ModelPrice>>, DefaultText = NEEDED,
        "Prices by provider and model." => needed;
    }
}

form! {
    /// What one model costs.
    PRICE: PriceKeys, "price", "what one model costs, in US dollars";
    "price": {
        input: Dollars, DefaultText = NEEDED,
        "What a prompt costs." => needed;
        output: Dollars, DefaultText = NEEDED,
        "What an answer costs." => needed;
        cache_read: Dollars, DefaultText = DefaultText("that of `input`"),
        "What is read from a cache.";
        cache_write: Dollars, DefaultText = DefaultText("that of `input`"),
        "What is written to a cache.";
        unit: PriceUnit, PriceUnit = PriceUnit::PerMillion,
        "For how many tokens the prices are: `per_1m`, `per_1k`.";
    }
}
