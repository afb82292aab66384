//! OpenAI chat completions, `openai-chat`, as OpenAI, Azure, OpenRouter, Groq, Mistral, DeepSeek, llama.cpp, vLLM and
//! others speak it.
//!
//! **Requests.** `model`, `messages`, `tools` with `tool_choice` (`auto`, or `required` while the token gate is closed;
//! both left out where no tool is exposed) and `parallel_tool_calls: false` where the contract says so, then
//! `max_tokens` (`max_completion_tokens` to models that refuse it), `temperature`, `top_p`, `seed` (`random_seed` to Mistral), `stop`,
//! `stream` with `stream_options` (not to Mistral). A penalty on repetition is no field of the protocol: it is sent
//! as `repetition_penalty` to OpenRouter, as `repeat_penalty` to other kinds of provider, and not at all to type
//! `openai`, where strict servers refuse unknown fields and the type cannot tell them apart. Reasoning is never sent back but to
//! OpenRouter, see below.
//!
//! **Responses.** A blocking body is folded as a stream of one chunk that has `message` instead of `delta`, so that both
//! give the same message. Only the choice of index 0 counts. Dialect rules, all of them readings and none a repair:
//! - `content` may be null, text, or an array of parts; thinking parts, `reasoning`, `reasoning_content` and
//!   `reasoning_details` are reasoning.
//! - Blank `arguments` are `{}` where the output came to its end by every word that was given; else they are what a cut leaves
//!   behind.
//! - Without strict mode `arguments` may be a JSON object instead of its text, another role than `assistant` is read over, and
//!   so is a part that is no text; each is a recorded repair.
//! - A call without id gets `call_<n>`. Pieces without index belong where `calls` says.
//! - A stream is whole with a finish reason or with `[DONE]`; the reason itself proves nothing about a call.
//! - An `error` in a response of status 200 is a provider's fault, whatever came before it.
//!
//! OpenRouter's dialect, `openrouter-chat/1`, is the same protocol: its errors are in the body, in a choice or in the last
//! chunk of a stream, with the upstream's own words in `metadata`, and all of them are read. Its `reasoning_details` are
//! kept where one is signed or encrypted, and go back to the same model.

mod calls;
mod encoder;
mod fold;
mod reasoning_details;
mod usage;

pub(super) use encoder::{Encoder, OPENROUTER_VERSION, PATH, VERSION};
pub(super) use fold::Fold;

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod openrouter_tests;
#[cfg(test)]
mod payload_tests;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod test_support;
