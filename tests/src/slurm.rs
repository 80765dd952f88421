use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::atomic::{AtomicU16, Ordering},
};

use tempfile::TempDir;

use crate::root;

/// A Slurm of four nodes on this host, by `tests/tools/slurm.sh`. It ends with this.
#[derive(Debug)]
pub struct RealSlurm {
    conf: String,
    dir: TempDir,
}

impl RealSlurm {
    /// A new one, perhaps with accounting. None, with a line that says why, where none can be had here:
    /// `HQ_TEST_SLURM=require` makes that a failure, `HQ_TEST_SLURM=skip` wants none.
    ///
    /// # Panics
    /// If one could be had, and does not start.
    #[expect(clippy::print_stdout, reason = "what is left out has to be seen")]
    pub fn start(with_accounting: bool) -> Option<Self> {
        let wish = std::env::var("HQ_TEST_SLURM").unwrap_or_default();
        if let Some(why) = lack(with_accounting).or((wish == "skip").then(|| "HQ_TEST_SLURM=skip".to_owned())) {
            assert_ne!(wish, "require", "no Slurm, and one is required: {why}");
            println!("SKIPPED: the tests with a real Slurm are left out: {why}");
            return None;
        }
        let dir = tempfile::Builder::new().prefix("hq-slurm-").tempdir().expect("a temporary directory can be made");
        run(Command::new("chmod").arg("755").arg(dir.path()));
        let mut up = script("up", dir.path());
        up.arg(port().to_string()).arg("4");
        if with_accounting {
            up.env("ACCOUNTING", "1");
        }
        let conf = String::from_utf8_lossy(&run(&mut up).stdout).trim().to_owned();
        Some(Self { conf, dir })
    }

    /// What `SLURM_CONF` has to be.
    pub fn conf(&self) -> &str {
        &self.conf
    }

    /// Where all of it lies.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Starts a daemon by name (`start`), or kills it (`kill`).
    ///
    /// # Panics
    /// If that does not work.
    pub fn daemon(&self, action: &str, name: &str) {
        run(script(action, self.dir.path()).arg(name));
    }
}

impl Drop for RealSlurm {
    fn drop(&mut self) {
        let output = script("down", self.dir.path()).output();
        // A second panic would hide the first one.
        if !std::thread::panicking() {
            assert!(output.is_ok_and(|output| output.status.success()), "Slurm does not go down");
        }
    }
}

/// Why there can be no Slurm here.
fn lack(with_accounting: bool) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let needed = ["slurmctld", "munged", "slurmdbd", "mariadbd"];
    let needed = if with_accounting { &needed[..] } else { &needed[..2] };
    let missing: Vec<_> = needed.iter().filter(|name| dirs.iter().all(|dir| !dir.join(name).exists())).collect();
    if !missing.is_empty() {
        return Some(format!("{missing:?} are not installed"));
    }
    (!rustix::process::geteuid().is_root()).then(|| "only root can start one".to_owned())
}

fn script(action: &str, dir: &Path) -> Command {
    let mut command = Command::new(root().join("tests/tools/slurm.sh"));
    command.arg(action).arg(dir);
    command
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The first of twenty ports that nobody listens to, other ones for each cluster of this process.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let first = 20_000 + (std::process::id() % 500) as u16 * 20;
    loop {
        let port = first + NEXT.fetch_add(20, Ordering::Relaxed);
        if (port..port + 20).all(is_free) {
            return port;
        }
    }
}
