use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use super::buffer::ReadBuffer;
use super::receiver::StreamReceiver;
use super::sender::StreamSender;
use super::watch::Watch;
use crate::frame::{self, HEADER_LEN};
use crate::identity::{Gate, Identity};
use crate::link::Link;
use crate::peer::PeerInfo;
use crate::session::{Established, HandshakeError, Initiator, Outcome, Responder, Step};

/// Time that a whole handshake may take, however slowly bytes come.
pub const HANDSHAKE_DEADLINE: Duration = Duration::from_secs(5);

/// How long a refused peer may take to read the reason and close.
const LINGER: Duration = Duration::from_secs(1);

/// The two directions of a connection, and who is there, for people.
pub(crate) struct Halves {
    pub(crate) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(crate) address: String,
}

/// A handshake whose first bytes are ready, so that they can follow the connect at once.
pub(crate) struct Opening {
    initiator: Initiator,
    first: Vec<u8>,
}

impl Opening {
    pub(crate) fn new(identity: &Identity) -> Result<Self, HandshakeError> {
        let Identity { role, versions, key } = identity;
        let (initiator, first) = Initiator::new(versions.clone(), *role, key.as_ref())?;
        Ok(Self { initiator, first })
    }

    pub(crate) async fn run(self, halves: Halves) -> Result<Link, HandshakeError> {
        within_deadline(self.run_unlimited(halves)).await
    }

    async fn run_unlimited(self, mut halves: Halves) -> Result<Link, HandshakeError> {
        halves.writer.write_all(&self.first).await.map_err(closed_early)?;
        let mut buffer = ReadBuffer::new();
        let body = read_frame(&mut halves, &mut buffer, &Watch::default()).await?;
        let Step { reply, outcome } = self.initiator.step(&body)?;
        halves.writer.write_all(&reply).await.map_err(closed_early)?;
        match outcome {
            Outcome::Established(established) => Ok(link(halves, buffer, *established)),
            Outcome::Refused(refusal) => Err(HandshakeError::Refused(refusal)),
            Outcome::More => Err(HandshakeError::Malformed),
        }
    }
}

/// Passes the handshake as the side that connects.
///
/// `address` describes the peer, for people.
///
/// # Errors
/// See [`HandshakeError`]; within [`HANDSHAKE_DEADLINE`] at the latest.
///
/// # Cancel safety
/// A call that is dropped closes the streams.
pub async fn initiate(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    address: String,
    identity: &Identity,
) -> Result<Link, HandshakeError> {
    let halves = Halves { reader: Box::new(reader), writer: Box::new(writer), address };
    Opening::new(identity)?.run(halves).await
}

/// Passes the handshake as the side that is connected to.
///
/// `address` describes the peer, for people. A refused peer is told the reason, any other bad peer
/// nothing.
///
/// # Errors
/// See [`HandshakeError`]; within [`HANDSHAKE_DEADLINE`] at the latest.
///
/// # Cancel safety
/// A call that is dropped closes the streams.
pub async fn respond(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    address: String,
    gate: &Gate,
) -> Result<Link, HandshakeError> {
    let halves = Halves { reader: Box::new(reader), writer: Box::new(writer), address };
    respond_watched(halves, gate, &Watch::default()).await
}

/// As [`respond`], with `watch` showing how far it is.
pub(crate) async fn respond_watched(halves: Halves, gate: &Gate, watch: &Watch) -> Result<Link, HandshakeError> {
    within_deadline(respond_unlimited(halves, gate, watch)).await
}

async fn respond_unlimited(mut halves: Halves, gate: &Gate, watch: &Watch) -> Result<Link, HandshakeError> {
    let mut responder = Responder::new(gate.versions.clone(), gate.role, gate.keys.clone())?;
    let mut buffer = ReadBuffer::new();
    loop {
        let body = read_frame(&mut halves, &mut buffer, watch).await?;
        let Step { reply, outcome } = responder.step(&body)?;
        if responder.has_seen_key() {
            watch.has_key();
        }
        halves.writer.write_all(&reply).await.map_err(closed_early)?;
        match outcome {
            Outcome::More => {}
            Outcome::Established(established) => return Ok(link(halves, buffer, *established)),
            Outcome::Refused(refusal) => {
                linger(halves).await;
                return Err(HandshakeError::Refused(refusal));
            }
        }
    }
}

/// Lets a refused peer read the reason: closing over unread bytes would destroy it on its way.
async fn linger(mut halves: Halves) {
    let _ = halves.writer.shutdown().await;
    let mut sink = [0; 1024];
    let drain = async {
        for _ in 0..16 {
            if !matches!(halves.reader.read(&mut sink).await, Ok(1..)) {
                break;
            }
        }
    };
    let _ = timeout(LINGER, drain).await;
}

async fn read_frame(halves: &mut Halves, buffer: &mut ReadBuffer, watch: &Watch) -> Result<Vec<u8>, HandshakeError> {
    loop {
        if let Some(body) = frame::take(buffer.data())? {
            let body = body.to_vec();
            buffer.consume(HEADER_LEN + body.len());
            watch.has_frame();
            return Ok(body);
        }
        let mut fill = pin!(buffer.fill(&mut halves.reader, HEADER_LEN));
        let filled = poll_fn(|cx| {
            let poll = fill.as_mut().poll(cx);
            if poll.is_pending() {
                watch.is_waiting();
            }
            poll
        });
        let len = filled.await.map_err(closed_early)?;
        if len == 0 {
            return Err(HandshakeError::ClosedEarly);
        }
    }
}

async fn within_deadline(
    handshake: impl Future<Output = Result<Link, HandshakeError>>,
) -> Result<Link, HandshakeError> {
    timeout(HANDSHAKE_DEADLINE, handshake)
        .await
        .unwrap_or(Err(HandshakeError::Timeout { seconds: HANDSHAKE_DEADLINE.as_secs() }))
}

fn link(halves: Halves, buffer: ReadBuffer, established: Established) -> Link {
    let Established { role, versions, sealed, sealer, opener } = established;
    Link {
        peer: PeerInfo { role, address: halves.address, versions, sealed },
        sender: Box::new(StreamSender::new(halves.writer, sealer)),
        receiver: Box::new(StreamReceiver::new(halves.reader, buffer, opener)),
    }
}

fn closed_early(error: std::io::Error) -> HandshakeError {
    if super::sender::is_cut(&error) { HandshakeError::ClosedEarly } else { HandshakeError::Io(error) }
}
