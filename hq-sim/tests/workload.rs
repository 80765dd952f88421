//! Readers on small samples, what they say of damaged ones, bounds, and generators.

use hq_core::{Quantity, Request, Rng, Span};
use hq_sim::{
    wfcommons,
    workload::{
        Workload, WorkloadTask,
        generate::{Mix, PlanInstance, array},
        graphs, openb,
        swf::{self, Cleaning, Processors},
    },
};

const SWF: &str = include_str!("../testdata/sample.swf");
const NODES: &str = include_str!("../testdata/nodes.csv");
const PODS: &str = include_str!("../testdata/pods.csv");
const GRAPHS: &str = include_str!("../testdata/graphs.json");

fn task(arrival: u64, run: u64, deps: &[usize]) -> WorkloadTask {
    let deps = deps.to_vec();
    WorkloadTask { arrival: Span::secs(arrival), deps, ..WorkloadTask::new(Span::secs(run), Request::cpus(1).unwrap()) }
}

/// `2 cpus, 0.46 gpus` of the first variant.
fn shown(job: &WorkloadTask) -> String {
    let entries = job.request.get(0).unwrap().entries().iter().map(|entry| match entry.quantity {
        Quantity::Amount(amount, _) => format!("{amount} {}", entry.resource),
        Quantity::All => format!("all {}", entry.resource),
    });
    entries.collect::<Vec<_>>().join(", ")
}

#[test]
fn tasks_come_in_order() {
    let tasks = vec![task(5, 1, &[1, 3, 1]), task(5, 2, &[]), task(0, 3, &[]), task(5, 4, &[2])];
    let workload = Workload::new("w", tasks).unwrap();
    let shown: Vec<_> = workload.jobs().iter().map(|job| (job.run.0 / 1_000_000, job.deps.clone())).collect();
    assert_eq!(shown, [(3, vec![]), (2, vec![]), (4, vec![0]), (1, vec![1, 2])]);
    for (tasks, error) in [
        (vec![task(0, 1, &[1])], "task 0 waits for task 1, which does not exist"),
        (vec![task(0, 1, &[1]), task(1, 1, &[])], "task 0 waits for task 1, which arrives later"),
        (
            vec![task(0, 1, &[2]), task(0, 1, &[1]), task(0, 1, &[1])],
            "task 1 waits for itself through what it waits for",
        ),
    ] {
        assert_eq!(Workload::new("w", tasks).unwrap_err().to_string(), error);
    }
}

#[test]
fn bounds_are_what_they_must_be() {
    // 0 → 1 → 3 and 0 → 2 → 3.
    let tasks = vec![task(0, 1, &[]), task(0, 5, &[0]), task(0, 2, &[0]), task(0, 1, &[1, 2])];
    let workload = Workload::new("diamond", tasks).unwrap();
    assert_eq!((workload.critical_path(), workload.work()), (Span::secs(7), Span::secs(9)));
    assert_eq!(workload.makespan_bound(1), Span::secs(9));
    assert_eq!(workload.makespan_bound(2), Span::secs(7));
    assert_eq!(workload.b_levels(), [7, 6, 3, 1].map(Span::secs));
    let priorities: Vec<i32> = workload.by_b_level().jobs().iter().map(|job| job.priority).collect();
    assert_eq!(priorities, [3, 2, 1, 0]);
}

#[test]
fn logs_are_read() {
    let log = swf::read(SWF).unwrap();
    assert_eq!((log.max_procs(), log.field("Note"), log.jobs.len()), (Some(8), Some("two notes"), 7));
    let first = log.jobs[0];
    assert_eq!((first.number, first.wait, first.status, first.user), (1, Some(0), Some(1), Some(1)));
    assert_eq!((log.jobs[5].requested, log.jobs[5].user, log.jobs[6].estimate), (None, None, None));
}

/// Each rule of cleaning by itself: what is left, as (job, cpus, run).
#[test]
fn logs_are_cleaned_by_explicit_rules() {
    let none = Cleaning {
        needs_run_time: false,
        cut_to_estimate: false,
        processors: Processors::Allocated,
        processors_max: None,
    };
    let log = swf::read(SWF).unwrap();
    for (cleaning, left) in [
        (none, "1:4:100 2:8:50 3:1:0 4:1:0 5:2:200 6:3:30 7:3:30"),
        (Cleaning { needs_run_time: true, ..none }, "1:4:100 2:8:50 5:2:200 6:3:30 7:3:30"),
        (Cleaning { cut_to_estimate: true, ..none }, "1:4:100 2:8:50 3:1:0 4:1:0 5:2:90 6:3:30 7:3:30"),
        (Cleaning { processors: Processors::Requested, ..none }, "1:4:100 2:8:50 3:1:0 4:1:0 5:2:200 7:16:30"),
        (
            Cleaning { processors: Processors::RequestedElseAllocated, ..none },
            "1:4:100 2:8:50 3:1:0 4:1:0 5:2:200 6:3:30 7:16:30",
        ),
        (Cleaning { processors_max: Some(4), ..none }, "1:4:100 3:1:0 4:1:0 5:2:200 6:3:30 7:3:30"),
        (Cleaning::EASY, "1:4:100 2:8:50 5:2:90 7:16:30"),
    ] {
        let jobs = log.jobs.iter().filter_map(|job| Some((job, cleaning.apply(job)?)));
        let jobs: Vec<String> = jobs
            .map(|(job, task)| {
                let cpus = shown(&task).trim_end_matches(" cpus").to_owned();
                format!("{}:{cpus}:{}", job.number, task.run.0 / 1_000_000)
            })
            .collect();
        assert_eq!(jobs.join(" "), left, "{cleaning:?}");
        let (workload, dropped) = log.workload("w", &cleaning).unwrap();
        assert_eq!((workload.jobs().len(), dropped), (jobs.len(), 7 - jobs.len()));
    }
}

#[test]
fn perfect_estimates_are_run_times() {
    let (workload, _) = swf::read(SWF).unwrap().workload("w", &Cleaning::EASY).unwrap();
    assert_eq!(workload.jobs()[0].estimate, Some(Span::secs(120)));
    assert_eq!(workload.with_perfect_estimates().jobs()[0].estimate, Some(Span::secs(100)));
}

#[test]
fn damaged_logs_are_named() {
    let job = "1 0 0 100 4 -1 -1 4 120 -1 1 1 1 -1 -1 -1 -1 -1";
    for (from, to, error) in [
        ("100 4", "4", "line 2: a job has 18 fields, this one has 17"),
        ("100", "1e2", "line 2, field 4 (run time): `1e2` is not a whole number from -1 to 1099511627776"),
        ("100", "-2", "line 2, field 4 (run time): `-2` is not a whole number from -1 to 1099511627776"),
        (
            "4 120",
            "4294967296 120",
            "line 2, field 8 (processors requested): `4294967296` is not a whole number from -1 to 4294967295",
        ),
        ("1 0 0", "1 -1 0", "line 2, field 2 (submit time): it has to be known"),
    ] {
        let text = format!("; UnixStartTime: 0\n{}\n", job.replacen(from, to, 1));
        assert_eq!(swf::read(&text).unwrap_err().to_string(), error);
    }
}

#[test]
fn nodes_and_pods_are_read() {
    let nodes = openb::read_nodes(NODES).unwrap();
    let resources = nodes[0].config().unwrap().resources;
    let shown_of = |resources: &hq_core::WorkerResources| -> Vec<String> {
        let defs = resources.resources().iter();
        defs.map(|def| format!("{} {}", def.kind.total(), def.name)).collect()
    };
    assert_eq!(shown_of(&resources), ["96 cpu", "1 cpus", "8 gpus", "8 gpus/V100M32", "786432 mem"]);
    assert_eq!(shown_of(&nodes[2].config().unwrap().resources), ["64 cpu", "1 cpus", "262144 mem"]);

    let pods = openb::read_pods(PODS).unwrap();
    let workload = openb::workload("openb", &pods).unwrap();
    let requests: Vec<String> = workload.jobs().iter().map(shown).collect();
    assert_eq!(
        requests,
        [
            "12 cpu, 1 gpus, 16384 mem",
            "6.5 cpu, 0.46 gpus, 12288 mem",
            "32 cpu, 65536 mem",
            "8 cpu, 4 gpus, 4 gpus/V100M16, 1024 mem",
            "1 cpu, 0.25 gpus, 0.25 gpus/T4",
        ]
    );
    assert_eq!(workload.jobs()[3].request.count(), 2);
    assert_eq!((workload.jobs()[1].arrival, workload.jobs()[1].run), (Span::secs(10), Span::secs(100)));
    assert_eq!(pods.iter().map(openb::Pod::gpu_demand).sum::<u64>(), 1000 + 460 + 4000 + 250);
}

#[test]
fn damaged_lists_are_named() {
    for (text, error) in [
        ("sn,cpu_milli,gpu,model\n".to_owned(), "line 1: the column `memory_mib` is missing"),
        (
            NODES.replace("node-1,8000,30517,2,T4", "node-1,8000"),
            "line 3: there is no field for the column `memory_mib`",
        ),
        (NODES.replace("30517", "30.5"), "line 3, column `memory_mib`: `30.5` is not a whole number up to 4294967295"),
        (NODES.replace(",8,V", ",9999,V"), "line 2, column `gpu`: `9999` is not a whole number up to 1024"),
        (NODES.replace("T4", "T 4"), "line 3, column `model`: `T 4` may hold letters and digits only"),
    ] {
        assert_eq!(openb::read_nodes(&text).unwrap_err().to_string(), error);
    }
    let error = openb::read_pods(&PODS.replace("460", "1460")).unwrap_err().to_string();
    assert_eq!(error, "line 3, column `gpu_milli`: `1460` is not a whole number up to 1000");
}

#[test]
fn arrivals_are_topped_up_and_shuffled() {
    let pods = openb::read_pods(PODS).unwrap();
    let arrivals = |seed| openb::arrivals(&pods, 10, 130, &mut Rng::new(seed)).unwrap();
    let one = arrivals(1);
    assert_eq!(one.workload, arrivals(1).workload);
    assert_ne!(one.workload, arrivals(2).workload);
    let gpus = |upto: Span| -> u64 {
        let jobs = one.workload.jobs().iter().filter(|job| job.arrival <= upto);
        let entries = jobs.flat_map(|job| job.request.get(0).unwrap().entries());
        entries
            .filter(|entry| entry.resource.as_str() == openb::GPUS)
            .map(|entry| match entry.quantity {
                Quantity::Amount(amount, _) => amount.parts(),
                Quantity::All => 0,
            })
            .sum()
    };
    assert!(gpus(openb::FOR_EVER) >= 130_000, "130 % of 10");
    assert!(gpus(one.full_at) >= 100_000 && gpus(one.full_at.less(Span::secs(1))) < 100_000);
}

#[test]
fn graphs_are_read() {
    let graphs = graphs::read(GRAPHS).unwrap();
    let names: Vec<&str> = graphs.iter().map(Workload::name).collect();
    assert_eq!(names, ["fork", "behind", "late"], "in order of the rows' numbers");
    let fork = graphs[0].jobs();
    assert_eq!((fork[0].run, fork[0].estimate), (Span::millis(1500), Some(Span::secs(2))));
    assert_eq!((fork[1].estimate, shown(&fork[1]), &fork[1].deps[..]), (None, "2 cpus".to_owned(), &[0][..]));
    assert_eq!((fork[2].run, &fork[2].deps[..]), (Span::ZERO, &[0][..]), "two outputs of one task are one dependency");
    assert_eq!(graphs[1].jobs()[0].run, Span::secs(2), "who is waited for comes first");
    assert_eq!(graphs[1].jobs()[1].deps, [0]);
}

#[test]
fn damaged_graphs_are_named() {
    for (from, to, part) in [
        ("\"graph\"", "\"graf\"", "this is not a data frame of task graphs"),
        ("\"10\":\"late\",", "", "row 10 is not in both columns"),
        ("\"10\":\"[]\",", "", "row 10 is not in both columns"),
        ("\"[]\"", "\"{}\"", "graph `late`: it is not a list of tasks"),
        ("1.5", "-1.5", "graph `fork`, task 0: `d` is -1.5, which is not possible"),
        ("\\\"e_d\\\": 2", "\\\"e_d\\\": 1e300", "graph `fork`, task 0: `e_d` is 1"),
        ("\\\"cpus\\\": 2", "\\\"cpus\\\": 0", "graph `fork`, task 1: `cpus` is 0, which is not possible"),
        ("[[1, 0]]", "[[7, 0]]", "graph `behind`: task 0 waits for task 7, which does not exist"),
        ("[[1, 0]]", "[[0, 0]]", "graph `behind`: task 0 waits for itself"),
    ] {
        assert!(GRAPHS.contains(from), "{from}");
        let error = graphs::read(&GRAPHS.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(part), "{error}");
    }
}

#[test]
fn workflows_become_workloads() {
    let text = r#"{"name": "two", "workflow": {
        "specification": {"tasks": [{"name": "b", "id": "2", "parents": ["1"]}, {"name": "a", "id": "1", "parents": []}]},
        "execution": {"tasks": [{"id": "1", "runtimeInSeconds": 1.5, "coreCount": 3}, {"id": "2", "runtimeInSeconds": 2}]}}}"#;
    let workflow = wfcommons::read(text).unwrap();
    let workload = Workload::try_from(&workflow).unwrap();
    assert_eq!(
        (workload.name(), workload.critical_path(), workload.work()),
        ("two", Span::millis(3500), Span::millis(6500))
    );
    assert_eq!((shown(&workload.jobs()[0]), &workload.jobs()[1].deps[..]), ("3 cpus".to_owned(), &[0][..]));
}

#[test]
fn mixes_stay_within_their_bounds() {
    let draw = |seed| Mix::SMALL.workload(&mut Rng::new(seed)).unwrap();
    let workload = draw(1);
    assert_eq!(workload, draw(1));
    assert_ne!(workload, draw(2));
    assert_eq!(workload.jobs().len(), 1000);
    for job in workload.jobs() {
        assert!(job.run >= Mix::SMALL.run_min && job.run <= Mix::SMALL.run_max, "{job:?}");
        assert!(job.estimate.unwrap() >= job.run && job.estimate.unwrap() <= Mix::SMALL.run_max, "{job:?}");
        assert!(job.user.unwrap() < 10);
    }
    let last = workload.jobs().last().unwrap().arrival.0 / 1000;
    assert!((54_000_000..66_000_000).contains(&last), "a minute apart on average: {last}");
    let users: Vec<usize> =
        (0..3).map(|user| workload.jobs().iter().filter(|job| job.user == Some(user)).count()).collect();
    assert!(users[0] > users[1] && users[1] > users[2] && users[2] > 50, "{users:?}");
    assert_eq!(array(3, &Request::cpus(2).unwrap(), Span::secs(1)).unwrap().work(), Span::secs(6));
}

#[test]
fn small_plans_are_small_and_varied() {
    let (mut shares, mut variants, mut weights, mut bare) = (0, 0, 0, 0);
    for seed in 0..500 {
        let plan = PlanInstance::small(&mut Rng::new(seed));
        let tasks: u64 = plan.classes.iter().map(|class| class.count).sum();
        assert!((1..=4).contains(&plan.workers.len()) && (1..=6).contains(&tasks), "{plan:?}");
        assert!(plan.workers.iter().all(|worker| worker.resources().len() <= 3));
        assert_eq!(plan.workload().unwrap().jobs().len() as u64, tasks);
        assert_eq!(plan.configs().count(), plan.workers.len());
        let requests = || plan.classes.iter().flat_map(|class| class.variants.iter());
        let is_share = |quantity| matches!(quantity, Quantity::Amount(amount, _) if amount.fraction() > 0);
        shares += usize::from(requests().flat_map(Request::entries).any(|entry| is_share(entry.quantity)));
        variants += usize::from(plan.classes.iter().any(|class| class.variants.count() > 1));
        weights += usize::from(requests().any(|request| request.weight() != 10_000));
        bare += usize::from(plan.workers.iter().all(|worker| worker.resources().len() == 1));
    }
    assert!(shares > 50 && variants > 50 && weights > 50 && bare > 50, "{shares} {variants} {weights} {bare}");
}

#[test]
fn large_plans_are_as_large_as_asked() {
    let plan = PlanInstance::large(&mut Rng::new(1), 1000, 100, 1_000_000);
    assert_eq!((plan.workers.len(), plan.classes.len()), (1000, 100));
    let tasks: u64 = plan.classes.iter().map(|class| class.count).sum();
    assert!((800_000..1_200_000).contains(&tasks), "{tasks}");
    assert_eq!(plan.submits().map(|submit| submit.ids.count()).sum::<u64>(), tasks);
    let has_shares = |plan: &PlanInstance| {
        let entries = plan.classes.iter().flat_map(|class| class.variants.iter()).flat_map(Request::entries);
        entries.filter(|entry| matches!(entry.quantity, Quantity::Amount(amount, _) if amount.fraction() > 0)).count()
    };
    assert!(has_shares(&plan) > 3);
    assert_eq!(has_shares(&PlanInstance::large_whole(&mut Rng::new(1), 1000, 100, 1_000_000)), 0);
}

/// Whatever stands in a description or a list, it is read or refused with a place in it.
#[test]
fn any_text_is_read_or_refused() {
    const PIECES: [&str; 40] = [
        "cpus=",
        "gpus=",
        "run",
        "count",
        ",",
        ";",
        "\n",
        "\"",
        "[",
        "]",
        "(",
        ")",
        "|",
        "#",
        "=",
        "4x",
        "2x3",
        "1",
        "0",
        "-1",
        "é",
        " ",
        "\t",
        "\r",
        "sum(",
        "range(1-",
        "all",
        "after",
        "name",
        "a",
        "time-limit=",
        "arrives=",
        "1h",
        "99999999999",
        "0.5",
        "nodes",
        "request",
        "cpus",
        "compact!",
        "\u{feff}",
    ];
    let mut rng = Rng::new(1);
    let mut read = 0;
    for _ in 0..20_000 {
        let text: String = (0..rng.range(0, 14)).map(|_| *rng.pick(&PIECES)).collect();
        for begin in ["", "run,name,after,request,cpus\n", "2x cpus=4 "] {
            let text = format!("{begin}{text}");
            let results = [
                hq_sim::machines::parse(&text).map(|_| ()),
                hq_sim::workload::job_list::read("any", &text).map(|_| ()),
            ];
            for result in results {
                match result {
                    Ok(()) => read += 1,
                    Err(error) => {
                        let line = text.lines().nth(error.line - 1).unwrap_or_default();
                        assert!(error.column >= 1 && error.column <= line.chars().count() + 1, "{text:?}: {error}");
                    }
                }
            }
        }
    }
    assert!(read > 100, "{read} of them were right");
}
