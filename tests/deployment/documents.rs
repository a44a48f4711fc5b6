//! Commands and parameters in the documents.

use std::fs;

use crate::tree::{list_files, read_file};
use testkit::template::load_template;

#[test]
fn every_parameter_of_the_template_is_in_the_table_of_the_documents() {
    let document = read_file("docs/deploy.md");
    let rows: Vec<&str> = document
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let template = load_template();

    for name in template["Parameters"]
        .as_object()
        .expect("parameters")
        .keys()
    {
        let cell = format!("`{name}`");
        let is_listed = rows.iter().any(|row| {
            row.split('|')
                .nth(1)
                .is_some_and(|names| names.contains(&cell))
        });
        assert!(
            is_listed,
            "docs/deploy.md has no row for the parameter {name}"
        );
    }
}

/// Debian 11 and 12, Ubuntu 22.04 and macOS 13 have a curl older than 7.82, which does not support
/// the option.
#[test]
fn no_command_needs_a_newer_curl_than_systems_have() {
    let kinds = [".md", ".rs", ".sh", ".yaml", ".html"];
    let option = ["--js", "on "].concat();

    for (path, place) in list_files("") {
        let is_read = kinds.iter().any(|kind| path.ends_with(kind)) && !path.starts_with("target");
        let text = if is_read {
            fs::read_to_string(place).unwrap_or_default()
        } else {
            String::new()
        };
        let asks = |line: &str| {
            line.contains(&option) && (line.contains("curl") || line.starts_with("api "))
        };
        assert!(!text.lines().any(asks), "{path} asks curl for {option}");
    }
}

#[test]
fn sam_is_on_the_path_before_it_is_called() {
    for path in ["README.md", "docs/deploy.md"] {
        let document = read_file(path);
        let block = document
            .split("```")
            .find(|block| block.contains("sam build"))
            .expect("a block of commands");
        let tools = block
            .find("PATH=$(tests/tools.sh)/bin:$PATH")
            .expect("the tools are put on PATH");
        assert!(
            tools < block.find("sam build").expect("it is there"),
            "{path}"
        );
    }
}
