//! A core, an autoscaler and a backend that does as it is told.

use std::{collections::BTreeMap, sync::Arc};

use hq_core::{
    AllocationState, BatchJob, Fact, JobSpec, JobTarget, LossReason, OnServerLost, PauseCause, Profile, QueueId,
    QueueSpec, Span, Submit, TaskIds, Tick, WorkerConfig, WorkerId, WorkerResources,
};
use hq_scheduler::{
    Action, News, Scheduler,
    autoscale::{Autoscaler, ScaleAction, ScaleKnobs, ScaleNews, ScaleOrder, ScaleStatus, Told},
};

use crate::text::{defs_of, variants_of};

/// `b4m2M3c1k1l60i60`, as the tables say.
pub(crate) fn spec_of(text: &str) -> QueueSpec {
    let mut spec = QueueSpec::new("test");
    let starts: Vec<usize> = text.char_indices().filter(|(_, c)| c.is_alphabetic()).map(|(at, _)| at).collect();
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(text.len());
        let (name, value) = (&text[*start..=*start], &text[start + 1..end]);
        let number = || value.parse::<u32>().unwrap();
        match name {
            "b" => spec.backlog = number(),
            "m" => spec.workers_per_allocation = number(),
            "M" => spec.max_workers = Some(number()),
            "c" => spec.offer = Some(defs_of(value)),
            "k" => spec.worker = Some(Arc::new(worker(value, None))),
            "l" => spec.time_limit = Some(Span::secs(number().into())),
            "i" => spec.idle_timeout = Some(Span::secs(number().into())),
            other => panic!("what is {other}?"),
        }
    }
    spec
}

fn worker(cpus: &str, allocation: Option<&str>) -> WorkerConfig {
    let resources = WorkerResources::new(defs_of(cpus), vec![]).unwrap();
    let allocation = allocation.map(|id| BatchJob { manager: "TEST".to_owned(), id: id.to_owned() });
    let on_server_lost = OnServerLost::Reconnect { timeout: Span::secs(300) };
    WorkerConfig { allocation, on_server_lost, ..WorkerConfig::new("w", resources) }
}

/// What the backend says to submissions.
enum Mood {
    Fails(u32),
    Unsure(u32),
}

pub(crate) struct Rig {
    pub(crate) now: Tick,
    /// Timeouts that were handled.
    pub(crate) calls: u32,
    pub(crate) core: Scheduler,
    pub(crate) machine: Autoscaler,
    knobs: ScaleKnobs,
    mood: Mood,
    /// Dry runs go well whatever submissions do.
    is_lying: bool,
    ids: u32,
    /// Submissions ever, and those refused.
    pub(crate) asked: u32,
    pub(crate) refused: u32,
    /// Sizes asked for, by queue.
    pub(crate) sizes: Vec<(QueueId, u32)>,
    /// What else was asked.
    others: Vec<String>,
    looks: Vec<(QueueId, String)>,
    facts: Vec<(Tick, Fact)>,
}

impl Rig {
    pub(crate) fn new(text: &str) -> Self {
        let (queues, knobs) = text.split_once('|').unwrap_or((text, ""));
        let knobs = knobs_of(knobs);
        let mut core = Scheduler::new();
        core.boot(Tick(0), "uid".into(), 0, "1".into());
        let mut machine = Autoscaler::new(knobs.clone());
        machine.set_place(Some("/d".to_owned()));
        machine.boot(Tick(0), "uid");
        let mut rig = Self {
            now: Tick(0),
            calls: 0,
            core,
            machine,
            knobs,
            mood: Mood::Fails(0),
            is_lying: false,
            ids: 0,
            asked: 0,
            refused: 0,
            sizes: vec![],
            others: vec![],
            looks: vec![],
            facts: vec![],
        };
        for queue in queues.split_whitespace() {
            rig.machine.create(rig.now, spec_of(queue)).unwrap();
        }
        rig.drain();
        rig
    }

    /// Does one step; what is seen of it, if it shows anything.
    pub(crate) fn step(&mut self, step: &str) -> Option<String> {
        let queue = QueueId(1);
        if let Some(seconds) = step.strip_prefix('@') {
            let seconds: hq_core::Amount = seconds.parse().unwrap();
            self.go_to(Tick(seconds.parts() * 100));
            return Some(self.take_sizes());
        }
        if let Some(count) = step.strip_prefix("fail:") {
            self.mood = Mood::Fails(count.parse().unwrap());
        } else if let Some(count) = step.strip_prefix("unsure:") {
            self.mood = Mood::Unsure(count.parse().unwrap());
        } else if let Some(worker) = step.strip_prefix('+') {
            self.join(worker);
        } else if let Some(worker) = step.strip_prefix('-') {
            let (worker, reason) = worker.split_once(':').unwrap();
            let reason = match reason {
                "lost" => LossReason::ConnectionLost,
                "idle" => LossReason::IdleTimeout,
                _ => LossReason::Stopped,
            };
            self.core.handle_event(self.now, News::WorkerLost { worker: WorkerId(worker.parse().unwrap()), reason });
        } else if let Some(worker) = step.strip_prefix("back:") {
            self.core.take_back(self.now, WorkerId(worker.parse().unwrap()), &[], &[]).expect("it is awaited");
        } else if let Some((id, status)) = step.split_once('=') {
            self.backend_says(id, status);
        } else {
            match step {
                "?" => return Some(self.allocations()),
                "!" => return Some(self.queues()),
                "#" => return Some(list(std::mem::take(&mut self.others))),
                "pause" => self.machine.pause(self.now, queue).unwrap(),
                "resume" => self.machine.resume(self.now, queue).unwrap(),
                "remove" | "force" => {
                    if let Err(error) = self.machine.remove(self.now, queue, step == "force") {
                        return Some(error.to_string().replace(' ', "_"));
                    }
                }
                "lying" => self.is_lying = true,
                "honest" => self.is_lying = false,
                "stop" | "leave" => self.machine.stop(self.now, step == "leave"),
                "restart" => self.restart(),
                "boot" => {
                    self.restart();
                    self.core.boot(self.now, "uid".into(), 0, "1".into());
                }
                tasks => self.submit(tasks),
            }
        }
        self.drain();
        None
    }

    /// Lets time pass, timer by timer. Only here is looked at what is wanted.
    pub(crate) fn go_to(&mut self, until: Tick) {
        while let Some(at) = self.machine.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.calls += 1;
            assert!(self.calls < 100_000, "it is called again and again");
            self.machine.handle_timeout(self.now);
            if self.machine.is_due(self.now) {
                let (core, now) = (&self.core, self.now);
                self.machine.round(now, |types| core.demand(now, types));
            }
            self.drain();
        }
        self.now = until;
        self.drain();
    }

    fn submit(&mut self, task: &str) {
        let (task, count) = task.rsplit_once('x').map_or((task, 1), |(task, count)| (task, count.parse().unwrap()));
        let profile = Profile::new(variants_of(task));
        let target = JobTarget::New(JobSpec::default());
        self.core
            .submit(self.now, Submit::array(target, TaskIds::Next(count), "program", vec![].into(), profile))
            .unwrap();
    }

    fn join(&mut self, text: &str) {
        let (id, cpus) = text.split_once('*').unwrap_or((text, "1"));
        self.core.join(self.now, worker(cpus, Some(id))).unwrap();
    }

    fn restart(&mut self) {
        let mut machine = Autoscaler::new(self.knobs.clone());
        for (at, fact) in &self.facts {
            machine.replay(*at, fact);
        }
        assert_eq!(machine.book(), self.machine.book(), "a replay gives the same");
        machine.boot(self.now, "uid");
        self.machine = machine;
    }

    fn backend_says(&mut self, id: &str, status: &str) {
        if status == "missing" || status == "found" {
            let (queue, key) = self.looks.pop().expect("looked for");
            let told = match status {
                "missing" => Told::Missing { key },
                _ => Told::Has { key, id: id.to_owned() },
            };
            return self.machine.hear(self.now, ScaleNews { queue, told });
        }
        let found = self.machine.book().queues().find_map(|(queue, known)| {
            let a = known.allocations.values().find(|a| a.id.as_deref() == Some(id))?;
            Some((queue, a.key.clone()))
        });
        let (queue, key) = found.expect("an allocation");
        let status = match status {
            "queued" => Ok(ScaleStatus::Queued),
            "running" => Ok(ScaleStatus::Running),
            "ended" => Ok(ScaleStatus::Ended { error: None }),
            "failed" => Ok(ScaleStatus::Ended { error: Some("bad".to_owned()) }),
            _ => Err("no answer".to_owned()),
        };
        self.machine.hear(self.now, ScaleNews { queue, told: Told::Status(vec![(key, status)]) });
    }

    pub(crate) fn drain(&mut self) {
        loop {
            while let Some(action) = self.core.poll_action(self.now) {
                if let Action::Record(fact) = action {
                    self.machine.observe(self.now, &fact);
                    self.facts.push((self.now, fact));
                }
            }
            let Some(action) = self.machine.poll_action() else { return };
            match action {
                ScaleAction::Record(fact) => self.facts.push((self.now, fact)),
                ScaleAction::Warn(_) => {}
                ScaleAction::Order(order) => self.order(order),
            }
        }
    }

    fn order(&mut self, order: ScaleOrder) {
        match order {
            ScaleOrder::Submit { queue, key, workers, .. } => {
                self.sizes.push((queue, workers));
                self.asked += 1;
                let told = self.answer(key);
                self.machine.hear(self.now, ScaleNews { queue, told });
            }
            ScaleOrder::Find { queue, key, .. } => {
                self.others.push(format!("find:{key}"));
                self.looks.push((queue, key));
            }
            ScaleOrder::Status { queue, .. } => {
                self.machine.hear(self.now, ScaleNews { queue, told: Told::Status(vec![]) });
            }
            ScaleOrder::Cancel { queue, allocation, .. } => {
                self.others.push(format!("cancel:{}", allocation.id));
                let told = Told::Canceled { key: allocation.key, error: None };
                self.machine.hear(self.now, ScaleNews { queue, told });
            }
            ScaleOrder::Probe { queue, .. } => {
                self.others.push("probe".to_owned());
                let error = match self.mood {
                    Mood::Fails(0) | Mood::Unsure(_) => None,
                    Mood::Fails(_) if self.is_lying => None,
                    Mood::Fails(_) => Some("no".to_owned()),
                };
                self.machine.hear(self.now, ScaleNews { queue, told: Told::Probed { error } });
            }
            ScaleOrder::Discard { dir, .. } => self.others.push(format!("discard:{dir}")),
        }
    }

    fn answer(&mut self, key: String) -> Told {
        match &mut self.mood {
            Mood::Fails(n) if *n > 0 => {
                *n -= 1;
                self.refused += 1;
                Told::Refused { key, error: "no".to_owned() }
            }
            Mood::Unsure(n) if *n > 0 => {
                *n -= 1;
                Told::Unsure { key, error: "timed out".to_owned() }
            }
            _ => {
                self.ids += 1;
                Told::Has { key, id: format!("a{}", self.ids) }
            }
        }
    }

    pub(crate) fn take_sizes(&mut self) -> String {
        let sizes = std::mem::take(&mut self.sizes).into_iter();
        let shown: Vec<String> = sizes
            .map(|(queue, size)| if queue == QueueId(1) { size.to_string() } else { format!("q{queue}:{size}") })
            .collect();
        if shown.is_empty() { "-".to_owned() } else { shown.join(",") }
    }

    /// Those that the backend ever had.
    fn allocations(&self) -> String {
        let all = self.machine.book().queues().flat_map(|(_, queue)| queue.allocations.values());
        let shown = all.filter_map(|a| {
            let state = match a.state() {
                AllocationState::Queued => "Q",
                AllocationState::Running => "R",
                AllocationState::Finished => "F",
                AllocationState::Failed => "X",
            };
            let here: Vec<String> = a.here.keys().map(WorkerId::to_string).collect();
            let here = if here.is_empty() { String::new() } else { format!("{{{}}}", here.join(",")) };
            Some(format!("{}{state}{here}", a.id.as_ref()?))
        });
        list(shown.collect())
    }

    fn queues(&self) -> String {
        let shown = self.machine.book().queues().map(|(_, queue)| match &queue.paused {
            None => "active".to_owned(),
            Some(PauseCause::User) => "user".to_owned(),
            Some(PauseCause::Submissions(_)) => "submissions".to_owned(),
            Some(PauseCause::Allocations(_)) => "allocations".to_owned(),
        });
        list(shown.collect())
    }
}

fn list(words: Vec<String>) -> String {
    if words.is_empty() { "-".to_owned() } else { words.join(" ") }
}

fn knobs_of(text: &str) -> ScaleKnobs {
    let given: BTreeMap<&str, &str> = text.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    let mut knobs = ScaleKnobs::default();
    for (name, value) in given {
        match name {
            "delays" => knobs.delays = value.split(',').map(|s| Span::secs(s.parse().unwrap())).collect(),
            "fails" => knobs.submit_failures = value.parse().unwrap(),
            "afails" => knobs.allocation_failures = value.parse().unwrap(),
            "kept" => knobs.kept_failures = value.parse().unwrap(),
            "refresh" => knobs.refresh = Span::secs(value.parse().unwrap()),
            other => panic!("what is {other}?"),
        }
    }
    knobs
}
