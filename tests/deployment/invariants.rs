//! Rules for the sources that neither the compiler nor Clippy checks.

use crate::tree::{code_before_tests, list_files, product_sources, read_file};

/// Returns the sorted paths of the sources whose code contains one of `words`.
fn sources_containing(words: &[&str]) -> Vec<String> {
    let mut paths: Vec<String> = product_sources()
        .into_iter()
        .filter(|(_, text)| {
            let code = code_before_tests(text);
            words.iter().any(|word| code.contains(word))
        })
        .map(|(path, _)| path)
        .collect();
    paths.sort();
    paths
}

#[test]
fn one_place_turns_errors_into_status_codes() {
    let mapping = sources_containing(&["=> StatusCode::", "=> http::StatusCode::"]);
    // These are separate services: the embedded AWS services and the fake drive.
    let is_ours = |path: &&String| {
        !["shared/embedded/", "tests/support/fake-drive/"]
            .iter()
            .any(|other| path.starts_with(other))
    };
    let ours = mapping.iter().filter(is_ours);

    // A page that tells a user about the provider's refusal is not an error of the product.
    let pages = "functions/connections/src/consent.rs";
    assert_eq!(
        ours.collect::<Vec<_>>(),
        [pages, "shared/edge/src/error.rs"]
    );
}

#[test]
fn clippy_is_overruled_about_clock_and_environment_in_these_places_only() {
    let places = sources_containing(&["clippy::disallowed_methods"]);
    let wanted = [
        "cli/src/command/keys.rs",
        "shared/aws/src/clock.rs",
        "shared/embedded/src/clock.rs",
        "shared/lambda/src/lib.rs",
        "shared/remote/src/models/bedrock.rs",
    ];
    assert_eq!(places, wanted);

    // Clippy does not know these ways around the disallowed methods.
    assert_eq!(
        sources_containing(&[
            "env::vars",
            "env::var_os",
            "option_env!",
            "UNIX_EPOCH.elapsed"
        ]),
        Vec::<String>::new()
    );

    let arguments = sources_containing(&["env::args"]);
    assert!(
        arguments.iter().all(|path| path.ends_with("/main.rs")),
        "{arguments:?}"
    );
}

#[test]
fn random_values_come_from_the_types_they_are_for() {
    let places = sources_containing(&["rand::", "getrandom", "Uuid::new"]);
    // The sandbox child may request random bytes from the system, as its hash maps do.
    let others = ["shared/embedded/", "shared/sandbox/src/confinement.rs"];
    let is_ours = |path: &&String| {
        !others.iter().any(|other| path.starts_with(other)) && !path.contains("/tests/")
    };
    let ours: Vec<_> = places.iter().filter(is_ours).collect();

    let secrets = [
        "shared/domain/src/ids.rs",
        "shared/domain/src/key.rs",
        "shared/service/src/connections/tickets.rs",
        "shared/service/src/erasure_report.rs",
    ];
    let pauses_and_boundaries = [
        "shared/service/src/retry.rs",
        "shared/remote/src/models/chat.rs",
        "shared/remote/src/multipart.rs",
    ];
    let mut expected = [secrets.as_slice(), pauses_and_boundaries.as_slice()].concat();
    expected.sort_unstable();
    assert_eq!(ours, expected.iter().collect::<Vec<_>>());
}

#[test]
fn an_unlimited_tenant_is_created_in_these_places_only() {
    let mut places = sources_containing(&["Tenant::for_work(", "Tenant::for_operator("]);
    places.retain(|path| !path.contains("/tests/"));
    let expected = [
        "cli/src/check.rs",
        "cli/src/command/place.rs",
        "cli/src/transfer/backup.rs",
        "shared/aws/src/api_keys.rs",
        "shared/aws/src/request_log.rs",
        "shared/domain/src/job.rs",
        "shared/domain/src/ports/documents.rs",
        "shared/service/src/authentication.rs",
        "shared/service/src/connections/tickets.rs",
        "shared/service/src/files.rs",
        "shared/service/src/orphans.rs",
    ];
    assert_eq!(places, expected);
}

#[test]
fn only_the_layers_that_may_print_or_end_the_process_do() {
    let places = sources_containing(&["process::exit", "process::abort"]);
    assert!(
        places
            .iter()
            .all(|path| path.starts_with("shared/sandbox/") || path.ends_with("/main.rs")),
        "{places:?}"
    );
}

#[test]
fn every_source_says_what_it_is() {
    let all = ["cli", "functions", "shared", "tests"]
        .into_iter()
        .flat_map(list_files);
    for (path, place) in all.filter(|(path, _)| path.ends_with(".rs")) {
        let text = std::fs::read_to_string(place).expect("sources are UTF-8");
        // Tests that moved out of a file are described in that file.
        let moved = path.ends_with("/tests.rs");
        assert!(
            moved || text.starts_with("//! ") || text.starts_with("#![doc"),
            "{path} has no module doc"
        );
    }
}

#[test]
fn no_source_is_too_long_to_read() {
    let all = ["cli", "functions", "shared", "tests"]
        .into_iter()
        .flat_map(list_files);
    for (path, place) in all.filter(|(path, _)| path.ends_with(".rs")) {
        let lines = std::fs::read_to_string(place)
            .expect("sources are UTF-8")
            .lines()
            .count();
        assert!(lines <= 700, "{path} has {lines} lines");
    }
}

#[test]
fn nothing_names_a_place_on_somebodys_machine() {
    // The paths are assembled here because this file is searched as well.
    let places = ["work", "root", "home", "Users", "farm"].map(|name| format!("/{name}/"));
    for (path, place) in list_files(".") {
        let Ok(text) = std::fs::read_to_string(place) else {
            continue; // Not text.
        };
        for (number, line) in text.lines().enumerate() {
            let found = places.iter().find(|place| mentions_path(line, place));
            assert_eq!(found, None, "{path}:{}: {line}", number + 1);
        }
    }
}

/// Checks whether `line` has `place` at the beginning of a path rather than in the middle of one.
fn mentions_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|before| !before.is_alphanumeric() && !"._-}>)".contains(before))
    })
}

#[test]
fn the_licence_is_the_one_that_the_manifests_name() {
    assert!(read_file("Cargo.toml").contains("license = \"Apache-2.0\""));
    assert!(read_file("LICENSE").contains("Apache License"));
}
