//! The order of tasks by what they wait for.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use hq_core::TaskNumber;

/// A task: its number, and those that it waits for.
pub(super) type Node = (TaskNumber, Vec<TaskNumber>);

/// Why there is no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoOrder {
    /// One number for two tasks; the second is at this index.
    #[error("Task {1} is defined multiple times")]
    Twice(usize, TaskNumber),
    /// The task at this index waits for one that there is not.
    #[error(
        "Task {1} is part of dependency cycle or has an invalid dependencies: it waits for task {2}, which is not defined"
    )]
    Missing(usize, TaskNumber, TaskNumber),
    /// The task at this index waits for itself in the end: each waits for the next.
    #[error("Task {1} is part of dependency cycle or has an invalid dependencies: {cycle}", cycle = shown(.2))]
    Cycle(usize, TaskNumber, Vec<TaskNumber>),
}

/// So many tasks of a cycle are named.
const SHOWN: usize = 20;

fn shown(cycle: &[TaskNumber]) -> String {
    let mut text: String = cycle.iter().take(SHOWN).map(|task| format!("{task} → ")).collect();
    if cycle.len() > SHOWN {
        text += &format!("… ({} tasks) → ", cycle.len());
    }
    text + &cycle.first().map(ToString::to_string).unwrap_or_default()
}

/// Indices of the tasks, each behind those that it waits for, otherwise as they are given. What is not among them has to
/// be somewhere `outside`.
///
/// # Errors
/// See [`NoOrder`].
pub(super) fn order(tasks: &[Node], outside: bool) -> Result<Vec<usize>, NoOrder> {
    let mut index_of = HashMap::with_capacity(tasks.len());
    for (index, (number, _)) in tasks.iter().enumerate() {
        if index_of.insert(*number, index).is_some() {
            return Err(NoOrder::Twice(index, *number));
        }
    }
    let mut edges: Vec<(usize, usize)> = Vec::new();
    for (index, (number, deps)) in tasks.iter().enumerate() {
        for on in deps {
            match index_of.get(on) {
                Some(before) => edges.push((*before, index)),
                None if outside => {}
                None => return Err(NoOrder::Missing(index, *number, *on)),
            }
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut waits = vec![0_u32; tasks.len()];
    edges.iter().for_each(|(_, after)| waits[*after] += 1);
    let mut ready: BinaryHeap<_> = (0..tasks.len()).filter(|index| waits[*index] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(tasks.len());
    while let Some(Reverse(index)) = ready.pop() {
        order.push(index);
        let first = edges.partition_point(|(before, _)| *before < index);
        for (_, after) in edges[first..].iter().take_while(|(before, _)| *before == index) {
            waits[*after] -= 1;
            if waits[*after] == 0 {
                ready.push(Reverse(*after));
            }
        }
    }
    let left = waits.iter().position(|count| *count > 0);
    left.map_or(Ok(order), |index| Err(cycle(tasks, &index_of, &waits, index)))
}

/// A cycle that the task at `index` waits for: each task that is left waits for another one that is left.
fn cycle(tasks: &[Node], index_of: &HashMap<TaskNumber, usize>, waits: &[u32], mut index: usize) -> NoOrder {
    let mut path: Vec<usize> = Vec::new();
    let mut place = HashMap::new();
    while !place.contains_key(&index) {
        place.insert(index, path.len());
        path.push(index);
        let left = |on: &TaskNumber| index_of.get(on).copied().filter(|before| waits[*before] > 0);
        let Some(next) = tasks[index].1.iter().find_map(left) else { break };
        index = next;
    }
    let cycle = &path[place.get(&index).copied().unwrap_or_default()..];
    // The one given first, whichever was found first.
    let start = (0..cycle.len()).min_by_key(|i| cycle[*i]).unwrap_or_default();
    let numbers = cycle.iter().cycle().skip(start).take(cycle.len()).map(|index| tasks[*index].0);
    let index = cycle.get(start).copied().unwrap_or(index);
    NoOrder::Cycle(index, tasks[index].0, numbers.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::table;

    fn nodes(text: &str) -> Vec<Node> {
        let number = |text: &str| TaskNumber(text.trim().parse().expect("a number"));
        let node = |text: &str| {
            let (task, deps) = text.split_once(':').unwrap_or((text, ""));
            (number(task), deps.split_whitespace().map(number).collect())
        };
        text.split(',').filter(|text| !text.trim().is_empty()).map(node).collect()
    }

    /// Rows `order` and, for what may wait for others, `attach`: tasks and what they wait for.
    #[test]
    fn vectors() {
        table::check("order.txt", |kind, text| {
            let nodes = nodes(text);
            match order(&nodes, kind == "attach") {
                Ok(order) => order.iter().map(|i| nodes[*i].0.to_string()).collect::<Vec<_>>().join(" "),
                Err(error) => format!("error {error}"),
            }
        });
    }

    #[test]
    fn a_million_tasks_in_a_chain() {
        let chain = |len: u32, last: Option<u32>| -> Vec<Node> {
            let next = |n| if n + 1 < len { Some(n + 1) } else { last };
            (0..len).map(|n| (TaskNumber(n), next(n).map(TaskNumber).into_iter().collect())).collect()
        };
        let sorted = order(&chain(1_000_000, None), false).expect("an order");
        assert!(sorted.iter().copied().eq((0..1_000_000).rev()));
        let error = order(&chain(100_000, Some(0)), false).expect_err("a cycle").to_string();
        assert!(error.contains("0 → 1 → 2 → ") && error.ends_with("19 → … (100000 tasks) → 0"), "{error}");
    }

    proptest! {
        #[test]
        fn an_order_is_one_or_there_is_a_cycle(edges in prop::collection::vec((0u32..9, 0u32..9), 0..16)) {
            let mut tasks: Vec<Node> = (0..9).map(|n| (TaskNumber(n), vec![])).collect();
            for (task, on) in edges {
                tasks[task as usize].1.push(TaskNumber(on));
            }
            match order(&tasks, false) {
                Ok(order) => {
                    let mut place = [0; 9];
                    order.iter().enumerate().for_each(|(at, index)| place[*index] = at);
                    prop_assert_eq!(order.len(), 9);
                    for (task, deps) in &tasks {
                        prop_assert!(deps.iter().all(|on| place[on.0 as usize] < place[task.0 as usize]));
                    }
                }
                Err(NoOrder::Cycle(_, _, cycle)) => {
                    for (i, task) in cycle.iter().enumerate() {
                        prop_assert!(tasks[task.0 as usize].1.contains(&cycle[(i + 1) % cycle.len()]));
                    }
                }
                Err(error) => prop_assert!(false, "{error}"),
            }
        }
    }
}
