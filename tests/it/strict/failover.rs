//! One provider takes over from another within a tool loop, for every ordered pair and for two accounts of one provider.

use serde_json::Value;

use super::contract::{clock, contract, echo, for_each_provider, play};
use super::loops::ways;
use super::provider::Provider;
use super::script::{Said, Script};
use super::server::Server;

/// The first server answers two turns and is overloaded from then on; the second one answers the rest.
async fn pair(first: Provider, second: Provider, more: &Value) -> Result<(), String> {
    let mut rounds = Script::four_turns().0[..2].to_vec();
    rounds.push(vec![Said::Fault(first.overloaded())]);
    let one = Server::start(first, "a", Script(rounds));
    let other = Server::start(second, "b", Script::four_turns());
    let other_name = format!("{}-2", second.name());
    let servers = [(first.name(), &one), (other_name.as_str(), &other)];
    let played = play(&contract(&servers, more), vec![echo(), clock()]).await;
    let (one, other) = (one.log(), other.log());
    let what = format!("{} to {}", first.name(), second.name());
    let refused = [one.refused, other.refused].concat();
    if let Some(refusal) = refused.first() {
        return Err(format!("{what}: refused: {refusal}"));
    }
    if played.outcome != "COMPLETED_WITH_TOOLS (final_message)" {
        return Err(format!("{what}: {}", played.outcome));
    }
    let served: Vec<u16> = other.requests.iter().map(|(_, status)| *status).collect();
    if served != [200, 200] {
        return Err(format!("{what}: the second server answered {served:?}"));
    }
    match [one.lost, other.lost].concat().first() {
        Some(lost) => Err(format!("{what}: {lost}")),
        None => Ok(()),
    }
}

async fn pairs(first: Provider, more: &Value) {
    let runs = Provider::ALL.map(|second| pair(first, second, more));
    let ended = futures_util::future::join_all(runs).await;
    let failed: Vec<String> = ended.into_iter().filter_map(Result::err).collect();
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        Provider::ALL.len(),
        failed.join("\n")
    );
}

async fn every_other_one_takes_over(first: Provider) {
    pairs(first, &ways()[0].1).await;
}

async fn every_other_one_takes_over_streamed(first: Provider) {
    pairs(first, &ways()[1].1).await;
}

async fn every_other_one_takes_over_with_reasoning(first: Provider) {
    pairs(first, &ways()[2].1).await;
}

for_each_provider!(
    every_other_one_takes_over,
    every_other_one_takes_over_streamed,
    every_other_one_takes_over_with_reasoning,
);
