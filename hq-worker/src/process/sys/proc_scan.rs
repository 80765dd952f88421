//! What `/proc` tells of other processes. Async-signal-safe throughout: the guardian uses it, too.

use libc::{c_int, c_long};

/// What the file `stat` of a process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Process {
    /// Its id.
    pub(crate) pid: i32,
    /// Who will reap it.
    pub(crate) parent: i32,
    /// Its session.
    pub(crate) session: i32,
    /// When it began; sets it apart from an earlier process of the same id.
    pub(crate) start: u64,
    /// It has ended; at most, it waits to be reaped.
    pub(crate) is_dead: bool,
}

impl Process {
    /// Asks for one process; none where there is none.
    pub(crate) fn find(pid: i32) -> Option<Self> {
        let mut buffer = [0; 1024];
        let file = File::open(&path(pid, b"/stat\0"))?;
        let length = file.read(&mut buffer)?;
        Self::parse(pid, buffer.get(..length)?)
    }

    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        // The name, in parentheses, can hold anything.
        let after_name = stat.iter().rposition(|byte| *byte == b')')?.checked_add(2)?;
        let mut fields = stat.get(after_name..)?.split(|byte| *byte == b' ');
        let is_dead = matches!(fields.next()?, b"Z" | b"X" | b"x");
        let parent = i32::try_from(number(fields.next()?)?).ok()?;
        let session = i32::try_from(number(fields.nth(1)?)?).ok()?;
        let start = number(fields.nth(15)?)?;
        Some(Self { pid, parent, session, start, is_dead })
    }
}

/// The session of a process; none where there is no process. 0 is that of threads of the kernel.
pub(crate) fn session_of(pid: i32) -> Option<i32> {
    // SAFETY: a plain system call on a number.
    let session = unsafe { libc::getsid(pid) };
    (session >= 0).then_some(session)
}

/// Calls `f` with each number that stands behind `mark` in the environment that the process was started with.
///
/// It does not see what a process has made of its environment, and finds nothing where we may not look.
pub(crate) fn each_run_of(pid: i32, mark: &[u8], mut f: impl FnMut(u64)) {
    /// The most digits of a number, and what ends it.
    const TAIL: usize = 21;
    let Some(file) = File::open(&path(pid, b"/environ\0")) else { return };
    let mut buffer = [0; 4096];
    let mut kept = 0;
    loop {
        let Some(read) = buffer.get_mut(kept..).and_then(|free| file.read(free)) else { return };
        let length = kept + read;
        // What may go on in the next piece is looked at then.
        let end = if read == 0 { length } else { length.saturating_sub(mark.len() + TAIL) };
        let mut at = 0;
        while at < end {
            let rest = buffer.get(at..length).unwrap_or(&[]);
            if let Some(run) = rest.strip_prefix(mark).and_then(leading_number) {
                f(run);
            }
            at += 1;
        }
        if read == 0 {
            return;
        }
        buffer.copy_within(end..length, 0);
        kept = length - end;
    }
}

/// Calls `f` with the id of each process that `/proc` shows.
pub(crate) fn each_process(mut f: impl FnMut(i32)) {
    let Some(dir) = File::open(b"/proc\0") else { return };
    let mut buffer = Buffer([0; 4096]);
    loop {
        // SAFETY: the buffer is ours and as long as we say.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, c_long::from(dir.0), buffer.0.as_mut_ptr(), size_of::<Buffer>())
        };
        let Ok(length) = usize::try_from(read) else { break };
        if length == 0 {
            break;
        }
        let mut rest = buffer.0.get(..length).unwrap_or(&[]);
        while let Some((name, after)) = entry(rest) {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            if let Some(pid) = name.get(..end).and_then(number).and_then(|pid| i32::try_from(pid).ok()) {
                f(pid);
            }
            rest = after;
        }
    }
}

#[repr(C, align(8))]
struct Buffer([u8; 4096]);

/// Offset of the name in a `linux_dirent64`, after inode, offset, length and type.
const NAME: usize = 19;

/// Name of the first entry (with what follows its zero byte), and the entries behind it.
fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes([*bytes.get(16)?, *bytes.get(17)?]));
    Some((bytes.get(NAME..length)?, bytes.get(length..)?))
}

/// A number and nothing else.
fn number(text: &[u8]) -> Option<u64> {
    text.iter().all(u8::is_ascii_digit).then(|| leading_number(text)).flatten()
}

/// The number that a text begins with.
fn leading_number(text: &[u8]) -> Option<u64> {
    let mut value = None::<u64>;
    for digit in text.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(u64::from(*digit - b'0'))?);
    }
    value
}

/// `/proc/PID` and a last part, which ends with a zero byte and has at most 9 more.
fn path(pid: i32, last: &[u8]) -> [u8; 32] {
    let mut path = [0; 32];
    let mut digits = [0; 10];
    let (mut rest, mut count) = (pid.unsigned_abs(), 0);
    for place in digits.iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    let digits = digits.iter().skip(digits.len() - count);
    for (place, byte) in path.iter_mut().zip(b"/proc/".iter().chain(digits).chain(last)) {
        *place = *byte;
    }
    path
}

/// A file or directory that is read.
struct File(c_int);

impl File {
    /// Opens a path that ends with a zero byte.
    fn open(path: &[u8]) -> Option<Self> {
        if !path.contains(&0) {
            return None;
        }
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (fd >= 0).then_some(Self(fd))
    }

    /// How much came; 0 at the end, none where it cannot be read.
    fn read(&self, buffer: &mut [u8]) -> Option<usize> {
        // SAFETY: the buffer is ours and as long as we say.
        let read = unsafe { libc::read(self.0, buffer.as_mut_ptr().cast(), buffer.len()) };
        usize::try_from(read).ok()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: we opened it.
        unsafe { libc::close(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn numbers() {
        for (text, whole, leading) in [
            (&b"12"[..], Some(12), Some(12)),
            (b"18446744073709551615", Some(u64::MAX), Some(u64::MAX)),
            (b"18446744073709551616", None, None),
            (b"self", None, None),
            (b"", None, None),
            (b"1x", None, Some(1)),
        ] {
            assert_eq!((number(text), leading_number(text)), (whole, leading));
        }
    }

    #[test]
    fn paths() {
        for (pid, expected) in [(1, &b"/proc/1/environ\0"[..]), (i32::MAX, b"/proc/2147483647/environ\0")] {
            let path = path(pid, b"/environ\0");
            assert_eq!(path.get(..expected.len()), Some(expected));
        }
    }

    #[test]
    fn lines_of_stat() {
        let line = b"7 (a) Z (b c) S 3 7 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4711 0 0\n";
        let process = Process { pid: 7, parent: 3, session: 5, start: 4711, is_dead: false };
        assert_eq!(Process::parse(7, line), Some(process));
        assert_eq!(Process::parse(7, b"7 (a) Z 3 7 5"), None);
        assert_eq!(Process::parse(7, b""), None);
    }

    #[test]
    fn finds_this_process() {
        let me = i32::try_from(std::process::id()).unwrap();
        let mut found = false;
        each_process(|pid| found |= pid == me);
        assert!(found);
        let process = Process::find(me).unwrap();
        assert_eq!(process.session, session_of(me).unwrap());
        assert!(!process.is_dead);
        assert_eq!((Process::find(i32::MAX), session_of(i32::MAX)), (None, None));
    }

    #[test]
    fn marks_anywhere_in_an_environment() {
        // At each place around the border of two pieces.
        for padding in (4000..4100).chain([0, 9000]) {
            let mut child = Command::new("sleep")
                .arg("100")
                .env_clear()
                .env("A", "x".repeat(padding))
                .env("K", "0abc.1/0abd.8/0abc.77")
                .stdin(Stdio::null())
                .spawn()
                .unwrap();
            let mut runs = vec![];
            each_run_of(i32::try_from(child.id()).unwrap(), b"abc.", |run| runs.push(run));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(runs, [1, 77], "{padding}");
        }
    }
}
