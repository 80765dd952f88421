//! The server machine from outside: inputs in, outputs out.

mod clients;
mod details;
mod durable;
mod feed;
mod garbage;
mod kit;
mod outputs;
mod restart;
mod returning;
mod sessions;
mod stopping;
