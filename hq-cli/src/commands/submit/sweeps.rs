//! Combinations of parameters.

use anyhow::{anyhow, bail};
use hq_core::{Blob, Gap, IdList, Parts};

use crate::{
    parse::Sweep,
    program::{ENTRIES_MAX, ENTRY_MAX},
};

/// The values of all parameters, and how they are combined.
#[derive(Debug)]
pub(super) struct Combinations {
    values: Vec<Vec<Blob>>,
    zip: bool,
    count: u32,
    /// Bytes of all parts together.
    max: usize,
}

/// What the parameters are called where values go.
pub(super) fn gaps(sweeps: &[Sweep]) -> Vec<Gap> {
    let gap = |sweep: &Sweep| Gap { name: format!("SWEEP_{}", sweep.name), env: format!("HQ_SWEEP_{}", sweep.name) };
    sweeps.iter().map(gap).collect()
}

impl Combinations {
    /// Reads the values.
    ///
    /// # Errors
    /// For what cannot be read or combined.
    pub(super) fn new(sweeps: &[Sweep], zip: bool) -> anyhow::Result<Self> {
        if let Some((i, sweep)) =
            sweeps.iter().enumerate().find(|(i, sweep)| sweeps[..*i].iter().any(|s| s.name == sweep.name))
        {
            bail!("--sweep {} is given more than once (parameter {})", sweep.name, i + 1);
        }
        let read = |sweep: &Sweep| {
            let values = sweep.values()?;
            if values.iter().any(|value| value.contains(&0) || value.len() > ENTRY_MAX / 2) {
                bail!("a value of `{}` is too long, or holds a zero byte", sweep.name);
            }
            Ok(values.into_iter().map(Blob::from).collect::<Vec<_>>())
        };
        let values = sweeps.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
        let lens = values.iter().map(|values| values.len() as u64);
        let count = if zip {
            let first = values.first().map_or(0, Vec::len);
            if let Some((sweep, other)) = sweeps.iter().zip(&values).find(|(_, other)| other.len() != first) {
                let (name, len) = (&sweeps[0].name, other.len());
                bail!("--zip needs as many values of each parameter: `{name}` has {first}, `{}` has {len}", sweep.name);
            }
            Some(first as u64)
        } else {
            lens.into_iter().try_fold(1_u64, u64::checked_mul)
        };
        let count = count.and_then(|count| u32::try_from(count).ok());
        let count = count.ok_or_else(|| anyhow!("the parameters have more combinations than a job can have tasks"))?;
        Ok(Self { values, zip, count, max: ENTRIES_MAX })
    }

    /// The numbers of the tasks, and the values of each: of all combinations, or of those in `wanted`.
    ///
    /// # Errors
    /// Too much for one submit.
    pub(super) fn tasks(&self, wanted: Option<&IdList>) -> anyhow::Result<(IdList, Parts, usize)> {
        let ids = wanted.map_or_else(|| IdList::range(0, self.count), |ids| ids.below(self.count));
        let mut size = 0;
        let mut longest = 0;
        let part = |id| {
            let values = self.at(id);
            longest = longest.max(values.iter().map(|value| value.len()).sum());
            let part = postcard::to_stdvec(&values)?;
            size += part.len() + 5;
            if size > self.max {
                bail!("the combinations are more than {} MiB for one submit: divide them with --array", self.max >> 20);
            }
            Ok(part)
        };
        let parts = collect_parts(ids.iter().map(part))?;
        let parts = parts.ok_or_else(|| anyhow!("the combinations are too large for one submit"))?;
        Ok((ids, parts, longest))
    }

    /// Combination `id`: the last parameter changes fastest.
    fn at(&self, id: u32) -> Vec<&Blob> {
        let mut rest = id as usize;
        let mut chosen: Vec<&Blob> = Vec::with_capacity(self.values.len());
        for values in self.values.iter().rev() {
            let index = if self.zip { rest } else { rest % values.len().max(1) };
            chosen.extend(values.get(index));
            if !self.zip {
                rest /= values.len().max(1);
            }
        }
        chosen.reverse();
        chosen
    }
}

/// Puts parts together as they come: those of many tasks are far smaller than a vector of them. None where they are too
/// large together.
///
/// # Errors
/// The first one among them.
pub(crate) fn collect_parts(parts: impl Iterator<Item = anyhow::Result<Vec<u8>>>) -> anyhow::Result<Option<Parts>> {
    let mut failed = None;
    let parts = Parts::new(parts.map_while(|part| part.map_err(|error| failed = Some(error)).ok()));
    failed.map_or(Ok(parts), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn combined(texts: &[&str], zip: bool, wanted: Option<&str>) -> Result<String, String> {
        let sweeps: Vec<Sweep> = texts.iter().map(|text| parse::sweep(text).expect("a sweep")).collect();
        let wanted = wanted.map(|ids| IdList::parse(ids).expect("ids"));
        let tasks = Combinations::new(&sweeps, zip).and_then(|all| all.tasks(wanted.as_ref()));
        let (ids, parts, _) = tasks.map_err(|error| error.to_string())?;
        let part = |i| postcard::from_bytes::<Vec<Blob>>(parts.get(i)).expect("values");
        let shown =
            |i| part(i).iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect::<Vec<_>>().join("");
        let shown: Vec<_> = (0..parts.len()).map(shown).collect();
        Ok(format!("{ids}: {}", shown.join(" ")))
    }

    #[test]
    fn too_much_for_a_submit_is_refused() {
        let sweeps = ["x=1..1000", "y=1..2000"].map(|text| parse::sweep(text).expect("a sweep"));
        let all = Combinations { max: 1 << 20, ..Combinations::new(&sweeps, false).expect("combinations") };
        let error = all.tasks(None).expect_err("too much").to_string();
        assert!(error.contains("more than 1 MiB for one submit"), "{error}");
    }

    #[test]
    fn products_and_zips() {
        for (sweeps, zip, wanted, expected) in [
            (&["x=1,2,3"][..], false, None, "0-2: 1 2 3"),
            (&["x=1,2", "y=a,b,c"], false, None, "0-5: 1a 1b 1c 2a 2b 2c"),
            (&["x=1,2", "y=a,b", "z=+,-"], false, Some("7,0,2,9"), "7,0,2: 2b- 1a+ 1b+"),
            (&["x=1..3", "y=a,b,c"], true, None, "0-2: 1a 2b 3c"),
            (&["x=1..3", "y=a,b,c"], true, Some("1-9"), "1-2: 2b 3c"),
        ] {
            assert_eq!(combined(sweeps, zip, wanted).as_deref(), Ok(expected), "{sweeps:?}");
        }
        for (sweeps, zip, phrase) in [
            (&["x=1,2", "y=a"][..], true, "`x` has 2, `y` has 1"),
            (&["x=1", "x=2"], false, "--sweep x is given more than once"),
            (&["x=1..100000", "y=1..100000"], false, "more combinations than a job can have tasks"),
        ] {
            let error = combined(sweeps, zip, None).err().unwrap_or_default();
            assert!(error.contains(phrase), "{error}");
        }
    }
}
