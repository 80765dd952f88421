use std::ops::Deref;

use tokio::task::JoinHandle;

use crate::{EngineBuilder, EngineHandle, ShutdownError};

/// A task engine inside this process.
///
/// All methods are those of its [`EngineHandle`], which can be cloned. Dropped, it ends without being waited for;
/// [`shutdown`](Self::shutdown) waits. There is no global state: a process may have any number of engines.
#[derive(Debug)]
pub struct Engine {
    handle: EngineHandle,
    driver: Option<JoinHandle<Result<(), String>>>,
}

impl Engine {
    /// An engine with no workers yet, no journal, listening to nobody.
    pub fn builder() -> EngineBuilder {
        EngineBuilder::new()
    }

    pub(crate) fn new(handle: EngineHandle, driver: JoinHandle<Result<(), String>>) -> Self {
        Self { handle, driver: Some(driver) }
    }

    /// A handle, to be kept anywhere.
    pub fn handle(&self) -> EngineHandle {
        self.handle.clone()
    }

    /// Waits until the engine has ended, by [`shutdown`](Self::shutdown)'s means or because a client has told it to.
    ///
    /// # Errors
    /// Where the journal could not be closed well.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn ended(&mut self) -> Result<(), ShutdownError> {
        let Some(driver) = &mut self.driver else { return Ok(()) };
        let ended = driver.await;
        self.driver = None;
        match ended {
            Ok(result) => result.map_err(ShutdownError),
            Err(e) => Err(ShutdownError(e.to_string())),
        }
    }

    /// Ends the engine: what runs is killed, workers and links end, the journal is made safe and closed. When it
    /// returns no task of the engine is left.
    ///
    /// # Errors
    /// Where the journal could not be closed well.
    pub async fn shutdown(mut self) -> Result<(), ShutdownError> {
        self.handle.interrupt();
        self.ended().await
    }
}

impl Deref for Engine {
    type Target = EngineHandle;

    fn deref(&self) -> &EngineHandle {
        &self.handle
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.handle.interrupt();
    }
}
