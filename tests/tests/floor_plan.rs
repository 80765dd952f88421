//! The floor plan of ARCHITECTURE.md, held to the code: who imports whom, what the pure crates reach, how many packages
//! an embedder gets, and where `unsafe` is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use hq_tests::{cargo, root, sources};
use serde_json::Value;

/// What each crate may import of ours, in the words of ARCHITECTURE.md.
const IMPORTS: [(&str, &str); 17] = [
    ("hq-core", "–"),
    ("hq-scheduler", "core"),
    ("hq-node", "core, scheduler"),
    ("hq-sim", "core, scheduler, node"),
    ("hq-backend", "core"),
    ("hq-transport", "core"),
    ("hq-stream", "core"),
    ("hq-journal", "core"),
    ("hq-backend-local", "core, backend"),
    ("hq-backend-slurm", "core, backend"),
    ("hq-backend-pbs", "core, backend"),
    ("hq-hardware", "core"),
    ("hq-worker", "core, node, stream, transport"),
    ("hq-engine", "all below"),
    ("hq-client", "core, transport"),
    (
        "hq-cli",
        "client, engine, sim, worker, hardware, node, journal, stream, transport, backend-local, backend-slurm, backend-pbs, core",
    ),
    ("hq-conformance", "core, seams"),
];

/// "Below" the engine. A leaf only as an optional dependency.
const BELOW_ENGINE: [&str; 8] =
    ["hq-core", "hq-scheduler", "hq-node", "hq-backend", "hq-transport", "hq-journal", "hq-stream", "hq-worker"];
const SEAMS: [&str; 3] = ["hq-backend", "hq-transport", "hq-journal"];
const LEAVES: [&str; 6] =
    ["hq-backend-local", "hq-backend-slurm", "hq-backend-pbs", "hq-worker", "hq-sim", "hq-hardware"];
const PURE: [&str; 4] = ["hq-core", "hq-scheduler", "hq-node", "hq-sim"];
/// Members that are no published crates.
const HELPERS: [&str; 5] = ["examples", "tests", "benches", "fuzz", "xtask"];

/// All that the pure crates reach of other people: data, errors, and the macros that make them.
const REACHED_BY_PURE: [&str; 10] = [
    "proc-macro2",
    "quote",
    "serde",
    "serde_core",
    "serde_derive",
    "syn",
    "thiserror",
    "thiserror-impl",
    "unicode-ident",
    "serde_json", // hq-sim: recorded workflows
];
/// What `serde_json` brings, in hq-sim alone.
const REACHED_BY_JSON: [&str; 4] = ["itoa", "memchr", "ryu", "zmij"];
/// What `sha2` is and brings: the hash of session tokens, in hq-node and above.
const REACHED_BY_HASH: [&str; 8] =
    ["block-buffer", "cfg-if", "cpufeatures", "crypto-common", "digest", "generic-array", "sha2", "typenum"];

#[test]
fn crates_import_what_they_may() {
    let allowed: BTreeMap<_, _> = IMPORTS.into_iter().map(|(name, words)| (name, allowed(words))).collect();
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let Some(allowed) = allowed.get(name) else { continue };
        for dependency in normal_dependencies(&package) {
            let import = dependency["name"].as_str().unwrap();
            let optional_leaf = name == "hq-engine" && LEAVES.contains(&import) && dependency["optional"] == true;
            let known = !import.starts_with("hq-") || allowed.contains(import) || optional_leaf;
            assert!(known, "{name} must not import {import}");
        }
    }
}

#[test]
fn crates_are_named_as_their_directories_and_described() {
    let plan = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let planned: BTreeSet<_> = IMPORTS.into_iter().map(|(name, _)| name.to_owned()).collect();
    let mut seen = BTreeSet::new();
    for package in packages() {
        let (name, manifest) = (package["name"].as_str().unwrap(), package["manifest_path"].as_str().unwrap());
        let dir = Path::new(manifest).parent().unwrap();
        let dir_name = dir.file_name().unwrap().to_str().unwrap();
        assert_eq!(dir.parent().unwrap(), root(), "{name} lies beside the others");
        if HELPERS.contains(&dir_name) {
            assert_eq!(package["publish"], serde_json::json!([]), "{name} is not published");
            continue;
        }
        assert_eq!(name, dir_name);
        seen.insert(name.to_owned());
    }
    assert_eq!(seen, planned, "the floor plan names all crates");
    for (name, words) in IMPORTS {
        let row = plan.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md has a row for {name}"));
        let imports = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        assert_eq!(imports.split(';').next().unwrap(), words, "{name} in ARCHITECTURE.md");
    }
}

#[test]
fn the_manifest_is_virtual_and_its_lints_are_everywhere() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(manifest.contains("[workspace]") && !manifest.contains("[package]"));
    for package in packages() {
        let path = package["manifest_path"].as_str().unwrap();
        let manifest = fs::read_to_string(path).unwrap();
        // Examples print, so they list the others.
        let lints = if path.ends_with("examples/Cargo.toml") { "[lints.clippy]" } else { "[lints]\nworkspace = true" };
        assert!(manifest.contains(lints), "{path} takes the lints of the workspace");
    }
}

#[test]
fn pure_crates_reach_only_data() {
    for name in PURE {
        let json = if name == "hq-sim" { &REACHED_BY_JSON[..] } else { &[] };
        let hash = if ["hq-node", "hq-sim"].contains(&name) { &REACHED_BY_HASH[..] } else { &[] };
        for reached in reached(name) {
            let known = PURE.contains(&&*reached)
                || [&REACHED_BY_PURE[..], json, hash].iter().any(|list| list.contains(&&*reached));
            assert!(known && (name == "hq-sim" || reached != "serde_json"), "{name} reaches {reached}");
        }
    }
}

#[test]
fn no_leaf_reaches_another_leaf_and_no_seam_the_scheduler() {
    for leaf in LEAVES {
        let reached = reached(leaf);
        let other = LEAVES.into_iter().find(|other| *other != leaf && reached.contains(*other));
        assert_eq!(other, None, "reached by {leaf}");
    }
    for seam in SEAMS {
        assert!(!reached(seam).contains("hq-scheduler"), "{seam} reaches the scheduler");
    }
    let scheduler = reached("hq-scheduler");
    for wire in ["hq-transport", "postcard", "rmp-serde"] {
        assert!(!scheduler.contains(wire), "the scheduler reaches {wire}");
    }
}

#[test]
fn an_embedder_gets_few_packages() {
    let core: BTreeSet<_> = reached("hq-core").union(&reached("hq-scheduler")).cloned().collect();
    assert!(core.len() <= 20, "{} packages behind hq-core and hq-scheduler: {core:?}", core.len());
    let engine = reached("hq-engine");
    assert!(engine.len() <= 90, "{} packages behind hq-engine: {engine:?}", engine.len());
}

#[test]
fn purity_is_held_by_clippy() {
    let files = PURE.map(|name| fs::read_to_string(root().join(name).join("clippy.toml")).unwrap());
    assert!(files.iter().all(|file| *file == files[0]), "the pure crates have the same clippy.toml");
    for path in [
        "std::collections::HashMap",
        "std::collections::HashSet",
        "std::env::var",
        "std::fs::File",
        "std::fs::read",
        "std::net::TcpStream",
        "std::process::Command",
        "std::thread::spawn",
        "std::time::Instant",
        "std::time::SystemTime",
    ] {
        assert!(files[0].contains(&format!("{{ path = \"{path}\"")), "clippy.toml of the pure crates forbids {path}");
    }
}

#[test]
fn pure_sources_name_no_clock_file_environment_or_hash_order() {
    let forbidden = ["HashMap", "HashSet", "Instant", "SystemTime", "std::env", "std::fs", "std::net", "std::process"];
    for name in PURE {
        assert_free_of(name, &[&forbidden[..], &["std::thread", "static mut"]].concat());
    }
}

#[test]
fn no_floating_point_decides() {
    for name in ["hq-scheduler", "hq-node"] {
        assert_free_of(name, &["f32", "f64"]);
    }
}

#[test]
fn unsafe_code_is_only_where_processes_start() {
    let forbids = concat!("#![forbid(uns", "afe_code)]");
    for file in sources(&root()).into_iter().filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        let relative = file.strip_prefix(root()).unwrap();
        // The benches and the fuzz targets count allocations, which takes an allocator of their own.
        if ["hq-worker", "benches", "fuzz"].iter().any(|dir| relative.starts_with(dir)) {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let is_library = relative.to_string_lossy().starts_with("hq-") && relative.ends_with("src/lib.rs");
        assert!(!is_library || text.contains(forbids), "{} lacks {forbids}", relative.display());
        let text = text.replace(forbids, "");
        // In halves, since this file is looked at too.
        for pattern in
            [concat!("uns", "afe {"), concat!("uns", "afe fn"), concat!("uns", "afe impl"), concat!("(uns", "afe_code")]
        {
            assert!(!text.contains(pattern), "{pattern:?} in {}", relative.display());
        }
    }
}

#[test]
fn no_file_names_the_machine_of_a_developer() {
    let places = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/tar", "get")];
    for file in sources(&root()) {
        // What is no text is not ours.
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for place in places {
            assert!(!text.contains(place), "{place:?} in {}", file.display());
        }
    }
}

#[test]
fn the_commands_of_the_readme_exist() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for command in ["cargo run --release --example quickstart", "./test"] {
        assert!(readme.contains(command), "README.md shows {command:?}");
    }
    let targets = packages().into_iter().flat_map(|package| package["targets"].as_array().unwrap().clone());
    let examples = targets.filter(|target| target["kind"][0] == "example" && target["name"] == "quickstart");
    assert_eq!(examples.count(), 1, "one example is named quickstart");
    for script in ["test", ".ci/run"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(root().join(script)).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{script} can be run");
    }
}

#[test]
fn test_code_is_recognised() {
    let text = "use a;\n#[cfg(test)]\nmod tests;\nfn f() {} // HashMap\n/// Instant\n#[cfg(test)]\nmod t {\n    x {}\n}\nlast\n";
    assert_eq!(production_code(text).collect::<Vec<_>>(), [(1, "use a;"), (4, "fn f() {} "), (10, "last")]);
    assert!(has_word("a: f64,", "f64") && !has_word("as_secs_f64()", "f64") && !has_word("f641", "f64"));
}

fn allowed(words: &str) -> BTreeSet<String> {
    match words {
        "–" => BTreeSet::new(),
        "all below" => BELOW_ENGINE.map(str::to_owned).into(),
        words => {
            let names = words.split(", ").flat_map(|word| match word {
                "seams" => SEAMS.map(str::to_owned).to_vec(),
                word => vec![format!("hq-{word}")],
            });
            names.collect()
        }
    }
}

fn packages() -> Vec<Value> {
    let text = cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    let metadata: Value = serde_json::from_str(&text).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn normal_dependencies(package: &Value) -> impl Iterator<Item = &Value> {
    package["dependencies"].as_array().unwrap().iter().filter(|dependency| dependency["kind"].is_null())
}

/// All packages behind a crate, without those of tests and of build scripts; by name and version, so that two versions
/// of one count twice.
fn reached(name: &str) -> BTreeSet<String> {
    let text = cargo(&["tree", "-e", "normal", "-p", name, "--prefix", "none", "--offline"]);
    let lines: BTreeSet<_> = text.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let mut names = BTreeSet::new();
    for line in lines {
        let (package, version) = line.split_once(' ').unwrap();
        if !names.insert(package.to_owned()) {
            names.insert(format!("{package} {version}"));
        }
    }
    names
}

fn assert_free_of(name: &str, forbidden: &[&str]) {
    let src = root().join(name).join("src");
    let files = sources(&src);
    assert!(!files.is_empty(), "{name} has sources");
    for file in files {
        let relative = file.strip_prefix(&src).unwrap();
        if relative.iter().any(|part| ["tests", "tests.rs", "testing", "testing.rs"].iter().any(|test| part == *test)) {
            continue;
        }
        for (number, line) in production_code(&fs::read_to_string(&file).unwrap()) {
            let word = forbidden.iter().find(|word| has_word(line, word));
            assert_eq!(word, None, "{}:{number}: {line}", file.display());
        }
    }
}

/// Lines with their numbers, without comments and without the items that are only there for tests.
fn production_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let (mut in_test, mut depth) = (false, 0_i64);
    let lines = text.lines().zip(1..).map(|(line, number)| (number, line.split("//").next().unwrap_or_default()));
    lines.filter(move |(_, line)| {
        if line.trim() == "#[cfg(test)]" {
            (in_test, depth) = (true, 0);
            return false;
        }
        if in_test {
            let count = |brace| line.matches(brace).count() as i64;
            depth += count('{') - count('}');
            let ends = depth == 0 && (line.contains('}') || line.trim_end().ends_with(';'));
            in_test = !ends;
            return false;
        }
        !line.trim().is_empty()
    })
}

fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(part) && !line[at + word.len()..].starts_with(part))
}
