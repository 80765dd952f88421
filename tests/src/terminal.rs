use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::fd::OwnedFd,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use rustix::{
    fs::{Mode, OFlags, open},
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize},
};

use crate::eventually;

/// A program on a pseudo terminal, and what that shows.
pub struct Terminal {
    child: Child,
    keyboard: File,
    device: OwnedFd,
    screen: Arc<Mutex<vt100::Parser>>,
    raw: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts a program on a terminal of that size; its standard error goes to a file.
    ///
    /// # Panics
    /// If the machine does not let it do its work.
    pub fn start(command: &mut Command, columns: u16, rows: u16, errors: File) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal can be made");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it can be unlocked");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let device =
            open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).expect("it can be opened");
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&device, size).expect("it has a size");
        let stdio = || Stdio::from(device.try_clone().expect("it can be shared"));
        let child = command.env("TERM", "xterm-256color").stdin(stdio()).stdout(stdio()).stderr(errors).spawn();
        let keyboard = File::from(master);
        let mut output = keyboard.try_clone().expect("it can be shared");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let (shown, kept) = (Arc::clone(&screen), Arc::clone(&raw));
        // It ends with the terminal.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes[..count]);
                shown.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..count]);
            }
        });
        Self { child: child.expect("the program can be started"), keyboard, device, screen, raw }
    }

    /// What is on the screen.
    pub fn text(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen().contents()
    }

    /// All that was written to the terminal.
    pub fn raw(&self) -> Vec<u8> {
        self.raw.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until the screen shows a text, and returns the screen.
    #[track_caller]
    pub fn until(&self, text: &str) -> String {
        eventually(&format!("the screen shows {text:?}"), || self.text(), |shown| shown.contains(text))
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Waits for the program's end: its exit code, or minus one where it was killed.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let status = eventually("end of the program", || self.child.try_wait().expect("a child"), Option::is_some);
        status.and_then(|status| status.code()).unwrap_or(-1)
    }

    /// Whether the terminal is as a shell expects it: lines are edited and echoed, the usual screen is shown, with a cursor.
    pub fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.device).expect("it is there").local_modes;
        let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !screen.screen().alternate_screen()
            && !screen.screen().hide_cursor()
    }

    /// Gives it another size, and tells the program.
    pub fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.device, size).expect("it has a size");
        // It is not the terminal that the program belongs to.
        self.signal(Signal::WINCH);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
