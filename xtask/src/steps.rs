//! What a deep run is made of.

/// One command.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// What it shows.
    pub(crate) shows: &'static str,
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Arguments of cargo.
    pub(crate) args: &'static [&'static str],
}

/// Tables are files, and numbers of cases are variables.
const MIRI: &[(&str, &str)] =
    &[("MIRIFLAGS", "-Zmiri-disable-isolation"), ("PROPTEST_CASES", "2"), ("PROPTEST_RNG_SEED", "1")];

pub(crate) const DEEP: &[Step] = &[
    Step {
        name: "miri-core",
        shows: "no undefined behaviour in hq-core",
        env: MIRI,
        args: &["+nightly", "miri", "test", "--locked", "-p", "hq-core", "--lib", "--tests"],
    },
    Step {
        name: "miri-scheduler",
        shows: "no undefined behaviour in hq-scheduler: its unit tests, and those of whole lives that are short",
        env: MIRI,
        args: &[
            "+nightly",
            "miri",
            "test",
            "--locked",
            "-p",
            "hq-scheduler",
            "--lib",
            "--test",
            "idle",
            "--test",
            "doomed",
            "--test",
            "shorter",
            "--test",
            "lanes",
            "--test",
            "backlog",
            "--test",
            "job_deps",
            "--test",
            "submits",
        ],
    },
    Step {
        name: "seeds",
        shows: "all invariants in 4,000 clusters in which everything goes wrong that can",
        env: &[("HQ_SIM_SEEDS", "4000")],
        args: &["test", "--locked", "--release", "-p", "hq-sim", "--test", "seeds", "all_invariants_hold"],
    },
    Step {
        name: "losses",
        shows: "a loss of each kind after each step of the scripted runs",
        env: &[("HQ_SIM_EVERY", "1")],
        args: &["test", "--locked", "--release", "-p", "hq-sim", "--test", "losses"],
    },
    Step {
        name: "plans",
        shows: "the value of 10,000 small plans against the optimum, and of large ones against the bound",
        env: &[("HQ_SIM_PLANS", "10000")],
        args: &["test", "--locked", "--release", "-p", "hq-sim", "--test", "plan_value", "--", "--nocapture"],
    },
    Step {
        name: "cancels",
        shows: "submit and cancel equals no submit, 20,000 random lives",
        env: &[("PROPTEST_CASES", "20000"), ("PROPTEST_MAX_GLOBAL_REJECTS", "1000000")],
        args: &["test", "--locked", "--release", "-p", "hq-scheduler", "--test", "state_machine", "submit_and_cancel"],
    },
    Step {
        name: "demand",
        shows: "whoever is asked for gets something to do, 20,000 random clusters",
        env: &[("PROPTEST_CASES", "20000")],
        args: &["test", "--locked", "--release", "-p", "hq-scheduler", "--test", "demand_honest"],
    },
    Step {
        name: "fuzz",
        shows: "each decoder, parser and node machine keeps its promises for 60 s of guided inputs; needs a C++ compiler",
        env: &[],
        args: &["run", "--locked", "-p", "hq-fuzz", "--bin", "long"],
    },
];
