//! What a worker's machine is doing, as plain data.

use serde::{Deserialize, Serialize};

use crate::WallTime;

/// A share in hundredths of a percent: 10,000 is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub u16);

impl Share {
    /// `used` of `total`; nothing of nothing.
    pub const fn of(used: u64, total: u64) -> Self {
        if total == 0 {
            return Self(0);
        }
        let share = used as u128 * 10_000 / total as u128;
        Self(if share > 10_000 { 10_000 } else { share as u16 })
    }

    /// As a percentage, for showing.
    pub fn percent(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

/// A look at the hardware of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HardwareState {
    /// When it was looked at, by the worker's clock.
    pub at: WallTime,
    /// How busy each cpu was since the look before; of the first look, since the machine was started.
    pub cpus: Vec<Share>,
    /// Bytes of memory.
    pub memory_total: u64,
    /// Those of them that programs could still get.
    pub memory_free: u64,
    /// All network interfaces together, since the machine was started.
    pub network: NetworkCounters,
    /// NVIDIA GPUs; none: the worker has no such resource, or they cannot be looked at.
    pub nvidia: Option<Vec<GpuState>>,
    /// AMD GPUs; as `nvidia`.
    pub amd: Option<Vec<GpuState>>,
}

/// What went over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkCounters {
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Packets received with errors.
    pub rx_errors: u64,
    /// Packets not sent because of errors.
    pub tx_errors: u64,
}

/// What a GPU is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuState {
    /// Its name on the bus.
    pub id: String,
    /// How busy it is.
    pub processor: Share,
    /// How full its memory is.
    pub memory: Share,
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn shares_are_cut_and_bounded() {
        for (used, total, expected) in
            [(0, 0, 0), (1, 0, 0), (1, 2, 5_000), (1, 3, 3_333), (3, 2, 10_000), (u64::MAX, u64::MAX, 10_000)]
        {
            assert_eq!(Share::of(used, total), Share(expected), "{used}/{total}");
        }
    }
}
