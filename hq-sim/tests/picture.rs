//! Pictures: what is in them, that they are whole, and that they stay small.

use hq_sim::{
    machines,
    picture::{self, Scene, Timeline},
    policy::{Report, Simulation},
    workload::{Workload, job_list},
};

struct Drawn {
    svg: String,
    html: String,
    report: Report,
}

fn draw(jobs: &str, cluster: &str) -> Drawn {
    let workload = job_list::read("jobs", jobs).unwrap();
    draw_workload(&workload, cluster)
}

fn draw_workload(workload: &Workload, cluster: &str) -> Drawn {
    let groups = machines::parse(cluster).unwrap();
    let mut timeline = Timeline::new();
    let simulation = Simulation::new(1).cluster(&groups).workload(workload);
    let report = simulation.on_event(|now, event| timeline.see(now, event)).run().unwrap();
    let scenes = [Scene { name: "priority & pack", report: &report, timeline: &timeline }];
    let title = "a <title>";
    let (svg, html) = (picture::svg(title, workload, &scenes), picture::html(title, workload, &scenes));
    whole(&svg);
    Drawn { svg, html, report }
}

/// Each element that is opened is closed, in order, and nothing in it is no number.
fn whole(svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for piece in svg.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for word in ["NaN", "inf\"", "\"-"] {
        assert!(!svg.contains(word), "{word}: {svg}");
    }
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

#[test]
fn a_bar_for_each_run() {
    let jobs = "run,count,request,nodes\n60,5,\"cpus=2; gpus=0.5\",\n30,1,,2\n90,3,cpus=1,\n";
    let drawn = draw(jobs, "2x cpus=4 gpus=[a,b]");
    assert_eq!(drawn.report.finished, 9);
    let svg = &drawn.svg;
    // On cpus and on a GPU; on two whole workers, of which each has two kinds of lanes; on cpus alone.
    let bars = |request: &str| svg.lines().filter(|line| line.contains(&format!(": {request}, "))).count();
    assert_eq!((bars("cpus=2 gpus=0.5"), bars("2 nodes"), bars("cpus=1")), (10, 4, 3));
    for part in
        ["a &lt;title&gt;", "priority &amp; pack", "cpus=2 gpus=0.5 (5)", "2 nodes (1)", "cpus: mean ", "node 2</text>"]
    {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(svg.contains("time since the first arrival, seconds"));
    assert!(drawn.html.contains("<td>Tasks finished</td><td>9 of 9</td>"), "{}", drawn.html);
}

#[test]
fn names_from_outside_are_escaped() {
    let drawn = draw("run\n5\n", "cpus=1 host=\"<b>&'\"");
    assert!(drawn.svg.contains("&lt;b&gt;&amp;&#39; 1</text>"), "{}", drawn.svg);
    assert!(!drawn.svg.contains("<b>") && !drawn.html.contains("<b>"));
}

#[test]
fn many_runs_are_a_strip_for_each_worker() {
    let jobs = "run,count,cpus,every\n7,20000,1,1\n";
    let drawn = draw(jobs, "10x cpus=2 time-limit=1h; 3x cpus=8 arrives=30m");
    assert_eq!(drawn.report.finished, 20_000);
    assert!(drawn.svg.contains("a strip for each") && drawn.svg.contains("node 13</text>"));
    assert!(drawn.svg.contains("of what was there (dotted)"));
    assert!(drawn.svg.len() < 400_000, "{} bytes", drawn.svg.len());
    // Past a number of workers there are charts alone.
    let drawn = draw("run,count\n60,900\n", "300x cpus=1");
    assert!(!drawn.svg.contains("a strip for each") && count(&drawn.svg, "<rect") < 20, "{}", drawn.svg);
}

/// Waits that are over at once are no peak, and what waits for others does not wait.
#[test]
fn waiting_tasks_are_those_that_could_start() {
    for (jobs, peak) in [
        ("run,count\n5,4\n", 0),
        ("run,count\n5,7\n", 3),
        ("run,count,name,after\n5,4,a,\n5,90,b,a\n", 86),
        ("run,count,cpus\n5,3,9\n", 3),
    ] {
        let drawn = draw(jobs, "cpus=4");
        assert!(drawn.svg.contains(&format!("could start: peak {peak}<")), "{jobs:?}: {}", drawn.svg);
    }
}

#[test]
fn nothing_is_a_picture_too() {
    for jobs in ["run\n", "run\n0\n", "run,cpus\n5,9\n"] {
        draw(jobs, "cpus=4");
    }
    let all = picture::svg("none", &Workload::default(), &[]);
    whole(&all);
}
