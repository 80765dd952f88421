use std::io;

use async_trait::async_trait;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::link::{LinkError, LinkSender};
use crate::session::{SealError, Sealer};

/// Bytes after which a long batch is written in pieces.
const WRITE_MAX: usize = 256 << 10;
/// Room that is kept from one batch to the next.
const KEPT_MAX: usize = 128 << 10;

/// The sending half over a byte stream.
pub(super) struct StreamSender {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    sealer: Sealer,
    out: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// A send is on its way; found by the next one only if it was dropped.
    Writing,
    Failed,
    Closed,
}

impl StreamSender {
    pub(super) fn new(writer: Box<dyn AsyncWrite + Send + Unpin>, sealer: Sealer) -> Self {
        Self { writer, sealer, out: Vec::new(), state: State::Open }
    }

    async fn write_parts(&mut self, batch: &[u8]) -> io::Result<()> {
        for (part, is_last) in crate::session::parts(batch) {
            self.sealer.next_part(part, is_last, &mut self.out);
            if self.out.len() >= WRITE_MAX {
                self.write_out().await?;
            }
        }
        self.write_out().await?;
        self.writer.flush().await
    }

    async fn write_out(&mut self) -> io::Result<()> {
        self.writer.write_all(&self.out).await?;
        self.out.clear();
        Ok(())
    }
}

#[async_trait]
impl LinkSender for StreamSender {
    async fn send(&mut self, batch: Vec<u8>) -> Result<(), LinkError> {
        match self.state {
            State::Open => {}
            State::Writing => return Err(LinkError::Interrupted),
            State::Failed => return Err(LinkError::Cut),
            State::Closed => return Err(LinkError::Closed),
        }
        self.sealer.begin(batch.len(), &mut self.out)?;
        self.state = State::Writing;
        let result = self.write_parts(&batch).await;
        if self.out.capacity() > KEPT_MAX {
            self.out = Vec::new();
        }
        self.state = if result.is_ok() { State::Open } else { State::Failed };
        result.map_err(link_error)
    }

    async fn close(&mut self) {
        let is_open = self.state == State::Open;
        self.state = State::Closed;
        if is_open {
            self.sealer.goodbye(&mut self.out);
            let _ = self.write_out().await;
        }
        let _ = self.writer.shutdown().await;
    }
}

/// Whether the error only says that the peer is gone.
pub(super) fn is_cut(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | ConnectionAborted | NotConnected | UnexpectedEof)
}

pub(super) fn link_error(error: io::Error) -> LinkError {
    if is_cut(&error) { LinkError::Cut } else { LinkError::Io(error) }
}

impl From<SealError> for LinkError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::TooLong { len, max } => Self::BatchTooLarge { len, max },
            SealError::Exhausted => Self::Exhausted,
        }
    }
}
