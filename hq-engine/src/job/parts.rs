use std::{collections::HashMap, env, os::unix::ffi::OsStrExt, sync::Arc};

use hq_core::{
    Blob, Deps, IdList, JobSpec, JobTarget, Owner, PROGRAM_KIND, Parts, Profile, ProgramBody, ProgramSpec, Submit,
    TaskIds, TaskNumber,
};
use serde::Serialize;

use super::{
    Job, JobError, Task,
    task::{Body, Kind},
    whole::Tasks,
};
use crate::closures::{CLOSURE_KIND, ClosureRef, Closures};

/// A job as submits of one kind of body each.
pub(crate) struct Plan {
    pub(crate) spec: JobSpec,
    pub(crate) submits: Vec<Submit>,
    pub(crate) handed: Handed,
}

/// The closures of a job, in the table of the engine until this is dropped.
pub(crate) struct Handed {
    closures: Arc<Closures>,
    refs: Vec<ClosureRef>,
}

impl Plan {
    /// # Errors
    /// Says why the job cannot be handed over.
    pub(crate) fn new(job: Job, closures: &Arc<Closures>) -> Result<Self, JobError> {
        let mut encoder = Encoder {
            handed: Handed { closures: Arc::clone(closures), refs: vec![] },
            known: HashMap::new(),
            dir: None,
        };
        let mut submits = match job.tasks {
            Tasks::Array(ids, task) => vec![encoder.array(&job.spec, ids, *task)?],
            Tasks::List(tasks) => encoder.list(&job.spec, tasks)?,
        };
        submits.iter_mut().for_each(|submit| submit.owner = job.owner.clone());
        Ok(Self { spec: job.spec, submits, handed: encoder.handed })
    }
}

impl Handed {
    /// Whether the job has no closures.
    pub(crate) const fn is_empty(&self) -> bool {
        self.refs.is_empty()
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.closures.drop_all(&self.refs);
    }
}

struct Encoder {
    handed: Handed,
    /// Closures by the address of their recipe.
    known: HashMap<*const (), ClosureRef>,
    /// The current directory, once it was asked for.
    dir: Option<Blob>,
}

// The addresses are only compared.
impl Encoder {
    fn array(&mut self, spec: &JobSpec, ids: IdList, task: Task) -> Result<Submit, JobError> {
        if ids.is_empty() {
            return Err(JobError::Empty);
        }
        if !task.deps.is_empty() {
            return Err(JobError::ArrayDependency);
        }
        let kind = kind_of(&task.body).to_owned();
        let shared = match task.body.0 {
            Kind::Program(spec) => encode(&ProgramBody::Same(self.placed(*spec)?)),
            body => self.own(&Body(body))?,
        };
        Ok(Submit::array(JobTarget::New(spec.clone()), TaskIds::Given(ids), kind, shared.into(), task.profile))
    }

    /// Neighbours of one kind become one submit.
    fn list(&mut self, spec: &JobSpec, tasks: Vec<Task>) -> Result<Vec<Submit>, JobError> {
        if tasks.is_empty() {
            return Err(JobError::Empty);
        }
        let mut submits = Vec::new();
        let mut first = 0;
        for chunk in tasks.chunk_by(|a, b| kind_of(&a.body) == kind_of(&b.body)) {
            submits.push(self.chunk(spec, first, chunk)?);
            first += chunk.len() as u32;
        }
        Ok(submits)
    }

    fn chunk(&mut self, spec: &JobSpec, first: u32, tasks: &[Task]) -> Result<Submit, JobError> {
        let kind = kind_of(&tasks[0].body);
        let shared = if kind == PROGRAM_KIND { encode(&ProgramBody::PerTask) } else { vec![] };
        let mut parts = Vec::with_capacity(tasks.len());
        let mut profiles: Vec<Profile> = Vec::new();
        let mut profile_index: HashMap<&Profile, u16> = HashMap::new();
        let mut profile_of = Vec::with_capacity(tasks.len());
        for (task, number) in tasks.iter().zip(first..) {
            parts.push(self.own(&task.body)?);
            if let Some((on, _)) = task.deps.iter().find(|(on, _)| on.0 >= number) {
                return Err(JobError::Dependency { task: TaskNumber(number), on: *on });
            }
            let index = match profile_index.get(&task.profile) {
                Some(index) => *index,
                None => {
                    let index = u16::try_from(profiles.len())
                        .map_err(|_| JobError::TooLarge("it has more than 65536 different requests"))?;
                    profiles.push(task.profile.clone());
                    profile_index.insert(&task.profile, index);
                    index
                }
            };
            profile_of.push(index);
        }
        if profiles.len() == 1 {
            profile_of = vec![];
        }
        Ok(Submit {
            job: JobTarget::New(spec.clone()),
            ids: TaskIds::Given(IdList::range(first, tasks.len() as u32)),
            kind: kind.to_owned(),
            shared: shared.into(),
            parts: Parts::new(parts).ok_or(JobError::TooLarge("the bodies of its tasks take more than 4 GiB"))?,
            profiles,
            profile_of,
            deps: Deps::new(tasks.iter().map(|task| task.deps.iter().copied()))
                .ok_or(JobError::TooLarge("it has more than 2^32 dependencies"))?,
            owner: Owner::default(),
            after: vec![],
        })
    }

    /// The body of one task.
    fn own(&mut self, body: &Body) -> Result<Vec<u8>, JobError> {
        Ok(match &body.0 {
            Kind::Program(spec) => encode(&self.placed((**spec).clone())?),
            Kind::Closure(recipe) => {
                let handed = &mut self.handed;
                let closure = self.known.entry(Arc::as_ptr(recipe).cast()).or_insert_with(|| {
                    let closure = handed.closures.add(Arc::clone(recipe));
                    handed.refs.push(closure);
                    closure
                });
                encode(closure)
            }
            Kind::Named { name, args } => {
                args.clone().map_err(|reason| JobError::Arguments { kind: name.clone(), reason })?
            }
        })
    }

    /// The program with the directory that relative paths of it are in.
    fn placed(&mut self, mut spec: ProgramSpec) -> Result<ProgramSpec, JobError> {
        let dir = match &self.dir {
            Some(dir) => dir.clone(),
            None => {
                let dir = env::current_dir().map_err(|e| JobError::Directory(e.to_string()))?;
                let dir = Blob::from(dir.as_os_str().as_bytes());
                self.dir.insert(dir).clone()
            }
        };
        spec.submit_dir = dir;
        Ok(spec)
    }
}

fn kind_of(body: &Body) -> &str {
    match &body.0 {
        Kind::Program(_) => PROGRAM_KIND,
        Kind::Closure(_) => CLOSURE_KIND,
        Kind::Named { name, .. } => name,
    }
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    // Into memory, of types that have a known length everywhere: it cannot fail.
    postcard::to_allocvec(value).unwrap_or_default()
}
