use std::{
    env, fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf, absolute},
    process,
    str::FromStr,
};

use anyhow::{Context as _, anyhow, bail};
use hq_core::{BatchJob, OnServerLost, ResourceDef, ResourceName, Span, WorkerConfig, WorkerResources};
use hq_engine::serve::hostname;
use tempfile::TempDir;

use super::{Search, find};

/// What the user says of a worker.
#[derive(Clone, Debug)]
pub(crate) struct ConfigArgs {
    /// Its cpus; none: to be found.
    pub(crate) cpus: Option<ResourceDef>,
    /// Other resources.
    pub(crate) resources: Vec<ResourceDef>,
    /// What is looked for, and how.
    pub(crate) search: Search,
    /// Groups of resources that lie close to each other.
    pub(crate) coupling: Option<String>,
    /// Its name; none: the machine's.
    pub(crate) hostname: Option<String>,
    /// Its group; none: the batch job's id, or `default`.
    pub(crate) group: Option<String>,
    /// The rest, as the engine wants it.
    pub(crate) base: BaseArgs,
}

/// What is taken over as it is.
#[derive(Clone, Debug)]
pub(crate) struct BaseArgs {
    pub(crate) time_limit: Option<Span>,
    pub(crate) idle_timeout: Option<Span>,
    pub(crate) heartbeat: Span,
    pub(crate) on_server_lost: OnServerLost,
    pub(crate) min_utilization: u32,
    pub(crate) overview_interval: Option<Span>,
}

/// Which resources are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DetectList {
    /// All that can be found.
    All,
    /// None.
    None,
    /// Of these kinds.
    These(Vec<String>),
}

const KINDS: [&str; 4] = ["cpus", "mem", "gpus/nvidia", "gpus/amd"];

impl FromStr for DetectList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            _ => {
                let items: Vec<String> = text.split(',').map(|item| item.trim().to_owned()).collect();
                match items.iter().find(|item| !KINDS.contains(&item.as_str())) {
                    Some(item) => Err(format!("`{item}` is none of all, none, {}", KINDS.join(", "))),
                    None => Ok(Self::These(items)),
                }
            }
        }
    }
}

impl DetectList {
    /// Whether resources of that name are looked for.
    pub(crate) fn wants(&self, kind: &str) -> bool {
        match self {
            Self::All => true,
            Self::None => false,
            Self::These(kinds) => kinds.iter().any(|known| known == kind),
        }
    }
}

impl ConfigArgs {
    /// The configuration of a worker of this process.
    ///
    /// # Errors
    /// For resources that contradict each other or cannot be found.
    pub(crate) fn gather(self, work_dir: &Path, job: Option<BatchJob>) -> anyhow::Result<WorkerConfig> {
        let given = resources(self.cpus, self.resources, &self.search.list)?;
        let is_given = |name: &str| given.iter().any(|def| def.name.as_str() == name);
        let found = find(&self.search, is_given);
        let mut resources = WorkerResources::new(given.into_iter().chain(found).collect(), vec![])?;
        if let Some(coupling) = &self.coupling {
            resources = resources.with_coupling(coupling).map_err(|error| anyhow!("{}", error.reason))?;
        }
        let group = self.group.or_else(|| job.as_ref().map(|job| job.id.clone()));
        let base = self.base;
        Ok(WorkerConfig {
            group: group.unwrap_or_else(|| "default".to_owned()),
            time_limit: base.time_limit,
            idle_timeout: base.idle_timeout,
            heartbeat: base.heartbeat,
            on_server_lost: base.on_server_lost,
            min_utilization: base.min_utilization,
            work_dir: work_dir.display().to_string(),
            pid: process::id(),
            allocation: job,
            overview_interval: base.overview_interval,
            ..WorkerConfig::new(self.hostname.unwrap_or_else(hostname), resources)
        })
    }
}

/// The resources that are given, if with what is looked for the cpus are among them.
fn resources(
    cpus: Option<ResourceDef>,
    mut resources: Vec<ResourceDef>,
    detect: &DetectList,
) -> anyhow::Result<Vec<ResourceDef>> {
    let names_cpus = resources.iter().any(|def| def.name.as_str() == ResourceName::CPUS);
    match cpus {
        Some(_) if names_cpus => bail!("Parameters --cpus and --resource cpus=... cannot be combined"),
        Some(def) => resources.push(def),
        None if names_cpus => {}
        None if detect.wants(ResourceName::CPUS) => {}
        None => bail!("You have to specify --cpus explicitly when opting out of CPU automatic detection"),
    }
    Ok(resources)
}

/// The directory of a worker; one that was made for it goes with it.
#[derive(Debug)]
pub(crate) enum WorkDir {
    /// Named by the user.
    Given(PathBuf),
    /// Made here.
    Fresh(TempDir),
}

impl WorkDir {
    /// The directory `given`, made if it is missing, or else a fresh one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn prepare(given: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = given else {
            let fresh = tempfile::Builder::new().prefix("hq-worker-").tempdir();
            return Ok(Self::Fresh(
                fresh.with_context(|| format!("cannot make a directory in {:?}", env::temp_dir()))?,
            ));
        };
        let mut private = fs::DirBuilder::new();
        private
            .recursive(true)
            .mode(0o700)
            .create(path)
            .with_context(|| format!("cannot create the working directory {path:?}"))?;
        Ok(Self::Given(absolute(path)?))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Given(path) => path,
            Self::Fresh(dir) => dir.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(cpus: Option<&str>, defs: &[&str], detect: &str) -> Result<Vec<String>, String> {
        let parsed = cpus.map(|text| ResourceDef::parse_cpus(text).expect("cpus"));
        let defs = defs.iter().map(|text| ResourceDef::parse(text).expect("a definition")).collect();
        let detect = detect.parse().expect("a list");
        let mut given = resources(parsed, defs, &detect).map_err(|error| format!("{error:#}"))?;
        if given.iter().all(|def| def.name.as_str() != "cpus") {
            given.push(ResourceDef::parse_cpus("1").expect("cpus"));
        }
        let resources = WorkerResources::new(given, vec![]).map_err(|error| error.to_string())?;
        Ok(resources.resources().iter().map(|def| def.name.to_string()).collect())
    }

    #[test]
    fn resources_are_checked() {
        for (cpus, defs, detect, expected) in [
            (None, &[][..], "all", Ok(&["cpus"][..])),
            (None, &["foo=sum(1)"], "cpus", Ok(&["cpus", "foo"])),
            (Some("4"), &["zz=[1]", "aa=[1]"], "none", Ok(&["aa", "cpus", "zz"])),
            (None, &["cpus=2x2"], "none", Ok(&["cpus"])),
            (
                None,
                &[],
                "none",
                Err("You have to specify --cpus explicitly when opting out of CPU automatic detection"),
            ),
            (None, &[], "mem", Err("You have to specify --cpus explicitly when opting out")),
            (Some("1"), &["cpus=2"], "all", Err("Parameters --cpus and --resource cpus=... cannot be combined")),
            (Some("sum(5)"), &[], "all", Err("Resource kind `sum` cannot be used with CPUs")),
            (None, &["cpus=sum(5)"], "all", Err("Resource kind `sum` cannot be used with CPUs")),
            (Some("1"), &["x=[1]", "x=[2]"], "all", Err("Resource x defined twice")),
            (Some("1"), &["x=sum(0)"], "all", Err("Resource x is empty")),
            (Some("0"), &[], "all", Err("Resource cpus is empty")),
            (Some("1"), &["x=[[1],[1]]"], "all", Err("Non unique indices")),
        ] {
            match (gathered(cpus, defs, detect), expected) {
                (Ok(names), Ok(expected)) => assert_eq!(names, expected),
                (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
                (actual, expected) => panic!("{cpus:?} {defs:?} {detect}: {actual:?}, not {expected:?}"),
            }
        }
    }

    #[test]
    fn detect_lists() {
        for (text, expected) in [
            ("all", Some(DetectList::All)),
            ("none", Some(DetectList::None)),
            ("cpus,mem", Some(DetectList::These(vec!["cpus".into(), "mem".into()]))),
            ("gpus/nvidia", Some(DetectList::These(vec!["gpus/nvidia".into()]))),
            ("", None),
            ("cpus,foo", None),
            ("all,cpus", None),
        ] {
            assert_eq!(text.parse::<DetectList>().ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_fresh_directory_goes_with_its_worker() {
        let fresh = WorkDir::prepare(None).expect("made");
        let path = fresh.path().to_owned();
        assert!(path.is_dir());
        drop(fresh);
        assert!(!path.exists());
    }

    #[test]
    fn a_given_directory_stays() {
        let root = TempDir::new().expect("made");
        let path = root.path().join("a/b");
        let given = WorkDir::prepare(Some(&path)).expect("made");
        assert_eq!(given.path(), path);
        drop(given);
        assert!(path.is_dir());
    }
}
