use crate::{args::GlobalArgs, output::Output, server::Server};

/// What every command gets besides its own options.
pub(crate) struct Context {
    /// The global options.
    pub(crate) global: GlobalArgs,
    /// Standard output.
    pub(crate) out: Output,
}

impl Context {
    /// Connects to the server of the server directory.
    ///
    /// # Errors
    /// Says what is wrong with the directory, the access record or the server.
    pub(crate) async fn server(&self) -> anyhow::Result<Server> {
        Server::connect(&self.global.server_dir).await
    }
}
