//! `hq alloc` on a real Slurm: four nodes on this host, started by `tests/tools/slurm.sh`. Left out where none can be had.

use std::{process::Command, time::Duration};

use hq_tests::{Cluster, Process, RealSlurm, eventually_within, finish};
use serde_json::Value;

/// A job begins within a second or two of its submission, where the machine is not busy.
const BEGIN: Duration = Duration::from_secs(120);

struct Site {
    cluster: Cluster,
    server: Process,
    slurm: RealSlurm,
}

impl Site {
    fn start() -> Option<Self> {
        let slurm = RealSlurm::start(false)?;
        let mut cluster = Cluster::new();
        let server = serve(&mut cluster, &slurm);
        Some(Self { cluster, server, slurm })
    }

    /// Ids of batch jobs that have not ended.
    fn jobs(&self) -> Vec<String> {
        let mut squeue = Command::new("squeue");
        let output = finish(squeue.args(["-h", "-t", "PD,R,CF", "-o", "%A"]).env("SLURM_CONF", self.slurm.conf()));
        output.ok().lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn wait_for_jobs(&self, count: usize) -> Vec<String> {
        eventually_within(BEGIN, "batch jobs", || self.jobs(), |jobs| jobs.len() == count)
    }

    /// Waits for so many workers that are there; their allocations, in order.
    #[track_caller]
    fn wait_for_workers(&self, count: usize) -> Vec<String> {
        let look = || {
            let all = self.cluster.json(&["worker", "list"]);
            let ids = all.as_array().into_iter().flatten().map(|worker| {
                assert_eq!(worker["allocation"]["manager"], "Slurm", "{worker}");
                worker["allocation"]["id"].as_str().unwrap_or_default().to_owned()
            });
            let mut ids: Vec<String> = ids.collect();
            ids.sort();
            ids
        };
        eventually_within(BEGIN, "workers", look, |ids| ids.len() == count)
    }

    fn allocations(&self) -> Value {
        self.cluster.json(&["alloc", "info", "1"])
    }
}

fn serve(cluster: &mut Cluster, slurm: &RealSlurm) -> Process {
    let mut command = cluster.command(&["server", "start", "--journal", "journal"]);
    command.env("SLURM_CONF", slurm.conf());
    command.env("HQ_AUTOALLOC_REFRESH_INTERVAL_MS", "500").env("HQ_AUTOALLOC_SCHEDULE_TICK_INTERVAL_MS", "200");
    let server = cluster.spawn(&mut command, "server");
    finish(&mut cluster.command(&["server", "wait"]));
    server
}

#[test]
fn machines_come_stay_over_a_crash_and_go() {
    let Some(mut site) = Site::start() else { return };
    // The trial leaves nothing behind.
    let add = ["alloc", "add", "slurm", "-t", "10m", "-m", "2", "-b", "2", "--cpus=2", "--detect-resources=none"];
    let added = site.cluster.hq(&add);
    assert!(added.stderr.contains("A trial allocation was submitted successfully."), "{}", added.stderr);
    assert_eq!((added.code, site.jobs().len()), (0, 0), "{}", added.stderr);

    // A gang: one batch job of two nodes, a worker on each.
    let gang = site.cluster.submit(&["--nodes", "2", "--", "sh", "-c", "wc -l < $HQ_NODE_FILE"]);
    let job = site.wait_for_jobs(1).remove(0);
    assert_eq!(site.wait_for_workers(2), [job.clone(), job.clone()]);
    assert_eq!(site.cluster.finished(gang)["info"]["task_stats"]["finished"], 1);
    assert_eq!(site.cluster.hq(&["job", "cat", "last", "stdout"]).ok().trim(), "2");
    assert_eq!(site.allocations()[0]["status"], "running");

    // More tasks than these two can take: more machines, as many as may be.
    let many = site.cluster.submit(&["--array", "1-6", "--", "sleep", "600"]);
    site.cluster.until(many, "running", 6);
    let before = site.jobs();

    // The server dies, and its machines are taken over by the next one: none is asked for twice.
    site.server.kill();
    site.server = serve(&mut site.cluster, &site.slurm);
    let known = eventually_within(
        BEGIN,
        "allocations after a restart",
        || site.allocations(),
        |all| all.as_array().into_iter().flatten().filter(|a| a["status"] == "running").count() == before.len(),
    );
    let mut known: Vec<&str> = known.as_array().into_iter().flatten().filter_map(|a| a["id"].as_str()).collect();
    known.sort_unstable();
    let mut ids = before.clone();
    ids.sort();
    assert_eq!((known, site.jobs()), (ids.iter().map(String::as_str).collect(), before), "taken over, and no other");

    // It ends, and with it all that was asked for.
    site.cluster.hq(&["server", "stop"]).ok();
    site.wait_for_jobs(0);
}

#[test]
fn a_queue_that_is_removed_leaves_nothing_behind() {
    let Some(site) = Site::start() else { return };
    let add = ["alloc", "add", "slurm", "-t", "10m", "-b", "2", "--no-dry-run", "--cpus=1", "--detect-resources=none"];
    site.cluster.hq(&add).ok();
    let job = site.cluster.submit(&["--array", "1-2", "--", "sleep", "600"]);
    site.cluster.until(job, "running", 2);
    site.wait_for_jobs(2);
    assert_eq!(site.cluster.hq(&["alloc", "remove", "1"]).code, 1);
    assert_eq!(site.jobs().len(), 2, "a refusal changes nothing");
    site.cluster.hq(&["alloc", "remove", "1", "--force"]).ok();
    site.wait_for_jobs(0);
    // What Slurm does not take is told, and nothing is there.
    let nope = ["alloc", "add", "slurm", "-t", "10m", "--cpus=1", "--", "--partition=nope"];
    let refused = site.cluster.hq(&nope);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("sbatch execution failed"), "{}", refused.stderr);
    assert!(refused.stderr.contains("Invalid partition name specified"), "{}", refused.stderr);
    site.cluster.hq(&["server", "stop"]).ok();
}
