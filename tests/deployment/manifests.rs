//! The allowed dependencies between crates.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{list_crates, list_folders, read_file};

/// Packages that do I/O or lead to it.
const IO: [&str; 14] = [
    "axum",
    "tokio",
    "mio",
    "socket2",
    "hyper",
    "reqwest",
    "ureq",
    "rusqlite",
    "libsqlite3-sys",
    "s3s",
    "dynoxide-rs",
    "aws-config",
    "lambda_runtime",
    "aws-smithy-runtime-api",
];

/// Returns the lines of a section of a manifest, without comments and empty lines.
fn section_lines<'a>(manifest: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let header = format!("[{name}]");
    manifest
        .lines()
        .skip_while(move |line| *line != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the dependencies in a section of a manifest. The manifests here have one dependency per
/// line.
pub(crate) fn section_dependencies(manifest: &str, section_name: &str) -> BTreeSet<String> {
    section_lines(manifest, section_name)
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .map(str::to_owned)
        .collect()
}

/// Returns the packages of the lock file with their dependencies. For our own packages, they
/// include development dependencies.
fn lock_file_packages() -> BTreeMap<String, BTreeSet<String>> {
    let text = read_file("Cargo.lock");
    let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in text.split("[[package]]\n").skip(1) {
        let name = package.split('"').nth(1).expect("a name").to_owned();
        let list = package.split("dependencies = [").nth(1).unwrap_or_default();
        let list = list.split(']').next().unwrap_or_default();
        let names = list.split('"').skip(1).step_by(2);
        let names = names
            .filter_map(|entry| entry.split(' ').next())
            .map(str::to_owned);
        packages.entry(name).or_default().extend(names);
    }

    packages
}

#[test]
fn what_is_pure_depends_on_nothing_that_does_io() {
    let lock = lock_file_packages();
    for crate_name in ["domain", "service", "content", "search-engine"] {
        let manifest = read_file(&format!("shared/{crate_name}/Cargo.toml"));
        let mut waiting: Vec<(String, String)> = section_dependencies(&manifest, "dependencies")
            .into_iter()
            .map(|name| (name, crate_name.to_owned()))
            .collect();
        let mut seen = BTreeMap::new();

        while let Some((name, through)) = waiting.pop() {
            if seen.contains_key(&name) {
                continue;
            }
            assert!(
                !IO.contains(&name.as_str()),
                "{crate_name} depends on {name} through {through}"
            );

            let next = lock
                .get(&name)
                .unwrap_or_else(|| panic!("{name} is not in Cargo.lock"));
            waiting.extend(next.iter().map(|one| (one.clone(), name.clone())));
            seen.insert(name, through);
        }

        assert!(seen.len() > 3, "the manifest of {crate_name} was not read");
    }
}

#[test]
fn only_adapters_and_deployment_name_the_aws_sdk() {
    let is_sdk = |name: &&String| name.starts_with("aws-sdk-") || *name == "aws-config";
    for folder in list_crates() {
        let manifest = read_file(&format!("{folder}/Cargo.toml"));
        let used = section_dependencies(&manifest, "dependencies");
        let tested = section_dependencies(&manifest, "dev-dependencies");
        assert!(!used.is_empty(), "the manifest of {folder} was not read");
        if !["shared/aws", "shared/stack"].contains(&folder.as_str()) {
            assert_eq!(used.iter().find(is_sdk), None, "{folder}");
        }
        if !["shared/aws", "shared/embedded"].contains(&folder.as_str()) {
            assert_eq!(tested.iter().find(is_sdk), None, "the tests of {folder}");
        }
    }
}

#[test]
fn functions_reach_storage_through_ports_only() {
    for name in list_folders("functions") {
        let used = section_dependencies(
            &read_file(&format!("functions/{name}/Cargo.toml")),
            "dependencies",
        );
        for adapter in ["aws", "embedded", "testkit"] {
            assert!(!used.contains(adapter), "{name} depends on {adapter}");
        }
    }

    for name in [
        "domain",
        "content",
        "search-engine",
        "container-index",
        "edge",
        "sandbox",
    ] {
        let used = section_dependencies(
            &read_file(&format!("shared/{name}/Cargo.toml")),
            "dependencies",
        );
        for adapter in ["aws", "embedded", "testkit", "lambda"] {
            assert!(!used.contains(adapter), "{name} depends on {adapter}");
        }
    }
}

#[test]
fn every_crate_takes_versions_and_lints_from_the_workspace() {
    for folder in list_crates() {
        let path = format!("{folder}/Cargo.toml");
        let manifest = read_file(&path);
        assert!(manifest.contains("[lints]\nworkspace = true"), "{path}");
        assert!(manifest.contains("license.workspace = true"), "{path}");
        // This crate replaces a published crate, whose version it must have.
        let stands_in = folder == "shared/sqlite-sys";
        assert!(
            stands_in || !manifest.contains("version = \""),
            "{path} has a version of its own"
        );
    }

    for line in read_file("Cargo.lock")
        .lines()
        .filter(|line| line.starts_with("source = "))
    {
        assert_eq!(
            line,
            "source = \"registry+https://github.com/rust-lang/crates.io-index\""
        );
    }
}

#[test]
fn the_functions_and_the_binary_are_shipped_with_the_same_settings() {
    let manifest = read_file("Cargo.toml");
    let binary: Vec<&str> = section_lines(&manifest, "profile.dist")
        .filter(|line| !line.starts_with("inherits"))
        .collect();
    let functions: Vec<String> = section_lines(&manifest, "workspace.metadata.lambda.build")
        .filter(|line| line.contains("profile.release."))
        .map(|line| {
            line.trim_matches(['"', ','])
                .replace("profile.release.", "")
                .replace('\'', "\"")
        })
        .collect();

    assert!(binary.len() >= 3, "{binary:?}");
    assert_eq!(functions, binary);
}
