//! Finds the binary `recollect` beside this test, and builds it if it is missing or older than its
//! sources.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Returns the path of the binary, built with the same profile and for the same target as this
/// test.
pub(crate) fn binary_path() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(find_binary)
}

/// Returns the folder of the workspace.
pub(crate) fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package lies in the workspace")
}

fn find_binary() -> PathBuf {
    let test = std::env::current_exe().expect("a test has an executable");
    // The path is …/target[/TRIPLE]/PROFILE/deps/end_to_end-HASH.
    let folder = test
        .ancestors()
        .nth(2)
        .expect("tests lie in a folder of the profile");
    let binary = folder.join(format!("recollect{}", std::env::consts::EXE_SUFFIX));
    if modified_time(&binary).is_none_or(|built| built < newest_source()) {
        build_binary(folder);
    }

    assert!(
        binary.is_file(),
        "{} is missing: run cargo build --bin recollect",
        binary.display()
    );
    binary
}

/// Builds the binary. `cargo test` builds a package's binaries for that package's own tests only.
fn build_binary(folder: &Path) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.current_dir(workspace_root());
    // Build scripts that depend on the variables that Cargo set for this test would run again.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if [
            "CARGO_PKG_",
            "CARGO_MANIFEST_",
            "CARGO_BIN_",
            "CARGO_CRATE_",
            "CARGO_PRIMARY_",
            "CARGO_TARGET_TMPDIR",
        ]
        .iter()
        .any(|told| text.starts_with(told))
        {
            command.env_remove(name);
        }
    }

    // The command has no `--package`, so that features and compiled crates match those of `cargo
    // test --workspace`.
    command.args(["build", "--bin", "recollect"]);
    let profile = folder
        .file_name()
        .and_then(|name| name.to_str())
        .expect("a profile's name");
    command.args([
        "--profile",
        if profile == "debug" { "dev" } else { profile },
    ]);
    let parent = folder
        .parent()
        .expect("a profile's folder lies in the target folder");

    // The name of a target triple begins with its processor. The file CACHEDIR.TAG does not help,
    // because it may be in both folders.
    let processor = format!("{}-", std::env::consts::ARCH);
    let name = parent.file_name().and_then(|name| name.to_str());
    if let Some(triple) = name.filter(|name| name.starts_with(&processor)) {
        command.args(["--target", triple]);
        command
            .arg("--target-dir")
            .arg(parent.parent().expect("a target folder"));
    } else {
        command.arg("--target-dir").arg(parent);
    }

    let status = command.status().expect("cargo starts");
    assert!(status.success(), "the binary recollect does not build");
}

fn modified_time(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// Returns the time of the last change to any source of the binary.
fn newest_source() -> SystemTime {
    let root = workspace_root();
    let mut newest = SystemTime::UNIX_EPOCH;
    let mut folders = ["cli", "functions", "shared"]
        .map(|name| root.join(name))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_dir() {
                // Tests and examples are not part of the binary.
                if name != "tests" && name != "examples" {
                    folders.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|end| end == "rs" || end == "toml")
            {
                newest = newest.max(modified_time(&path).unwrap_or(newest));
            }
        }
    }

    newest
}
