use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use hq_core::JobId;

/// Jobs that somebody listens to: the session, and how many pieces of what they print may be sent in it.
#[derive(Debug, Default)]
pub(super) struct Ears(Mutex<HashMap<JobId, (u64, u32)>>);

/// What may be done with something that was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// Nobody listens: it may be dropped.
    Nobody,
    /// Somebody listens and has no room now.
    Full,
    /// It may be sent, in this session.
    Free(u64),
}

impl Ears {
    /// So many more may be sent, and nothing more in another session; none: nobody listens any more.
    pub(super) fn listen(&self, job: JobId, session: u64, credit: Option<u32>) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match credit {
            Some(credit) => {
                let (known, sum) = jobs.entry(job).or_insert((session, 0));
                *sum = if *known == session { sum.saturating_add(credit) } else { credit };
                *known = session;
            }
            None => _ = jobs.remove(&job),
        }
    }

    /// Room that was taken and not used.
    pub(super) fn give_back(&self, job: JobId, session: u64) {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, credit)) = jobs.get_mut(&job).filter(|(known, _)| *known == session) {
            *credit = credit.saturating_add(1);
        }
    }

    /// Whether something may be sent; where it may, that room is taken.
    pub(super) fn take(&self, job: JobId) -> Room {
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match jobs.get_mut(&job) {
            None => Room::Nobody,
            Some((_, 0)) => Room::Full,
            Some((session, credit)) => {
                *credit -= 1;
                Room::Free(*session)
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
        ears.listen(job, 7, Some(1));
        assert_eq!([ears.take(job), ears.take(job), ears.take(JobId(2))], [Room::Free(7), Room::Full, Room::Nobody]);
        ears.listen(job, 7, Some(1));
        assert_eq!(ears.take(job), Room::Free(7));
        // Another session begins with its own room, and gets none of the one before.
        ears.listen(job, 7, Some(9));
        ears.listen(job, 8, Some(1));
        assert_eq!([ears.take(job), ears.take(job)], [Room::Free(8), Room::Full]);
        ears.give_back(job, 7);
        assert_eq!(ears.take(job), Room::Full);
        ears.give_back(job, 8);
        assert_eq!(ears.take(job), Room::Free(8));
        ears.listen(job, 8, None);
        assert_eq!(ears.take(job), Room::Nobody);
    }
}
