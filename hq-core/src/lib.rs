//! Plain data of the task engine: ids, time, amounts, the resource model, jobs and tasks, messages and facts.
//!
//! Pure: nothing here reads a clock, a file or the environment, starts a thread, or depends on the order of a hash map.
//! Everything that crosses a link or reaches the journal is defined here; what it means is decided in `hq-scheduler`.

#![forbid(unsafe_code)]

mod amount;
mod blob;
mod choice;
mod client;
mod event;
mod explain;
mod fact;
mod hardware;
pub mod idlist;
mod ids;
mod job;
mod listing;
mod message;
mod opened;
mod output;
pub mod placeholder;
mod program;
mod queue;
mod ranges;
pub mod resource;
mod retry;
mod rng;
mod runs;
mod snapshot;
mod split;
mod submit;
mod template;
mod time;
mod worker;

pub use amount::{Amount, ParseAmountError};
pub use blob::Blob;
pub use client::{
    Call, CancelOutcome, ClientReply, ClientRequest, CloseOutcome, Delayed, JobDetail, JobInfo, Refusal, Reply,
    Selector, ServerInfo, StopOutcome, SubmitInfo, TaskDelay, TaskInfo, TaskOutput, WallTime, WorkerInfo,
    WorkerRuntime,
};
pub use event::{Event, EventKind, FailedRun, FinishedTask};
pub use explain::{
    Blocker, Delay, Explanation, Need, Obstacle, QueuePlace, Requirement, Standing, VariantFit, WorkerFit,
};
pub use fact::{End, Ends, Fact, Record};
pub use hardware::{GpuState, HardwareState, NetworkCounters, Share};
pub use idlist::{IdList, IdListError};
pub use ids::{
    ClassId, Epoch, GrantId, Instance, JobId, LinkId, Ordinal, QueueId, RequestId, ResourceId, RunId, Seq, SubmitId,
    TaskNumber, WorkerId,
};
pub use job::{CrashLimit, JobSpec, JobState, TaskCounts, TaskState};
pub use listing::{DetailPage, DetailPart, DetailPlace, Page};
pub use message::{
    FromWorker, HeldGrant, KeptGrant, LaneReport, NOTIFY_MAX, OUTPUT_MAX, Open, Outcome, Report, Resume, Resumed,
    RunEnd, RunOutput, SubmitBody, ToWorker, Welcome, Work, WorkRun,
};
pub use opened::{OpenLane, OpenLanes, OpenedLane, OpenedLanes};
pub use output::{Channel, TaskRun};
pub use program::{OnClose, Pin, ProgramBody, ProgramSpec, Stdio};
pub use queue::{AllocationInfo, AllocationState, PauseCause, QueueInfo, QueueSpec};
pub use ranges::{OrdinalRange, RangeSet};
pub use resource::{
    Allocation, CouplingError, CouplingItem, DefinitionError, GrantedResource, NameError, Piece, Policy, Quantity,
    Request, RequestError, ResourceDef, ResourceEntry, ResourceKind, ResourceName, ResourceParseError, Variants,
    WorkerResources,
};
pub use retry::{Backoff, ExitCodes, FailCause, Failure, RetryOn, RetryParseError, RetryRule, RetryTimes};
pub use rng::Rng;
pub use runs::Tangle;
pub use snapshot::{
    PastRuns, RetryMark, SnapshotClass, SnapshotHead, SnapshotNames, SnapshotTail, SnapshotWorker, TaskMark,
};
pub use submit::{DepKind, Deps, JobDep, JobTarget, Owner, Parts, Profile, Submit, TaskIds};
pub use template::{Gap, Piece as ArgPiece, ProgramTemplate};
pub use time::{ParseSpanError, Span, Tick};
pub use worker::{BatchJob, LossReason, OnServerLost, PROGRAM_KIND, WorkerConfig};
