use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// A way to a port of this machine that can be parted: bytes stand still in both directions, and links stay as they are, as
/// behind a switch that is out of order. What stood still goes on in order.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    is_parted: Arc<AtomicBool>,
}

/// How long a thread looks away.
const LOOK: Duration = Duration::from_millis(5);

impl Proxy {
    /// To a port.
    ///
    /// # Panics
    /// If there is no port to be had.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let own = listener.local_addr().expect("a port").port();
        let is_parted = Arc::new(AtomicBool::new(false));
        let parted = is_parted.clone();
        thread::spawn(move || {
            for ours in listener.incoming().flatten() {
                if let Ok(theirs) = TcpStream::connect(("127.0.0.1", port)) {
                    join(ours, theirs, &parted);
                }
            }
        });
        Self { port: own, is_parted }
    }

    /// Where to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Nothing gets through any more.
    pub fn part(&self) {
        self.is_parted.store(true, Ordering::SeqCst);
    }

    /// All gets through again.
    pub fn heal(&self) {
        self.is_parted.store(false, Ordering::SeqCst);
    }
}

fn join(a: TcpStream, b: TcpStream, parted: &Arc<AtomicBool>) {
    let (Ok(a_too), Ok(b_too)) = (a.try_clone(), b.try_clone()) else { return };
    for (from, to) in [(a, b_too), (b, a_too)] {
        let parted = parted.clone();
        thread::spawn(move || carry(from, to, &parted));
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, parted: &AtomicBool) {
    let _ = from.set_read_timeout(Some(LOOK));
    let mut bytes = [0; 16 << 10];
    loop {
        let read = from.read(&mut bytes);
        while parted.load(Ordering::SeqCst) {
            thread::sleep(LOOK);
        }
        match read {
            Ok(0) => break,
            Ok(n) => {
                if to.write_all(&bytes[..n]).is_err() {
                    break;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => break,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
