//! Batches of messages of one type.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::link::{LinkError, LinkReceiver, LinkSender};
use crate::wire::{self, WireError};

/// Sends batches of `T`: each is the encoding of a sequence of `T`.
pub struct TypedSender<T> {
    inner: Box<dyn LinkSender>,
    last_len: usize,
    messages: PhantomData<fn(&T)>,
}

impl<T: Serialize> TypedSender<T> {
    /// Wraps a sending half.
    #[must_use]
    pub fn new(inner: Box<dyn LinkSender>) -> Self {
        Self { inner, last_len: 0, messages: PhantomData }
    }

    /// Sends all of `messages` as one batch. An empty batch is legal.
    ///
    /// # Errors
    /// [`SendError::Wire`] sends nothing and leaves the link usable; see [`LinkSender::send`].
    ///
    /// # Cancel safety
    /// As [`LinkSender::send`]: not cancel safe.
    pub async fn send(&mut self, messages: &[T]) -> Result<(), SendError> {
        // Batches of a link resemble each other: room for the last one avoids regrowing.
        let mut batch = Vec::with_capacity(self.last_len.clamp(16, 1 << 20));
        wire::encode(messages, &mut batch)?;
        self.last_len = batch.len();
        Ok(self.inner.send(batch).await?)
    }

    /// See [`LinkSender::close`].
    pub async fn close(&mut self) {
        self.inner.close().await;
    }

    /// The half that it wraps.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn LinkSender> {
        self.inner
    }
}

impl<T> fmt::Debug for TypedSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedSender").finish_non_exhaustive()
    }
}

/// Receives batches of `T`.
pub struct TypedReceiver<T> {
    inner: Box<dyn LinkReceiver>,
    broken: bool,
    messages: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> TypedReceiver<T> {
    /// Wraps a receiving half.
    #[must_use]
    pub fn new(inner: Box<dyn LinkReceiver>) -> Self {
        Self { inner, broken: false, messages: PhantomData }
    }

    /// The next batch, or `None` after the peer's good-bye.
    ///
    /// # Errors
    /// After an error the link is dead: nothing is known of what a peer means whose batch could
    /// not be read.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn recv(&mut self) -> Result<Option<Vec<T>>, RecvError> {
        if self.broken {
            return Err(RecvError::Link(LinkError::Closed));
        }
        let Some(batch) = self.inner.recv().await? else { return Ok(None) };
        wire::decode(&batch).map(Some).map_err(|e| {
            self.broken = true;
            RecvError::Wire(e)
        })
    }

    /// The half that it wraps.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn LinkReceiver> {
        self.inner
    }
}

impl<T> fmt::Debug for TypedReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedReceiver").finish_non_exhaustive()
    }
}

/// A batch of messages could not be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The link's error.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A message could not be encoded; nothing was sent.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// A batch of messages could not be received.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// The link's error.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The batch is no sequence of such messages.
    #[error("protocol error: {0}")]
    Wire(WireError),
}

impl From<WireError> for RecvError {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}
