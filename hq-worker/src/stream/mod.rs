//! Outputs of programs that go into stream files.
//!
//! What a program prints comes through pipes. For each stream directory in use there is one thread, which reads all
//! pipes of that directory and writes its file, and nothing in between but a buffer of 64 KiB: where the file system
//! stalls, nobody reads the pipes, and of the programs that run only those of that directory wait. Who starts a program
//! makes the directory and its file, as it makes any other output file: starts into one that stalls take up the few
//! threads that start programs.
//!
//! Such a thread notices the ends of the processes, too, where nothing else has to be done then that may take long: it is
//! the one that has to act. It does what a thread that starts programs does at the end of one.
//!
//! Output that goes to clients through the server has one thread of its own; what may be sent there is told by the
//! server, job by job.

mod directory;
mod ears;
mod feed;
mod live;
mod pipe;
mod pump;
mod queue;
mod streams;
mod watch;
mod watcher;
mod written;

pub(crate) use feed::Feed;
pub(crate) use pipe::pipe;
pub(crate) use queue::HowOver;
pub(crate) use streams::{Names, Streams};
pub(crate) use watcher::Watcher;
