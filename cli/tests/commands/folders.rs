//! Commands that open a data folder themselves.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;

use crate::world::World;

#[test]
fn a_typing_error_makes_no_data_folder() {
    let world = World::new();
    world.write("empty/note.md", "Not a backup.");
    for arguments in [
        &["export", "--container-tag", "a"][..],
        &["keys", "list"],
        &["keys", "disable", "kPrK3vVzz7Tx"],
        &["backup", "saved"],
        &["restore", "empty"],
        &["restore", "nope"],
    ] {
        let ended = world.run(&[arguments, &["--data", "typo"]].concat());
        assert_eq!(ended.code, Some(1), "{arguments:?}: {ended:?}");
        assert!(!world.path("typo").exists(), "{arguments:?}");
    }
}

#[test]
fn keys_are_listed_with_the_containers_that_they_reach() {
    let world = World::with_folder();
    world.succeed(&["keys", "create", "--name", "ada"]);
    world.succeed(&["keys", "create", "--name", "bob", "--tag", "notes,maps"]);
    let listed = world.succeed(&["keys", "list"]);
    let rows: Vec<&str> = listed.lines().collect();
    assert!(rows[0].contains("CONTAINERS"), "{listed}");
    let last_two = |row: &str| -> Vec<String> {
        let words = row.split_whitespace().rev().take(2);
        words.map(str::to_owned).collect()
    };
    assert_eq!(last_two(rows[1]), ["ada", "all"], "{listed}");
    assert_eq!(last_two(rows[2]), ["bob", "notes,maps"], "{listed}");

    let none = world.succeed(&["keys", "list", "--org", "nope"]);
    assert_eq!(none, "The organization nope has no keys.\n");
    let id = rows[1].split_whitespace().next().unwrap();
    let unknown = world.run(&["keys", "disable", id, "--org", "nope"]);
    assert_eq!(unknown.code, Some(1));
    let expected = format!("there is no key {id} in the organization nope");
    assert!(unknown.stderr.contains(&expected), "{unknown:?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_not_called_damaged() {
    let world = World::with_folder();
    world.succeed(&["add", "--text", "The ferry leaves at nine."]);
    let data = world.path("data");
    fs::set_permissions(&data, Permissions::from_mode(0o555)).unwrap();
    // Root may write everywhere.
    let is_root = File::create(data.join("probe")).is_ok();
    let check = world.run(&["check"]);
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    if !is_root {
        assert_eq!(check.code, Some(2), "{check:?}");
        assert!(check.stderr.contains("cannot write to it"), "{check:?}");
    }
}
