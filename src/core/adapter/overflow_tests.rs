//! The words of each provider for a request that does not fit, and words that only look like them.

use super::error_report::ErrorReport;
use crate::message::ProviderFaultClass as Class;

fn check(class: Class, rows: &[(&str, u16, &str)]) {
    for (provider, status, message) in rows {
        // As the bare text, and as each protocol writes it.
        let quoted = serde_json::Value::from(*message);
        for body in [
            (*message).to_owned(),
            format!(r#"{{"error":{{"message":{quoted},"type":"invalid_request_error"}}}}"#),
            format!(r#"{{"type":"error","error":{{"message":{quoted}}}}}"#),
            format!(r#"[{{"error":{{"code":{status},"message":{quoted}}}}}]"#),
            format!(r#"{{"message":{quoted}}}"#),
            format!(r#"{{"error":{quoted}}}"#),
        ] {
            let fault = ErrorReport::of_body(&body).into_fault(*status);
            assert_eq!(fault.class, class, "{provider}: {body}");
        }
    }
}

#[test]
fn every_provider_has_its_own_words_for_an_overflow() {
    check(
        Class::ContextOverflow,
        &[
            (
                "OpenAI chat",
                400,
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens.",
            ),
            (
                "OpenAI responses",
                400,
                "Your input exceeds the context window of this model. Please adjust your input and try again.",
            ),
            (
                "OpenAI, one message",
                400,
                "Invalid 'messages[3].content': string too long. Expected a string with maximum length 10485760.",
            ),
            (
                "Azure",
                400,
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens.",
            ),
            (
                "GitHub Models",
                413,
                "Request body too large for gpt-4o-mini model. Max size: 8000 tokens.",
            ),
            (
                "GitHub Copilot",
                400,
                "prompt token count of 141422 exceeds the limit of 128000",
            ),
            (
                "Anthropic",
                400,
                "prompt is too long: 208310 tokens > 200000 maximum",
            ),
            (
                "Anthropic, with the answer",
                400,
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
            ),
            ("Anthropic, bytes", 413, "Request exceeds the maximum size"),
            ("Bedrock", 400, "Input is too long for requested model."),
            (
                "Bedrock Titan",
                400,
                "Too many input tokens. Max input tokens: 8192, request input token count: 9001",
            ),
            (
                "Bedrock Nova",
                400,
                "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
            ),
            (
                "Gemini",
                400,
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
            ),
            (
                "Gemini, bytes",
                400,
                "Request payload size exceeds the limit: 20971520 bytes.",
            ),
            (
                "Vertex",
                400,
                "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total of 211266 tokens.",
            ),
            (
                "Mistral",
                400,
                "Prompt contains 40331 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            ),
            (
                "DeepSeek",
                400,
                "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion).",
            ),
            (
                "Moonshot",
                400,
                "Invalid request: Your request exceeded model token limit: 131072 (requested: 150000)",
            ),
            (
                "DashScope",
                400,
                "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
            ),
            ("Zhipu", 400, "Prompt exceeds max length"),
            ("Zhipu, Chinese", 400, "Prompt 超长"),
            ("Chinese gateways", 400, "输入长度超过模型上限"),
            (
                "GLM behind a hub",
                400,
                "Input length 877338 exceeds the maximum allowed input length of 639968 tokens",
            ),
            (
                "MiniMax",
                400,
                "invalid params, context window exceeds limit (2013)",
            ),
            ("Baidu", 400, "Prompt tokens too long"),
            (
                "xAI",
                400,
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            ),
            (
                "Groq",
                400,
                "Please reduce the length of the messages or completion.",
            ),
            (
                "Cerebras",
                400,
                "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
            ),
            (
                "Together",
                422,
                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`",
            ),
            (
                "Together, newer",
                400,
                "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
            ),
            (
                "Fireworks",
                400,
                "The prompt is too long: 9000, model maximum context length: 8191",
            ),
            (
                "Cohere",
                400,
                "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt.",
            ),
            (
                "Cohere, size",
                400,
                "too many tokens: size limit exceeded by 123 tokens. Try using shorter or fewer inputs.",
            ),
            (
                "Perplexity",
                400,
                "The total length of all messages is too long.",
            ),
            (
                "OpenRouter",
                400,
                "This endpoint's maximum context length is 200000 tokens. However, you requested about 213000 tokens.",
            ),
            (
                "Poolside",
                400,
                "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
            ),
            (
                "vLLM",
                400,
                "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
            ),
            (
                "vLLM, with the answer",
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192 tokens and your request has 5000 input tokens.",
            ),
            (
                "vLLM, prompt",
                400,
                "Input prompt (9000 tokens) is too long and exceeds limit of 8192",
            ),
            (
                "SGLang",
                400,
                "Requested input length 268972 exceeds maximum input length 202751",
            ),
            (
                "SGLang, parenthesised",
                400,
                "Input length (265330) exceeds model's maximum context length (262144).",
            ),
            (
                "TGI",
                422,
                "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
            ),
            (
                "TensorRT-LLM",
                400,
                "The prompt length 9000 is larger than max_seq_len 8192",
            ),
            (
                "llama.cpp",
                400,
                "the request exceeds the available context size, try increasing it",
            ),
            (
                "llama.cpp, older",
                500,
                "Requested tokens (5120) exceed context window of 2048",
            ),
            (
                "LM Studio",
                400,
                "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough.",
            ),
            (
                "LM Studio, newer",
                400,
                "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
            ),
            (
                "Ollama",
                400,
                "prompt too long; exceeded max context length by 120 tokens",
            ),
            (
                "Ollama, embedded in text",
                500,
                "the input length exceeds the context length",
            ),
            ("Snowflake", 400, "max tokens of 8192 exceeded"),
            ("gateways, the code as text", 400, "context_length_exceeded"),
            (
                "litellm",
                400,
                "litellm.ContextWindowExceededError: litellm.BadRequestError: boom",
            ),
            (
                "vLLM, no room for the answer",
                400,
                "max_tokens must be at least 1, got -500.",
            ),
            (
                "gateways, counted",
                400,
                "Your messages resulted in 200000 tokens, which exceeds the limit of 128000",
            ),
            (
                "gateways, in total",
                400,
                "Total tokens (prompt + completion) exceed 8192",
            ),
            (
                "StepFun",
                400,
                "total tokens of image and text exceed max message tokens",
            ),
            (
                "gateways, the number",
                400,
                "The total number of tokens in the request exceeds the allowed limit of 65536",
            ),
            ("Hugging Face", 400, "Input exceeds model's max length 4096"),
            ("MLX", 400, "max_prompt_length exceeded: 5000 > 4096"),
            (
                "llama.cpp, its cache",
                500,
                "KV cache is full: prompt does not fit",
            ),
            ("llama.cpp, its name", 500, "the input exceeds n_ctx"),
            (
                "Chinese gateways, the input",
                400,
                "您的输入过长，超过了模型的最大长度限制",
            ),
            ("gateways", 400, "token limit exceeded for this model"),
        ],
    );
}

#[test]
fn a_limit_on_the_answer_is_no_overflow() {
    check(
        Class::Model,
        &[
            (
                "OpenAI",
                400,
                "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
            ),
            (
                "Anthropic",
                400,
                "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5",
            ),
            (
                "Gemini",
                400,
                "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).",
            ),
            (
                "DeepSeek",
                400,
                "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            ),
            (
                "DashScope",
                400,
                "<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
            ),
            (
                "Groq",
                400,
                "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
            ),
            (
                "Cohere",
                400,
                "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192.",
            ),
            (
                "Bedrock",
                400,
                "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
            ),
            ("GLM", 400, "max_tokens参数非法：限制数值范围[1,1024]"),
            (
                "a file",
                400,
                "Prompt contains unsupported content; file too large",
            ),
            ("an image", 400, "The image is too large for this prompt"),
            ("vLLM", 400, "max_tokens must be at least 1, got 0."),
            (
                "a long name",
                400,
                "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.",
            ),
        ],
    );
}

#[test]
fn a_limit_over_time_is_no_overflow() {
    check(
        Class::RateLimit,
        &[
            (
                "Groq",
                413,
                "Request too large for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 12000, Requested 25155, please reduce your message size and try again.",
            ),
            (
                "OpenAI",
                429,
                "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced.",
            ),
            (
                "Anthropic",
                429,
                "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
            ),
            (
                "Bedrock",
                429,
                "Too many tokens, please wait before trying again.",
            ),
        ],
    );
}
