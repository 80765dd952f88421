//! Commands about workers.

mod address;
mod deploy_ssh;
mod group;
mod hwdetect;
mod info;
mod list;
mod start;
mod stop;
mod wait;

pub(crate) use deploy_ssh::parse as host_file;
pub(crate) use group::Command;
