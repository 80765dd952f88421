//! Commands without a manager, for backends that talk to one by its commands: [managers in memory](FakeSlurm) that
//! answer as real ones were recorded, [faults](Faulty) of any of them, and [recorded answers](transcript).

mod fake_pbs;
mod fake_slurm;
mod faulty;
mod transcript;

pub use fake_pbs::FakePbs;
pub use fake_slurm::{FakeSlurm, FakeSlurmJob};
pub use faulty::{Fault, Faulty};
pub use transcript::{Recorded, transcript};

use hq_backend::CommandOutput;

/// What a command answers with.
pub fn answer(code: i32, stdout: &str, stderr: &str) -> CommandOutput {
    CommandOutput { code: Some(code), stdout: stdout.into(), stderr: stderr.into(), is_cut: false }
}
