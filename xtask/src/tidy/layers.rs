//! Dependencies flow one way: `abide → server → services → engine → store → core`. [`ROOMS`] is the whole rule.

use super::Finding;
use super::manifest::{Dependency, Manifest, Table};
use super::tree::Tree;

/// A crate and which of our crates it may name.
struct Room {
    krate: &'static str,
    may_use: Reach,
    /// Allowed in `[dev-dependencies]` as well.
    tests_may_use: &'static [&'static str],
}

enum Reach {
    These(&'static [&'static str]),
    Everything,
}

const SERVICES_MAY_USE: Reach =
    Reach::These(&["abide-core", "abide-engine", "abide-blob", "abide-media", "abide-fetch", "abide-llm"]);

/// The memory store, on which a service is tested with scripted workers.
const SERVICE_TESTS_MAY_USE: &[&str] = &["abide-store"];

/// From the ground up: a room names only rooms above it in this table.
const ROOMS: &[Room] = &[
    room("abide-core", Reach::These(&[]), &[]),
    room("abide-store", Reach::These(&["abide-core"]), &[]),
    room("abide-testdisk", Reach::These(&["abide-core"]), &[]),
    room("abide-sqlite", Reach::These(&["abide-core", "abide-store"]), &["abide-testdisk"]),
    room("abide-postgres", Reach::These(&["abide-core", "abide-store"]), &[]),
    room("abide-engine", Reach::These(&["abide-core", "abide-store"]), &["abide-sqlite"]),
    room(
        "abide-sim",
        Reach::These(&["abide-core", "abide-store", "abide-testdisk", "abide-sqlite", "abide-engine"]),
        &[],
    ),
    room("abide-blob", Reach::These(&["abide-core"]), &[]),
    room("abide-media", Reach::These(&["abide-core"]), &[]),
    room("abide-fetch", Reach::These(&["abide-core"]), &[]),
    room("abide-llm", Reach::These(&["abide-core", "abide-fetch"]), &[]),
    room("abide-describe", Reach::These(&["abide-core", "abide-llm"]), &[]),
    room("abide-coordinator", SERVICES_MAY_USE, SERVICE_TESTS_MAY_USE),
    room("abide-preprocess", SERVICES_MAY_USE, SERVICE_TESTS_MAY_USE),
    room("abide-entities", SERVICES_MAY_USE, SERVICE_TESTS_MAY_USE),
    // The organizer makes entities of groups; the pipeline leads a batch through the services below it.
    room(
        "abide-organize",
        Reach::These(&[
            "abide-core",
            "abide-engine",
            "abide-blob",
            "abide-fetch",
            "abide-llm",
            "abide-entities",
        ]),
        SERVICE_TESTS_MAY_USE,
    ),
    room(
        "abide-pipeline",
        Reach::These(&[
            "abide-core",
            "abide-engine",
            "abide-blob",
            "abide-media",
            "abide-fetch",
            "abide-llm",
            "abide-entities",
            "abide-organize",
            "abide-preprocess",
        ]),
        SERVICE_TESTS_MAY_USE,
    ),
    room(
        "abide-collections",
        Reach::These(&[
            "abide-core",
            "abide-engine",
            "abide-blob",
            "abide-entities",
            "abide-organize",
            "abide-pipeline",
            "abide-preprocess",
        ]),
        SERVICE_TESTS_MAY_USE,
    ),
    room("abide-links", SERVICES_MAY_USE, SERVICE_TESTS_MAY_USE),
    room("abide-downloads", SERVICES_MAY_USE, SERVICE_TESTS_MAY_USE),
    room(
        "abide-server",
        Reach::These(&[
            "abide-core",
            "abide-store",
            "abide-engine",
            "abide-blob",
            "abide-coordinator",
            "abide-downloads",
            "abide-preprocess",
            "abide-entities",
            "abide-organize",
            "abide-pipeline",
            "abide-collections",
            "abide-links",
            "abide-downloads",
        ]),
        // What fetches pages of local test sites.
        &["abide-fetch"],
    ),
    room("abide", Reach::Everything, &[]),
];

const fn room(krate: &'static str, may_use: Reach, tests_may_use: &'static [&'static str]) -> Room {
    Room { krate, may_use, tests_may_use }
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .filter_map(|(path, text)| Some((path, folder_of_crate(path)?, text)))
        .flat_map(check_manifest)
        .collect()
}

fn folder_of_crate(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml").filter(|folder| !folder.contains('/'))
}

fn check_manifest((path, folder, text): (&str, &str, &str)) -> Vec<Finding> {
    let mut findings = Vec::new();
    let manifest = Manifest::parse(text);
    if manifest.name != Some(folder) {
        findings.push(Finding::fails(path, 1, format!("the crate in this folder must be named {folder}")));
    }
    let Some(room) = room_of(folder) else {
        findings.push(Finding::fails(path, 1, unknown(folder)));
        return findings;
    };
    for dependency in manifest.dependencies {
        if room_of(dependency.krate).is_none() {
            findings.push(Finding::fails(path, dependency.line, unknown(dependency.krate)));
        } else if !room.allows(&dependency) {
            findings.push(Finding::fails(path, dependency.line, room.refusal(&dependency)));
        }
    }
    findings
}

fn room_of(krate: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.krate == krate)
}

fn unknown(krate: &str) -> String {
    format!("{krate} has no layer: add it to ROOMS in xtask/src/tidy/layers.rs")
}

impl Room {
    fn allows(&self, dependency: &Dependency<'_>) -> bool {
        let reached = match self.may_use {
            Reach::These(krates) => krates.contains(&dependency.krate),
            Reach::Everything => true,
        };
        // A crate may name itself for its tests: that is how they turn on its features.
        let is_for_tests = self.krate == dependency.krate || self.tests_may_use.contains(&dependency.krate);
        reached || dependency.table == Table::Dev && is_for_tests
    }

    fn refusal(&self, dependency: &Dependency<'_>) -> String {
        let may_use = match self.may_use {
            Reach::These([]) => "none of ours".to_owned(),
            Reach::These(krates) => krates.join(", "),
            Reach::Everything => "everything".to_owned(),
        };
        let tests = match self.tests_may_use {
            [] => String::new(),
            krates => format!("; its tests also: {}", krates.join(", ")),
        };
        format!("{} may not use {} (it may use: {may_use}{tests})", self.krate, dependency.krate)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check as check_rule;
    use super::*;

    fn check_crate(krate: &str, rest: &str, expected: &[&str]) {
        let path = format!("crates/{krate}/Cargo.toml");
        let text = format!("[package]\nname = \"{krate}\"\n{rest}");
        let expected: Vec<String> = expected.iter().map(|finding| format!("{path}:{finding}")).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check_rule(check, &[(&path, &text)], &expected);
    }

    #[test]
    fn allowed_dependencies_pass() {
        check_crate("abide-core", "[dependencies]\nserde.workspace = true\n", &[]);
        check_crate(
            "abide-sqlite",
            "[dependencies]\nabide-store.workspace = true\nabide-core = { path = \"x\" }\n",
            &[],
        );
        check_crate("abide-engine", "[dev-dependencies]\nabide-sqlite.workspace = true\n", &[]);
        check_crate(
            "abide-store",
            "[dev-dependencies]\nabide-store = { path = \".\", features = [\"x\"] }\n",
            &[],
        );
        check_crate(
            "abide-links",
            "[dependencies]\nabide-llm = {}\n[dev-dependencies]\nabide-store = {}\n",
            &[],
        );
        check_crate("abide-server", "[dependencies]\nabide-links = {}\nabide-engine = {}\n", &[]);
        check_crate("abide", "[dependencies]\nabide-sqlite = {}\nabide-sim = {}\n", &[]);
    }

    #[test]
    fn a_dependency_against_the_flow_is_found() {
        check_crate(
            "abide-core",
            "[dependencies]\nabide-store = {}\n",
            &["4: abide-core may not use abide-store (it may use: none of ours)"],
        );
        check_crate(
            "abide-engine",
            "[dependencies]\nabide-sqlite.workspace = true\n",
            &["4: abide-engine may not use abide-sqlite \
               (it may use: abide-core, abide-store; its tests also: abide-sqlite)"],
        );
        check_crate(
            "abide-sqlite",
            "[dev-dependencies]\nabide-engine = {}\n",
            &[
                "4: abide-sqlite may not use abide-engine (it may use: abide-core, abide-store; its tests also: abide-testdisk)",
            ],
        );
        let services = "(it may use: abide-core, abide-engine, abide-blob, abide-media, abide-fetch, abide-llm; \
                        its tests also: abide-store)";
        check_crate(
            "abide-links",
            "[dependencies]\nabide-downloads = {}\nabide-store = {}\n",
            &[
                &format!("4: abide-links may not use abide-downloads {services}"),
                &format!("5: abide-links may not use abide-store {services}"),
            ],
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let unknown = unknown("abide-extra");
        check_crate("abide-extra", "", &[&format!("1: {unknown}")]);
        check_crate("abide", "[dependencies]\nabide-extra = {}\n", &[&format!("4: {unknown}")]);
    }

    #[test]
    fn a_crate_is_named_after_its_folder() {
        check_rule(
            check,
            &[("crates/abide-core/Cargo.toml", "[package]\nname = \"core\"\n")],
            &["crates/abide-core/Cargo.toml:1: the crate in this folder must be named abide-core"],
        );
    }

    #[test]
    fn the_table_is_in_order() {
        for (index, room) in ROOMS.iter().enumerate() {
            let above: Vec<&str> = ROOMS[..index].iter().map(|room| room.krate).collect();
            let Reach::These(krates) = room.may_use else { continue };
            let named = krates.iter().chain(room.tests_may_use);
            let unknown: Vec<&&str> = named.filter(|krate| !above.contains(krate)).collect();
            assert!(unknown.is_empty(), "{} names {unknown:?}, not above it", room.krate);
        }
    }
}
