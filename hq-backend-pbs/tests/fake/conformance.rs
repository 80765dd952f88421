//! The suite.

use hq_conformance::backend::test_all;

use crate::cluster::Cluster;

#[tokio::test]
async fn every_promise_is_kept() {
    let mut cluster = Cluster::new();
    let report = test_all(&mut cluster).await;
    let skipped: Vec<_> = report.skipped.iter().map(|(name, _)| *name).collect();
    assert_eq!(skipped, ["validation_leaves_nothing"], "{report}");
    assert_eq!(cluster.pbs.alive(), [""; 0], "nothing is left behind");
}
