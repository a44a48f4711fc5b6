//! Tests that the binary starts. Because cargo builds it for this test, a `cargo test --workspace`
//! also has it for the end-to-end tests.

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
