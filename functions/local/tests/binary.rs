//! The binary answers for itself. That cargo builds it for this test also builds it for the end-to-end tests of a
//! `cargo test --workspace`.

use std::process::Command;

#[test]
fn the_binary_tells_its_version_and_its_subcommands() {
    let output = Command::new(env!("CARGO_BIN_EXE_recollect"))
        .arg("--help")
        .output()
        .expect("a binary that starts");
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for subcommand in ["serve", "demo", "keys", "aws-endpoints", "work"] {
        assert!(
            help.contains(subcommand),
            "{subcommand} is not in the help:\n{help}"
        );
    }
}
