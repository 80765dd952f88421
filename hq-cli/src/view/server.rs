use std::path::Path;

use hq_core::ServerInfo;
use serde_json::{Value, json};

use crate::output::{Table, date_utc, rfc3339};

/// All about a server; with the directory where it has just been started.
pub(crate) fn server_table(info: &ServerInfo, server_dir: Option<&Path>) -> Table {
    let mut table = Table::vertical();
    if let Some(dir) = server_dir {
        table.entry("Server directory", dir.display().to_string());
    }
    table.entry("Server UID", info.server_uid.as_str());
    table.entry("Client host", info.client_host.as_str());
    table.entry("Client port", info.client_port.to_string());
    table.entry("Worker host", info.worker_host.as_str());
    table.entry("Worker port", info.worker_port.to_string());
    table.entry("Version", info.version.as_str());
    table.entry("Pid", info.pid.to_string());
    table.entry("Start date", date_utc(info.started));
    table.entry("Journal path", info.journal.as_deref().unwrap_or_default());
    table
}

/// The same as JSON.
pub(crate) fn server_json(info: &ServerInfo, server_dir: Option<&Path>) -> Value {
    json!({
        "server_dir": server_dir.map(|dir| dir.display().to_string()),
        "server_uid": info.server_uid,
        "worker_host": info.worker_host,
        "client_host": info.client_host,
        "client_port": info.client_port,
        "worker_port": info.worker_port,
        "pid": info.pid,
        "start_date": rfc3339(info.started),
        "version": info.version,
        "journal_path": info.journal,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{golden, samples};

    #[test]
    fn text() {
        let info = samples::server();
        golden("server_info.txt", &server_table(&info, None).draw(false));
        golden("server_start.txt", &server_table(&info, Some("/s".as_ref())).draw(false));
    }

    #[test]
    fn json() {
        golden("server_info.json", &format!("{:#}\n", server_json(&samples::server(), None)));
    }
}
