use std::{
    fs::{self, DirBuilder},
    io,
    net::IpAddr,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use hq_node::StartOrder;

/// The temporary directory of a run.
#[derive(Debug)]
pub(super) struct TaskDir {
    path: PathBuf,
}

impl TaskDir {
    /// Makes it, for nobody else to read, in `work_dir`, which is made as needed. `count` sets apart directories of
    /// this worker, its process id those of others that use the same place.
    ///
    /// # Errors
    /// Says what could not be made.
    pub(super) fn create(work_dir: &Path, order: &StartOrder, count: &AtomicU64) -> Result<Self, String> {
        loop {
            let n = count.fetch_add(1, Ordering::Relaxed);
            let (job, number, instance, pid) = (order.job, order.number, order.instance, std::process::id());
            let path = work_dir.join(format!("hq-task-{job}-{number}-{instance}-{pid}-{n}"));
            let error = |error| format!("cannot create the task directory `{}`: {error}", path.display());
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) if e.kind() == io::ErrorKind::NotFound && !work_dir.exists() => {
                    DirBuilder::new().recursive(true).mode(0o700).create(work_dir).map_err(error)?;
                }
                Err(e) => return Err(error(e)),
            }
        }
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a task can say what went wrong.
    pub(super) fn error_file(&self) -> PathBuf {
        self.path.join("hq-error")
    }

    /// Writes the files that tell a gang its hosts; returns those with short and with full names.
    ///
    /// # Errors
    /// Says what could not be written.
    pub(super) fn write_hosts(&self, hosts: &[String]) -> Result<(PathBuf, PathBuf), String> {
        let (nodes, full) = (self.path.join("hq-nodelist"), self.path.join("hq-hostlist"));
        let lines = |name: fn(&str) -> &str| hosts.iter().map(|host| format!("{}\n", name(host))).collect::<String>();
        for (path, content) in [(&nodes, lines(short_name)), (&full, lines(|host| host))] {
            fs::write(path, content).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
        }
        Ok((nodes, full))
    }
}

/// The first label of a host name; addresses stay whole.
fn short_name(host: &str) -> &str {
    if host.parse::<IpAddr>().is_ok() {
        return host;
    }
    host.split('.').next().unwrap_or(host)
}

impl Drop for TaskDir {
    /// Removes it with all that is in it, and nothing that it only points to.
    fn drop(&mut self) {
        // The standard library goes from directory to directory by descriptor and does not follow links.
        let first = fs::remove_dir_all(&self.path);
        let Err(error) = first else { return };
        let mut result = Err(error);
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::PermissionDenied) {
            unlock(&self.path);
            result = fs::remove_dir_all(&self.path);
        }
        match result {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("cannot remove the task directory `{}`: {error}", self.path.display());
            }
            _ => {}
        }
    }
}

/// Makes the directories in a tree ours to change, where a task has taken that away.
fn unlock(path: &Path) {
    let mut waiting = vec![path.to_owned()];
    while let Some(dir) = waiting.pop() {
        if !fs::symlink_metadata(&dir).is_ok_and(|data| data.is_dir()) {
            continue;
        }
        let _ = fs::set_permissions(&dir, fs::Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        waiting.extend(entries.flatten().map(|entry| entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names() {
        for (host, short) in
            [("cn1.cluster.example", "cn1"), ("cn1", "cn1"), ("10.0.0.7", "10.0.0.7"), ("fe80::1", "fe80::1")]
        {
            assert_eq!(short_name(host), short);
        }
    }
}
