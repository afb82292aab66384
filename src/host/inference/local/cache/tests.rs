//! Kept and moved cache contents lead to the same bits, tested with a real model if there is one.

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::inference::local::llama::load;
use crate::inference::local::tests::{model_file, options};

#[test]
fn what_was_kept_of_another_prompt_leads_to_the_same_bits() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let tokens = tokens();
    let bits = |cache: &mut Cache<'_>, prompt: &[LlamaToken]| {
        let common = cache.keep_common(prompt);
        (common, after(cache, &prompt[common..]))
    };
    let cache = || Cache::new(&model, &options(&path, true)).unwrap();
    let (_, fresh) = bits(&mut cache(), &tokens);
    for (same, kept) in [(2, 0), (57, 48), (99, 96)] {
        let mut cache = cache();
        let mut other = tokens[..same].to_vec();
        other.extend([LlamaToken(90); 3]);
        bits(&mut cache, &other);
        let (common, again) = bits(&mut cache, &tokens);
        assert_eq!(common, kept);
        assert!(again == fresh, "{same} tokens in common");
    }
}

fn tokens() -> Vec<LlamaToken> {
    (0..150).map(|n| LlamaToken(300 + n * 7 % 500)).collect()
}

/// Decodes these tokens, too, and returns the logits.
fn after(cache: &mut Cache<'_>, tokens: &[LlamaToken]) -> Vec<u32> {
    cache.decode(tokens, BATCH, &|| true).unwrap();
    cache.logits().iter().map(|logit| logit.to_bits()).collect()
}

/// A cache that takes itself to have three threads, and is never looked at. There is one, for more would only wait for each other.
fn threes<'m>(model: &'m Arc<LlamaModel>, path: &Path) -> Cache<'m> {
    let mut cache = Cache::new(model, &options(path, true)).unwrap();
    cache.make = |model, window, _| context(model, window, 1);
    cache.pace = settled(3);
    cache
}

fn settled(threads: u32) -> Pace {
    let mut pace = Pace::new(threads);
    pace.settle();
    pace
}

fn be_fewer(cache: &mut Cache<'_>) -> Result<(), EngineFault> {
    let _lock = INIT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    cache.go_on_with(1)
}

#[test]
fn with_fewer_threads_an_answer_goes_on_from_what_the_cache_holds() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let tokens = tokens();
    let mut same = Cache::new(&model, &options(&path, true)).unwrap();
    // Within a prompt, and between two tokens of an answer.
    let pieces = [
        &tokens[..64],
        &tokens[64..148],
        &tokens[148..149],
        &tokens[149..],
    ];
    let expect = pieces.map(|piece| after(&mut same, piece));
    for moves_before in 0..pieces.len() {
        let mut cache = threes(&model, &path);
        for (at, (piece, expect)) in pieces.iter().zip(&expect).enumerate() {
            if at == moves_before {
                be_fewer(&mut cache).unwrap();
                assert_eq!(cache.pace, Pace::new(1));
            }
            assert!(after(&mut cache, piece) == *expect, "{moves_before} {at}");
        }
    }
}

#[test]
fn where_fewer_threads_cannot_be_had_the_answer_goes_on_with_those_there_are() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let tokens = tokens();
    let fresh = after(&mut threes(&model, &path), &tokens);
    let mut cache = threes(&model, &path);
    after(&mut cache, &tokens[..64]);
    cache.make = |model, window, threads| match threads {
        1 => Err("no memory".to_owned()),
        _ => context(model, window, 1),
    };
    cache.pace = Pace::new(3);
    be_fewer(&mut cache).unwrap();
    assert_eq!(cache.pace, settled(3));
    assert!(after(&mut cache, &tokens[64..]) == fresh);
}

#[test]
fn without_any_context_the_answer_fails_and_the_next_one_gets_another() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let tokens = tokens();
    let mut cache = threes(&model, &path);
    let fresh = after(&mut cache, &tokens);
    cache.make = |_, _, _| Err("no memory".to_owned());
    let fault = "the cache could not be moved to 1 threads, nor back to 3: no memory";
    assert_eq!(
        be_fewer(&mut cache),
        Err(EngineFault::Failed(fault.to_owned()))
    );
    assert_eq!(cache.keep_common(&tokens), 0);
    let fault = cache.decode(&tokens, BATCH, &|| true);
    assert_eq!(fault, Err(EngineFault::Failed("no memory".to_owned())));
    assert!(cache.logits().is_empty());
    cache.make = |model, window, _| context(model, window, 1);
    assert_eq!(cache.keep_common(&tokens), 0);
    assert!(after(&mut cache, &tokens) == fresh);
}

#[test]
fn no_answer_waits_for_another_model_to_load() {
    let Some(path) = model_file() else { return };
    let model = load(&path, Arc::default()).unwrap();
    let mut cache = threes(&model, &path);
    let making = INIT_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let (done, answered) = std::sync::mpsc::channel();
        let cache = &mut cache;
        scope.spawn(move || {
            cache.pace = Pace::starved(3);
            done.send(after(cache, &tokens()[..16]).is_empty())
        });
        let answered = answered.recv_timeout(Duration::from_secs(60));
        drop(making);
        assert_eq!(answered, Ok(false));
    });
    assert_eq!(cache.pace.threads(), 3);
    while cache.pace.threads() == 3 {
        cache.pace = Pace::starved(3);
        cache.be_fewer().unwrap();
        std::thread::yield_now();
    }
    assert_eq!(cache.pace, Pace::new(1));
}

#[test]
fn whatever_was_kept_every_token_is_decoded_in_the_same_place_of_its_tile() {
    // Of each token: whether it is in a whole tile, else how far it is into what is left over, and how much that is.
    let places = |kept: usize, length: usize, most: usize| {
        let mut places = Vec::new();
        let mut left = length - kept;
        while left > 0 {
            let size = piece(left, most);
            assert!(
                (1..=most + 1).contains(&size) && size <= BATCH,
                "{left} {most}"
            );
            assert!(size > 1 || length == 1, "{kept} {length} {most}");
            for at in 0..size {
                let whole = at < whole_tiles(size);
                places.push((!whole).then_some((at % TILE, size % TILE)));
            }
            left -= size;
        }
        places
    };
    for length in 1..600 {
        let fresh = places(0, length, BATCH);
        for kept in (0..length.saturating_sub(1)).step_by(TILE) {
            for most in [SMALL_BATCH, BATCH] {
                let anew = places(kept, length, most);
                assert_eq!(anew, fresh[kept..], "{kept} of {length} by {most}");
            }
        }
    }
}
