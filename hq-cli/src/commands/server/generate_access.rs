use std::path::PathBuf;

use anyhow::Context as _;
use hq_engine::serve::{hostname, new_server_uid};
use hq_transport::{Role, access::AccessRecord, keys::ServerKeys};

use crate::context::Context;

/// Options of `server generate-access`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq server generate-access access.json --client-port 7001 --worker-port 7002
  hq server generate-access access.json --client-file c.json --worker-file w.json \\
    --client-host login1 --worker-host ib-login1 --client-port 7001 --worker-port 7002

Then: hq server start --access-file access.json")]
pub(crate) struct Args {
    /// Where the full record goes; must not exist yet
    access_file: PathBuf,
    /// Where the part for clients goes
    #[arg(long, value_name = "PATH")]
    client_file: Option<PathBuf>,
    /// Where the part for workers goes
    #[arg(long, value_name = "PATH")]
    worker_file: Option<PathBuf>,
    /// Name of the server's machine [default: this one's]
    #[arg(long)]
    host: Option<String>,
    /// Its name for clients
    #[arg(long, value_name = "HOST")]
    client_host: Option<String>,
    /// Its name for workers
    #[arg(long, value_name = "HOST")]
    worker_host: Option<String>,
    /// Its port for clients
    #[arg(long, value_name = "PORT")]
    client_port: u16,
    /// Its port for workers
    #[arg(long, value_name = "PORT")]
    worker_port: u16,
}

/// Makes an access record for a server to come.
pub(crate) fn run(args: Args, _: &mut Context) -> anyhow::Result<()> {
    let host = args.host.unwrap_or_else(hostname);
    let client = args.client_host.unwrap_or_else(|| host.clone());
    let worker = args.worker_host.unwrap_or(host);
    let keys = ServerKeys::generate(true, true).context("cannot make keys")?;
    let uid = new_server_uid().context("cannot make a server uid")?;
    let record = AccessRecord::full(
        env!("CARGO_PKG_VERSION"),
        &uid,
        (&client, args.client_port),
        (&worker, args.worker_port),
        &keys,
    );
    let parts = [(args.client_file, Role::Client), (args.worker_file, Role::Worker)];
    let parts = parts.into_iter().filter_map(|(path, role)| Some((path?, record.split(role))));
    let files: Vec<_> = [(args.access_file, record.clone())].into_iter().chain(parts).collect();
    for (i, (path, record)) in files.iter().enumerate() {
        if let Err(error) = record.save(path) {
            // Half a set of files would be in the way of the next try.
            files.iter().take(i).for_each(|(path, _)| drop(std::fs::remove_file(path)));
            return Err(error.into());
        }
    }
    Ok(())
}
