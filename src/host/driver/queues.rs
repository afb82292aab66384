//! The queues of a run (000 §1): how many calls of the servers that share one run at once, over all runs of the process. The others wait, and
//! a stop lets none of them begin.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::queue::{Permit, Queue};
use super::shared::Shared;
use super::waiting::{WaitingReport, WaitsFor};
use monolith_core::contract::{DelegationTerms, ExecutionContract};

/// The queues of a run.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// Each with the limit of the run's own contract.
    by_name: BTreeMap<String, (Arc<Queue>, usize)>,
    /// The queues for calls of agents. A child run makes calls that may wait in the same queue. Each depth has separate places,
    /// so that no run waits for a place that its parent holds.
    of_agents: BTreeMap<String, (Arc<Queue>, usize)>,
    stopped: CancellationToken,
}

/// The right to make one call; given back when it is dropped. None if nothing limits the call.
pub(super) type CallPermit = Option<Permit>;

impl Queues {
    pub(super) fn of(contract: &ExecutionContract, shared: &Shared) -> Self {
        let queues = |named: &dyn Fn(&str) -> Arc<Queue>| {
            let queues = contract.queues.iter().map(|(name, terms)| {
                let limit = usize::try_from(terms.concurrent).unwrap_or(usize::MAX);
                (name.clone(), (named(name), limit))
            });
            queues.collect()
        };
        let depth = contract.delegation.as_ref().map(DelegationTerms::depth);
        // No file can name a queue with a slash.
        let of_agents = depth.map(|depth| queues(&|name| shared.queue(&format!("{name}/{depth}"))));
        Self {
            by_name: queues(&|name| shared.queue(name)),
            of_agents: of_agents.unwrap_or_default(),
            stopped: CancellationToken::new(),
        }
    }

    /// Lets no call begin that has not begun.
    pub(super) fn stop(&self) {
        self.stopped.cancel();
    }

    /// Waits for the right to make a call in that queue. None if the call is cancelled, or a stop came, before.
    pub(super) async fn permit(
        &self,
        queue: Option<&str>,
        cancel: &CancellationToken,
    ) -> Option<CallPermit> {
        self.place(queue.and_then(|name| self.by_name.get(name)), cancel)
            .await
    }

    /// The same for the call of an agent.
    pub(super) async fn agent_permit(
        &self,
        queue: Option<&str>,
        cancel: &CancellationToken,
    ) -> Option<CallPermit> {
        self.place(queue.and_then(|name| self.of_agents.get(name)), cancel)
            .await
    }

    /// Reports if an agent's queued call gets its turn only after a person has answered: then all calls with a place wait for a
    /// person. Continues for as long as the call waits.
    pub(super) async fn report_turn(&self, queue: Option<&str>, report: &WaitingReport) {
        if let Some((queue, _)) = queue.and_then(|name| self.of_agents.get(name)) {
            queue
                .report_rest(|all_rest| report.set(all_rest.then_some(WaitsFor::Turn)))
                .await;
        }
        std::future::pending::<()>().await;
    }

    async fn place(
        &self,
        queue: Option<&(Arc<Queue>, usize)>,
        cancel: &CancellationToken,
    ) -> Option<CallPermit> {
        let Some((queue, limit)) = queue else {
            return Some(None);
        };
        let given_up = async {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = self.stopped.cancelled() => {}
            }
        };
        queue.permit(*limit, given_up).await.map(Some)
    }

    /// Counts the waiting calls.
    #[cfg(test)]
    fn depth(&self, name: &str) -> usize {
        let queue = self.by_name.get(name);
        queue.map_or(0, |(queue, _)| queue.depth())
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use monolith_core::contract::{AgentLink, CapabilityManifest, ContractFactory, ContractSpec};
    use monolith_core::message::Digest;

    fn queues_of(shared: &Shared, concurrent: u32) -> Queues {
        let text = format!(
            "targets: [{{provider: p, model: m, context_window: 9000}}]\nproviders: {{p: {{type: openai}}}}\n\
             queues: {{slow: {{concurrent: {concurrent}}}}}\n\
             tools: {{mcp: {{a: {{command: x, queue: slow}}, b: {{command: x, queue: slow}}, c: {{command: x}}}}}}\n"
        );
        let spec = ContractSpec::parse("c.yaml", &text, &[]).unwrap();
        let made = ContractFactory.make(&spec, &CapabilityManifest::default(), None);
        Queues::of(&made.unwrap(), shared)
    }

    fn queues() -> Queues {
        queues_of(&Shared::default(), 2)
    }

    /// 001/5.hierarchies.8: all runs of a depth share the places of agents, and none below waits for a place that one above holds.
    #[tokio::test]
    async fn calls_of_agents_wait_for_those_of_their_depth_alone() {
        let shared = Shared::default();
        let at_depth = |depth: usize| {
            let text = "targets: [{provider: p, model: m, context_window: 9000}]\nproviders: {p: {type: openai}}\n\
                        queues: {slow: {concurrent: 1}}\n";
            let mut spec = ContractSpec::parse("c.yaml", text, &[]).unwrap();
            let link = AgentLink {
                digest: Digest::ZERO,
                id: None,
                name: "a".to_owned(),
            };
            spec.delegation = Some(DelegationTerms {
                chain: vec![link; depth + 1],
                granted: Vec::new(),
                max_depth: 5,
            });
            let made = ContractFactory.make(&spec, &CapabilityManifest::default(), None);
            Queues::of(&made.unwrap(), &shared)
        };
        let (first, beside, below) = (at_depth(0), at_depth(0), at_depth(1));
        let never = CancellationToken::new();
        let held = first.agent_permit(Some("slow"), &never).await.unwrap();
        assert!(held.is_some());
        let waits = beside.agent_permit(Some("slow"), &never);
        assert!(waits.now_or_never().is_none());
        let agent = below.agent_permit(Some("slow"), &never).now_or_never();
        let tool = below.permit(Some("slow"), &never).now_or_never();
        assert!(matches!(
            (&agent, &tool),
            (Some(Some(Some(_))), Some(Some(Some(_))))
        ));
        // Tools of all depths share theirs.
        let other = first.permit(Some("slow"), &never);
        assert!(other.now_or_never().is_none());
        drop(held);
        let next = beside.agent_permit(Some("slow"), &never);
        assert!(next.now_or_never().is_some());
    }

    /// 000/1.queues.1, 000/1.queues.2
    /// 001/6.servers.14
    #[tokio::test]
    async fn a_queue_is_one_for_all_runs_and_each_keeps_the_limit_of_its_contract() {
        let (shared, cancel) = (Shared::default(), CancellationToken::new());
        let (one, other) = (queues_of(&shared, 2), queues_of(&shared, 1));
        let first = one.permit(Some("slow"), &cancel).await.unwrap();
        let mut narrow = Box::pin(other.permit(Some("slow"), &cancel));
        assert!((&mut narrow).now_or_never().is_none(), "one is at work");
        let mut second = Box::pin(one.permit(Some("slow"), &cancel));
        assert!((&mut second).now_or_never().is_none(), "it came later");
        assert_eq!((one.depth("slow"), other.depth("slow")), (2, 2));
        drop(first);
        assert!(narrow.await.unwrap().is_some());
        assert!(second.await.unwrap().is_some());
        // The queue of another process is another one.
        let apart = queues_of(&Shared::default(), 1);
        assert!(apart.permit(Some("slow"), &cancel).now_or_never().is_some());
    }

    /// 000/1.queues.1, 000/1.queues.2, 000/1.queues.3
    #[tokio::test]
    async fn servers_of_one_queue_share_its_places() {
        let (queues, cancel) = (queues(), CancellationToken::new());
        let first = queues.permit(Some("slow"), &cancel).await.unwrap();
        let second = queues.permit(Some("slow"), &cancel).await.unwrap();
        assert!(first.is_some() && second.is_some());
        let mut third = Box::pin(queues.permit(Some("slow"), &cancel));
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(queues.depth("slow"), 1, "they are one queue");
        // Another queue, and tools inside monolith, do not wait.
        assert!(
            queues
                .permit(Some("default"), &cancel)
                .await
                .unwrap()
                .is_some()
        );
        assert!(queues.permit(None, &cancel).await.unwrap().is_none());
        drop(first);
        assert!(third.await.unwrap().is_some());
        assert_eq!(queues.depth("slow"), 0);
    }

    #[tokio::test]
    async fn a_stop_or_a_cancellation_ends_the_wait_and_frees_nothing() {
        let (queues, cancel) = (queues(), CancellationToken::new());
        let held = [
            queues.permit(Some("slow"), &cancel).await.unwrap(),
            queues.permit(Some("slow"), &cancel).await.unwrap(),
        ];
        let own = CancellationToken::new();
        let mut cancelled = Box::pin(queues.permit(Some("slow"), &own));
        let mut stopped = Box::pin(queues.permit(Some("slow"), &cancel));
        assert!((&mut cancelled).now_or_never().is_none());
        assert!((&mut stopped).now_or_never().is_none());
        own.cancel();
        assert!(cancelled.await.is_none());
        assert_eq!(queues.depth("slow"), 1);
        queues.stop();
        assert!(stopped.await.is_none());
        assert_eq!(queues.depth("slow"), 0);
        drop(held);
    }
}
