//! The draw of the next token.

use monolith_core::adapter::LocalSampling;

/// Number of last tokens that the repeat penalty considers.
const PENALTY_WINDOW: usize = 64;

/// Draws tokens of one answer. The same seed, prompt and logits give the same tokens.
#[derive(Debug)]
pub(super) struct Draw {
    /// The tokens that may be drawn, in their order, with their weights. Kept, because a vocabulary is long.
    candidates: Vec<(i32, f64)>,
    penalty: f64,
    random: blake3::OutputReader,
    temperature: f64,
    top_p: f64,
}

impl Draw {
    pub(super) fn new(sampling: &LocalSampling, prompt: &[i32]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("monolith local sampling v1");
        hasher.update(&sampling.seed.to_le_bytes());
        for token in prompt {
            hasher.update(&token.to_le_bytes());
        }
        Self {
            candidates: Vec::new(),
            penalty: sampling.repeat_penalty.unwrap_or(1.0),
            random: hasher.finalize_xof(),
            temperature: sampling.temperature.unwrap_or(1.0),
            top_p: sampling.top_p.unwrap_or(1.0),
        }
    }

    /// Draws one of `allowed`, which ascend; None if there is none with a finite logit.
    pub(super) fn token(
        &mut self,
        logits: &[f32],
        allowed: impl Iterator<Item = i32>,
        recent: &[i32],
    ) -> Option<i32> {
        self.weigh(logits, allowed, recent);
        let mut best = *self.candidates.first()?;
        for candidate in &self.candidates {
            if candidate.1 > best.1 {
                best = *candidate;
            }
        }
        if self.temperature <= 0.0 || self.candidates.len() == 1 {
            return Some(best.0);
        }
        let mut sum = 0.0;
        for (_, weight) in &mut self.candidates {
            *weight = ((*weight - best.1) / self.temperature).exp();
            sum += *weight;
        }
        if self.top_p < 1.0 {
            keep(&mut self.candidates, self.top_p * sum, sum);
            sum = self.candidates.iter().map(|(_, weight)| weight).sum();
        }
        let mut left = self.unit() * sum;
        for (token, weight) in &self.candidates {
            left -= weight;
            if left < 0.0 {
                return Some(*token);
            }
        }
        self.candidates.last().map(|(token, _)| *token)
    }

    /// The tokens that may be drawn, with their logits: recent tokens are penalised.
    fn weigh(&mut self, logits: &[f32], allowed: impl Iterator<Item = i32>, recent: &[i32]) {
        self.candidates.clear();
        for token in allowed {
            let logit = usize::try_from(token).ok().and_then(|at| logits.get(at));
            if let Some(logit) = logit
                && logit.is_finite()
            {
                self.candidates.push((token, f64::from(*logit)));
            }
        }
        let begin = recent.len().saturating_sub(PENALTY_WINDOW);
        let mut recent = recent.get(begin..).unwrap_or_default().to_vec();
        recent.sort_unstable();
        recent.dedup();
        let mut lost = false;
        for token in recent {
            let at = self.candidates.binary_search_by_key(&token, |one| one.0);
            let candidate = at.ok().and_then(|at| self.candidates.get_mut(at));
            if let Some((_, logit)) = candidate {
                if *logit > 0.0 {
                    *logit /= self.penalty;
                } else {
                    *logit *= self.penalty;
                }
                lost |= !logit.is_finite();
            }
        }
        if lost {
            self.candidates.retain(|(_, logit)| logit.is_finite());
        }
    }

    /// The next number from 0 up to 1, with 53 bits.
    fn unit(&mut self) -> f64 {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
        let number = (u64::from_le_bytes(bytes) >> 11) as f64;
        number / 9_007_199_254_740_992.0
    }
}

/// Keeps the likeliest candidates that together weigh `enough` of `whole`.
fn keep(candidates: &mut Vec<(i32, f64)>, enough: f64, whole: f64) {
    // All that weigh less than this together are less than what is left over: the others are enough, and few.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a vocabulary is shorter than 2^53"
    )]
    let least = (whole - enough) / candidates.len() as f64 / 2.0;
    candidates.retain(|(_, weight)| *weight >= least);
    candidates.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut sum = 0.0;
    let count = candidates
        .iter()
        .take_while(|(_, weight)| {
            let before = sum;
            sum += weight;
            before < enough
        })
        .count();
    candidates.truncate(count.max(1));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampling(seed: u64, temperature: f64, top_p: f64) -> LocalSampling {
        LocalSampling {
            repeat_penalty: Some(1.1),
            seed,
            temperature: Some(temperature),
            top_p: Some(top_p),
        }
    }

    fn drawn(sampling: &LocalSampling, prompt: &[i32], logits: &[f32], count: usize) -> Vec<i32> {
        let mut draw = Draw::new(sampling, prompt);
        let all = 0..i32::try_from(logits.len()).unwrap();
        (0..count)
            .map(|_| draw.token(logits, all.clone(), &[]).unwrap())
            .collect()
    }

    #[test]
    fn the_same_seed_and_prompt_draw_the_same_tokens_and_others_draw_others() {
        let logits: Vec<f32> = (0_u8..100).map(|n| f32::from(n % 7)).collect();
        let one = drawn(&sampling(7, 1.0, 1.0), &[1, 2], &logits, 50);
        assert_eq!(one, drawn(&sampling(7, 1.0, 1.0), &[1, 2], &logits, 50));
        assert_ne!(one, drawn(&sampling(8, 1.0, 1.0), &[1, 2], &logits, 50));
        assert_ne!(one, drawn(&sampling(7, 1.0, 1.0), &[1, 3], &logits, 50));
    }

    #[test]
    fn temperature_0_and_a_small_share_take_the_likeliest_and_only_allowed_tokens_are_drawn() {
        let logits = [0.0, 3.0, 3.5, 1.0];
        assert_eq!(drawn(&sampling(1, 0.0, 1.0), &[], &logits, 3), [2, 2, 2]);
        assert_eq!(drawn(&sampling(1, 1.5, 0.01), &[], &logits, 3), [2, 2, 2]);
        let mut draw = Draw::new(&sampling(1, 1.5, 1.0), &[]);
        for _ in 0..50 {
            assert!([0, 3].contains(&draw.token(&logits, [0, 3].into_iter(), &[]).unwrap()));
        }
        assert_eq!(draw.token(&logits, [].into_iter(), &[]), None);
        assert_eq!(draw.token(&[f32::NAN, f32::NEG_INFINITY], 0..2, &[]), None);
        // A penalty of 0 would remove recent tokens.
        let nothing = LocalSampling {
            repeat_penalty: Some(0.0),
            ..sampling(1, 1.5, 1.0)
        };
        let mut draw = Draw::new(&nothing, &[]);
        assert_eq!(draw.token(&[9.0, 3.0], 0..2, &[0]), Some(1));
        // The penalty moves the likeliest token behind the next one.
        let mut draw = Draw::new(&sampling(1, 0.0, 1.0), &[]);
        assert_eq!(draw.token(&[3.0, 3.1], 0..2, &[1]), Some(0));
    }

    /// The result is the same as with everything sorted.
    #[test]
    fn a_share_keeps_the_fewest_likeliest_that_reach_it() {
        let check = |weights: &[f64], share: f64, expect: &[i32]| {
            let mut candidates: Vec<(i32, f64)> = (0_i32..).zip(weights.iter().copied()).collect();
            let whole: f64 = weights.iter().sum();
            keep(&mut candidates, share * whole, whole);
            let kept: Vec<i32> = candidates.iter().map(|(token, _)| *token).collect();
            assert_eq!(kept, expect, "{weights:?} {share}");
        };
        check(&[1.0, 4.0, 2.0, 1.0], 0.5, &[1]);
        check(&[1.0, 4.0, 2.0, 1.0], 0.51, &[1, 2]);
        check(&[1.0, 4.0, 2.0, 1.0], 0.76, &[1, 2, 0]);
        check(&[1.0, 4.0, 2.0, 1.0], 0.999, &[1, 2, 0, 3]);
        check(&[1.0, 1.0, 1.0, 1.0], 0.5, &[0, 1]);
        check(&[1e-300, 1.0, 0.0], 0.9, &[1]);
        check(&[1.0], 0.0, &[0]);
    }

    #[test]
    fn tokens_come_as_often_as_their_weight() {
        let logits = [0.0, 3.0_f32.ln()];
        let ones = drawn(&sampling(3, 1.0, 1.0), &[], &logits, 4000);
        let ones = ones.iter().filter(|token| **token == 1).count();
        assert!(
            (2850..3150).contains(&ones),
            "{ones} of 4000, expected about 3000"
        );
    }
}
