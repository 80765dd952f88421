use std::collections::HashMap;

use hq_core::Profile;

/// What tasks need, each different one kept once.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    list: Vec<Profile>,
    known: HashMap<Profile, u16>,
    column: Vec<u16>,
}

impl Profiles {
    /// That of the next task.
    ///
    /// # Errors
    /// Too many different ones.
    pub(super) fn push(&mut self, profile: Profile) -> Result<(), &'static str> {
        let next = u16::try_from(self.list.len());
        let index = match (self.known.get(&profile), next) {
            (Some(index), _) => *index,
            (None, Ok(next)) => {
                self.list.push(profile.clone());
                *self.known.entry(profile).or_insert(next)
            }
            (None, Err(_)) => return Err("more than 65536 tasks differ in what they need: divide the file"),
        };
        self.column.push(index);
        Ok(())
    }

    /// The different ones, and which each task has; no column where there is one for all.
    pub(super) fn finish(self) -> (Vec<Profile>, Vec<u16>) {
        let column = if self.list.len() > 1 { self.column } else { vec![] };
        (self.list, column)
    }
}
