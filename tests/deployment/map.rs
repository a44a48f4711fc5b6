//! The map of the crates in ARCHITECTURE.md.

use std::collections::{BTreeMap, BTreeSet};

use crate::manifests::section_dependencies;
use crate::tree::{list_crates, read_file, workspace_root};

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
