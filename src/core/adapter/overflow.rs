//! The words by which providers say that a request is larger than the model's window. Reads no code and no status.

/// Phrases of an overflow, in lower case: one row suffices, and all parts of it must be there.
const OVERFLOW: &[&[&str]] = &[
    &["context length"],
    &["context limit"],
    &["context size"],
    &["context window"],
    &["context_length_exceeded"],
    &["contextwindowexceeded"],
    &["current length is", "while limit is"],
    &["exceed", "model's max length"],
    &["exceed", "n_ctx"],
    &["input is too long"],
    &["input length", "exceed"],
    &["input token", "exceed"],
    &["inputs", "must be <="],
    &["inputs", "must have less than"],
    &["length of all messages is too long"],
    &["longer than the maximum model length"],
    &["max seq len"],
    &["max tokens of", "exceeded"],
    &["max_prompt_length"],
    &["max_seq_len"],
    &["max_tokens must be at least 1", "got -"],
    &["maximum context"],
    &["maximum input length"],
    &["maximum number of tokens", "exceed"],
    &["maximum prompt length"],
    &["maximum sequence length"],
    &["more than max tokens allowed"],
    &["payload size exceeds"],
    &["prompt contains", "tokens", "too large"],
    &["prompt does not fit"],
    &["prompt exceeds"],
    &["prompt", "is too long and exceeds"],
    &["prompt is too large"],
    &["prompt is too long"],
    &["prompt token", "exceed"],
    &["prompt tokens too long"],
    &["prompt too large"],
    &["prompt too long"],
    &["range of input length"],
    &["reduce the length of the"],
    &["request body too large"],
    &["request entity too large"],
    &["resulted in", "tokens", "exceed"],
    &["token limit", "exceeded"],
    &["token limit", "request exceed"],
    &["tokens in the prompt", "exceed"],
    &["too many input tokens"],
    &["total number of tokens", "exceed"],
    &["total tokens", "exceed"],
    &["too many tokens"],
    &["].content", "string too long"],
    &["上下文长度"],
    &["输入过长"],
    &["输入长度超"],
    &["超长"],
];

/// Phrases of a limit over time, in lower case: a smaller request is not what they ask for.
const RATE: &[&str] = &[
    "(tpm)",
    "daily",
    "per day",
    "per hour",
    "per minute",
    "rate limit",
    "too many requests",
    "tokens per min",
    "wait before",
];

/// Phrases of a limit on the answer alone.
const OUTPUT: &[&str] = &["max tokens must be", "maximum output"];

/// True if a message in lower case is about a limit over time.
pub(super) fn is_rate(words: &str) -> bool {
    RATE.iter().any(|phrase| words.contains(phrase))
}

/// True if a message in lower case says that the request does not fit the model.
pub(super) fn is_overflow(words: &str) -> bool {
    let has = |row: &&[&str]| row.iter().all(|part| words.contains(part));
    let is_other = is_rate(words) || OUTPUT.iter().any(|phrase| words.contains(phrase));
    !is_other && OVERFLOW.iter().any(has)
}
