use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, bail};
use clap::error::ErrorKind;
use tokio::{process::Command, task::JoinSet};
use tracing::{error, info};

use crate::{args, context::Context, interrupt::interrupted};

/// Options of `worker deploy-ssh`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  hq worker deploy-ssh hosts.txt
  hq worker deploy-ssh --show-output hosts.txt --cpus 8 --idle-timeout 5m

The file names a host in each line, or HOST:PORT.")]
pub(crate) struct Args {
    /// Show what the workers print
    #[arg(long)]
    show_output: bool,
    /// The file with the hosts
    #[arg(value_name = "HOSTFILE")]
    hosts: PathBuf,
    /// Options of `hq worker start`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORKER START ARGS")]
    worker_args: Vec<OsString>,
}

/// A place to start a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    name: String,
    port: Option<u16>,
}

/// Starts workers on other machines, and waits for their ends.
pub(crate) async fn run(args: Args, _: &mut Context) -> anyhow::Result<()> {
    let interrupted = interrupted()?;
    check(&args.worker_args);
    let text = fs::read_to_string(&args.hosts).with_context(|| format!("cannot read {:?}", args.hosts))?;
    let hosts = parse(&text).with_context(|| format!("in {:?}", args.hosts))?;
    let hq = std::env::current_exe().context("cannot find out the path of this program")?;
    let mut workers = JoinSet::new();
    for host in hosts {
        let mut command = Command::new("ssh");
        command.args(ssh_args(&host, &hq, &args.worker_args)?).stdin(Stdio::null()).kill_on_drop(true);
        if !args.show_output {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        }
        info!("Starting a worker on {}", host.name);
        workers.spawn(async move { (command.status().await, host) });
    }
    tokio::pin!(interrupted);
    let mut is_bad = false;
    loop {
        let ended = tokio::select! {
            ended = workers.join_next() => ended,
            // Dropped, the children are killed.
            signal = &mut interrupted => bail!("Received {signal}, the connections to the workers are closed"),
        };
        let Some(ended) = ended else { break };
        let (status, host) = ended?;
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => {
                is_bad = true;
                let how = status.code().map_or_else(|| status.to_string(), |code| format!("code {code}"));
                error!("Worker exited with {how} on {}", host.name);
            }
            Err(cause) => {
                is_bad = true;
                error!("Cannot run ssh for {}: {cause}; an SSH client has to be in PATH", host.name);
            }
        }
    }
    if is_bad {
        bail!("Some workers have ended with an error");
    }
    Ok(())
}

/// Ends the program as for any wrong option of `worker start`: nobody should find out on all hosts one by one.
fn check(worker_args: &[OsString]) {
    let start = ["hq", "worker", "start"].map(OsString::from).into_iter().chain(worker_args.iter().cloned());
    match args::parse(start) {
        Err(error) if error.kind() != ErrorKind::DisplayHelp => error.exit(),
        _ => {}
    }
}

/// A shell on the other machine reads what is behind the hyphens: words that it would change are quoted.
fn ssh_args(host: &Host, hq: &Path, worker_args: &[OsString]) -> anyhow::Result<Vec<OsString>> {
    let mut args: Vec<OsString> = [host.name.as_str(), "-t", "-t"].map(OsString::from).into();
    if let Some(port) = host.port {
        args.extend(["-p".into(), port.to_string().into()]);
    }
    args.push("--".into());
    let words = [hq.as_os_str(), OsStr::new("worker"), OsStr::new("start")];
    for word in words.into_iter().chain(worker_args.iter().map(OsString::as_os_str)) {
        if is_plain(word.as_bytes()) {
            args.push(word.to_owned());
            continue;
        }
        let quoted = shlex::bytes::try_quote(word.as_bytes()).with_context(|| format!("{word:?} cannot be quoted"))?;
        args.push(OsString::from_vec(quoted.into_owned()));
    }
    Ok(args)
}

/// Whether every shell leaves the word as it is.
fn is_plain(word: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    word.first().is_some_and(|first| *first != b'=') && word.iter().all(is_plain)
}

pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Host>> {
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let hosts: Vec<Host> = lines
        .map(|(i, line)| host(line).with_context(|| format!("line {}: `{line}` is not HOST or HOST:PORT", i + 1)))
        .collect::<anyhow::Result<_>>()?;
    if hosts.is_empty() {
        bail!("the file names no host");
    }
    Ok(hosts)
}

fn host(line: &str) -> Option<Host> {
    // An address of IPv6 has colons of its own: in brackets if a port follows.
    let (name, port) = match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, port)) => (name, Some(port.strip_prefix(':')?)),
        None if line.matches(':').count() > 1 => (line, None),
        None => line.split_once(':').map_or((line, None), |(name, port)| (name, Some(port))),
    };
    // What begins with a hyphen would be an option of ssh.
    let is_name = !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
    let port = port.map(str::parse::<u16>).transpose().ok()?;
    is_name.then(|| Host { name: name.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (line, expected) in [
            ("host", Some(("host", None))),
            ("host:1234", Some(("host", Some(1234)))),
            ("me@host:22", Some(("me@host", Some(22)))),
            ("fe80::1", Some(("fe80::1", None))),
            ("[fe80::1]:22", Some(("fe80::1", Some(22)))),
            ("host:65536", None),
            ("host:", None),
            (":22", None),
            ("-oProxyCommand=x", None),
            ("a b", None),
        ] {
            let expected = expected.map(|(name, port)| Host { name: name.into(), port });
            assert_eq!(host(line), expected, "{line}");
        }
        assert_eq!(parse("\n a \n\nb:1\n").expect("hosts").len(), 2);
        assert!(parse(" \n").is_err());
        let error = format!("{:#}", parse("a\nb:x\n").expect_err("refused"));
        assert!(error.starts_with("line 2: `b:x`"), "{error}");
    }

    #[test]
    fn arguments_of_ssh() {
        let host = Host { name: "h".into(), port: Some(22) };
        let args = ssh_args(&host, Path::new("/bin/hq"), &["--time-limit".into(), "3s".into()]).expect("words");
        assert_eq!(args.join(OsStr::new(" ")), "h -t -t -p 22 -- /bin/hq worker start --time-limit 3s");
        let args = ssh_args(&Host { name: "h".into(), port: None }, Path::new("/bin/hq"), &[]).expect("words");
        assert_eq!(args.join(OsStr::new(" ")), "h -t -t -- /bin/hq worker start");
        // What comes out of the shell is what went in.
        let words = [
            "--cpus=2x4",
            "--group=a b",
            "=ls",
            "~",
            "--resource",
            "gpus=[0,1]",
            "x=sum($HOME; `id`)",
            "it's",
            "",
            "*",
        ];
        let given: Vec<OsString> = words.iter().map(OsString::from).collect();
        let args = ssh_args(&Host { name: "h".into(), port: None }, Path::new("/my dir/hq"), &given).expect("words");
        let line = args[4..].join(OsStr::new(" ")).into_string().expect("text");
        let read = shlex::split(&line).expect("words");
        assert_eq!(read, [&["/my dir/hq", "worker", "start"], &words[..]].concat());
        assert_eq!(&args[4..8], ["'/my dir/hq'", "worker", "start", "--cpus=2x4"].map(OsString::from));
    }
}
