//! A folder that is watched.

use std::fs;
use std::process::{Child, Command};

use crate::world::{World, wait_until};

/// A watching process, which ends with the test.
struct Watching(Child);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_watched_folder_is_kept_in_step_until_it_is_interrupted() {
    let world = World::with_server();
    world.write("notes/first.md", "The curlew nests in the meadow.");
    let child = world.spawn(&["watch", "notes", "--delete", "--every", "1"]);
    let mut watching = Watching(child);
    let finds = |words: &str| world.run(&["search", words]).stdout;

    wait_until("the first file", || {
        finds("curlew").contains("in the meadow")
    });
    world.write("notes/second.md", "The bittern booms in the reeds.");
    wait_until("a new file", || finds("bittern").contains("in the reeds"));
    world.write("notes/first.md", "The curlew nests beside the river.");
    wait_until("a changed file", || {
        finds("curlew").contains("beside the river")
    });
    fs::remove_file(world.path("notes/second.md")).unwrap();
    wait_until("a vanished file", || {
        !world.succeed(&["list"]).contains("second.md")
    });

    let pid = watching.0.id().to_string();
    Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert_eq!(watching.0.wait().unwrap().code(), Some(0));
}

#[test]
fn a_folder_that_does_not_exist_is_not_watched() {
    let world = World::with_folder();
    let watch = world.run(&["watch", "gone"]);
    assert_eq!(watch.code, Some(1));
    assert!(watch.stderr.contains("gone"), "{watch:?}");
    assert!(!world.path("data").exists());
}
