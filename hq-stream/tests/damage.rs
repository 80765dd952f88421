//! S1: a file that is cut, garbled or torn anywhere loses just what is hit.

use hq_core::{Channel, Instance, JobId, TaskNumber, TaskRun, WorkerId};
use hq_stream::{Chunk, DATA_MAX, Damage, End, Frame, Head, Scan, StreamDir, StreamError, StreamFile};
use proptest::prelude::*;

/// A frame that lives on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Owned {
    Head(Head),
    Chunk(TaskRun, Channel, u64, Vec<u8>),
    End(End),
}

impl From<Frame<'_>> for Owned {
    fn from(frame: Frame<'_>) -> Self {
        match frame {
            Frame::Head(head) => Self::Head(head),
            Frame::Chunk(chunk) => Self::Chunk(chunk.run, chunk.channel, chunk.offset, chunk.data.to_vec()),
            Frame::End(end) => Self::End(end),
        }
    }
}

fn run(task: u32) -> TaskRun {
    TaskRun { job: JobId(1), task: TaskNumber(task), instance: Instance(0) }
}

/// A file with these outputs, each of a task of its own, and an end for each.
fn file(outputs: &[Vec<u8>]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let mut file = StreamFile::create(dir.path(), Head { server_uid: "uid".to_owned(), worker: WorkerId(1) }).unwrap();
    for (task, data) in outputs.iter().enumerate() {
        let run = run(task as u32);
        file.put(&Chunk { run, channel: Channel::Stdout, time: task as u64, offset: 0, data });
        file.put_end(&End { run, time: task as u64, sizes: [data.len() as u64, 0] });
    }
    file.flush().unwrap();
    std::fs::read(file.path()).unwrap()
}

fn scan(bytes: &[u8]) -> (Vec<(u64, Owned)>, Damage) {
    let mut frames = vec![];
    let Some(mut scan) = Scan::new(bytes).unwrap() else { return (frames, Damage::default()) };
    while let Some((at, frame)) = scan.next().unwrap() {
        frames.push((at, frame.into()));
    }
    (frames, scan.damage())
}

/// The frames of a whole file with the places where they begin and end.
fn frames(bytes: &[u8]) -> Vec<(u64, u64, Owned)> {
    let (frames, damage) = scan(bytes);
    assert_eq!(damage, Damage::default());
    let ends = frames.iter().skip(1).map(|(at, _)| *at).chain([bytes.len() as u64]);
    frames.iter().zip(ends).map(|((at, frame), end)| (*at, end, frame.clone())).collect()
}

/// Those that no byte of `hit` belongs to.
fn intact(whole: &[(u64, u64, Owned)], hit: std::ops::Range<u64>) -> Vec<Owned> {
    let spared = whole.iter().filter(|(begin, end, _)| *end <= hit.start || *begin >= hit.end);
    spared.map(|(_, _, frame)| frame.clone()).collect()
}

fn found(bytes: &[u8]) -> Vec<Owned> {
    scan(bytes).0.into_iter().map(|(_, frame)| frame).collect()
}

#[test]
fn s1_cut_at_every_byte() {
    let bytes =
        file(&[b"one".to_vec(), vec![], [&[0xf5; 40][..], b"."].concat(), b"hq\xfa\xf5hq\xfa\xf5hq\xfa".to_vec()]);
    let whole = frames(&bytes);
    assert_eq!(whole.len(), 9);
    for at in 0..bytes.len() {
        // The end is lost.
        let (kept, damage) = scan(&bytes[..at]);
        let kept: Vec<_> = kept.into_iter().map(|(_, frame)| frame).collect();
        assert_eq!(kept, intact(&whole, at as u64..u64::MAX), "cut at {at}");
        assert!(at < 8 || damage.is_none(), "a file that was not written to its end is not damaged: {at} {damage:?}");
        // The beginning is lost.
        assert_eq!(found(&bytes[at..]), intact(&whole, 0..at as u64), "cut before {at}");
        // A byte is lost.
        assert_eq!(found(&[&bytes[..at], &bytes[at + 1..]].concat()), intact(&whole, at as u64..at as u64 + 1), "{at}");
    }
}

#[test]
fn s1_every_bit_flipped() {
    let bytes = file(&[b"one".to_vec(), b"two two".to_vec(), b"three".to_vec()]);
    let whole = frames(&bytes);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1 << bit;
            let expected = intact(&whole, at as u64..at as u64 + 1);
            assert_eq!(found(&bytes), expected, "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn s1_what_a_task_prints_is_not_taken_for_a_frame() {
    let inner = file(&[b"inner".to_vec()]);
    let bytes = file(&[b"before".to_vec(), inner, b"after".to_vec()]);
    let whole = frames(&bytes);
    let (begin, end, _) = whole[3];
    for at in begin..end {
        let mut bytes = bytes.clone();
        bytes[at as usize] ^= 1;
        assert_eq!(found(&bytes), intact(&whole, at..at + 1), "byte {at}");
    }
}

#[test]
fn s1_other_files() {
    for bytes in [&b""[..], b"h", b"hqstrm", b"hqstrm01", b"PK\x03\x04 something else", &[0; 5000], b"hqstrm99 later"] {
        assert_eq!(found(bytes), [], "{bytes:?}");
    }
}

#[test]
fn s1_outputs_say_that_they_are_partial() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = {
        let head = Head { server_uid: "uid".to_owned(), worker: WorkerId(1) };
        let mut file = StreamFile::create(dir.path(), head).unwrap();
        for n in 0..3u64 {
            let data = &[b'a' + n as u8; 1000];
            file.put(&Chunk { run: run(0), channel: Channel::Stdout, time: n, offset: n * 1000, data });
        }
        file.put_end(&End { run: run(0), time: 3, sizes: [3000, 0] });
        file.flush().unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        std::fs::remove_file(file.path()).unwrap();
        bytes
    };
    let chunks: Vec<_> = frames(&bytes).into_iter().filter(|(_, _, frame)| matches!(frame, Owned::Chunk(..))).collect();
    let [(a, b, _), (_, c, _), (_, d, _)] = &chunks[..] else { panic!("{chunks:?}") };
    let part = |from: u64, to: u64| &bytes[from as usize..to as usize];
    let (front, back) = (part(0, *a), part(*d, bytes.len() as u64));
    let (one, two, three) = (part(*a, *b), part(*b, *c), part(*c, *d));
    let hole = vec![0; two.len()];
    for (what, middle, expected, is_damaged, warnings) in [
        ("whole", [one, two, three], "abc", false, 0),
        ("a hole", [one, &hole, three], "ac", true, 1),
        ("the second is gone", [one, b"", three], "ac", true, 0),
        ("swapped", [three, one, two], "abc", true, 0),
        ("doubled", [one, one, &[two, three].concat()], "abc", true, 0),
    ] {
        let path = dir.path().join("AAAAAAAAAAAA.hqs");
        std::fs::write(&path, [front, &middle.concat(), back].concat()).unwrap();
        let stream = StreamDir::open(dir.path(), None).unwrap();
        let mut text = vec![];
        let mut sink = |bytes: &[u8]| {
            text.extend_from_slice(bytes);
            Ok::<(), StreamError>(())
        };
        stream.copy(JobId(1), TaskNumber(0), Channel::Stdout, &mut sink).unwrap();
        text.dedup();
        let info = stream.task(JobId(1), TaskNumber(0)).unwrap();
        assert_eq!((String::from_utf8(text).unwrap().as_str(), info.is_damaged), (expected, is_damaged), "{what}");
        assert!(info.is_finished, "{what}");
        assert_eq!(stream.warnings().count(), warnings, "{what}");
    }
}

/// What is done to a file.
#[derive(Clone, Debug)]
enum Harm {
    Cut(usize),
    Flip(usize, u8),
    Zero(usize, usize),
    Remove(usize, usize),
    Insert(usize, Vec<u8>),
}

fn harm() -> impl Strategy<Value = Harm> {
    let at = any::<prop::sample::Index>().prop_map(|index| index.index(1 << 20));
    prop_oneof![
        at.clone().prop_map(Harm::Cut),
        (at.clone(), 0u8..8).prop_map(|(at, bit)| Harm::Flip(at, bit)),
        (at.clone(), 1usize..5000).prop_map(|(at, len)| Harm::Zero(at, len)),
        (at.clone(), 1usize..5000).prop_map(|(at, len)| Harm::Remove(at, len)),
        (at, prop::collection::vec(any::<u8>(), 1..300)).prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
    ]
}

/// Does it, and says which bytes of the original are hit.
fn apply(harm: &Harm, bytes: &mut Vec<u8>) -> std::ops::Range<u64> {
    let len = bytes.len();
    let (at, end) = match harm {
        Harm::Cut(at) => {
            bytes.truncate(at % len);
            (at % len, len)
        }
        Harm::Flip(at, bit) => {
            bytes[at % len] ^= 1 << bit;
            (at % len, at % len + 1)
        }
        Harm::Zero(at, n) => {
            let (at, end) = (at % len, (at % len + n).min(len));
            bytes[at..end].fill(0);
            (at, end)
        }
        Harm::Remove(at, n) => {
            let (at, end) = (at % len, (at % len + n).min(len));
            bytes.drain(at..end);
            (at, end)
        }
        Harm::Insert(at, extra) => {
            let at = at % len;
            bytes.splice(at..at, extra.iter().copied());
            // Nothing is hit that ends or begins there.
            return at as u64..at as u64 + 1;
        }
    };
    at as u64..end as u64
}

fn outputs() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let short = prop::collection::vec(any::<u8>(), 0..200);
    let text = prop::collection::vec(prop_oneof![Just(0xf5u8), Just(b'h'), Just(b'q'), Just(0xfau8)], 0..400);
    let long = (any::<u8>(), 8000usize..=DATA_MAX).prop_map(|(byte, len)| vec![byte; len]);
    // What ends like a marker begins cannot be told apart from the loss of the next byte.
    let plain_end = |mut data: Vec<u8>| {
        data.truncate(DATA_MAX - 1);
        data.push(0);
        data
    };
    prop::collection::vec(prop_oneof![8 => short, 4 => text, 1 => long].prop_map(plain_end), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn s1_what_is_not_hit_is_found(outputs in outputs(), harm in harm()) {
        let mut bytes = file(&outputs);
        let whole = frames(&bytes);
        let hit = apply(&harm, &mut bytes);
        let (found, damage) = scan(&bytes);
        let found: Vec<Owned> = found.into_iter().map(|(_, frame)| frame).collect();
        let expected = intact(&whole, hit);
        // Zeros where zeros were hit nothing.
        prop_assert!(expected.iter().all(|frame| found.contains(frame)), "{harm:?}");
        prop_assert!(found.iter().all(|frame| whole.iter().any(|(_, _, known)| known == frame)), "{harm:?}");
        prop_assert!(found.len() >= expected.len());
        prop_assert!(damage.bytes + damage.tail <= bytes.len() as u64);
    }

    #[test]
    fn s1_swapped_blocks_lose_what_lies_across(outputs in outputs(), n in 2usize..6, order in any::<u64>()) {
        let bytes = file(&outputs);
        let whole = frames(&bytes);
        let size = bytes.len().div_ceil(n).max(1);
        let mut blocks: Vec<&[u8]> = bytes.chunks(size).collect();
        let mut seed = order;
        for i in (1..blocks.len()).rev() {
            blocks.swap(i, (seed % (i as u64 + 1)) as usize);
            seed /= i as u64 + 1;
        }
        let found = found(&blocks.concat());
        let is_inside = |begin: u64, end: u64| begin / size as u64 == (end - 1) / size as u64;
        for (begin, end, frame) in &whole {
            prop_assert!(!is_inside(*begin, *end) || found.contains(frame), "{begin}..{end}");
        }
    }

    #[test]
    fn s1_no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..2000), with_magic: bool) {
        let bytes = if with_magic { [&b"hqstrm01"[..], &bytes].concat() } else { bytes };
        let (found, _) = scan(&bytes);
        prop_assert!(found.is_empty());
    }
}
