//! What a machine has and what it is doing, as plain data: cpus by NUMA node, memory, GPUs, network.
//!
//! Everything is read out of files below a root that is an argument, `/` but in tests. Programs of vendors are not run here:
//! their arguments and the meaning of what they print are.

#![forbid(unsafe_code)]

mod cpus;
mod gpus;
mod memory;
mod range_list;
mod sampler;
mod smi;

pub use cpus::{CpuSearch, find_cpus};
pub use gpus::{GpuKind, find_gpus};
pub use memory::find_memory;
pub use sampler::Sampler;
pub use smi::{parse_nvidia_smi, parse_rocm_smi};
