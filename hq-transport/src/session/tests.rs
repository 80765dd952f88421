//! Both state machines against each other and against liars.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::frame::{self, BATCH_MAX, HEADER_LEN};
use crate::keys::{PeerKey, RoleSecret, ServerKeys};
use crate::peer::{Role, Versions};

const ROLES: [Role; 2] = [Role::Worker, Role::Client];
const CIPHERS: [Cipher; 2] = [Cipher::AesGcm, Cipher::ChaChaPoly];

fn versions(protocol: u16, program: &str) -> Versions {
    Versions { protocol, program: program.into() }
}

fn v7() -> Versions {
    versions(7, "0.7.0")
}

fn secret(byte: u8) -> RoleSecret {
    RoleSecret::from_bytes([byte; 32])
}

fn server_keys() -> Arc<ServerKeys> {
    Arc::new(ServerKeys::from_secrets(Some(secret(1)), Some(secret(2))))
}

fn responder(port: Role) -> Responder {
    Responder::new(v7(), port, server_keys()).unwrap()
}

fn initiator(role: Role, key_of: Role) -> (Initiator, Vec<u8>) {
    Initiator::new(v7(), role, server_keys().peer_key(key_of).as_ref()).unwrap()
}

/// The bodies of all frames in `bytes`.
fn bodies(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut bodies = Vec::new();
    while let Some(body) = frame::take(bytes).unwrap() {
        bodies.push(body.to_vec());
        bytes = &bytes[HEADER_LEN + body.len()..];
    }
    assert!(bytes.is_empty());
    bodies
}

/// How a handshake ended for the responder.
#[derive(Debug)]
enum Served {
    Established(Box<Established>),
    Refused(Refusal),
    Failed(HandshakeError),
    Silent,
}

/// Feeds `bytes` to the responder; gives its replies and its end, if there was one.
fn feed(responder: &mut Responder, bytes: &[u8]) -> (Vec<u8>, Served) {
    let mut replies = Vec::new();
    for body in bodies(bytes) {
        match responder.step(&body) {
            Ok(Step { reply, outcome }) => {
                replies.extend(reply);
                match outcome {
                    Outcome::More => {}
                    Outcome::Established(e) => return (replies, Served::Established(e)),
                    Outcome::Refused(refusal) => return (replies, Served::Refused(refusal)),
                }
            }
            Err(e) => return (replies, Served::Failed(e)),
        }
    }
    (replies, Served::Silent)
}

/// A whole handshake: the initiator's end and the responder's.
fn shake(
    (initiator, first): (Initiator, Vec<u8>),
    mut responder: Responder,
) -> (Result<Established, HandshakeError>, Served) {
    let (replies, served) = feed(&mut responder, &first);
    let [answer] = &bodies(&replies)[..] else {
        return (Err(HandshakeError::ClosedEarly), served);
    };
    match initiator.step(answer) {
        Err(e) => (Err(e), served),
        Ok(Step { reply, outcome: Outcome::Established(ours) }) => {
            let served = if let Served::Silent = served { feed(&mut responder, &reply).1 } else { served };
            (Ok(*ours), served)
        }
        Ok(step) => panic!("initiator: {step:?}"),
    }
}

fn established(cipher: Option<Cipher>) -> (Established, Established) {
    let keys = if cipher.is_some() { server_keys() } else { Arc::new(ServerKeys::none()) };
    let key = keys.peer_key(Role::Worker);
    let cipher = cipher.unwrap_or(Cipher::AesGcm);
    let start = Initiator::with_cipher(v7(), Role::Worker, key.as_ref(), cipher).unwrap();
    match shake(start, Responder::new(v7(), Role::Worker, keys).unwrap()) {
        (Ok(ours), Served::Established(theirs)) => (ours, *theirs),
        other => panic!("{other:?}"),
    }
}

fn open_all(opener: &mut Opener, mut input: &[u8]) -> Result<Vec<Incoming>, OpenError> {
    let mut items = Vec::new();
    loop {
        let Progress { consumed, item } = opener.push(input)?;
        input = &input[consumed..];
        let Some(item) = item else { return Ok(items) };
        items.push(item);
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 + n / 251) as u8).collect()
}

/// One bit of each byte: handshakes are slow without optimisation.
fn sampled_bits(len: usize) -> impl Iterator<Item = usize> {
    (0..len).map(|byte| byte * 8 + byte % 8)
}

// --- Handshakes ---

#[test]
fn both_ends_learn_the_same() {
    for cipher in [None, Some(Cipher::AesGcm), Some(Cipher::ChaChaPoly)] {
        let (ours, theirs) = established(cipher);
        for end in [&ours, &theirs] {
            assert_eq!(end.sealed, cipher.is_some());
            assert_eq!(end.role, Role::Worker);
            assert_eq!(end.versions, v7());
        }
    }
}

#[test]
fn each_role_at_its_port() {
    for role in ROLES {
        let (ours, theirs) = shake(initiator(role, role), responder(role));
        assert_eq!(ours.unwrap().role, role);
        assert!(matches!(theirs, Served::Established(e) if e.role == role));
    }
}

#[test]
fn unknown_keys_get_silence() {
    let other = ServerKeys::from_secrets(Some(secret(1)), Some(secret(3)));
    let text = |a: PeerKey, b: PeerKey| a.to_text()[..64].to_owned() + &b.to_text()[64..];
    let good = server_keys().peer_key(Role::Client).unwrap();
    let bad = other.peer_key(Role::Client).unwrap();
    let wrong_public = PeerKey::parse(&text(good.clone(), bad)).unwrap();
    let stranger = ServerKeys::from_secrets(Some(secret(8)), Some(secret(9)));
    let stranger = stranger.peer_key(Role::Client).unwrap();
    let wrong_secret = PeerKey::parse(&text(stranger.clone(), good)).unwrap();
    for key in [wrong_public, wrong_secret, stranger] {
        let start = Initiator::new(v7(), Role::Client, Some(&key)).unwrap();
        let (ours, theirs) = shake(start, responder(Role::Client));
        assert!(matches!(ours, Err(HandshakeError::ClosedEarly)), "{ours:?}");
        assert!(matches!(theirs, Served::Failed(HandshakeError::Authentication)), "{theirs:?}");
    }
}

#[test]
fn wrong_roles_are_refused_with_a_reason() {
    // (claims, holds the key of, port): whoever is not all three is told what is wrong.
    for (claims, holds, port, peer) in [
        (Role::Worker, Role::Worker, Role::Client, Role::Worker),
        (Role::Client, Role::Worker, Role::Client, Role::Worker),
        (Role::Client, Role::Client, Role::Worker, Role::Client),
        (Role::Worker, Role::Client, Role::Client, Role::Worker),
        (Role::Client, Role::Worker, Role::Worker, Role::Client),
    ] {
        let (ours, theirs) = shake(initiator(claims, holds), responder(port));
        let expected = Refusal::Role { port, peer };
        assert!(matches!(&ours, Err(HandshakeError::Refused(r)) if *r == expected), "{ours:?}");
        assert!(matches!(&theirs, Served::Refused(r) if *r == expected), "{theirs:?}");
    }
    let text = Refusal::Role { port: Role::Client, peer: Role::Worker }.to_string();
    assert_eq!(text, "a worker cannot act as a client: this port serves clients only");
}

#[test]
fn versions_table() {
    let protocol = |peer| Some(Refusal::Protocol { server: 7, peer, program: "0.7.0".into() });
    let program = |peer: &str| Some(Refusal::Program { server: "0.7.0".into(), peer: peer.into() });
    for (role, peer, refusal) in [
        (Role::Worker, versions(7, "0.7.0"), None),
        (Role::Worker, versions(7, "0.7.1"), None),
        (Role::Worker, versions(6, "0.6.0"), None),
        (Role::Worker, versions(5, "0.5.0"), protocol(5)),
        (Role::Worker, versions(8, "0.8.0"), protocol(8)),
        (Role::Worker, versions(u16::MAX, "9"), protocol(u16::MAX)),
        (Role::Client, versions(7, "0.7.0"), None),
        (Role::Client, versions(7, "0.7.1"), program("0.7.1")),
        (Role::Client, versions(6, "0.7.0"), protocol(6)),
        (Role::Client, versions(8, "0.8.0"), protocol(8)),
    ] {
        for keys in [server_keys(), Arc::new(ServerKeys::none())] {
            let start = Initiator::new(peer.clone(), role, keys.peer_key(role).as_ref()).unwrap();
            let (ours, theirs) = shake(start, Responder::new(v7(), role, keys).unwrap());
            match &refusal {
                None => {
                    assert_eq!(ours.unwrap().versions, v7());
                    assert!(matches!(theirs, Served::Established(e) if e.versions == peer));
                }
                Some(r) => {
                    assert!(matches!(&ours, Err(HandshakeError::Refused(x)) if x == r), "{ours:?}");
                    assert!(matches!(&theirs, Served::Refused(x) if x == r), "{theirs:?}");
                }
            }
        }
    }
}

#[test]
fn a_lenient_server_is_checked_by_its_client() {
    // A server that accepts anybody's version: the client still insists on its own.
    let mut hello = Vec::new();
    hello.push(0);
    verdict::Verdict::Accept(versions(8, "0.8.0")).put(&mut hello);
    let (initiator, _) = Initiator::new(v7(), Role::Client, None).unwrap();
    let end = initiator.step(&hello);
    assert!(matches!(end, Err(HandshakeError::Refused(Refusal::Protocol { server: 8, peer: 7, .. }))));
}

#[test]
fn plain_and_sealed_do_not_mix() {
    let plain = || Initiator::new(v7(), Role::Client, None).unwrap();
    let (ours, theirs) = shake(plain(), responder(Role::Client));
    assert!(matches!(ours, Err(HandshakeError::Refused(Refusal::KeyRequired))));
    assert!(matches!(theirs, Served::Refused(Refusal::KeyRequired)));

    let open = Responder::new(v7(), Role::Client, Arc::new(ServerKeys::none())).unwrap();
    let (ours, _) = shake(initiator(Role::Client, Role::Client), open);
    assert!(matches!(ours, Err(HandshakeError::Refused(Refusal::KeyUnexpected))));

    // Somebody in the middle who strips the encryption.
    let (keyed, _) = initiator(Role::Client, Role::Client);
    let (_, first) = plain();
    let mut open = Responder::new(v7(), Role::Client, Arc::new(ServerKeys::none())).unwrap();
    let (accept, _) = feed(&mut open, &first);
    assert!(matches!(keyed.step(&bodies(&accept)[0]), Err(HandshakeError::Downgrade)));
}

#[test]
fn one_role_may_be_plain() {
    let keys = Arc::new(ServerKeys::from_secrets(None, Some(secret(2))));
    let worker = Initiator::new(v7(), Role::Worker, keys.peer_key(Role::Worker).as_ref()).unwrap();
    let at = |port| Responder::new(v7(), port, keys.clone()).unwrap();
    assert!(shake(worker, at(Role::Worker)).0.unwrap().sealed);
    let client = Initiator::new(v7(), Role::Client, None).unwrap();
    assert!(!shake(client, at(Role::Client)).0.unwrap().sealed);
}

#[test]
fn another_format_is_told_so() {
    let (_, mut first) = initiator(Role::Client, Role::Client);
    first[HEADER_LEN + 7] = FORMAT + 1;
    let (reply, theirs) = feed(&mut responder(Role::Client), &first);
    assert!(matches!(theirs, Served::Refused(Refusal::Format { .. })));
    let (keyed, _) = initiator(Role::Client, Role::Client);
    let ours = keyed.step(&bodies(&reply)[0]);
    assert!(matches!(ours, Err(HandshakeError::Refused(Refusal::Format { .. }))));
}

#[test]
fn own_version_text_is_checked() {
    for program in ["", "a b", "ä", &"x".repeat(65)] {
        let result = Initiator::new(versions(1, program), Role::Client, None);
        assert!(matches!(result, Err(HandshakeError::ProgramVersion)), "{program}");
    }
}

#[test]
fn mirrored_bytes_are_no_answer() {
    for body_no in [0, 1] {
        let (initiator, first) = initiator(Role::Client, Role::Client);
        assert!(initiator.step(&bodies(&first)[body_no]).is_err());
        // With the marker of an answer before it.
        let (initiator, first) = self::initiator(Role::Client, Role::Client);
        let mirrored = [&[1], &bodies(&first)[body_no][..]].concat();
        assert!(matches!(initiator.step(&mirrored), Err(HandshakeError::Authentication)));
    }
}

#[test]
fn a_recorded_session_cannot_be_replayed() {
    let (initiator, first) = initiator(Role::Client, Role::Client);
    let mut server = responder(Role::Client);
    let (reply, _) = feed(&mut server, &first);
    let Step { reply: live, .. } = initiator.step(&bodies(&reply)[0]).unwrap();
    assert!(matches!(feed(&mut server, &live).1, Served::Established(_)));

    let (_, end) = feed(&mut responder(Role::Client), &[first, live].concat());
    assert!(matches!(end, Served::Failed(HandshakeError::Authentication)), "{end:?}");
}

#[test]
fn no_flipped_byte_of_a_handshake_passes() {
    let keys = server_keys();
    let key = keys.peer_key(Role::Client);
    let start = || Initiator::with_cipher(v7(), Role::Client, key.as_ref(), Cipher::AesGcm).unwrap();
    let is_established = |served| matches!(served, Served::Established(_));
    // From the initiator: hello and message 1 (both bodies).
    let (_, first) = start();
    for body_no in [0, 1] {
        for bit in sampled_bits(bodies(&first)[body_no].len()) {
            let (initiator, first) = start();
            let mut sent = bodies(&first);
            sent[body_no][bit / 8] ^= 1 << (bit % 8);
            let mut server = responder(Role::Client);
            let mut served = Vec::new();
            let mut replies = Vec::new();
            for body in sent {
                let mut framed = Vec::new();
                frame::put(&body, &mut framed);
                let (reply, end) = feed(&mut server, &framed);
                replies.extend(reply);
                served.push(end);
            }
            assert!(!served.into_iter().any(is_established), "{body_no} {bit}");
            if let Some(answer) = bodies(&replies).first() {
                assert!(initiator.step(answer).is_err(), "{body_no} {bit}");
            }
        }
    }
    // From the responder.
    let (_, first) = start();
    let len = bodies(&feed(&mut responder(Role::Client), &first).0)[0].len();
    for bit in sampled_bits(len) {
        let (initiator, first) = start();
        let mut answer = bodies(&feed(&mut responder(Role::Client), &first).0).remove(0);
        answer[bit / 8] ^= 1 << (bit % 8);
        assert!(initiator.step(&answer).is_err(), "{bit}");
    }
}

// --- Batches ---

#[test]
fn batches_of_all_sizes() {
    for cipher in [None, Some(Cipher::AesGcm), Some(Cipher::ChaChaPoly)] {
        let (mut ours, mut theirs) = established(cipher);
        for len in [0, 1, 65_518, 65_519, 65_520, 2 * 65_519, 2 * 65_519 + 1, 1 << 20] {
            let batch = pattern(len);
            let mut bytes = Vec::new();
            ours.sealer.seal(&batch, &mut bytes).unwrap();
            let parts = len.div_ceil(65_519).max(1);
            let overhead = if cipher.is_some() { 16 * parts } else { 0 };
            assert_eq!(bytes.len(), HEADER_LEN + len + overhead);
            let items = open_all(&mut theirs.opener, &bytes).unwrap();
            assert_eq!(items, [Incoming::Batch(batch)], "{cipher:?} {len}");
        }
    }
}

#[test]
fn overlong_batches_are_not_sealed() {
    let (mut ours, mut theirs) = established(Some(Cipher::AesGcm));
    let (len, max) = (u64::from(BATCH_MAX) + 1, u64::from(BATCH_MAX));
    let batch = vec![0; len as usize];
    let mut bytes = Vec::new();
    let result = ours.sealer.seal(&batch, &mut bytes);
    assert_eq!(result, Err(SealError::TooLong { len, max }));
    assert!(bytes.is_empty());
    ours.sealer.seal(b"next", &mut bytes).unwrap();
    let items = open_all(&mut theirs.opener, &bytes).unwrap();
    assert_eq!(items, [Incoming::Batch(b"next".to_vec())]);
}

#[test]
fn impossible_lengths_end_the_link_at_the_header() {
    for (cipher, len) in [
        (None, BATCH_MAX + 1),
        (None, u32::MAX),
        (None, 1 << 31 | 1),
        (Some(Cipher::AesGcm), 0),
        (Some(Cipher::AesGcm), 15),
        (Some(Cipher::AesGcm), 65_535 + 16),
        (Some(Cipher::AesGcm), 128 << 20),
        (Some(Cipher::AesGcm), u32::MAX),
        (Some(Cipher::AesGcm), 1 << 31 | 17),
    ] {
        let (_, mut theirs) = established(cipher);
        let first = theirs.opener.push(&len.to_le_bytes());
        assert!(first.is_err(), "{cipher:?} {len}");
        assert_eq!(theirs.opener.push(&[]), first);
    }
}

#[test]
fn no_flipped_bit_of_a_sealed_frame_passes() {
    for cipher in CIPHERS {
        let (mut ours, theirs) = established(Some(cipher));
        let mut bytes = Vec::new();
        ours.sealer.seal(b"some batch", &mut bytes).unwrap();
        let next = bytes.len();
        ours.sealer.seal(&[7; 100], &mut bytes).unwrap();
        for bit in 0..next * 8 {
            let mut opener = theirs.opener.restarted();
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            // A longer length waits for what the next batch then cannot be.
            match open_all(&mut opener, &changed) {
                Err(_) => {}
                Ok(items) => assert!(items.is_empty() && opener.held().is_some(), "{bit}"),
            }
        }
    }
}

#[test]
fn replayed_mirrored_and_reordered_batches_are_refused() {
    let seal = |end: &mut Established, batch: &[u8]| {
        let mut bytes = Vec::new();
        end.sealer.seal(batch, &mut bytes).unwrap();
        bytes
    };
    // Replayed.
    let (mut ours, mut theirs) = established(Some(Cipher::AesGcm));
    let one = seal(&mut ours, b"one");
    assert!(open_all(&mut theirs.opener, &one).is_ok());
    assert_eq!(open_all(&mut theirs.opener, &one), Err(OpenError::Authentication));
    // Mirrored.
    let (mut ours, _) = established(Some(Cipher::AesGcm));
    let one = seal(&mut ours, b"one");
    assert_eq!(open_all(&mut ours.opener, &one), Err(OpenError::Authentication));
    // Reordered, or one dropped.
    let (mut ours, mut theirs) = established(Some(Cipher::AesGcm));
    let _one = seal(&mut ours, b"one");
    let two = seal(&mut ours, b"two");
    assert_eq!(open_all(&mut theirs.opener, &two), Err(OpenError::Authentication));
    // From another link.
    let (mut ours, _) = established(Some(Cipher::AesGcm));
    let (_, mut theirs) = established(Some(Cipher::AesGcm));
    let one = seal(&mut ours, b"one");
    assert_eq!(open_all(&mut theirs.opener, &one), Err(OpenError::Authentication));
}

#[test]
fn borders_of_batches_cannot_be_moved() {
    let header = |len: usize| (len as u32).to_le_bytes();
    // Two batches joined into one: the first is exactly one full message.
    let (mut ours, mut theirs) = established(Some(Cipher::AesGcm));
    let (mut one, mut two) = (Vec::new(), Vec::new());
    ours.sealer.seal(&pattern(PART_MAX), &mut one).unwrap();
    ours.sealer.seal(b"two", &mut two).unwrap();
    let (one, two) = (&one[HEADER_LEN..], &two[HEADER_LEN..]);
    let joined = [&header(one.len() + two.len())[..], one, two].concat();
    assert_eq!(open_all(&mut theirs.opener, &joined), Err(OpenError::Authentication));
    // One batch cut in two.
    let (mut ours, mut theirs) = established(Some(Cipher::AesGcm));
    let mut long = Vec::new();
    ours.sealer.seal(&pattern(PART_MAX + 5), &mut long).unwrap();
    let cut = [&header(65_535)[..], &long[HEADER_LEN..]].concat();
    assert_eq!(open_all(&mut theirs.opener, &cut), Err(OpenError::Authentication));
    // An empty batch made into a good-bye.
    let (mut ours, mut theirs) = established(Some(Cipher::AesGcm));
    let mut empty = Vec::new();
    ours.sealer.seal(&[], &mut empty).unwrap();
    empty[3] |= 0x80;
    assert_eq!(open_all(&mut theirs.opener, &empty), Err(OpenError::Authentication));
}

#[test]
fn nothing_follows_a_goodbye() {
    for cipher in [None, Some(Cipher::ChaChaPoly)] {
        let (mut ours, mut theirs) = established(cipher);
        let mut bytes = Vec::new();
        ours.sealer.seal(b"last", &mut bytes).unwrap();
        ours.sealer.goodbye(&mut bytes);
        let items = open_all(&mut theirs.opener, &bytes).unwrap();
        assert_eq!(items, [Incoming::Batch(b"last".to_vec()), Incoming::Goodbye]);
        assert_eq!(theirs.opener.push(b"x"), Err(OpenError::AfterEnd));
    }
}

#[test]
fn memory_follows_the_bytes_not_the_claim() {
    let (_, mut theirs) = established(None);
    theirs.opener.push(&BATCH_MAX.to_le_bytes()).unwrap();
    assert!(theirs.opener.held().unwrap() < 1024);
    theirs.opener.push(&[0; 1000]).unwrap();
    assert!(theirs.opener.held().unwrap() < 8192);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn liars_never_cause_a_panic(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..4),
        begins_well: bool,
        keyed: bool,
    ) {
        let keys = if keyed { server_keys() } else { Arc::new(ServerKeys::none()) };
        let mut responder = Responder::new(v7(), Role::Client, keys.clone()).unwrap();
        if begins_well {
            let key = keys.peer_key(Role::Client);
            let (_, first) = Initiator::new(v7(), Role::Client, key.as_ref()).unwrap();
            let _ = responder.step(&self::bodies(&first)[0]);
        }
        for body in &bodies {
            let established = matches!(
                responder.step(body),
                Ok(Step { outcome: Outcome::Established(_), .. })
            );
            prop_assert!(!established || !keyed);
        }
        for body in &bodies {
            let (initiator, _) = initiator(Role::Client, Role::Client);
            prop_assert!(initiator.step(body).is_err());
        }
    }

    #[test]
    fn openers_take_any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300), sealed: bool) {
        let (_, mut theirs) = established(sealed.then_some(Cipher::AesGcm));
        let _ = open_all(&mut theirs.opener, &bytes);
    }

    #[test]
    fn any_cut_of_the_stream_gives_the_same_batches(
        lens in prop::collection::vec(prop_oneof![0..200usize, 65_500..65_540usize, 131_030..131_050usize], 0..5),
        piece in prop_oneof![1..50usize, 1000..70_000usize],
        sealed: bool,
    ) {
        let (mut ours, mut theirs) = established(sealed.then_some(Cipher::AesGcm));
        let mut bytes = Vec::new();
        for &len in &lens {
            ours.sealer.seal(&pattern(len), &mut bytes).unwrap();
        }
        ours.sealer.goodbye(&mut bytes);
        let (mut held, mut items) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            held.extend(piece);
            loop {
                let Progress { consumed, item } = theirs.opener.push(&held).unwrap();
                held.drain(..consumed);
                let Some(item) = item else { break };
                items.push(item);
            }
            prop_assert!(held.len() < Opener::REST_MAX);
        }
        let mut expected: Vec<_> = lens.iter().map(|&n| Incoming::Batch(pattern(n))).collect();
        expected.push(Incoming::Goodbye);
        prop_assert_eq!(items, expected);
    }
}
