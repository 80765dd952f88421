//! The small languages that people write, workloads and clusters, and what batch systems and monitors answer.

use std::cell::Cell;

use hq_backend::parse::{ctime, host_list, job_of, pbs_job_of, time_limit, timestamp};
use hq_core::{
    Amount, CouplingItem, IdList, Quantity, Request, ResourceDef, ResourceEntry, RetryRule, Span, WorkerResources,
    placeholder,
};
use hq_sim::{machines, wfcommons, workload};

use crate::Target;

/// Texts of the tables of the parsers' tests: between the first backtick and the last one before the arrow.
const TABLES: [&str; 3] = [
    include_str!("../../hq-core/testdata/parse.txt"),
    include_str!("../../hq-cli/testdata/sweep.txt"),
    include_str!("../../hq-cli/testdata/dependency.txt"),
];
const DIRECTIVES: &str = include_str!("../../hq-cli/testdata/directives.txt");
const JOB_FILES: &str = include_str!("../../hq-cli/testdata/jobfile.txt");

fn texts(table: &str) -> impl Iterator<Item = Vec<u8>> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let (input, _) = line.rsplit_once("` =>")?;
        let (_, text) = input.split_once('`')?;
        Some(text.replace("\\n", "\n").replace("\\t", "\t").into_bytes())
    })
}

pub(crate) fn targets() -> Vec<Target> {
    let words: Vec<Vec<u8>> = TABLES.into_iter().flat_map(texts).collect();
    let mut targets = vec![
        Target::new("amount", amount, &words),
        Target::new("ids", ids, &words),
        Target::new("span", span, &words),
        // `33x3313` is that many labels: as many as a worker may have indices.
        Target::new("resources", resources, &words).with_memory(32 << 20, 256),
        Target::new("requests-of-tasks", requests, &words),
        Target::new("retry", retry, ["exit=1..3,75:unlimited:10s..1h", "oom:3", "any:2:1m", "crash-", "start:1"]),
        Target::new("placeholders", placeholders, ["%{JOB_ID}/%{CWD}-%{FOO}", "%{%{JOB_ID}}", "%%{", "%{"]),
        Target::new("cluster", |bytes| text(bytes, |text| drop(machines::parse(text))), [
            "4x cpus=32; 2x cpus=8 gpus/nvidia=[0,1]\n8x cpus=2x16 mem=1000 at 10s", "cpus=4",
        ])
        .with_memory(16 << 20, 4096),
        Target::new("workload", workloads, [
            "1 0 10 100 4 -1 -1 4 100 -1 1 1 1 1 1 -1 -1 -1\n; UnixStartTime: 0\n",
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\np,1000,1,0,0,,LS,Running,1,2,1\n",
            "sn,cpu_milli,memory_mib,gpu,model\nn,1000,1,2,T4\n",
            "at 0 tasks 10 run 1s cpus=1\n",
            "{\"workflow\":{\"specification\":{\"tasks\":[{\"name\":\"a\",\"id\":\"a\",\"parents\":[],\"children\":[]}]}}}",
        ])
        .with_memory(16 << 20, 4096),
        Target::new("batch-answers", batch_answers, [
            "1-02:03:04", "INVALID", "UNLIMITED", "node[001-010,12]-ib,x", "123_[1-5%2]", "123[7].srv", "2024-01-02T03:04:05",
            "Mon Jan  1 00:00:00 2024", "n[0-99999999999]", "a[1-3]b[4-6]",
        ])
        .with_memory(64 << 20, 256),
        Target::new("gpu-monitors", |bytes| {
            text(bytes, |text| {
                drop(hq_hardware::parse_nvidia_smi(text));
                drop(hq_hardware::parse_rocm_smi(text));
            });
        }, ["0000:00:1E.0, 5 %, 12 MiB, 16384 MiB\n", "device,GPU use (%),GPU Memory Allocated (VRAM%)\ncard0,5,3\n"]),
    ];
    let lines: Vec<Vec<u8>> = COMMAND_LINES.iter().map(|line| line.replace(' ', "\n").into_bytes()).collect();
    for (name, run) in hq_cli::fuzz::READERS {
        let seeds: Vec<Vec<u8>> = match *name {
            "command-line" => lines.clone(),
            "job-file" => texts(JOB_FILES).collect(),
            "directives" => texts(DIRECTIVES).collect(),
            _ => words.iter().cloned().chain(MORE.iter().map(|text| text.as_bytes().to_vec())).collect(),
        };
        let target = Target::new(name, *run, seeds).with_memory(16 << 20, 1024);
        // The parser of command lines is built anew each time, with all that could be said.
        targets.push(if *name == "command-line" { target.slow() } else { target });
    }
    targets
}

const COMMAND_LINES: [&str; 12] = [
    "submit --array 1-10:3 --cpus 4 --resource gpus=0.5 --time-limit 1h -- echo %{TASK_ID}",
    "submit --retry exit=75:3:10s --crash-limit unlimited --env A=B --stdout x:rm-if-finished ls",
    "submit --sweep x=1..10 --sweep y=a,b --nodes 2 ls {x} {y}",
    "job list --filter running,failed",
    "job cancel 1-3,7",
    "job wait last",
    "task explain 1 2",
    "worker start --cpus 2x4 --resource gpus=[0,1] --coupling cpus,gpus --time-limit 1:00:00 --idle-timeout 5m",
    "alloc add slurm --time-limit 1h --backlog 2 --workers-per-alloc 2 -- --partition=x",
    "server start --journal /j --on-event x --client-port 10",
    "run -j 4 echo {} ::: a b c",
    "journal export /j",
];

const MORE: [&str; 18] = [
    "last",
    "all",
    "1-3,7",
    "Job submitted successfully, job ID: 17",
    "afterok:1:2,afterany:3-5",
    "never-restart",
    "unlimited",
    "65535",
    "none",
    "path:rm-if-finished",
    "A=B",
    "cpus,gpus/nvidia",
    "a[0]=b[1]:5",
    "cpus,mem,gpus/amd",
    "1\tn1\t1769844765.042\t     1.500\t0\t12\t0\t0\techo a b",
    "host\n[fe80::1]:22\nme@host:22\n",
    "0.5",
    "#HQ --cpus=1",
];

fn text(bytes: &[u8], read: impl FnOnce(&str)) {
    if let Ok(text) = str::from_utf8(bytes) {
        read(text);
    }
}

fn amount(bytes: &[u8]) {
    text(bytes, |text| match text.parse::<Amount>() {
        Ok(amount) => assert_eq!(amount.to_string().parse(), Ok(amount)),
        Err(error) => assert!(text.is_char_boundary(error.at())),
    });
}

fn ids(bytes: &[u8]) {
    text(bytes, |text| {
        let Ok(ids) = IdList::parse(text) else { return };
        assert_eq!(IdList::parse(&ids.to_string()).as_ref(), Ok(&ids), "{text:?}");
        let len = ids.len();
        for index in [0, 1, len / 2, len.saturating_sub(1)].into_iter().filter(|index| *index < len) {
            let number = ids.get(index).expect("it has that many");
            assert_eq!(ids.index_of(number), Some(index), "{text:?}");
        }
        assert_eq!(ids.get(len), None);
        assert!(ids.max() >= ids.min());
    });
}

fn span(bytes: &[u8]) {
    text(bytes, |text| {
        if let Ok(span) = Span::parse(text) {
            assert_eq!(Span::parse_human_only(&span.to_string()), Ok(span), "{text:?}");
        }
        drop(Span::parse_human_only(text));
    });
}

/// Definitions of what a worker has; a caret is at a character.
fn resources(bytes: &[u8]) {
    text(bytes, |text| {
        for read in [ResourceDef::parse(text), ResourceDef::parse_cpus(text)] {
            match read {
                Ok(def) => drop(WorkerResources::new(vec![def], vec![])),
                Err(error) => assert!(text.is_char_boundary(error.at)),
            }
        }
        let known = ["cpus=2x3", "gpus/nvidia=[[0],[1]]", "x=3x1"].map(|def| ResourceDef::parse(def).expect("reads"));
        if let Ok(items) = CouplingItem::parse_list(text, &known) {
            drop(WorkerResources::new(known.to_vec(), items));
        }
    });
}

fn requests(bytes: &[u8]) {
    text(bytes, |text| {
        if let Ok(quantity) = Quantity::parse(text) {
            assert_eq!(Quantity::parse(&quantity.to_string()), Ok(quantity), "{text:?}");
        }
        if let Err(error) = ResourceEntry::parse(text) {
            assert!(error.text.is_char_boundary(error.at));
        }
        drop(Request::parse(text.split(';')));
    });
}

fn retry(bytes: &[u8]) {
    text(bytes, |text| match RetryRule::parse(text) {
        Ok(rule) => assert_eq!(RetryRule::parse(&rule.to_string()), Ok(rule), "{text:?}"),
        Err(error) => assert!(text.is_char_boundary(error.at)),
    });
}

/// What is filled in is not looked at again, and what has no value stays.
fn placeholders(bytes: &[u8]) {
    assert_eq!(placeholder::fill_with(bytes, |_| None), bytes);
    let asked = Cell::new(0);
    let filled = placeholder::fill_with(bytes, |_| {
        asked.set(asked.get() + 1);
        Some(b"%{JOB_ID}".to_vec())
    });
    assert!(filled.len() <= bytes.len() + 9 * asked.get());
    assert_eq!(placeholder::names(bytes).len(), asked.get());
}

fn workloads(bytes: &[u8]) {
    text(bytes, |text| {
        drop(workload::read("w", text, None, None));
        drop(workload::job_list::read("w", text));
        drop(workload::swf::read(text));
        drop(workload::openb::read_nodes(text));
        drop(workload::openb::read_pods(text));
        drop(workload::graphs::read(text));
        drop(wfcommons::read(text));
    });
}

fn batch_answers(bytes: &[u8]) {
    text(bytes, |text| {
        let _ = (time_limit(text), job_of(text), pbs_job_of(text), timestamp(text), ctime(text));
        if let Some(hosts) = host_list(text) {
            assert!(hosts.len() <= hq_backend::parse::HOSTS_MAX);
        }
    });
}
