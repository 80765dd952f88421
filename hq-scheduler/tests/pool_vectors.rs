//! Which indices a request gets: the tables in `testdata/pool/`, step by step.
//!
//! A line is a command, `->` and facts that must hold, and perhaps `=>` and the exact outcome. `UPDATE=1` rewrites what
//! is behind `=>`, and nothing else: facts are what users rely on, exact outcomes only show what a change changes.
//!
//! | command | does |
//! |---|---|
//! | `worker DEF; DEF; couple A[0]:B[1]=256; …` | a new idle worker |
//! | `take NAME: REQ; REQ` | allocates and takes |
//! | `try: REQ; REQ` | allocates only |
//! | `release NAME NAME` | gives back |
//! | `state` | looks at what is free |

#![expect(clippy::disallowed_methods, reason = "the tables are files")]

mod facts;

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use hq_core::{Allocation, Request, ResourceDef, WorkerResources};
use hq_scheduler::pool::Pools;

use crate::facts::Granted;

struct Bench {
    worker: WorkerResources,
    pools: Pools,
    held: BTreeMap<String, Allocation>,
}

#[test]
fn tables() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/pool");
    let update = std::env::var_os("UPDATE").is_some();
    let mut steps = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let mut bench = None;
        let mut out = String::new();
        for (number, line) in text.lines().enumerate() {
            let place = format!("{}:{}: {line}", path.file_name().unwrap().to_string_lossy(), number + 1);
            let (input, exact) = match line.split_once("=>") {
                Some((input, exact)) => (input.trim(), Some(exact.trim())),
                None => (line.trim(), None),
            };
            if input.is_empty() || input.starts_with('#') {
                writeln!(out, "{line}").unwrap();
                continue;
            }
            steps += 1;
            let outcome = step(&mut bench, input, &place);
            match exact {
                Some(exact) if update || exact == outcome => writeln!(out, "{input} => {outcome}").unwrap(),
                Some(_) => panic!("{place}\n  outcome {outcome}"),
                None => writeln!(out, "{line}").unwrap(),
            }
        }
        if update && out != text {
            fs::write(&path, out).unwrap();
        }
    }
    assert!(steps > 150, "only {steps} steps found");
}

fn step(bench: &mut Option<Bench>, input: &str, place: &str) -> String {
    let (command, facts) = input.split_once("->").unwrap_or((input, ""));
    let (verb, rest) = command.trim().split_once([' ', ':']).unwrap_or((command.trim(), ""));
    if verb == "worker" {
        *bench = Some(Bench::new(rest));
        return bench.as_ref().unwrap().state();
    }
    let bench = bench.as_mut().unwrap_or_else(|| panic!("{place}\n  no worker"));
    let (name, allocation) = match verb {
        "take" => {
            let (name, request) = rest.split_once(':').unwrap();
            let allocation = bench.allocate(request);
            if let Some(allocation) = &allocation {
                assert!(bench.pools.take(allocation), "{place}\n  cannot take what was allocated");
                assert!(
                    bench.held.insert(name.trim().to_owned(), allocation.clone()).is_none(),
                    "{place}\n  name used"
                );
            }
            (name.trim(), allocation)
        }
        "try" => ("", bench.allocate(rest)),
        "release" => {
            for name in rest.split_whitespace() {
                let allocation = bench.held.remove(name).unwrap_or_else(|| panic!("{place}\n  {name} is not held"));
                assert!(bench.pools.release(&allocation), "{place}\n  cannot release {name}");
            }
            ("", None)
        }
        "state" => ("", None),
        _ => panic!("{place}\n  unknown command {verb}"),
    };
    for fact in facts.split(';').map(str::trim).filter(|fact| !fact.is_empty()) {
        let words: Vec<&str> = fact.split_whitespace().collect();
        let holds = match (words[0], &allocation) {
            ("ok", allocation) => allocation.is_some(),
            ("refuse", allocation) => allocation.is_none(),
            ("idle", _) => bench.pools == Pools::new(&bench.worker) && bench.pools.is_idle(),
            ("free", _) => bench.pools.free(words[1]).to_string() == words[2],
            ("pools", _) => bench.groups_free(words[1], true) == fact.splitn(3, ' ').nth(2).unwrap(),
            (_, None) => panic!("{place}\n  refused"),
            (_, Some(allocation)) => {
                let others: Vec<&str> = words.iter().copied().filter(|word| *word != name).collect();
                bench.granted(allocation).holds(&others, |other| bench.granted(&bench.held[other]))
            }
        };
        assert!(holds, "{place}\n  {fact}: does not hold for {}", bench.show(allocation.as_ref()));
    }
    match verb {
        "take" | "try" => bench.show(allocation.as_ref()),
        _ => bench.state(),
    }
}

impl Bench {
    fn new(definition: &str) -> Self {
        let (couplings, defs): (Vec<&str>, Vec<&str>) =
            definition.split(';').map(str::trim).partition(|part| part.starts_with("couple "));
        let defs = defs.into_iter().map(|def| ResourceDef::parse(def).unwrap()).collect();
        let mut worker = WorkerResources::new(defs, vec![]).unwrap();
        if !couplings.is_empty() {
            let items: Vec<&str> = couplings.iter().map(|item| item.trim_start_matches("couple ")).collect();
            worker = worker.with_coupling(&items.join(",")).unwrap();
        }
        Self { pools: Pools::new(&worker), worker, held: BTreeMap::new() }
    }

    fn allocate(&self, request: &str) -> Option<Allocation> {
        let request = Request::parse(request.split(';').map(str::trim)).unwrap();
        let allocation = self.pools.allocate(&request);
        assert_eq!(self.pools.fits_count(&request, 1), u32::from(allocation.is_some()), "{request:?}");
        assert!(allocation.is_none() || self.pools.could_ever(&request), "{request:?}");
        allocation
    }

    /// What is free of each index of each group, in order of size; with `sorted` the groups, too.
    fn groups_free(&self, resource: &str, sorted: bool) -> String {
        let mut start = 0;
        let sizes = self.worker.get(resource).unwrap().kind.group_sizes();
        let group = |size: &u32| {
            let mut free: Vec<_> =
                (start..start + size).map(|index| self.pools.free_of_index(resource, index)).collect();
            start += size;
            free.retain(|amount| !amount.is_zero());
            free.sort_by(|a, b| b.cmp(a));
            let free: Vec<String> = free.iter().map(ToString::to_string).collect();
            format!("[{}]", free.join(" "))
        };
        let mut groups: Vec<String> = sizes.iter().map(group).collect();
        if sorted {
            groups.sort();
        }
        groups.concat()
    }

    fn state(&self) -> String {
        let resource = |def: &ResourceDef| {
            let name = def.name.as_str();
            match def.kind.group_sizes()[..] {
                [] => format!("{name} {}", self.pools.free(name)),
                [..] if def.kind.group_sizes().iter().max() > Some(&8) => format!("{name} {}", self.pools.free(name)),
                _ => format!("{name} {}", self.groups_free(name, false)),
            }
        };
        self.worker.resources().iter().map(resource).collect::<Vec<_>>().join("; ")
    }

    fn show(&self, allocation: Option<&Allocation>) -> String {
        allocation.map_or_else(|| "refuse".to_owned(), |allocation| self.granted(allocation).show())
    }

    fn granted<'a>(&'a self, allocation: &'a Allocation) -> Granted<'a> {
        Granted { worker: &self.worker, allocation }
    }
}
