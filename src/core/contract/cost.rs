//! What requests cost under a contract.

use super::{ModelPrice, ProviderType, Terms};
use crate::message::Usage;

impl Terms {
    /// The prices of that target's model, if the contract has them.
    #[must_use]
    pub fn price(&self, target: usize) -> Option<&ModelPrice> {
        let target = self.targets.get(target)?;
        let models = self.prices.as_ref()?.models.get(&target.provider)?;
        models.get(&target.model)
    }

    /// What a request to that target cost: as the provider reports, else by the price table. None if neither
    /// is there; a target that is none has no price.
    #[must_use]
    pub fn cost_micro_usd(&self, target: Option<usize>, usage: &Usage) -> Option<u64> {
        let priced = || Some(self.price(target?)?.cost_micro_usd(usage));
        usage.cost_micro_usd.or_else(priced)
    }

    /// The least that a request of so many prompt tokens to that target costs; 0 where nothing is known.
    #[must_use]
    pub fn least_cost_micro_usd(&self, target: usize, prompt_tokens: u64) -> u64 {
        let price = self.price(target);
        price.map_or(0, |price| price.least_micro_usd(prompt_tokens))
    }

    /// The most that a request costs at the contract's prices; 0 where nothing is known. No prompt token comes from the cache.
    #[must_use]
    pub fn most_cost_micro_usd(
        &self,
        target: usize,
        prompt_tokens: u64,
        output_tokens: u64,
    ) -> u64 {
        let price = self.price(target);
        price.map_or(0, |price| {
            price.most_micro_usd(prompt_tokens, output_tokens)
        })
    }

    /// Whether only a price table shows what a request to that target costs. Embedded and scripted models cost nothing.
    pub(super) fn needs_price(&self, target: usize) -> bool {
        let provider = self.targets.get(target).map(|target| &target.provider);
        let provider = provider.and_then(|name| self.providers.get(name));
        let free = provider.is_some_and(|provider| {
            matches!(
                provider.provider_type,
                ProviderType::Local | ProviderType::Scripted
            )
        });
        !free && self.price(target).is_none()
    }
}
