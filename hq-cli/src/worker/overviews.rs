use std::{process::Stdio, time::Duration};

use hq_core::{GpuState, HardwareState, WorkerConfig};
use hq_hardware::{GpuKind, Sampler};
use tokio::{
    process::Command,
    sync::mpsc,
    time::{MissedTickBehavior, interval, timeout},
};
use tracing::debug;

use crate::output::now;

/// A program that takes longer is not waited for.
const MONITOR_MAX: Duration = Duration::from_secs(5);
/// Never does nothing but look.
const PERIOD_MIN: Duration = Duration::from_millis(5);

/// Looks at this machine at once and then again and again, as the worker's configuration says, until nobody listens.
pub(crate) async fn send_overviews(config: WorkerConfig, overviews: mpsc::Sender<HardwareState>) {
    let Some(period) = config.overview_interval else { return };
    let mut ticks = interval(Duration::from(period).max(PERIOD_MIN));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut sampler = Sampler::new("/");
    loop {
        ticks.tick().await;
        let mut state = sampler.look(now());
        for kind in GpuKind::ALL.into_iter().filter(|kind| config.resources.get(kind.resource()).is_some()) {
            let gpus = look_at_gpus(kind).await;
            match kind {
                GpuKind::Nvidia => state.nvidia = gpus,
                GpuKind::Amd => state.amd = gpus,
            }
        }
        if overviews.send(state).await.is_err() {
            return;
        }
    }
}

/// None where the vendor's program does not say.
async fn look_at_gpus(kind: GpuKind) -> Option<Vec<GpuState>> {
    let (program, args) = kind.monitor();
    let output = Command::new(program).args(args).stdin(Stdio::null()).kill_on_drop(true).output();
    match timeout(MONITOR_MAX, output).await {
        Ok(Ok(output)) if output.status.success() => Some(kind.parse(&String::from_utf8_lossy(&output.stdout))),
        Ok(Ok(output)) => {
            debug!("{program} ended with {}", output.status);
            None
        }
        Ok(Err(error)) => {
            debug!("{program} cannot be run: {error}");
            None
        }
        Err(_) => {
            debug!("{program} does not answer");
            None
        }
    }
}
