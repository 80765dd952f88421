use std::{
    io::{ErrorKind, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread,
};

/// A way to a port of this machine that can be parted: bytes stand still in both directions, and links stay as they are, as
/// behind a switch that is out of order. What stood still goes on in order.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    gate: Arc<Gate>,
}

/// What all bytes pass.
#[derive(Debug, Default)]
struct Gate {
    is_shut: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn set(&self, is_shut: bool) {
        *self.is_shut.lock().unwrap_or_else(PoisonError::into_inner) = is_shut;
        self.changed.notify_all();
    }

    /// Stands still as long as it is shut.
    fn pass(&self) {
        let is_shut = self.is_shut.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(is_shut, |is_shut| *is_shut));
    }
}

impl Proxy {
    /// To a port.
    ///
    /// # Panics
    /// If there is no port to be had.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let own = listener.local_addr().expect("a port").port();
        let gate = Arc::new(Gate::default());
        let own_gate = gate.clone();
        thread::spawn(move || {
            for ours in listener.incoming().flatten() {
                if let Ok(theirs) = TcpStream::connect(("127.0.0.1", port)) {
                    join(ours, theirs, &own_gate);
                }
            }
        });
        Self { port: own, gate }
    }

    /// Where to connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Nothing gets through any more.
    pub fn part(&self) {
        self.gate.set(true);
    }

    /// All gets through again.
    pub fn heal(&self) {
        self.gate.set(false);
    }
}

fn join(a: TcpStream, b: TcpStream, gate: &Arc<Gate>) {
    let (Ok(a_too), Ok(b_too)) = (a.try_clone(), b.try_clone()) else { return };
    for (from, to) in [(a, b_too), (b, a_too)] {
        let gate = gate.clone();
        thread::spawn(move || carry(from, to, &gate));
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, gate: &Gate) {
    let mut bytes = [0; 16 << 10];
    loop {
        let read = from.read(&mut bytes);
        gate.pass();
        match read {
            Ok(0) => break,
            Ok(n) if to.write_all(&bytes[..n]).is_ok() => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => break,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}
