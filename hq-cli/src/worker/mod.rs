//! What `worker start` needs: configuration, batch system, link to the server.

mod config;
mod found;
mod join;
mod manager;
mod overviews;
mod welcome;

pub(crate) use config::{BaseArgs, ConfigArgs, DetectList, WorkDir};
pub(crate) use found::{Search, find};
pub(crate) use join::{ServerWay, Unreachable, watch_welcome};
pub(crate) use manager::{ManagerArg, detect as detect_manager};
pub(crate) use overviews::send_overviews;
