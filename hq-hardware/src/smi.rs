use hq_core::{GpuState, Share};
use serde_json::Value;

use crate::GpuKind;

impl GpuKind {
    /// The program that says what such GPUs do, and its arguments.
    pub const fn monitor(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Nvidia => (
                "nvidia-smi",
                &["--format=csv,noheader", "--query-gpu=pci.bus_id,utilization.gpu,memory.used,memory.total"],
            ),
            Self::Amd => ("rocm-smi", &["--json", "--showuse", "--showbus", "--showmemuse"]),
        }
    }

    /// What [`monitor`](Self::monitor) printed.
    pub fn parse(self, output: &str) -> Vec<GpuState> {
        match self {
            Self::Nvidia => parse_nvidia_smi(output),
            Self::Amd => parse_rocm_smi(output),
        }
    }
}

/// Reads lines like `BUS1, 10.0 %, 100 MiB, 200 MiB`; others are left out.
pub fn parse_nvidia_smi(output: &str) -> Vec<GpuState> {
    let gpu = |line: &str| {
        let [id, processor, used, total] = line.split(',').map(str::trim).collect::<Vec<_>>().try_into().ok()?;
        let memory = |text: &str| text.split_whitespace().next()?.parse::<f64>().ok();
        let (used, total) = (memory(used)?, memory(total)?);
        let memory = if total > 0.0 { share(used / total * 100.0) } else { Share(0) };
        Some(GpuState { id: id.to_owned(), processor: percent(processor)?, memory })
    };
    output.lines().filter_map(gpu).collect()
}

/// Reads `{"card0": {"PCI Bus": …, "GPU use (%)": "10", "GPU memory use (%)": "5"}, …}`, by name of the card.
pub fn parse_rocm_smi(output: &str) -> Vec<GpuState> {
    let Ok(Value::Object(cards)) = serde_json::from_str(output) else { return vec![] };
    let gpu = |card: &Value| {
        let card = card.as_object()?;
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let find = |wanted: &dyn Fn(&str) -> bool| card.iter().find(|(key, _)| wanted(key)).map(|(_, v)| text(v));
        let is_memory = |key: &str| key.to_lowercase().contains("memory") && key.contains('%');
        Some(GpuState {
            id: find(&|key| key == "PCI Bus")?,
            processor: percent(&find(&|key| key == "GPU use (%)")?)?,
            memory: find(&is_memory).and_then(|text| percent(&text)).unwrap_or_default(),
        })
    };
    cards.values().filter_map(gpu).collect()
}

/// `10.0 %`, `10`
fn percent(text: &str) -> Option<Share> {
    text.trim().trim_end_matches('%').trim_end().parse().ok().map(share)
}

fn share(percent: f64) -> Share {
    // Conversions of floating point stay within the type; the bound is that of a share.
    Share((percent.clamp(0.0, 100.0) * 100.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(id: &str, processor: u16, memory: u16) -> GpuState {
        GpuState { id: id.into(), processor: Share(processor), memory: Share(memory) }
    }

    #[test]
    fn lines_of_nvidia() {
        let output = "BUS1, 10.0 %, 100 MiB, 200 MiB\nnonsense\nBUS2, 33 %, 0 MiB, 0 MiB\nBUS3, [N/A], 1 MiB, 2 MiB\n";
        assert_eq!(parse_nvidia_smi(output), [gpu("BUS1", 1_000, 5_000), gpu("BUS2", 3_300, 0)]);
    }

    #[test]
    fn documents_of_amd() {
        let output = r#"{
            "card0": {"PCI Bus": "0000:01", "GPU use (%)": "12.5", "GPU memory use (%)": "50"},
            "card1": {"PCI Bus": "0000:02", "GPU use (%)": 7, "GPU Memory Allocated (VRAM%)": "101"},
            "system": {"Driver version": "1"}
        }"#;
        assert_eq!(parse_rocm_smi(output), [gpu("0000:01", 1_250, 5_000), gpu("0000:02", 700, 10_000)]);
        assert_eq!(parse_rocm_smi("no JSON"), []);
    }
}
