use libc::{c_int, c_long};

/// Sends `signal` to each process of session `session`, whatever its group: finds those that have left the group of the
/// leader. Async-signal-safe, and best effort: processes that began a session of their own are not found.
pub(crate) fn kill_session(session: i32, signal: c_int) {
    if session <= 1 {
        return;
    }
    each_process(|pid| {
        // SAFETY: plain system calls on numbers.
        unsafe {
            if libc::getsid(pid) == session {
                libc::kill(pid, signal);
            }
        }
    });
}

#[repr(C, align(8))]
struct Buffer([u8; 4096]);

/// Offset of the name in a `linux_dirent64`, after inode, offset, length and type.
const NAME: usize = 19;

/// Calls `f` with the id of each process that `/proc` shows.
fn each_process(mut f: impl FnMut(i32)) {
    // SAFETY: a constant path.
    let dir = unsafe { libc::open(c"/proc".as_ptr(), libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC) };
    if dir < 0 {
        return;
    }
    let mut buffer = Buffer([0; 4096]);
    loop {
        // SAFETY: the buffer is ours and as long as we say.
        let read = unsafe {
            libc::syscall(libc::SYS_getdents64, c_long::from(dir), buffer.0.as_mut_ptr(), size_of::<Buffer>())
        };
        let Ok(length) = usize::try_from(read) else { break };
        if length == 0 {
            break;
        }
        let mut rest = buffer.0.get(..length).unwrap_or(&[]);
        while let Some((name, after)) = entry(rest) {
            if let Some(pid) = number(name) {
                f(pid);
            }
            rest = after;
        }
    }
    // SAFETY: we opened it.
    unsafe { libc::close(dir) };
}

/// Name of the first entry (with what follows its zero byte), and the entries behind it.
fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes([*bytes.get(16)?, *bytes.get(17)?]));
    Some((bytes.get(NAME..length)?, bytes.get(length..)?))
}

fn number(name: &[u8]) -> Option<i32> {
    let mut value = 0i32;
    let mut digits = 0;
    for byte in name {
        match byte {
            b'0'..=b'9' => value = value.checked_mul(10)?.checked_add(i32::from(*byte - b'0'))?,
            0 => break,
            _ => return None,
        }
        digits += 1;
    }
    (digits > 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes() {
        for (name, pid) in [
            (&b"12\0"[..], Some(12)),
            (b"4194303\0\0", Some(4_194_303)),
            (b"self\0", None),
            (b"\0", None),
            (b"99999999999\0", None),
            (b"1x\0", None),
        ] {
            assert_eq!(number(name), pid);
        }
    }

    #[test]
    fn finds_this_process() {
        let me = i32::try_from(std::process::id()).unwrap();
        let mut found = false;
        each_process(|pid| found |= pid == me);
        assert!(found);
    }
}
