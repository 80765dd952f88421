use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

type Job = Box<dyn FnOnce() + Send>;

/// How long a thread without work stays.
const IDLE: Duration = Duration::from_secs(10);

/// Threads for closures that may block: as many as are needed at a time, up to a limit; those above it wait their turn.
///
/// Threads come when there is work and leave some seconds after it. One set may serve several runners.
#[derive(Clone)]
pub struct ClosureThreads {
    shared: Arc<Shared>,
}

struct Shared {
    limit: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl ClosureThreads {
    /// At most `limit` threads (at least 1): the largest number of tasks that the worker runs at a time.
    pub fn new(limit: usize) -> Self {
        Self { shared: Arc::new(Shared { limit: limit.max(1), state: Mutex::default(), work: Condvar::new() }) }
    }

    /// Runs `job` soon. `Err` where the system gives no thread at all; the job is dropped then.
    pub(super) fn run(&self, job: Job) -> Result<(), std::io::Error> {
        let mut state = self.shared.lock();
        state.queue.push_back(job);
        if state.idle >= state.queue.len() {
            self.shared.work.notify_one();
            return Ok(());
        }
        if state.threads >= self.shared.limit {
            return Ok(());
        }
        state.threads += 1;
        drop(state);
        let shared = self.shared.clone();
        let spawned = thread::Builder::new().name("hq-closure".to_owned()).spawn(move || shared.serve());
        let Err(error) = spawned else { return Ok(()) };
        let mut state = self.shared.lock();
        state.threads -= 1;
        if state.threads > 0 {
            return Ok(());
        }
        let lost = state.queue.pop_back();
        drop(state);
        drop(lost);
        Err(error)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                drop(state);
                job();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let (back, timeout) = self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = back;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

impl fmt::Debug for ClosureThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosureThreads").field("limit", &self.shared.limit).finish_non_exhaustive()
    }
}
