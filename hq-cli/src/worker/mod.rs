//! What `worker start` needs: configuration, batch system, link to the server.

mod config;
mod join;
mod manager;
mod welcome;

pub(crate) use config::{BaseArgs, ConfigArgs, DetectList, WorkDir};
pub(crate) use join::{connect, watch_welcome};
pub(crate) use manager::{ManagerArg, detect as detect_manager};
