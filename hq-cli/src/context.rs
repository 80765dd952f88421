use std::{cell::RefCell, sync::Arc};

use hq_client::Client;

use crate::{
    args::{GlobalArgs, ModeArg},
    output::Output,
    server::Server,
};

/// What every command gets besides its own options.
pub(crate) struct Context {
    /// The global options.
    pub(crate) global: GlobalArgs,
    /// Standard output.
    pub(crate) out: Output,
    /// Connections that were made.
    clients: RefCell<Vec<Arc<Client>>>,
}

impl Context {
    /// Nothing is connected yet.
    pub(crate) fn new(global: GlobalArgs) -> Self {
        let mut out = Output::new(global.mode.mode(), global.colors);
        if global.mode == ModeArg::JsonV1 {
            out.wrap(global.command.clone());
        }
        Self { global, out, clients: RefCell::default() }
    }

    /// Connects to the server of the server directory.
    ///
    /// # Errors
    /// Says what is wrong with the directory, the access record or the server.
    pub(crate) async fn server(&self) -> anyhow::Result<Server> {
        let client = Arc::new(Client::connect(&self.global.server_dir).await?);
        self.clients.borrow_mut().push(Arc::clone(&client));
        Ok(Server::over(client))
    }

    /// Says good-bye to the servers that no command talks to any more.
    pub(crate) async fn close(&self) {
        let clients = self.clients.take();
        for client in clients.into_iter().filter_map(Arc::into_inner) {
            client.close().await;
        }
    }
}
