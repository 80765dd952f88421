use std::{io, sync::Arc, time::Duration};

use hq_core::NOTIFY_MAX;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::tickets::{TOKEN_LEN, Tickets, Token};

/// Programs that are served at a time; others wait.
const VISITORS_MAX: usize = 64;
/// A program has that long to say its word.
const PATIENCE: Duration = Duration::from_secs(5);

/// The word was taken: it will reach the server before the end of its run does.
pub(super) const TAKEN: u8 = 1;
/// No run has that token.
pub(super) const UNKNOWN: u8 = 2;
/// It is too long.
pub(super) const TOO_LONG: u8 = 3;

/// Serves programs until it is aborted.
pub(super) async fn listen(listener: UnixListener, tickets: Arc<Tickets>) {
    let room = Arc::new(Semaphore::new(VISITORS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((visitor, _)) => {
                let tickets = Arc::clone(&tickets);
                tokio::spawn(async move {
                    // A program that says half a word, or goes away, has said nothing.
                    let _ = timeout(PATIENCE, serve(visitor, &tickets)).await;
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::debug!("cannot take a message of a task: {error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Token, length of the message, message; one byte is the answer.
async fn serve(mut visitor: UnixStream, tickets: &Tickets) -> io::Result<()> {
    let mut head = [0; TOKEN_LEN + 2];
    visitor.read_exact(&mut head).await?;
    let (token, len) = head.split_at(TOKEN_LEN);
    let token: Token = token.try_into().map_err(io::Error::other)?;
    let len = usize::from(u16::from_be_bytes(len.try_into().map_err(io::Error::other)?));
    if len > NOTIFY_MAX {
        return visitor.write_all(&[TOO_LONG]).await;
    }
    let mut message = vec![0; len];
    visitor.read_exact(&mut message).await?;
    let message = String::from_utf8_lossy(&message).into_owned();
    let Some((run, sink)) = tickets.find(&token) else { return visitor.write_all(&[UNKNOWN]).await };
    sink.notified(run, cut(message)).await;
    visitor.write_all(&[TAKEN]).await
}

/// Bytes that are no UTF-8 become longer in text.
fn cut(mut message: String) -> String {
    let end = (0..=NOTIFY_MAX.min(message.len())).rev().find(|end| message.is_char_boundary(*end));
    message.truncate(end.unwrap_or(0));
    message
}
