//! Long answers in pieces: each is bounded, and says where the next one begins.

use serde::{Deserialize, Serialize};

use crate::{IdList, JobDetail, JobId, Selector, TaskNumber, TaskState, client::SubmitInfo};

/// A piece of a list that is sorted by id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// What comes in this piece.
    pub items: Vec<T>,
    /// Id from which the list goes on; none: this is its end.
    pub next: Option<u32>,
}

impl<T> Page<T> {
    /// A list in one piece.
    pub const fn whole(items: Vec<T>) -> Self {
        Self { items, next: None }
    }
}

/// What is wanted of the jobs of a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailPart {
    /// Where the listing goes on; the default: at its beginning.
    pub from: DetailPlace,
    /// Only tasks with numbers from this one on.
    pub first: TaskNumber,
    /// Only tasks with numbers up to this one.
    pub last: TaskNumber,
    /// Only tasks in these states; empty: in any.
    pub states: Vec<TaskState>,
    /// Whether submits come with the bodies of all their tasks ([`Submit::parts`](crate::Submit::parts)); else only with the first.
    pub bodies: bool,
}

impl Default for DetailPart {
    /// All tasks, from the beginning, without bodies.
    fn default() -> Self {
        Self {
            from: DetailPlace::default(),
            first: TaskNumber(0),
            last: TaskNumber(u32::MAX),
            states: vec![],
            bodies: false,
        }
    }
}

impl DetailPart {
    /// All tasks, from the beginning, with or without bodies.
    pub fn whole(bodies: bool) -> Self {
        Self { bodies, ..Self::default() }
    }
}

/// A place in a listing of jobs in all details: of each job come first its submits, then its tasks by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DetailPlace {
    /// The job; those before it have been told.
    pub job: JobId,
    /// That many of its submits have been told.
    pub submits: u32,
    /// Tasks with smaller numbers have been told.
    pub task: TaskNumber,
}

/// A piece of a listing of jobs in all details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailPage {
    /// Jobs by id. The first may go on where the piece before ended, and the last may go on in the next one: each has then
    /// only the submits and tasks that were not told before. Tasks of one piece are as they were at one moment.
    pub jobs: Vec<JobDetail>,
    /// Where the next piece begins; none: this is the last.
    pub next: Option<DetailPlace>,
}

impl JobDetail {
    /// Adds what a later piece tells of the same job.
    pub fn append(&mut self, piece: Self) {
        let Self { info, submits, tasks, rest, workers, server_uid: _, delayed } = piece;
        self.info = info;
        self.delayed = delayed;
        self.submits.extend::<Vec<SubmitInfo>>(submits);
        self.tasks.extend(tasks);
        for (state, ids) in rest {
            match self.rest.iter_mut().find(|(known, _)| *known == state) {
                Some((_, known)) => known.append(&ids),
                None => self.rest.push((state, ids)),
            }
        }
        self.workers.extend(workers);
        self.workers.sort_by_key(|(id, _)| *id);
        self.workers.dedup_by_key(|(id, _)| *id);
    }
}

impl Selector {
    /// Those of the selected with an id of at least `from`.
    #[must_use]
    pub fn from(&self, from: u32) -> Self {
        match self {
            // Whatever is the last one now: it was told.
            Self::Last => Self::Ids(IdList::default()),
            Self::All => Self::Ids(IdList::range(from, u32::MAX - from)),
            Self::Ids(ids) => Self::Ids(ids.within(from, u32::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_go_on() {
        let ids = |text: &str| Selector::Ids(IdList::parse(text).unwrap());
        assert_eq!(ids("1-9:2,20,4").from(4), ids("5-9:2,20,4"));
        assert_eq!(Selector::Last.from(4), Selector::Ids(IdList::default()));
        assert_eq!(Selector::All.from(4), ids("4-4294967294"));
    }
}
