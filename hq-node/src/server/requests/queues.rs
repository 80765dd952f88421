use hq_core::{AllocationInfo, ClientReply, LinkId, QueueId, QueueInfo, QueueSpec, Refusal, RequestId};
use hq_scheduler::autoscale::{Allocation, Queue};

use super::super::{ServerNode, check, wall::Wall};

impl ServerNode {
    pub(super) fn add_queue(
        &mut self,
        link: LinkId,
        id: RequestId,
        spec: QueueSpec,
        trial: bool,
    ) -> Result<(), Refusal> {
        check::queue(&spec)?;
        if trial {
            return self.try_queue(link, id, spec.clone(), Some(spec));
        }
        self.make_queue(link, id, spec)
    }

    pub(super) fn dry_run(&mut self, link: LinkId, id: RequestId, spec: QueueSpec) -> Result<(), Refusal> {
        check::queue(&spec)?;
        self.try_queue(link, id, spec, None)
    }

    pub(super) fn pause_queue(&mut self, link: LinkId, id: RequestId, queue: QueueId) -> Result<(), Refusal> {
        self.scaling.machine.pause(self.now, queue).map_err(|e| Refusal::Invalid(e.to_string()))?;
        self.reply_durable(link, id, ClientReply::Done);
        Ok(())
    }

    pub(super) fn resume_queue(&mut self, link: LinkId, id: RequestId, queue: QueueId) -> Result<(), Refusal> {
        self.scaling.machine.resume(self.now, queue).map_err(|e| Refusal::Invalid(e.to_string()))?;
        self.reply_durable(link, id, ClientReply::Done);
        Ok(())
    }

    pub(super) fn list_queues(&mut self, link: LinkId, id: RequestId) -> Result<(), Refusal> {
        let queues = self.scaling.machine.book().queues().map(|(id, queue)| queue_info(id, queue)).collect();
        self.reply(link, id, ClientReply::Queues(queues));
        Ok(())
    }

    pub(super) fn list_allocations(&mut self, link: LinkId, id: RequestId, queue: QueueId) -> Result<(), Refusal> {
        let Some(known) = self.scaling.machine.book().queue(queue) else {
            return Err(Refusal::Invalid(format!("Queue {queue} not found")));
        };
        let all = known.allocations.values().filter_map(|a| allocation_info(queue, a, &self.wall)).collect();
        self.reply(link, id, ClientReply::Allocations(all));
        Ok(())
    }

    /// The latest one of that name.
    pub(super) fn find_allocation(&mut self, link: LinkId, id: RequestId, name: &str) -> Result<(), Refusal> {
        let queues = self.scaling.machine.book().queues();
        let all = queues.flat_map(|(id, queue)| queue.allocations.values().map(move |a| (id, a)));
        let found = all.filter(|(_, a)| a.id.as_deref() == Some(name)).max_by_key(|(_, a)| a.queued);
        let found = found.and_then(|(queue, a)| allocation_info(queue, a, &self.wall)).into_iter().collect();
        self.reply(link, id, ClientReply::Allocations(found));
        Ok(())
    }
}

fn queue_info(id: QueueId, queue: &Queue) -> QueueInfo {
    QueueInfo {
        id,
        spec: queue.spec.clone(),
        paused: queue.paused.clone(),
        known: queue.known.as_ref().map(|worker| worker.resources.clone()),
    }
}

/// None for what its backend never had.
fn allocation_info(queue: QueueId, a: &Allocation, wall: &Wall) -> Option<AllocationInfo> {
    Some(AllocationInfo {
        queue,
        id: a.id.clone()?,
        workers: a.workers,
        state: a.state(),
        queued: wall.of(a.queued?),
        started: a.started.map(|at| wall.of(at)),
        ended: a.ended.as_ref().map(|(at, _)| wall.of(*at)),
        error: a.ended.as_ref().and_then(|(_, error)| error.clone()),
        dir: a.dir.clone(),
    })
}
