//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of the workspace.
pub(crate) fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the workspace")
}

/// Reads a file by its path in the repository.
pub(crate) fn read_file(path: &str) -> String {
    fs::read_to_string(workspace_root().join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the names of the folders below a path.
pub(crate) fn list_folders(path: &str) -> Vec<String> {
    let entries = fs::read_dir(workspace_root().join(path))
        .expect("a readable folder")
        .flatten();
    let folders = entries.filter(|entry| entry.path().join("Cargo.toml").is_file());
    let mut names: Vec<String> = folders
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns the folders of the crates, without the tests across crates.
pub(crate) fn list_crates() -> Vec<String> {
    let mut crates = vec!["cli".to_owned()];
    for folder in ["functions", "shared", "tests/support"] {
        let names = list_folders(folder).into_iter();
        crates.extend(names.map(|name| format!("{folder}/{name}")));
    }
    crates
}

/// Returns all files below a folder with their paths in the repository, without build output and
/// hidden files.
pub(crate) fn list_files(path: &str) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut waiting = vec![workspace_root().join(path)];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder").flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let hidden =
                name.to_string_lossy().starts_with('.') && name != ".ci" && name != ".github";
            if path.is_dir() {
                if !hidden
                    && name != "target"
                    && name != "node_modules"
                    && !path.join("CACHEDIR.TAG").exists()
                {
                    waiting.push(path);
                }
            } else if path.is_file() {
                let shown = path
                    .strip_prefix(workspace_root())
                    .expect("below the root")
                    .display()
                    .to_string();

                found.push((shown, path));
            }
        }
    }

    found.sort();
    found
}

/// Returns the Rust sources of the product with their texts, without tests and examples.
pub(crate) fn product_sources() -> Vec<(String, String)> {
    let folders = ["cli", "functions", "shared", "tests/support/fake-drive"];
    let all = folders.into_iter().flat_map(list_files);
    all.filter(|(path, _)| path.ends_with(".rs") && path.contains("/src/"))
        .filter(|(path, _)| !path.ends_with("tests.rs"))
        .map(|(path, place)| {
            let text = fs::read_to_string(place).expect("sources are UTF-8");
            (path, text)
        })
        .collect()
}

/// Returns the part of a source before its tests, without comments.
pub(crate) fn code_before_tests(text: &str) -> String {
    let product = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .expect("a first part");
    let lines = product
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.fold(String::new(), |code, line| code + line + "\n")
}
