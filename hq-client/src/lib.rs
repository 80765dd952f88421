//! Client of a running engine: connect, submit, wait, stream.
//!
//! ```no_run
//! # async fn f() -> Result<(), Box<dyn std::error::Error>> {
//! use hq_client::{Client, Selector};
//!
//! let client = Client::connect("server-directory".as_ref()).await?;
//! println!("{:?}", client.jobs(Selector::Last).await?);
//! client.close().await;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod calls;
mod client;
mod connect;
mod credit;
mod error;
mod events;
mod outputs;
mod pages;
mod router;

pub use client::Client;
pub use error::{CallError, ConnectError};
pub use events::{EventBatch, EventStream};
pub use outputs::OutputStream;
pub use pages::{DetailPiece, Details};

// What a client meets in signatures.
pub use hq_core::{
    ClientReply, ClientRequest, DetailPart, Event, EventKind, Explanation, JobDetail, JobId, JobInfo, JobTarget,
    Refusal, Selector, ServerInfo, Submit, TaskInfo, TaskNumber, TaskState, WorkerInfo,
};
