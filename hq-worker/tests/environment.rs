//! What a program finds in its environment.

mod common;

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use common::{Bench, blob, failed, granted, lane, order, program, same};
use hq_core::{
    Allocation, Amount, Outcome, Pin, Policy, ProgramSpec, Quantity, Request, ResourceDef, ResourceEntry, ResourceName,
    WorkerResources,
};
use hq_node::Lane;
use hq_worker::{ProgramOptions, ProgramRunner};

fn bench(dir: &Path, env: &[(&str, &str)]) -> Bench<ProgramRunner> {
    let defs = ["cpus=4", "gpus/nvidia=[GPU-a,GPU-b]", "gpus/amd=[7,9]", "mem=sum(100)"];
    let defs = defs
        .map(|def| def.strip_prefix("cpus=").map_or_else(|| ResourceDef::parse(def), ResourceDef::parse_cpus).unwrap());
    let resources = Arc::new(WorkerResources::new(defs.to_vec(), vec![]).unwrap());
    let mut options = ProgramOptions::new(resources, dir.join("work"));
    options.env = env.iter().map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())).collect();
    Bench::new(ProgramRunner::new(options).unwrap())
}

/// The variables of a program with this description in this lane.
fn variables(bench: &Bench<ProgramRunner>, dir: &Path, spec: ProgramSpec, lane: Lane) -> BTreeMap<String, String> {
    let spec = ProgramSpec { cwd: blob(dir.to_str().unwrap()), stdout: common::file("out"), ..spec };
    let outcome = bench.run(order(&same(spec), &Arc::new(lane)));
    assert_eq!(outcome, Outcome::Finished);
    let out = fs::read_to_string(dir.join("out")).unwrap();
    let pairs: Vec<_> = out.lines().filter_map(|line| line.split_once('=')).collect();
    let map: BTreeMap<String, String> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    assert_eq!(map.len(), pairs.len(), "no name twice");
    map
}

fn env_program(dir: &Path, env: &[(&str, &str)]) -> ProgramSpec {
    let env = env.iter().map(|(name, value)| (blob(name), blob(value))).collect();
    ProgramSpec { env, submit_dir: blob("/sub/mit"), ..program(&["/usr/bin/env"], dir) }
}

#[track_caller]
fn check(variables: &BTreeMap<String, String>, expected: &[(&str, Option<&str>)]) {
    for (name, value) in expected {
        assert_eq!(variables.get(*name).map(String::as_str), *value, "{name}");
    }
}

fn entry(resource: &str, quantity: Quantity) -> ResourceEntry {
    ResourceEntry { resource: ResourceName::new(resource).unwrap(), quantity }
}

#[test]
fn the_worker_then_the_user_then_the_engine() {
    let dir = tempfile::tempdir().unwrap();
    let bench = bench(
        dir.path(),
        &[("A", "worker"), ("B", "worker"), ("PATH", "/bin"), ("HQ_JOB_ID", "99"), ("OMP_NUM_THREADS", "64")],
    );
    let env = [("B", "first"), ("B", "user"), ("C", ""), ("HQ_TASK_ID", "mine"), ("HQ_TASK_DIR", "mine")];
    let found = variables(&bench, dir.path(), env_program(dir.path(), &env), lane());
    check(
        &found,
        &[
            ("A", Some("worker")),
            ("B", Some("user")),
            ("C", Some("")),
            ("PATH", Some("/bin")),
            ("HQ_JOB_ID", Some("3")),
            ("HQ_TASK_ID", Some("7")),
            ("HQ_INSTANCE_ID", Some("2")),
            ("HQ_SUBMIT_DIR", Some("/sub/mit")),
            ("HQ_CPUS", Some("1")),
            ("HQ_RESOURCE_REQUEST_cpus", Some("1 compact")),
            ("HQ_RESOURCE_VALUES_cpus", Some("1")),
            ("OMP_NUM_THREADS", Some("1")),
            ("HQ_ENTRY", None),
            ("HQ_PIN", None),
            ("HQ_TASK_DIR", None),
            ("HQ_ERROR_FILENAME", None),
            ("HQ_RESOURCE_VARIANT", None),
            ("HQ_NUM_NODES", None),
            ("OMP_PLACES", None),
        ],
    );
}

#[test]
fn resources() {
    let dir = tempfile::tempdir().unwrap();
    let bench = bench(dir.path(), &[]);
    let amount = |parts, policy| Quantity::Amount(Amount::from_parts(parts), policy);
    let request = Request::new(vec![
        entry("cpus", amount(15_000, Policy::Tight)),
        entry("gpus/nvidia", Quantity::All),
        entry("gpus/amd", amount(10_000, Policy::Scatter)),
        entry("mem", amount(5_000, Policy::Compact)),
    ]);
    let lane = Lane {
        request: Arc::new(request.unwrap()),
        variant: 1,
        variants: 2,
        allocation: Allocation(vec![
            granted("cpus", Amount::from_parts(15_000), &[2, 0]),
            granted("gpus/amd", Amount::ONE, &[1]),
            granted("gpus/nvidia", Amount::units(2), &[0, 1]),
            granted("mem", Amount::from_parts(5_000), &[]),
        ]),
        ..lane()
    };
    let spec = env_program(dir.path(), &[("CUDA_VISIBLE_DEVICES", "user")]);
    check(
        &variables(&bench, dir.path(), spec, lane),
        &[
            ("HQ_CPUS", Some("2,0")),
            ("HQ_RESOURCE_VALUES_cpus", Some("2,0")),
            ("HQ_RESOURCE_REQUEST_cpus", Some("1.5 tight")),
            ("HQ_RESOURCE_REQUEST_gpus_nvidia", Some("all")),
            ("HQ_RESOURCE_VALUES_gpus_nvidia", Some("GPU-a,GPU-b")),
            ("HQ_RESOURCE_REQUEST_gpus_amd", Some("1 scatter")),
            ("HQ_RESOURCE_VALUES_gpus_amd", Some("9")),
            ("HQ_RESOURCE_REQUEST_mem", Some("0.5 compact")),
            ("HQ_RESOURCE_VALUES_mem", None),
            ("HQ_RESOURCE_VARIANT", Some("1")),
            ("CUDA_VISIBLE_DEVICES", Some("GPU-a,GPU-b")),
            ("CUDA_DEVICE_ORDER", Some("PCI_BUS_ID")),
            ("ROCR_VISIBLE_DEVICES", Some("9")),
            ("OMP_NUM_THREADS", None),
        ],
    );
}

#[test]
fn pinning() {
    let dir = tempfile::tempdir().unwrap();
    let bench = bench(dir.path(), &[("PATH", "/bin:/usr/bin")]);
    let pinned = |pin, env: &[(&str, &str)]| ProgramSpec { pin, ..env_program(dir.path(), env) };
    let two = || Lane { allocation: Allocation(vec![granted("cpus", Amount::units(2), &[0, 1])]), ..lane() };
    check(
        &variables(&bench, dir.path(), pinned(Pin::OpenMp, &[]), two()),
        &[
            ("HQ_PIN", Some("omp")),
            ("OMP_NUM_THREADS", Some("2")),
            ("OMP_PLACES", Some("{0,1}")),
            ("OMP_PROC_BIND", Some("close")),
        ],
    );
    let users = [("OMP_NUM_THREADS", "5"), ("OMP_PLACES", "cores"), ("OMP_PROC_BIND", "false"), ("HQ_PIN", "x")];
    check(
        &variables(&bench, dir.path(), pinned(Pin::OpenMp, &users), two()),
        &[
            ("HQ_PIN", Some("omp")),
            ("OMP_NUM_THREADS", Some("5")),
            ("OMP_PLACES", Some("cores")),
            ("OMP_PROC_BIND", Some("false")),
        ],
    );
    check(&variables(&bench, dir.path(), pinned(Pin::Taskset, &[]), two()), &[("HQ_PIN", Some("taskset"))]);

    let one = Lane { allocation: Allocation(vec![granted("cpus", Amount::ONE, &[0])]), ..lane() };
    let spec =
        ProgramSpec { pin: Pin::Taskset, ..common::shell("grep Cpus_allowed_list /proc/self/status", dir.path()) };
    assert_eq!(bench.run(order(&same(spec.clone()), &Arc::new(one))), Outcome::Finished);
    assert_eq!(fs::read_to_string(dir.path().join("out")).unwrap(), "Cpus_allowed_list:\t0\n");
    let missing = ProgramSpec { pin: Pin::Taskset, ..program(&["foo"], dir.path()) };
    let text = "Cannot execute \"foo\": No such file or directory (os error 2)\n\
                The program that you have tried to execute (`foo`) was not found.";
    assert_eq!(bench.run(order(&same(missing), &Arc::new(two()))), failed(text));
    let none = Lane { allocation: Allocation::default(), ..lane() };
    let text = "Pinning failed, no CPU ids allocated for task";
    assert_eq!(bench.run(order(&same(spec), &Arc::new(none))), failed(text));
}

#[test]
fn gangs() {
    let dir = tempfile::tempdir().unwrap();
    let bench = bench(dir.path(), &[("PATH", "/bin:/usr/bin")]);
    let lane = Lane {
        request: Arc::new(Request::gang(3)),
        allocation: Allocation::default(),
        hosts: ["cn1.site.example", "10.0.0.7", "cn2"].map(str::to_owned).to_vec(),
        ..lane()
    };
    let spec = common::shell("echo $HQ_NUM_NODES; cat $HQ_NODE_FILE $HQ_HOST_FILE; test -d $HQ_TASK_DIR", dir.path());
    assert_eq!(bench.run(order(&same(spec), &Arc::new(lane.clone()))), Outcome::Finished);
    let out = fs::read_to_string(dir.path().join("out")).unwrap();
    assert_eq!(out, "3\ncn1\n10.0.0.7\ncn2\ncn1.site.example\n10.0.0.7\ncn2\n");
    assert_eq!(fs::read_dir(dir.path().join("work")).unwrap().count(), 0);
    let found = variables(&bench, dir.path(), env_program(dir.path(), &[]), lane);
    check(&found, &[("HQ_CPUS", None), ("HQ_RESOURCE_REQUEST_cpus", None), ("OMP_NUM_THREADS", None)]);
}

#[test]
fn a_key_for_each_run_behind_that_of_the_worker() {
    let dir = tempfile::tempdir().unwrap();
    let key = |env: &[(&str, &str)]| {
        let bench = bench(dir.path(), env);
        let spec = || env_program(dir.path(), &[("HQ_RUN_KEY", "mine")]);
        [0, 1].map(|n| {
            let key = variables(&bench, dir.path(), spec(), lane())["HQ_RUN_KEY"].clone();
            let (rest, run) = key.rsplit_once('.').unwrap();
            assert_eq!(run, n.to_string());
            rest.to_owned()
        })
    };
    let [one, same] = key(&[]);
    assert_eq!((one.len(), &one), (32, &same));
    let [other, _] = key(&[]);
    assert_ne!(one, other);
    let [inner, _] = key(&[("HQ_RUN_KEY", "abc.7")]);
    assert_eq!(inner.len(), "abc.7/".len() + 32);
    assert!(inner.starts_with("abc.7/"));
}
