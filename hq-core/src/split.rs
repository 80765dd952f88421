use std::iter::from_fn;

use crate::{DepKind, Deps, IdList, Submit, TaskIds, TaskNumber};

impl Submit {
    /// The same tasks as several submits of at most about `max` bytes each, as far as single tasks allow. What all tasks share is
    /// in each of them.
    pub fn split(self, max: usize) -> impl Iterator<Item = Self> {
        let n = self.ids.count();
        let is_small = self.weight() <= max || n < 2;
        let own = self.parts.weight() + self.deps.weight() + 3 * self.profile_of.len();
        let room = max.saturating_sub(self.weight() - own).max(max / 4);
        let (mut whole, mut from) = (Some(self), 0);
        from_fn(move || {
            let submit = whole.take_if(|_| is_small || from == n);
            if is_small || submit.is_some() {
                return submit.filter(|_| is_small);
            }
            let whole = whole.as_ref()?;
            let (mut to, mut bytes) = (from, 0);
            while to < n && (bytes < room || to == from) {
                let part = if whole.parts.is_empty() { 0 } else { whole.parts.get(to).len() + 5 };
                bytes += part + 6 * whole.deps.of(to).len() + 8;
                to += 1;
            }
            let piece = whole.slice(from, to - from);
            from = to;
            Some(piece)
        })
    }

    /// Tasks `from..from + len`.
    fn slice(&self, from: u64, len: u64) -> Self {
        let ids = match &self.ids {
            TaskIds::Given(ids) => TaskIds::Given(IdList::from(ids.slice(from, len))),
            TaskIds::Next(_) => TaskIds::Next(len as u32),
        };
        let row = |index: u64| self.deps.of(index).collect::<Vec<(TaskNumber, DepKind)>>();
        Self {
            job: self.job.clone(),
            ids,
            kind: self.kind.clone(),
            shared: self.shared.clone(),
            parts: self.parts.slice(from, len),
            profiles: self.profiles.clone(),
            profile_of: self.profile_of.iter().skip(from as usize).take(len as usize).copied().collect(),
            deps: if self.deps.is_empty() {
                Deps::default()
            } else {
                Deps::new((from..from + len).map(row)).unwrap_or_default()
            },
            owner: self.owner.clone(),
            after: self.after.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blob, JobSpec, JobTarget, Parts, Profile, Request};

    #[test]
    fn pieces_are_the_whole() {
        let ids = IdList::parse("10-29,5,3").unwrap();
        let n = ids.len();
        let target = JobTarget::New(JobSpec::default());
        let profile = Profile::new(Request::cpus(1).unwrap());
        let given = TaskIds::Given(ids.clone());
        let mut whole = Submit::array(target, given, "program", Blob::from(&b"shared"[..]), profile.clone());
        assert_eq!(whole.clone().split(1 << 20).collect::<Vec<_>>(), [whole.clone()]);
        whole.parts = Parts::new((0..n).map(|i| "x".repeat(i as usize * 20))).unwrap();
        whole.profiles.push(profile);
        whole.profile_of = (0..n).map(|i| (i % 2) as u16).collect();
        let row = |i: u64| ids.get(i.wrapping_sub(1)).map(|on| (TaskNumber(on), DepKind::AnyEnd));
        whole.deps = Deps::new((0..n).map(row)).unwrap();
        let pieces: Vec<Submit> = whole.clone().split(2000).collect();
        assert!(pieces.len() > 3 && pieces.iter().all(|piece| piece.check().is_ok()));
        let mut at = 0;
        for piece in &pieces {
            let TaskIds::Given(numbers) = &piece.ids else { panic!("numbers") };
            for (i, number) in (0..).zip(numbers.iter()) {
                assert_eq!((ids.get(at), whole.parts.get(at)), (Some(number), piece.parts.get(i)));
                assert_eq!(whole.profile_index(at), piece.profile_index(i));
                assert_eq!(whole.deps.of(at).collect::<Vec<_>>(), piece.deps.of(i).collect::<Vec<_>>());
                at += 1;
            }
        }
        assert_eq!(at, n);
    }
}
