use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use hq_backend::{CommandError, CommandLine, CommandOutput, CommandRunner};

use super::answer;

/// A PBS in memory: `qsub`, `qstat`, `qselect` and `qdel`, with the words and flaws of OpenPBS 23.06: of several ids
/// `qstat -F json` answers for the first one only.
///
/// A job waits when it is first looked at and runs from then on.
#[derive(Clone, Debug, Default)]
pub struct FakePbs {
    world: Arc<Mutex<World>>,
}

#[derive(Debug, Default)]
struct World {
    jobs: Vec<Job>,
}

#[derive(Debug)]
struct Job {
    id: String,
    name: String,
    dir: String,
    state: &'static str,
    /// Exit status and substate, once it has ended.
    end: Option<(Option<i32>, u32)>,
}

impl FakePbs {
    /// An idle cluster with history.
    pub fn new() -> Self {
        Self::default()
    }

    /// A job ends.
    ///
    /// # Panics
    /// Where there is none.
    pub fn end(&self, id: &str, exit_status: Option<i32>, substate: u32) {
        self.with(|world| {
            let job = world.jobs.iter_mut().find(|job| job.id == id).expect("a job");
            (job.state, job.end) = ("F", Some((exit_status, substate)));
        });
    }

    /// The server forgets a job.
    pub fn forget(&self, id: &str) {
        self.with(|world| world.jobs.retain(|job| job.id != id));
    }

    /// Ids of all jobs that have not ended.
    pub fn alive(&self) -> Vec<String> {
        self.with(|world| world.jobs.iter().filter(|job| job.end.is_none()).map(|job| job.id.clone()).collect())
    }

    fn with<T>(&self, f: impl FnOnce(&mut World) -> T) -> T {
        f(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl CommandRunner for FakePbs {
    async fn run(&self, line: &CommandLine) -> Result<CommandOutput, CommandError> {
        let args: Vec<&str> = line.args.iter().map(String::as_str).collect();
        let dir = line.dir.as_ref().map_or(String::new(), |dir| dir.to_string_lossy().into_owned());
        self.with(|world| match (&*line.program, &args[..]) {
            ("qsub", [script]) => Ok(world.qsub(script, &dir)),
            ("qstat", args) => Ok(world.qstat(args)),
            ("qselect", ["-x", "-N", name]) => Ok(world.qselect(name)),
            ("qdel", [id]) => Ok(world.qdel(id)),
            _ => Err(CommandError::Start(Arc::new(io::Error::other(format!("unexpected: {line:?}"))))),
        })
    }
}

impl World {
    fn qsub(&mut self, script: &str, dir: &str) -> CommandOutput {
        let Ok(text) = std::fs::read_to_string(script) else {
            return answer(1, "", "qsub: script file:: No such file or directory\n");
        };
        let header = |option: &str| text.lines().find_map(|line| line.strip_prefix("#PBS ")?.strip_prefix(option));
        if header("-q ") == Some("nope") {
            return answer(170, "", "qsub: Unknown queue\n");
        }
        let id = format!("{}.pbs1", self.jobs.len() + 1);
        let name = header("-N ").unwrap_or("STDIN").to_owned();
        self.jobs.push(Job { id: id.clone(), name, dir: dir.to_owned(), state: "Q", end: None });
        answer(0, &format!("{id}\n"), "")
    }

    fn qstat(&mut self, args: &[&str]) -> CommandOutput {
        let ids: Vec<&str> =
            args.iter().filter(|arg| arg.contains('.') || arg.parse::<u64>().is_ok()).copied().collect();
        let unknown: Vec<&str> = ids.iter().filter(|id| self.jobs.iter().all(|job| job.id != **id)).copied().collect();
        let errors: String = unknown.iter().map(|id| format!("qstat: Unknown Job Id {id}\n")).collect();
        let first = ids.iter().find(|id| !unknown.contains(id)).copied();
        let Some(job) = self.jobs.iter_mut().find(|job| Some(&*job.id) == first) else {
            let empty =
                "{\n\t\"timestamp\":\t1796020840,\n\t\"pbs_version\":\t\"23.06.06\",\n\t\"pbs_server\":\t\"pbs1\"\n}\n";
            return answer(153, if args.contains(&"json") { empty } else { "" }, &errors);
        };
        let said = if args.contains(&"json") { job.json() } else { job.text() };
        if job.state == "Q" {
            job.state = "R";
        }
        answer(if errors.is_empty() { 0 } else { 153 }, &said, &errors)
    }

    fn qselect(&self, name: &str) -> CommandOutput {
        let named = self.jobs.iter().filter(|job| job.name == name);
        answer(0, &named.map(|job| format!("{}\n", job.id)).collect::<String>(), "")
    }

    fn qdel(&mut self, id: &str) -> CommandOutput {
        match self.jobs.iter_mut().find(|job| job.id == id) {
            None => answer(153, "", &format!("qdel: Unknown Job Id {id}\n")),
            Some(job) if job.end.is_some() => answer(35, "", &format!("qdel: Job has finished {id}\n")),
            Some(job) => {
                (job.state, job.end) = ("F", Some(((job.state == "R").then_some(0), 91)));
                answer(0, "", "")
            }
        }
    }
}

impl Job {
    fn json(&self) -> String {
        let exit = match self.end {
            Some((Some(status), _)) => format!("\t\t\t\"Exit_status\":\t{status},\n"),
            _ => String::new(),
        };
        format!(
            "{{\n\t\"timestamp\":\t1796020812,\n\t\"pbs_version\":\t\"23.06.06\",\n\t\"pbs_server\":\t\"pbs1\",\n\t\"Jobs\":\t{{\n\
             \t\t\"{}\":\t{{\n\t\t\t\"Job_Name\":\t\"{}\",\n\t\t\t\"job_state\":\t\"{}\",\n\
             \t\t\t\"mtime\":\t\"Mon Nov 30 06:40:17 2026\",\n\t\t\t\"stime\":\t\"Mon Nov 30 06:40:11 2026\",\n\
             \t\t\t\"Output_Path\":\t\"pbs1:{}/stdout\",\n{exit}\t\t\t\"substate\":\t{}\n\t\t}}\n\t}}\n}}\n",
            self.id,
            self.name,
            self.state,
            self.dir,
            self.end.map_or(41, |(_, substate)| substate),
        )
    }

    fn text(&self) -> String {
        let exit = match self.end {
            Some((Some(status), _)) => format!("    Exit_status = {status}\n"),
            _ => String::new(),
        };
        format!(
            "Job Id: {}\n    Job_Name = {}\n    job_state = {}\n    Output_Path = pbs1:{}/stdout\n    substate = {}\n{exit}\n",
            self.id,
            self.name,
            self.state,
            self.dir,
            self.end.map_or(41, |(_, substate)| substate),
        )
    }
}
