use async_trait::async_trait;
use tokio::io::AsyncRead;

use super::buffer::ReadBuffer;
use super::sender::link_error;
use crate::link::{LinkError, LinkReceiver};
use crate::session::{Incoming, Opener};

/// The receiving half over a byte stream.
pub(super) struct StreamReceiver {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    buffer: ReadBuffer,
    opener: Opener,
    end: Option<End>,
}

enum End {
    Goodbye,
    Cut,
}

impl StreamReceiver {
    pub(super) fn new(reader: Box<dyn AsyncRead + Send + Unpin>, buffer: ReadBuffer, opener: Opener) -> Self {
        Self { reader, buffer, opener, end: None }
    }
}

#[async_trait]
impl LinkReceiver for StreamReceiver {
    async fn recv(&mut self) -> Result<Option<Vec<u8>>, LinkError> {
        loop {
            match self.end {
                Some(End::Goodbye) => return Ok(None),
                Some(End::Cut) => return Err(LinkError::Cut),
                None => {}
            }
            let progress = self.opener.push(self.buffer.data())?;
            self.buffer.consume(progress.consumed);
            match progress.item {
                Some(Incoming::Batch(batch)) => return Ok(Some(batch)),
                Some(Incoming::Goodbye) => self.end = Some(End::Goodbye),
                // The only await: all that is known lies in `self`, so it can be dropped here.
                None => match self.buffer.fill(&mut self.reader, self.opener.needed()).await {
                    Ok(0) => self.end = Some(End::Cut),
                    Ok(_) => {}
                    Err(e) => {
                        self.end = Some(End::Cut);
                        return Err(link_error(e));
                    }
                },
            }
        }
    }
}
