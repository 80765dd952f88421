use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use hq_backend::{CommandError, CommandLine, CommandOutput, CommandRunner};

use super::answer;

/// A Slurm in memory: `sbatch`, `scontrol show job`, `squeue`, `sacct` and `scancel`, with the words of version 22.05.
///
/// A job waits when it is first looked at and runs from then on.
#[derive(Clone, Debug, Default)]
pub struct FakeSlurm {
    world: Arc<Mutex<World>>,
}

/// A job of it.
#[derive(Clone, Debug)]
pub struct FakeSlurmJob {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Where it was submitted.
    pub dir: String,
    /// Its script, and the text of it.
    pub script: (String, String),
    /// The word for its state.
    pub state: String,
    /// Why, in Slurm's words.
    pub reason: String,
    /// Whether the controller has forgotten it, so that only accounting knows.
    pub is_purged: bool,
}

#[derive(Debug, Default)]
struct World {
    jobs: Vec<FakeSlurmJob>,
    last: u64,
    has_accounting: bool,
}

impl FakeSlurm {
    /// An idle cluster without accounting.
    pub fn new() -> Self {
        Self::default()
    }

    /// With `slurmdbd` or without.
    pub fn set_accounting(&self, on: bool) {
        self.with(|world| world.has_accounting = on);
    }

    /// Changes a job.
    ///
    /// # Panics
    /// Where there is none.
    pub fn change(&self, id: &str, change: impl FnOnce(&mut FakeSlurmJob)) {
        self.with(|world| change(world.jobs.iter_mut().find(|job| job.id.to_string() == id).expect("a job")));
    }

    /// The controller crashes and forgets this job; its number is given out again.
    pub fn lose(&self, id: &str) {
        self.with(|world| {
            world.jobs.retain(|job| job.id.to_string() != id);
            world.last = world.jobs.iter().map(|job| job.id).max().unwrap_or(0);
        });
    }

    /// Somebody else of the same user submits a job.
    pub fn submit_other(&self) -> u64 {
        self.with(|world| world.submit("/home/user/other.sh", "#!/bin/bash\nsleep 1\n", "/home/user"))
    }

    /// Numbers of all jobs that have not ended.
    pub fn alive(&self) -> Vec<u64> {
        let is_alive = |job: &&FakeSlurmJob| matches!(&*job.state, "PENDING" | "RUNNING");
        self.with(|world| world.jobs.iter().filter(is_alive).map(|job| job.id).collect())
    }

    fn with<T>(&self, f: impl FnOnce(&mut World) -> T) -> T {
        f(&mut self.world.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl CommandRunner for FakeSlurm {
    async fn run(&self, line: &CommandLine) -> Result<CommandOutput, CommandError> {
        let args: Vec<&str> = line.args.iter().map(String::as_str).collect();
        let dir = line.dir.as_ref().map_or(String::new(), |dir| dir.to_string_lossy().into_owned());
        self.with(|world| match (&*line.program, &args[..]) {
            ("sbatch", ["--test-only"]) => Ok(world.test_only(&String::from_utf8_lossy(&line.stdin))),
            ("sbatch", [script]) => Ok(world.sbatch(script, &dir)),
            ("scontrol", ["show", "job", id]) => Ok(world.show(id)),
            ("squeue", args) => Ok(world.squeue(args)),
            ("sacct", args) => Ok(world.sacct(args)),
            ("scancel", [id]) => Ok(world.scancel(id)),
            _ => Err(CommandError::Start(Arc::new(io::Error::other(format!("unexpected: {line:?}"))))),
        })
    }
}

impl World {
    fn submit(&mut self, script: &str, text: &str, dir: &str) -> u64 {
        self.last += 1;
        let name = header(text, "--job-name=").unwrap_or("other").to_owned();
        let script = (script.to_owned(), text.to_owned());
        let (dir, state, reason) = (dir.to_owned(), "PENDING".to_owned(), "None".to_owned());
        self.jobs.push(FakeSlurmJob { id: self.last, name, dir, script, state, reason, is_purged: false });
        self.last
    }

    fn refusal(text: &str) -> Option<CommandOutput> {
        if !text.starts_with("#!") {
            return Some(answer(1, "", "sbatch: error: This does not look like a batch script.  The first\n"));
        }
        let refused = "sbatch: error: invalid partition specified: nope\n\
                       sbatch: error: Batch job submission failed: Invalid partition name specified\n";
        (header(text, "--partition=") == Some("nope")).then(|| answer(1, "", refused))
    }

    fn sbatch(&mut self, script: &str, dir: &str) -> CommandOutput {
        let Ok(text) = std::fs::read_to_string(script) else {
            return answer(1, "", &format!("sbatch: error: Unable to open file {script}\n"));
        };
        Self::refusal(&text)
            .unwrap_or_else(|| answer(0, &format!("Submitted batch job {}\n", self.submit(script, &text, dir)), ""))
    }

    fn test_only(&self, text: &str) -> CommandOutput {
        let next = self.last + 1;
        let said = "to start at 2026-11-30T07:36:43 using 2 processors on nodes n[1-2] in partition main";
        Self::refusal(text).unwrap_or_else(|| answer(0, "", &format!("sbatch: Job {next} {said}\n")))
    }

    fn show(&mut self, id: &str) -> CommandOutput {
        let Some(job) = self.jobs.iter_mut().find(|job| job.id.to_string() == id && !job.is_purged) else {
            return answer(1, "", "slurm_load_jobs error: Invalid job id specified\n");
        };
        let said = format!(
            "JobId={} JobName={}\n   UserId=root(0) GroupId=root(0) MCS_label=N/A\n   \
             Priority=4294901759 Nice=0 Account=(null) QOS=(null)\n   \
             JobState={} Reason={} Dependency=(null)\n   \
             Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n   \
             RunTime=00:00:01 TimeLimit=00:01:00 TimeMin=N/A\n   \
             StartTime=2026-11-30T07:07:05 EndTime=2026-11-30T07:08:05 Deadline=N/A\n   \
             NodeList=n1\n   Command={}\n   WorkDir={}\n   StdErr={}/stderr\n   StdIn=/dev/null\n   \
             StdOut={}/stdout\n   Power=\n   \n\n",
            job.id, job.name, job.state, job.reason, job.script.0, job.dir, job.dir, job.dir
        );
        if job.state == "PENDING" && job.reason == "None" {
            job.state = "RUNNING".to_owned();
        }
        answer(0, &said, "")
    }

    fn squeue(&self, args: &[&str]) -> CommandOutput {
        let name = args.iter().find_map(|arg| arg.strip_prefix("--name="));
        let separator = '\x1f';
        let named = self.jobs.iter().filter(|job| !job.is_purged && name.is_none_or(|name| job.name == name));
        let line = |job: &FakeSlurmJob| format!("{}{separator}{}{separator}{}\n", job.id, job.dir, job.script.0);
        answer(0, &named.map(line).collect::<String>(), "")
    }

    fn sacct(&self, args: &[&str]) -> CommandOutput {
        if !self.has_accounting {
            return answer(1, "", "Slurm accounting storage is disabled\n");
        }
        let separator = '\x1f';
        let job_arg = args.iter().find_map(|arg| arg.strip_prefix("--jobs="));
        let name = args.iter().find_map(|arg| arg.strip_prefix("--name="));
        let is_meant = |job: &&FakeSlurmJob| {
            job_arg.is_none_or(|id| job.id.to_string() == id) && name.is_none_or(|name| job.name == name)
        };
        let line = |job: &FakeSlurmJob| {
            let fields = [&*job.id.to_string(), &job.state, "2026-11-30T07:07:05", "2026-11-30T07:08:05", &job.dir];
            fields.join(&separator.to_string()) + "\n"
        };
        answer(0, &self.jobs.iter().filter(is_meant).map(line).collect::<String>(), "")
    }

    fn scancel(&mut self, id: &str) -> CommandOutput {
        if !id.bytes().all(|b| b.is_ascii_digit()) {
            return answer(1, "", &format!("scancel: error: Invalid job id {id}\n"));
        }
        if let Some(job) = self.jobs.iter_mut().find(|job| job.id.to_string() == id)
            && matches!(&*job.state, "PENDING" | "RUNNING")
        {
            job.state = "CANCELLED".to_owned();
        }
        answer(0, "", "")
    }
}

/// The value of an option in the head of a script.
fn header<'a>(text: &'a str, option: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix("#SBATCH ")?.strip_prefix(option))
}
