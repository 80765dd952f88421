//! What peers send: hello, frames, handshakes, batches, messages.

use std::sync::Arc;

use hq_core::{
    Call, ClientReply, ClientRequest, FromWorker, ProgramBody, ProgramSpec, Reply, ToWorker, placeholder::Placeholders,
};
use hq_transport::{
    Role, Versions,
    access::AccessRecord,
    frame::{self, HEADER_LEN},
    keys::{RoleSecret, ServerKeys},
    session::{Hello, Incoming, Initiator, Opener, Outcome, Responder, Sealer},
    wire,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Target, nodes};

pub(crate) fn targets() -> Vec<Target> {
    let hello = Hello { versions: versions(), role: Role::Client, cipher: None }.to_bytes();
    let worker: Vec<Vec<u8>> = nodes::from_worker().iter().map(|message| encoded(&[message])).collect();
    let calls: Vec<Vec<u8>> = nodes::calls().iter().map(|call| encoded(&[call])).collect();
    let (to_worker, replies) = nodes::answers();
    vec![
        Target::new("hello", parse_hello, [hello.clone()]),
        Target::new("frame", frames, [&b"\x03\0\0\0abc\0\0\0\0"[..], b"\xff\xff\xff\xff", b"\0\0\0\x80"]),
        // A handshake has tables of its own.
        Target::new(
            "handshake-server",
            handshake_of_server,
            [framed(&hello), [framed(&hello), framed(&[7; 96])].concat()],
        )
        .slow(),
        Target::new("handshake-peer", handshake_of_peer, [&b"\0"[..], b"\x01", b"\0\0\x050.1.0\x02\x00"]).slow(),
        Target::new("batches", batches, [&b"\x03\0\0\0abc\x01\0\0\0x\0\0\0\x80"[..], b"\0\0\0\x04"]),
        Target::new("sealed-batches", sealed_batches, [&b"\x14\0\0\0aaaaaaaaaaaaaaaaaaaa"[..], b""]).slow(),
        Target::new("messages-from-worker", messages::<FromWorker>, worker),
        Target::new("messages-to-worker", messages::<ToWorker>, to_worker.iter().map(|message| encoded(&[message]))),
        Target::new("calls", messages::<Call>, calls),
        Target::new("replies", messages::<Reply>, replies.iter().map(|reply| encoded(&[reply]))),
        Target::new("requests", messages::<ClientRequest>, [encoded(&[ClientRequest::ServerInfo])]),
        Target::new("client-replies", messages::<ClientReply>, [encoded(&[ClientReply::Done])]),
        Target::new("programs", programs, [encoded(&nodes::program())]),
        Target::new("access-record", access_record, [ACCESS]),
        Target::new("secret", secret, ["00".repeat(64)]),
    ]
}

const ACCESS: &str = r#"{"version":"0.1.0","server_uid":"abcdef","client":{"host":"localhost","port":1,"secret_key":null},
"worker":{"host":"localhost","port":2,"secret_key":"00"}}"#;

fn versions() -> Versions {
    Versions::current("0.1.0")
}

fn encoded<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_stdvec(value).expect("encodes")
}

fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes()[..], body].concat()
}

/// What is read is written as it was.
fn parse_hello(bytes: &[u8]) {
    if let Ok(hello) = Hello::parse(bytes) {
        assert_eq!(hello.to_bytes(), bytes);
    }
}

fn frames(mut bytes: &[u8]) {
    while let Ok(Some(body)) = frame::take(bytes) {
        assert!(body.len() <= frame::PRE_AUTH_MAX as usize);
        bytes = &bytes[HEADER_LEN + body.len()..];
    }
}

/// The server's side at a port with a key and at one without: without the key nobody gets a link.
fn handshake_of_server(bytes: &[u8]) {
    let sealed = ServerKeys::from_secrets(Some(RoleSecret::from_bytes([1; 32])), None);
    for (port, keys) in [(Role::Client, Arc::new(sealed)), (Role::Worker, Arc::new(ServerKeys::none()))] {
        let has_key = keys.peer_key(port).is_some();
        let mut responder = Responder::new(versions(), port, keys).expect("a version of ours");
        let mut rest = bytes;
        while let Ok(Some(body)) = frame::take(rest) {
            rest = &rest[HEADER_LEN + body.len()..];
            let Ok(step) = responder.step(body) else { break };
            match step.outcome {
                Outcome::More => {}
                Outcome::Established(established) => {
                    assert!(!has_key, "a link without the key");
                    open_all(established.opener, rest);
                    break;
                }
                Outcome::Refused(_) => break,
            }
        }
    }
}

fn handshake_of_peer(bytes: &[u8]) {
    let keys = ServerKeys::from_secrets(Some(RoleSecret::from_bytes([1; 32])), None);
    for key in [keys.peer_key(Role::Client), None] {
        let (initiator, _) = Initiator::new(versions(), Role::Client, key.as_ref()).expect("a version of ours");
        if let Ok(step) = initiator.step(bytes) {
            assert!(key.is_none() || !matches!(step.outcome, Outcome::Established(_)), "a link without the key");
        }
    }
}

/// A link that is established, both ends: without keys, and with keys.
fn link(sealed: bool) -> ((Sealer, Opener), (Sealer, Opener)) {
    let keys =
        if sealed { ServerKeys::from_secrets(Some(RoleSecret::from_bytes([1; 32])), None) } else { ServerKeys::none() };
    let keys = Arc::new(keys);
    let peer = keys.peer_key(Role::Client);
    let mut responder = Responder::new(versions(), Role::Client, keys).expect("a version of ours");
    let (initiator, mut flight) = Initiator::new(versions(), Role::Client, peer.as_ref()).expect("a version of ours");
    let mut initiator = Some(initiator);
    let (mut ours, mut theirs) = (None, None);
    let mut to_server = true;
    while ours.is_none() || theirs.is_none() {
        let mut bytes = std::mem::take(&mut flight);
        while let Ok(Some(body)) = frame::take(&bytes) {
            let (len, step) = if to_server {
                (body.len(), responder.step(body))
            } else {
                (body.len(), initiator.take().expect("one answer").step(body))
            };
            let step = step.expect("a step");
            flight.extend(step.reply);
            if let Outcome::Established(it) = step.outcome {
                let ends = (it.sealer, it.opener);
                *(if to_server { &mut theirs } else { &mut ours }) = Some(ends);
            }
            bytes.drain(..HEADER_LEN + len);
        }
        to_server = !to_server;
    }
    (ours.expect("ours"), theirs.expect("theirs"))
}

fn open_all(mut opener: Opener, bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut at, mut batches) = (0, vec![]);
    // A byte more at a time and then all of it: how the bytes come makes no difference.
    let mut end = bytes.len().min(1);
    loop {
        match opener.push(&bytes[at..end]) {
            Ok(progress) => {
                assert!(progress.consumed <= end - at);
                at += progress.consumed;
                let is_item = progress.item.is_some();
                if let Some(Incoming::Batch(batch)) = progress.item {
                    batches.push(batch);
                }
                if progress.consumed == 0 && !is_item {
                    if end == bytes.len() {
                        return batches;
                    }
                    end = if end < 64 { end + 1 } else { bytes.len() };
                }
            }
            Err(_) => {
                assert!(opener.push(&[]).is_err(), "a broken link stays so");
                return batches;
            }
        }
    }
}

/// What is opened is as long as what came, at most; and the input as a batch comes out as it went in.
fn batches(bytes: &[u8]) {
    let ((mut sealer, _), (_, opener)) = link(false);
    let taken: usize = open_all(opener, bytes).iter().map(Vec::len).sum();
    assert!(taken <= bytes.len());
    let mut sent = vec![];
    sealer.seal(bytes, &mut sent).expect("a short batch");
    assert_eq!(open_all(link(false).1.1, &sent), [bytes]);
}

/// Nothing that was not sealed is opened, and nothing that was changed on the way.
fn sealed_batches(bytes: &[u8]) {
    let ((mut sealer, _), (_, opener)) = link(true);
    let mut sent = vec![];
    sealer.seal(b"a batch", &mut sent).expect("a short batch");
    // The input is laid over what was sent.
    let mut changed = sent.clone();
    for (byte, other) in changed.iter_mut().zip(bytes) {
        *byte ^= other;
    }
    let opened = open_all(opener, &changed);
    assert!(if changed == sent { opened == [b"a batch"] } else { opened.is_empty() }, "something forged was opened");
}

/// What is decoded is encoded and decoded to the same.
fn messages<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let Ok(read) = wire::decode::<Vec<T>>(bytes) else { return };
    let again: Vec<T> = wire::decode(&encoded(&read)).expect("what we write");
    assert!(read == again || encoded(&read) == encoded(&again), "{read:?}\n{again:?}");
}

/// A program of a task, with values in its gaps and placeholders filled in: no longer than what was written.
fn programs(bytes: &[u8]) {
    let filled = Placeholders::default().fill(bytes);
    assert_eq!(filled, bytes, "nothing has a value");
    if let Ok(spec) = wire::decode::<ProgramSpec>(bytes) {
        assert_eq!(wire::decode(&encoded(&spec)), Ok(spec));
    }
    if let Ok(ProgramBody::Template(template)) = wire::decode::<ProgramBody>(bytes) {
        for values in [vec![], vec![b"value"[..].into(); template.gaps.len()], vec![b"v"[..].into(); 3]] {
            drop(template.fill(&values));
            assert!(template.variables(&values).count() <= template.gaps.len());
        }
    }
}

fn access_record(bytes: &[u8]) {
    use std::{fs, os::unix::fs::PermissionsExt};
    let dir = crate::files::fast_dir();
    let path = dir.path().join("access.json");
    fs::write(&path, bytes).expect("writes");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("is ours");
    match AccessRecord::load(&path, "0.1.0") {
        Ok(record) => drop(ServerKeys::from_record(&record)),
        Err(error) => {
            // One line, and nothing of the content.
            let text = error.to_string();
            assert!(!text.contains('\n'), "{text}");
        }
    }
}

fn secret(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes)
        && let Ok(key) = hq_transport::keys::PeerKey::parse(text)
    {
        assert!(key.to_text().eq_ignore_ascii_case(text));
    }
}
