//! Parameters of one layer over those of another. Does not know where a layer is from.

use super::contract_spec::{SamplingSpec, Setting};
use super::keys::SAMPLING;

impl SamplingSpec {
    /// What holds of it: the command line's part before the written one.
    pub(super) fn effective(&self) -> Self {
        match &self.commanded {
            Some(commanded) => commanded.over(self),
            None => self.clone(),
        }
    }

    /// This, and what it leaves out from `below`. What the command line says is left out of both.
    pub(super) fn over(&self, below: &Self) -> Self {
        fn first<T: Clone>(above: &Setting<T>, below: &Setting<T>) -> Setting<T> {
            match above {
                Setting::Unset => below.clone(),
                Setting::Off | Setting::Value(_) => above.clone(),
            }
        }
        Self {
            caching: first(&self.caching, &below.caching),
            commanded: None,
            max_output_tokens: first(&self.max_output_tokens, &below.max_output_tokens),
            reasoning: first(&self.reasoning, &below.reasoning),
            reasoning_tokens: first(&self.reasoning_tokens, &below.reasoning_tokens),
            repeat_penalty: first(&self.repeat_penalty, &below.repeat_penalty),
            seed: first(&self.seed, &below.seed),
            stop: first(&self.stop, &below.stop),
            stream: self.stream.or(below.stream),
            temperature: first(&self.temperature, &below.temperature),
            top_p: first(&self.top_p, &below.top_p),
        }
    }

    /// This without the keys of these names.
    pub(super) fn without(&self, keys: &[&str]) -> Self {
        fn kept<T: Clone>(key: &str, keys: &[&str], value: &Setting<T>) -> Setting<T> {
            if keys.contains(&key) {
                Setting::Unset
            } else {
                value.clone()
            }
        }
        let own = &SAMPLING;
        Self {
            caching: kept(own.caching.name, keys, &self.caching),
            commanded: self.commanded.clone(),
            max_output_tokens: kept(own.max_output_tokens.name, keys, &self.max_output_tokens),
            reasoning: kept(own.reasoning.name, keys, &self.reasoning),
            reasoning_tokens: kept(own.reasoning_tokens.name, keys, &self.reasoning_tokens),
            repeat_penalty: kept(own.repeat_penalty.name, keys, &self.repeat_penalty),
            seed: kept(own.seed.name, keys, &self.seed),
            stop: kept(own.stop.name, keys, &self.stop),
            stream: self.stream.filter(|_| !keys.contains(&own.stream.name)),
            temperature: kept(own.temperature.name, keys, &self.temperature),
            top_p: kept(own.top_p.name, keys, &self.top_p),
        }
    }
}
