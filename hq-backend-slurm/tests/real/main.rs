//! The backend on a real Slurm: four nodes on this host, started by `tests/tools/slurm.sh`.
//!
//! Without Slurm, or without the right to start one, the tests are left out with a loud line; with `HQ_TEST_SLURM=require`
//! that is a failure.

#![expect(clippy::print_stdout, reason = "what is left out has to be seen")]

mod cluster;
mod scenes;

use std::time::Instant;

use cluster::Cluster;
use hq_conformance::backend::test_all;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_slurm() {
    let Some(mut cluster) = Cluster::start(false) else { return };
    let report = test_all(&mut cluster).await;
    assert!(report.skipped.is_empty(), "{report}");
    macro_rules! scenes {
        ($($name:ident)*) => {$(
            let since = Instant::now();
            scenes::$name(&mut cluster).await;
            println!("real Slurm: {} ({:.1} s)", stringify!($name), since.elapsed().as_secs_f64());
        )*};
    }
    scenes! {
        one_worker_on_each_node
        gpus_are_given
        odd_directories
        a_wrong_partition
        a_drained_cluster
        a_requeued_job
        an_array
        a_controller_that_is_killed
        a_lost_node
    }
    cluster.assert_idle();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_slurm_with_accounting() {
    let Some(mut cluster) = Cluster::start(true) else { return };
    scenes::what_the_controller_forgot(&mut cluster).await;
    cluster.assert_idle();
}
