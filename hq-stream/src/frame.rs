//! One frame as bytes: see the table at the top of the crate.

use hq_core::{Channel, Instance, JobId, TaskNumber, TaskRun, WorkerId};

use crate::bytes::Take;

/// What a file begins with: what it is and the version of the format.
pub(crate) const MAGIC: [u8; 8] = *b"hqstrm01";
/// What all versions begin with.
pub(crate) const MAGIC_ANY: &[u8] = b"hqstrm";
/// What a frame begins with; no text in UTF-8 has it.
pub(crate) const MARKER: [u8; 4] = [0xf5, b'h', b'q', 0xfa];
/// Marker, salt, length and checksum.
pub(crate) const PREFIX_LEN: usize = 16;
/// Bytes of output in a chunk, at most.
pub const DATA_MAX: usize = 16 << 10;
/// No body is longer.
pub(crate) const BODY_MAX: usize = DATA_MAX + 64;
/// Bytes of a server uid, at most.
const UID_MAX: usize = BODY_MAX - 5;

const HEAD: u8 = 0;
const CHUNK: u8 = 1;
const END: u8 = 2;

/// Whose file it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Uid of the server.
    pub server_uid: String,
    /// The worker that writes it.
    pub worker: WorkerId,
}

/// Something that a run printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The run.
    pub run: TaskRun,
    /// Where it printed to.
    pub channel: Channel,
    /// When it was read, in milliseconds since 1970 (UTC).
    pub time: u64,
    /// Bytes of this run and channel before it.
    pub offset: u64,
    /// What it printed; at most [`DATA_MAX`].
    pub data: &'a [u8],
}

/// The end of a run's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The run.
    pub run: TaskRun,
    /// When it ended, in milliseconds since 1970 (UTC).
    pub time: u64,
    /// All that it printed, by channel.
    pub sizes: [u64; 2],
}

/// A frame that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Whose file it is.
    Head(Head),
    /// Output.
    Chunk(Chunk<'a>),
    /// The end of output.
    End(End),
}

/// Makes frames of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoder {
    pub(crate) salt: u32,
}

impl Encoder {
    pub(crate) fn head(self, out: &mut Vec<u8>, head: &Head) {
        let uid = head.server_uid.as_bytes();
        let uid = &uid[..uid.len().min(UID_MAX)];
        self.frame(out, &[&[HEAD], &head.worker.0.to_le_bytes(), uid]);
    }

    /// The data must not be longer than [`DATA_MAX`].
    pub(crate) fn chunk(self, out: &mut Vec<u8>, chunk: &Chunk<'_>) {
        debug_assert!(chunk.data.len() <= DATA_MAX);
        let Chunk { run, channel, time, offset, data } = chunk;
        let kind = [CHUNK, channel.number()];
        self.frame(out, &[&kind, &time.to_le_bytes(), &run_bytes(run), &offset.to_le_bytes(), data]);
    }

    pub(crate) fn end(self, out: &mut Vec<u8>, end: &End) {
        let [stdout, stderr] = end.sizes.map(u64::to_le_bytes);
        self.frame(out, &[&[END], &end.time.to_le_bytes(), &run_bytes(&end.run), &stdout, &stderr]);
    }

    fn frame(self, out: &mut Vec<u8>, body: &[&[u8]]) {
        let start = out.len();
        let len = body.iter().map(|part| part.len()).sum::<usize>() as u32; // at most BODY_MAX
        out.extend_from_slice(&MARKER);
        out.extend_from_slice(&self.salt.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        body.iter().for_each(|part| out.extend_from_slice(part));
        let crc = checksum(self.salt, len, &out[start + PREFIX_LEN..]);
        out[start + 12..start + PREFIX_LEN].copy_from_slice(&crc.to_le_bytes());
    }
}

fn run_bytes(run: &TaskRun) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&run.job.0.to_le_bytes());
    bytes[4..8].copy_from_slice(&run.task.0.to_le_bytes());
    bytes[8..].copy_from_slice(&run.instance.0.to_le_bytes());
    bytes
}

/// Of all that follows the marker.
fn checksum(salt: u32, len: u32, body: &[u8]) -> u32 {
    let start = crc32c::crc32c(&salt.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(start, &len.to_le_bytes()), body)
}

/// What a frame says of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    pub(crate) salt: u32,
    len: u32,
    crc: u32,
}

impl Prefix {
    /// Reads it from the beginning of a frame; `None` where there is none that makes sense.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut take = Take(bytes);
        let marker: [u8; 4] = take.array()?;
        let (salt, len, crc) = (take.u32()?, take.u32()?, take.u32()?);
        (marker == MARKER && len as usize <= BODY_MAX).then_some(Self { salt, len, crc })
    }

    /// Bytes of the body.
    pub(crate) const fn body_len(self) -> usize {
        self.len as usize
    }

    /// Bytes of the frame.
    pub(crate) const fn frame_len(self) -> usize {
        PREFIX_LEN + self.len as usize
    }

    /// Whether the body is the one that was written.
    pub(crate) fn fits(self, body: &[u8]) -> bool {
        checksum(self.salt, self.len, body) == self.crc
    }
}

/// Reads a body; `None` for one that this version does not know.
pub(crate) fn decode(body: &[u8]) -> Option<Frame<'_>> {
    let mut take = Take(body);
    Some(match take.u8()? {
        HEAD => {
            let worker = WorkerId(take.u32()?);
            Frame::Head(Head { server_uid: String::from_utf8_lossy(take.0).into_owned(), worker })
        }
        CHUNK => {
            let channel = Channel::of_number(take.u8()?)?;
            let (time, run, offset) = (take.u64()?, run(&mut take)?, take.u64()?);
            Frame::Chunk(Chunk { run, channel, time, offset, data: take.0 })
        }
        END => {
            let (time, run) = (take.u64()?, run(&mut take)?);
            Frame::End(End { run, time, sizes: [take.u64()?, take.u64()?] })
        }
        _ => return None,
    })
}

fn run(take: &mut Take<'_>) -> Option<TaskRun> {
    Some(TaskRun { job: JobId(take.u32()?), task: TaskNumber(take.u32()?), instance: Instance(take.u32()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: TaskRun = TaskRun { job: JobId(1), task: TaskNumber(2), instance: Instance(3) };

    /// Byte for byte: what an older version wrote must stay readable, so this never changes.
    #[test]
    fn the_first_format_is_this() {
        let (mut out, encoder) = (vec![], Encoder { salt: 0x0403_0201 });
        encoder.head(&mut out, &Head { server_uid: "uid".to_owned(), worker: WorkerId(7) });
        let chunk = Chunk { run: RUN, channel: Channel::Stderr, time: 9, offset: 5, data: b"hi" };
        encoder.chunk(&mut out, &chunk);
        encoder.end(&mut out, &End { run: RUN, time: 10, sizes: [0, 7] });
        let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
        let run = "010000000200000003000000";
        let zeros = "00000000000000";
        let frames = [
            "f56871fa0102030408000000HEADCRC_0007000000756964".to_owned(),
            format!("f56871fa0102030420000000CHUNKCRC010109{zeros}{run}05{zeros}6869"),
            format!("f56871fa0102030425000000ENDCRC__020a{zeros}{run}00{zeros}07{zeros}"),
        ];
        let expected: String = frames.concat();
        let crcs = [("HEADCRC_", 12), ("CHUNKCRC", 12 + 24), ("ENDCRC__", 12 + 24 + 48)];
        let expected = crcs.iter().fold(expected, |text, (name, at)| text.replace(name, &hex[at * 2..at * 2 + 8]));
        assert_eq!(hex, expected);
        assert_eq!(crcs.map(|(_, at)| &hex[at * 2..at * 2 + 8]), ["275ecd16", "4a10c538", "62a80fca"]);
    }

    #[test]
    fn frames_come_back() {
        let encoder = Encoder { salt: 5 };
        let head = Head { server_uid: "asShcJ".to_owned(), worker: WorkerId(1) };
        let chunk = Chunk { run: RUN, channel: Channel::Stdout, time: 1, offset: u64::MAX, data: &[7; DATA_MAX] };
        let end = End { run: RUN, time: 2, sizes: [1, 2] };
        let mut frames: [Vec<u8>; 3] = Default::default();
        encoder.head(&mut frames[0], &head);
        encoder.chunk(&mut frames[1], &chunk);
        encoder.end(&mut frames[2], &end);
        for (frame, expected) in frames.iter().zip([Frame::Head(head), Frame::Chunk(chunk), Frame::End(end)]) {
            let prefix = Prefix::read(frame).unwrap();
            assert_eq!((prefix.frame_len(), prefix.salt), (frame.len(), 5));
            assert!(prefix.fits(&frame[PREFIX_LEN..]));
            assert_eq!(decode(&frame[PREFIX_LEN..]), Some(expected));
        }
        assert_eq!((decode(b""), decode(&[9, 1]), decode(&[1, 2])), (None, None, None));
    }
}
