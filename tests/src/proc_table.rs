use std::fs;

/// Whether a process is there and not just a zombie.
pub fn alive(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    // The state follows the name, which is in parentheses and may hold anything.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Processes with this text in their command line, which should be a mark that no other test uses.
pub fn processes_with(mark: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted").filter_map(Result::ok);
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(mark) && alive(pid)
    })
    .collect()
}
