use hq_core::{Rng, Span};

use crate::workload::openb::{Node, Pod};

/// `count` GPU nodes of three kinds: many cpus per GPU, few, and one GPU alone.
pub fn gpu_nodes(rng: &mut Rng, count: usize) -> Vec<Node> {
    let node = |i| {
        let (gpus, cpus) = *rng.pick(&[(8, 96), (4, 96), (4, 32), (2, 64), (1, 8)]);
        Node {
            name: format!("node{i}"),
            cpu_milli: cpus * 1_000,
            memory_mib: cpus * 4 * 1_024,
            gpus,
            model: String::new(),
        }
    };
    (0..count).map(node).collect()
}

/// `count` pods of a few dozen classes: shares of a GPU for the most part, one GPU, now and then several or none. Some classes
/// are much more popular than others.
pub fn gpu_pods(rng: &mut Rng, count: usize) -> Vec<Pod> {
    let class = |rng: &mut Rng| {
        let (gpus, gpu_milli) = *rng.pick(&[
            (0, 0),
            (1, 1000),
            (1, 1000),
            (1, 1000),
            (1, 810),
            (1, 700),
            (1, 470),
            (1, 330),
            (1, 250),
            (2, 1000),
            (4, 1000),
        ]);
        let cpu_milli = u64::from(gpus.max(1)) * *rng.pick(&[2_000, 4_000, 6_000, 8_000, 11_000]);
        Pod {
            name: String::new(),
            cpu_milli,
            memory_mib: cpu_milli / 1_000 * 2_048,
            gpus,
            gpu_milli,
            models: vec![],
            created: Span::ZERO,
            deleted: Span::ZERO,
        }
    };
    let classes: Vec<Pod> = (0..32).map(|_| class(rng)).collect();
    // The smaller of two draws: the first classes are the popular ones.
    let draw = |i| {
        let at = rng.below(classes.len() as u64).min(rng.below(classes.len() as u64));
        Pod { name: format!("pod{i}"), ..classes[at as usize].clone() }
    };
    (0..count).map(draw).collect()
}
