//! Tasks that wait for each other, as they come out of the pieces of a file.

use std::ops::Range;

use hq_core::{DepKind, Deps, IdList, JobTarget, Owner, PROGRAM_KIND, Parts, Profile, ProgramBody, ProgramSpec};
use hq_core::{Submit, TaskIds, TaskNumber};
use serde::Deserialize;
use toml::Spanned;

use super::{
    error::Bad,
    order::{NoOrder, Node, order},
    profiles::Profiles,
    raw,
};

/// What is kept of the tasks so far: what is submitted, and where in the file it stands.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<(Option<u32>, Vec<TaskNumber>)>,
    /// For which ends they wait, where it is not all successes.
    kinds: Vec<Vec<DepKind>>,
    places: Vec<Places>,
    profiles: Profiles,
    /// Programs one after the other, and where they end.
    programs: Vec<u8>,
    ends: Vec<usize>,
}

/// Where a task stands, its number, and what it waits for.
#[derive(Clone, Debug)]
struct Places {
    task: Range<usize>,
    id: Option<Range<usize>>,
    /// Its lists of dependencies.
    deps: Vec<Range<usize>>,
}

impl Graph {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// One more, of the piece that begins at `start`; errors are places in that piece.
    ///
    /// # Errors
    /// Where it contradicts what a task can be, or is too much.
    pub(super) fn add(
        &mut self,
        task: &Spanned<raw::Task>,
        (profile, spec): (Profile, ProgramSpec),
        start: usize,
    ) -> Result<(), Bad> {
        let raw = task.get_ref();
        let mut edges: Vec<_> = raw.edges().map(|(on, kind)| (TaskNumber(*on.get_ref()), kind)).collect();
        edges.sort_unstable();
        edges.dedup();
        if let Some(twice) = edges.windows(2).find(|two| two[0].0 == two[1].0).map(|two| two[1]) {
            let found = raw.edges().find(|(on, kind)| (TaskNumber(*on.get_ref()), *kind) == twice);
            let span = found.map_or_else(|| task.span(), |(on, _)| on.span());
            return Err(Bad::new(span, format!("a task waits for task {} in more than one way", twice.0)));
        }
        let is_plain = edges.iter().all(|(_, kind)| *kind == DepKind::Success);
        self.kinds.push(if is_plain { vec![] } else { edges.iter().map(|(_, kind)| *kind).collect() });
        let deps = edges.iter().map(|(on, _)| *on).collect();
        self.nodes.push((raw.id.as_ref().map(|id| *id.get_ref()), deps));
        let in_file = |span: Range<usize>| start + span.start..start + span.end;
        self.places.push(Places {
            task: in_file(task.span()),
            id: raw.id.as_ref().map(|id| in_file(id.span())),
            deps: raw.lists().map(|deps| in_file(deps.span())).collect(),
        });
        self.profiles.push(profile).map_err(|reason| Bad::new(task.span(), reason))?;
        self.programs.extend_from_slice(&encode(&spec, task.span())?);
        self.ends.push(self.programs.len());
        Ok(())
    }

    /// All of them, each behind those that it waits for. `text` is the file.
    ///
    /// # Errors
    /// Where there is no such order, with places in the file.
    pub(super) fn submit(self, text: &str, target: JobTarget) -> Result<Submit, Bad> {
        let Self { nodes, kinds, places, profiles, programs, ends } = self;
        let nodes = numbered(nodes, &places)?;
        let outside = matches!(target, JobTarget::Attach(_));
        let sorted =
            order(&nodes, outside).map_err(|error| Bad::new(place(&error, &places, text), error.to_string()))?;
        let whole = |what: &str| Bad::new(0..0, format!("{what}: divide the file"));
        let numbers = sorted.iter().map(|index| nodes[*index].0.0);
        let ids = IdList::from_numbers(numbers).map_err(|error| Bad::new(0..0, error.to_string()))?;
        let kinds_of = |index: usize| kinds[index].iter().copied().chain(std::iter::repeat(DepKind::Success));
        let rows = sorted.iter().map(|index| nodes[*index].1.iter().copied().zip(kinds_of(*index)));
        let deps = Deps::new(rows).ok_or_else(|| whole("there are too many dependencies"))?;
        let program = |index: &usize| {
            let begin = index.checked_sub(1).map_or(0, |before| ends[before]);
            &programs[begin..ends[*index]]
        };
        let parts = Parts::new(sorted.iter().map(program)).ok_or_else(|| whole("the tasks are too large together"))?;
        let shared = encode(&ProgramBody::PerTask, 0..0)?;
        let (profiles, column) = profiles.finish();
        Ok(Submit {
            job: target,
            ids: TaskIds::Given(ids),
            kind: PROGRAM_KIND.to_owned(),
            shared: shared.into(),
            parts,
            profiles,
            profile_of: sorted.iter().filter_map(|index| column.get(*index)).copied().collect(),
            deps,
            owner: Owner::default(),
            after: vec![],
        })
    }
}

/// With numbers for those that have none: they follow the largest one given.
fn numbered(nodes: Vec<(Option<u32>, Vec<TaskNumber>)>, places: &[Places]) -> Result<Vec<Node>, Bad> {
    let mut last = nodes.iter().filter_map(|(id, _)| *id).max().unwrap_or_default();
    let number = |((id, deps), place): ((Option<u32>, _), &Places)| {
        let number = match id {
            Some(number) => number,
            None => {
                let none = || Bad::new(place.task.clone(), "no number is left for this task");
                last = last.checked_add(1).ok_or_else(none)?;
                last
            }
        };
        Ok((TaskNumber(number), deps))
    };
    nodes.into_iter().zip(places).map(number).collect()
}

/// Where in the file something is that keeps tasks from an order.
fn place(error: &NoOrder, places: &[Places], text: &str) -> Range<usize> {
    let (NoOrder::Twice(index, _) | NoOrder::Missing(index, ..) | NoOrder::Cycle(index, ..)) = error;
    let Some(place) = places.get(*index) else { return 0..0 };
    let key = match error {
        NoOrder::Twice(..) => place.id.clone(),
        NoOrder::Missing(_, _, on) => place.dep(text, *on),
        NoOrder::Cycle(_, _, cycle) => cycle.get(1).or(cycle.first()).and_then(|on| place.dep(text, *on)),
    };
    key.unwrap_or_else(|| place.task.clone())
}

impl Places {
    /// Where the task says that it waits for `on`.
    fn dep(&self, text: &str, on: TaskNumber) -> Option<Range<usize>> {
        const KEY: &str = "deps=";
        #[derive(Deserialize)]
        struct Line {
            deps: Vec<Spanned<u32>>,
        }
        self.deps.iter().find_map(|literal| {
            let line: Line = toml::from_str(&format!("{KEY}{}", text.get(literal.clone())?)).ok()?;
            let span = line.deps.iter().find(|dep| *dep.get_ref() == on.0)?.span();
            let in_file = |at: usize| (literal.start + at).saturating_sub(KEY.len());
            Some(in_file(span.start)..in_file(span.end))
        })
    }
}

/// A program as workers read it.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn encode(value: &impl serde::Serialize, span: Range<usize>) -> Result<Vec<u8>, Bad> {
    postcard::to_stdvec(value).map_err(|error| Bad::new(span, format!("cannot encode the program: {error}")))
}
