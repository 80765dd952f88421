use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use hq_client::Client;
use hq_core::Span;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::warn;

use crate::parse;

/// The wait before the first attempt; each further one waits twice as long, up to [`WAIT_MAX`].
const WAIT_MIN: Duration = Duration::from_millis(50);
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Options of commands that can outlive their server.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct Resume {
    /// If the server goes away, wait up to that long for it to come back, and go on; without this option the end of the
    /// server is the end of the wait
    #[arg(long, value_name = "DURATION", value_parser = parse::reader(parse::positive_span))]
    reconnect_timeout: Option<Span>,
}

impl Resume {
    /// Whether, and for how long, a server is looked for that went away.
    pub(crate) const fn timeout(self) -> Option<Span> {
        self.reconnect_timeout
    }
}

/// Where a server is found again that goes on with the history of the one that went away.
#[derive(Debug)]
pub(crate) struct WayBack {
    server_dir: PathBuf,
    server_uid: String,
    timeout: Span,
}

impl WayBack {
    /// To the server of that uid.
    pub(crate) const fn new(server_dir: PathBuf, server_uid: String, timeout: Span) -> Self {
        Self { server_dir, server_uid, timeout }
    }

    /// Connects again, as soon as that is possible.
    ///
    /// # Errors
    /// If that takes too long, or the server that is there knows nothing of what the other one did.
    pub(crate) async fn find(&self) -> anyhow::Result<Client> {
        warn!("The connection to the server was lost; waiting for it up to {}", self.timeout);
        let deadline = Instant::now() + Duration::from(self.timeout);
        let mut wait = WAIT_MIN;
        loop {
            let reason = match timeout_at(deadline, self.connect()).await {
                Ok(Ok((client, uid))) if uid == self.server_uid => return Ok(client),
                Ok(Ok((_, uid))) => bail!(
                    "the server in {:?} is another one now ({uid}, not {}) and knows nothing of what was waited for; \
                     start it with the journal of the former one to go on",
                    self.server_dir,
                    self.server_uid
                ),
                Ok(Err(error)) => format!("{error:#}"),
                Err(_) => "it does not answer".to_owned(),
            };
            if Instant::now() + wait >= deadline {
                bail!("the server in {:?} did not come back within {}: {reason}", self.server_dir, self.timeout);
            }
            sleep(wait).await;
            wait = (wait * 2).min(WAIT_MAX);
        }
    }

    async fn connect(&self) -> anyhow::Result<(Client, String)> {
        let client = Client::connect(&self.server_dir).await?;
        let uid = client.server_info().await?.server_uid;
        Ok((client, uid))
    }
}
