use hq_core::{
    Blocker, Delay, Explanation, JobDetail, Need, Obstacle, Policy, Quantity, QueuePlace, Requirement, Span, Standing,
    TaskNumber, WorkerFit,
};

use super::explain::whole_seconds;

/// So many workers are looked at one by one.
const WORKERS_MAX: usize = 3;

/// Why a task waits, in a few lines for people. The first one says it in short.
pub(crate) fn why(job: &JobDetail, task: TaskNumber, explained: &Explanation) -> Vec<String> {
    let name = format!("Task {}@{task}", job.info.id);
    let waiting = job.info.counts.waiting;
    let mut lines = vec![format!("{name} {}", standing(explained))];
    match explained.standing {
        Standing::Infeasible => lines.extend(lacks(explained, true)),
        Standing::NoRoom | Standing::HeldBack => lines.extend(lacks(explained, false)),
        _ => {}
    }
    lines.extend(explained.blockers.iter().take(WORKERS_MAX).map(blocker));
    lines.extend(explained.queue.as_ref().and_then(queue));
    if waiting > 1 {
        lines.push(format!("{waiting} tasks of job {} wait; this is the first of them.", job.info.id));
    }
    lines
}

fn standing(explained: &Explanation) -> String {
    match explained.standing {
        Standing::Running => "runs.".to_owned(),
        Standing::Dependencies if explained.unmet.is_empty() => {
            let count = explained.jobs.len();
            format!(
                "waits for {}: {}",
                counted(count, "job that is not completed", "jobs that are not completed"),
                explained.jobs
            )
        }
        Standing::Dependencies => format!(
            "waits for {}: {}",
            counted(explained.unmet.len(), "task that has not finished", "tasks that have not finished"),
            explained.unmet
        ),
        Standing::Backlog { worker, ahead, is_called_back } => {
            let back = if is_called_back { "; it may be given back for another worker" } else { "" };
            format!("is next on worker {worker}, after {}{back}.", counted(ahead, "other task", "other tasks"))
        }
        Standing::Withdrawn => "is being cancelled.".to_owned(),
        Standing::Infeasible if explained.workers.is_empty() => {
            "waits for a worker: there is none. Start one with `hq worker start`, or have machines asked for with `hq alloc add`.".to_owned()
        }
        Standing::Infeasible if explained.workers.len() == 1 => "can never run on the one worker there is.".to_owned(),
        Standing::Infeasible => format!("can never run on any of the {} workers there are.", explained.workers.len()),
        Standing::NoRoom => {
            let able = explained.workers.iter().filter(|fit| fit.could_ever()).count() as u64;
            format!("waits for room: {} could run it, and none has enough free.", counted(able, "worker", "workers"))
        }
        Standing::HeldBack => "would fit, but the places are kept for tasks that come first.".to_owned(),
        Standing::Delayed => delayed(explained.delay.as_ref()),
        Standing::Due => "starts in the next moment.".to_owned(),
        Standing::Suspended { worker } => {
            format!(
                "is on worker {worker}, which has lost its connection: it goes on there, or waits again if that does not return in time."
            )
        }
    }
}

/// When it is run again, and how its last run ended.
pub(super) fn delayed(delay: Option<&Delay>) -> String {
    let Some(delay) = delay else { return "is to be run again.".to_owned() };
    let error = delay.error.lines().next().unwrap_or_default();
    let left = Span(delay.left.0.div_ceil(1_000_000) * 1_000_000);
    format!("is run again in {left} (retry {}), after: {error}", delay.retries)
}

fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// What the first few workers lack: what they never have, or what is not free.
fn lacks(explained: &Explanation, lasting: bool) -> Vec<String> {
    let of_interest = |fit: &&WorkerFit| lasting || fit.could_ever();
    let mut lines: Vec<String> =
        explained.workers.iter().filter(of_interest).take(WORKERS_MAX).map(|fit| lack(fit, lasting)).collect();
    let all = explained.workers.iter().filter(of_interest).count();
    if all > WORKERS_MAX {
        let rest = counted((all - WORKERS_MAX) as u64, "worker", "workers");
        lines.push(format!("  and {rest} more: see `hq task explain`"));
    }
    lines
}

fn lack(fit: &WorkerFit, lasting: bool) -> String {
    if let Some(obstacle) = fit.obstacle {
        return format!("  worker {}: {obstacle}", fit.worker);
    }
    // The variant that lacks least.
    let missing =
        |requirement: &&Requirement| requirement.obstacle.is_some_and(|obstacle| !lasting || obstacle.is_lasting());
    let nearest = fit.variants.iter().min_by_key(|variant| variant.requirements.iter().filter(missing).count());
    let reasons: Vec<String> =
        nearest.into_iter().flat_map(|variant| variant.requirements.iter().filter(missing)).map(reason).collect();
    format!("  worker {}: {}", fit.worker, if reasons.is_empty() { "has room".to_owned() } else { reasons.join("; ") })
}

/// Without what goes without saying.
fn amount(wanted: Quantity) -> String {
    match wanted {
        Quantity::Amount(amount, Policy::Compact) => amount.to_string(),
        other => other.to_string(),
    }
}

fn reason(requirement: &Requirement) -> String {
    let obstacle = requirement.obstacle;
    match (&requirement.need, obstacle) {
        (Need::Resource { resource, wanted, total, .. }, Some(Obstacle::TooLittle)) => {
            format!("has {total} of {resource}, {} wanted", amount(*wanted))
        }
        (Need::Resource { resource, wanted, free, total }, Some(Obstacle::InUse)) => {
            format!("{free} of {total} {resource} free, {} wanted", amount(*wanted))
        }
        (Need::Resource { resource, .. }, Some(obstacle)) => format!("{resource}: {obstacle}"),
        (Need::Time { wanted, left: Some(left) }, _) => format!("ends in {}, {wanted} wanted", whole_seconds(*left)),
        (Need::Nodes { wanted, group, able, idle }, _) => {
            format!("{group} workers in its group, {able} suitable, {idle} idle, {wanted} wanted")
        }
        (Need::Utilization { wanted, reached }, _) => {
            format!("only {reached} of its cpus would be used, {wanted} wanted")
        }
        (Need::Time { wanted, left: None }, _) => format!("{wanted} wanted"),
        (Need::Resource { resource, wanted, .. }, None) => format!("{} of {resource} wanted", amount(*wanted)),
    }
}

fn blocker(blocker: &Blocker) -> String {
    let nodes = if blocker.nodes > 0 { format!(", {} nodes each", blocker.nodes) } else { String::new() };
    format!(
        "  kept for task {}@{} (priority {}{nodes}) and {} like it",
        blocker.job,
        blocker.task,
        blocker.priority,
        blocker.waiting.saturating_sub(1)
    )
}

fn queue(place: &QueuePlace) -> Option<String> {
    let before = place.ahead.saturating_add(place.better);
    (before > 0).then(|| {
        format!(
            "{} before it in the order `{}`; its priority is {}.",
            counted(before, "task comes", "tasks come"),
            place.order,
            place.priority
        )
    })
}

#[cfg(test)]
mod tests {
    use hq_core::{IdList, JobId, WorkerId};

    use super::*;
    use crate::testing::{golden, samples};

    #[test]
    fn texts() {
        let [time, gang, variants] = samples::explanations();
        let job = samples::array_job("0-9");
        let mut text = String::new();
        let mut case = |name: &str, explained: &Explanation| {
            text += &format!("# {name}\n{}\n", why(&job, TaskNumber(0), explained).join("\n"));
        };
        case("no worker", &Explanation { workers: vec![], ..time.clone() });
        case("nothing fits", &time);
        case("a gang", &Explanation { standing: Standing::NoRoom, ..gang });
        let unmet = IdList::parse("1,3-4").expect("ids");
        case("dependencies", &Explanation { standing: Standing::Dependencies, unmet, ..time.clone() });
        let backlog = Standing::Backlog { worker: WorkerId(3), ahead: 1, is_called_back: true };
        let jobs = IdList::parse("3-4").expect("ids");
        case("jobs", &Explanation { standing: Standing::Dependencies, jobs, ..time.clone() });
        case("backlog", &Explanation { standing: backlog, ..variants.clone() });
        let blocker = Blocker { job: JobId(7), task: TaskNumber(2), priority: 5, rank: (0, 0), waiting: 4, nodes: 2 };
        let queue = QueuePlace { order: "priority".into(), priority: -1, rank: (1, 0), ahead: 2, better: 7 };
        let held = Explanation {
            standing: Standing::HeldBack,
            blockers: vec![blocker],
            queue: Some(queue),
            ..variants.clone()
        };
        case("held", &held);
        case("running", &Explanation { standing: Standing::Running, ..variants.clone() });
        case("due", &Explanation { standing: Standing::Due, ..variants.clone() });
        let crowd = Explanation { workers: vec![time.workers[0].clone(); 5], ..time };
        case("many workers", &crowd);
        golden("job_why.txt", &text);
    }
}
