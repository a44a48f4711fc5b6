//! The servers that `--profile` names.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::world::World;

#[test]
fn a_profile_names_a_server_and_keeps_its_key_to_itself() {
    let world = World::new();
    assert_eq!(world.run(&["profiles", "list"]).code, Some(4));
    let server = world.start_server();
    let add = ["profiles", "add", "home", "--url", &server.url];
    let added = world.run_with_input(&add, "local\n");
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(added.stdout.contains("with its key"), "{added:?}");
    let file = world.path("settings/recollect/config.toml");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("key = \"local\"")
    );

    let unknown = world.run(&["status", "--profile", "work"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("only home"), "{unknown:?}");
    let status = world.succeed(&["status", "--profile", "home"]);
    assert!(status.contains(&server.url), "{status}");

    world.succeed(&["profiles", "use", "home"]);
    assert!(world.succeed(&["status"]).contains(&server.url));
    let listed = world.succeed(&["profiles", "list"]);
    assert!(
        listed.contains("home") && !listed.contains("local\n"),
        "{listed}"
    );
    let row = listed.lines().nth(1).unwrap();
    assert_eq!(
        row.split_whitespace().skip(2).collect::<Vec<_>>(),
        ["yes", "yes"]
    );

    world.succeed(&["profiles", "remove", "home"]);
    assert_eq!(world.run(&["profiles", "list"]).code, Some(4));
    assert_eq!(world.run(&["profiles", "use", "home"]).code, Some(1));
    assert_eq!(world.run(&["profiles", "remove", "home"]).code, Some(1));
}

#[test]
fn an_address_that_is_none_is_refused_before_the_key_is_read() {
    let world = World::new();
    let added = world.run(&["profiles", "add", "home", "--url", "memory.example.com"]);
    assert_eq!(added.code, Some(1));
    assert!(!world.path("settings").exists());
}
