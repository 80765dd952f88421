use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use hq_core::JobId;

/// Jobs that somebody listens to, and how many pieces of what they print may be sent.
#[derive(Debug, Default)]
pub(super) struct Ears(Mutex<HashMap<JobId, u32>>);

/// What may be done with something that was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Nobody listens: it may be dropped.
    Nobody,
    /// Somebody listens and has no room now.
    Full,
    /// It may be sent.
    Free,
}

impl Ears {
    /// So many more may be sent; none: nobody listens any more.
    pub(super) fn listen(&self, job: JobId, credit: Option<u32>) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match credit {
            Some(credit) => {
                let sum = jobs.entry(job).or_default();
                *sum = sum.saturating_add(credit);
            }
            None => _ = jobs.remove(&job),
        }
    }

    /// Room that was taken and not used.
    pub(super) fn give_back(&self, job: JobId) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(credit) = jobs.get_mut(&job) {
            *credit = credit.saturating_add(1);
        }
    }

    /// Whether something may be sent; where it may, that room is taken.
    pub(super) fn take(&self, job: JobId) -> Room {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match jobs.get_mut(&job) {
            None => Room::Nobody,
            Some(0) => Room::Full,
            Some(credit) => {
                *credit -= 1;
                Room::Free
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_taken_and_given() {
        let (ears, job) = (Ears::default(), JobId(1));
        assert_eq!(ears.take(job), Room::Nobody);
        ears.listen(job, Some(1));
        assert_eq!([ears.take(job), ears.take(job), ears.take(JobId(2))], [Room::Free, Room::Full, Room::Nobody]);
        ears.listen(job, Some(1));
        assert_eq!(ears.take(job), Room::Free);
        ears.listen(job, None);
        assert_eq!(ears.take(job), Room::Nobody);
    }
}
