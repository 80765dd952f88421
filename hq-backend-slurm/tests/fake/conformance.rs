//! The suite, on a Slurm in memory.

use crate::cluster::Cluster;
use hq_conformance::backend::test_all;

#[tokio::test]
async fn every_promise_is_kept() {
    for accounting in [false, true] {
        let mut cluster = Cluster::new();
        cluster.slurm.set_accounting(accounting);
        let report = test_all(&mut cluster).await;
        assert!(report.skipped.is_empty(), "{report}");
        assert_eq!(cluster.slurm.alive(), [0; 0], "nothing is left behind");
    }
}
