//! The map of the crates in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifests::section_dependencies;
use crate::tree::{code_before_tests, list_crates, product_sources, read_file, workspace_root};

/// Returns the cells of each row of the tables.
fn rows(document: &str) -> Vec<Vec<String>> {
    let rows = document.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

#[test]
fn the_map_has_every_crate_with_its_dependencies() {
    let mut crates = BTreeMap::new();
    for folder in list_crates() {
        let manifest = read_file(&format!("{folder}/Cargo.toml"));
        crates.insert(folder, section_dependencies(&manifest, "dependencies"));
    }
    let names: BTreeSet<String> = crates
        .keys()
        .filter_map(|path| path.split('/').next_back())
        .map(str::to_owned)
        .collect();

    let mut shown = BTreeMap::new();
    for row in rows(&read_file("ARCHITECTURE.md")) {
        let [_, path, _, depends, _] = row.as_slice() else {
            continue;
        };
        let list = depends.split(", ").filter(|name| !name.is_empty());
        let list: BTreeSet<String> = list.map(str::to_owned).collect();
        shown.insert(path.trim_matches('`').to_owned(), list);
    }

    for (path, used) in &crates {
        let ours: BTreeSet<String> = used.intersection(&names).cloned().collect();
        assert_eq!(
            shown.get(path),
            Some(&ours),
            "the row of {path} in ARCHITECTURE.md"
        );
    }
    assert_eq!(
        shown.len(),
        crates.len(),
        "ARCHITECTURE.md has rows of crates that are gone"
    );
}

#[test]
fn every_path_of_the_map_exists() {
    for row in rows(&read_file("ARCHITECTURE.md")) {
        for path in row[1].split(", ") {
            let path = path.trim_matches('`');
            assert!(
                workspace_root().join(path).exists(),
                "ARCHITECTURE.md names {path}"
            );
        }
    }
}

/// Returns the top module of a source of `shared/sync`, or `None` for its root and its tests.
fn sync_module(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("shared/sync/src/")?;
    let module = rest.split(['/', '.']).next()?;
    let is_product = module != "lib" && !rest.split(['/', '.']).any(|part| part == "tests");
    is_product.then_some(module)
}

#[test]
fn modules_of_the_synchronization_use_only_modules_above_them() {
    let root = read_file("shared/sync/src/lib.rs").replace("//! |", "|");
    let mut ranks = BTreeMap::new();
    for (rank, row) in rows(&root).into_iter().enumerate() {
        for module in row[1].split(", ") {
            ranks.insert(module.trim_matches('`').to_owned(), rank);
        }
    }

    let mut checked = 0;
    for (path, text) in product_sources() {
        let Some(module) = sync_module(&path) else {
            continue;
        };
        let rank = ranks.get(module);
        let rank = rank.unwrap_or_else(|| panic!("the map of lib.rs lacks `{module}`"));
        for used in code_before_tests(&text).split("crate::").skip(1) {
            let used = used.split(|c: char| !c.is_alphanumeric() && c != '_');
            let used = used.into_iter().next().expect("a first part");
            assert!(ranks.get(used) <= Some(rank), "{path} uses {used}");
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}
