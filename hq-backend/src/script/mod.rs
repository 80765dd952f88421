//! Scripts of batch jobs: words of a shell, the command of the workers, the files of an allocation.
//!
//! Nothing can be smuggled into a script: names and lines are checked types ([`JobName`](crate::JobName),
//! [`ExtraArg`](crate::ExtraArg), [`ShellLine`](crate::ShellLine)), all other words go through [`quote`].

mod body;
mod directory;
mod quote;

pub use body::{Launcher, clock, worker_line};
pub use directory::{AllocationDir, DirectoryError};
pub use quote::{double_quote, is_plain, quote, shorten, single_quote};
