//! The service that a command finds, and its message if there is none.

use crate::world::{World, ended};

#[test]
fn a_server_that_is_not_there_is_named() {
    let world = World::new();
    let status = world.run(&["status", "--url", "http://127.0.0.1:1"]);
    assert_eq!(status.code, Some(1));
    assert!(
        status.stderr.contains("cannot reach http://127.0.0.1:1"),
        "{status:?}"
    );
    assert_eq!(status.stderr.matches("refused").count(), 1, "{status:?}");
    let status = world.run(&["status", "--url", "127.0.0.1:1"]);
    assert_eq!(status.code, Some(1));
    assert!(
        status.stderr.contains("http://127.0.0.1:8787"),
        "{status:?}"
    );
}

#[test]
fn a_wrong_key_is_refused_and_never_printed() {
    let world = World::with_server();
    for arguments in [["search", "x"], ["list", "--json"], ["add", "--text=x"]] {
        let key = ["--key", "rk_wrong_secret"];
        let ended = world.run(&[&arguments[..], &key].concat());
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let printed = format!("{}{}", ended.stdout, ended.stderr);
        assert!(printed.contains("key"), "{printed}");
        assert!(!printed.contains("secret"), "{printed}");
    }
}

#[test]
fn a_server_elsewhere_is_not_called_without_a_key() {
    let world = World::new();
    let search = world.run(&["search", "x", "--url", "https://memory.example.com"]);
    assert_eq!(search.code, Some(1));
    assert!(search.stderr.contains("RECOLLECT_KEY"), "{search:?}");
}

#[test]
fn a_command_uses_the_running_server_and_otherwise_the_data_folder() {
    let world = World::new();
    let search = world.run(&["search", "ferry"]);
    assert_eq!(search.code, Some(1));
    assert!(search.stderr.contains("recollect serve"), "{search:?}");
    assert!(
        !world.path(".recollect").exists(),
        "a search creates nothing"
    );

    world.succeed(&["add", "--text", "The ferry leaves at nine."]);
    assert!(world.path(".recollect").is_dir());
    assert!(
        world
            .succeed(&["search", "ferry"])
            .contains("leaves at nine")
    );

    // The server has a data folder of its own, so the answer tells which one was asked.
    let server = world.start_server();
    let (_, port) = server.url.rsplit_once(':').unwrap();
    let mut command = world.command(&["search", "ferry"]);
    let asked = ended(command.env("RECOLLECT_PORT", port).output().unwrap());
    assert_eq!(asked.code, Some(4), "{asked:?}");
    let mut command = world.command(&["open", "--print"]);
    let opened = ended(command.env("RECOLLECT_URL", &server.url).output().unwrap());
    assert_eq!(opened.stdout, format!("{}/\n", server.url));
    assert_eq!(world.run(&["open", "--print"]).code, Some(1));
}

#[test]
fn the_health_of_a_server_is_not_that_of_a_data_folder() {
    let world = World::new();
    world.succeed(&["add", "--text", "The ferry leaves at nine."]);
    assert_eq!(world.run(&["status"]).code, Some(0));
    let health = world.run(&["status", "--health"]);
    assert_eq!(health.code, Some(1), "{health:?}");
    assert!(
        health.stderr.contains("cannot reach http://127.0.0.1:1"),
        "{health:?}"
    );
    let named = world.run(&["status", "--health", "--data", ".recollect"]);
    assert_eq!(named.code, Some(0), "{named:?}");

    let server = world.start_server();
    let health = world.run(&["status", "--health", "--url", &server.url]);
    assert_eq!(health.stdout, format!("{} answers\n", server.url));
}

#[test]
fn a_key_comes_from_a_file_or_the_environment() {
    let world = World::with_server();
    let data = world.path("data").display().to_string();
    let created = ended(
        world
            .command(&["keys", "create", "--data", &data])
            .output()
            .unwrap(),
    );
    let key = created.stdout.lines().last().unwrap().to_owned();
    world.write("key", format!("{key}\n"));

    let of_file = world.json(&["status", "--key-file", "key"]);
    assert_eq!(of_file["session"]["user"]["name"], "key", "{of_file}");
    let local = world.json(&["status"]);
    assert_ne!(
        local["session"]["user"]["id"],
        of_file["session"]["user"]["id"]
    );
    let url = local["service"].as_str().unwrap();
    let mut command = world.command(&["status", "--json"]);
    command.env("RECOLLECT_URL", url).env("RECOLLECT_KEY", &key);
    let of_environment = ended(command.output().unwrap());
    let of_environment: serde_json::Value = serde_json::from_str(&of_environment.stdout).unwrap();
    assert_eq!(of_environment["session"], of_file["session"]);
}

#[test]
fn the_command_line_is_refused_with_code_2_before_anything_happens() {
    let world = World::new();
    for arguments in [
        &["add"][..],
        &["search"],
        &["forget"],
        &["add", "x", "-m", "novalue"],
        &["search", "x", "-n", "0"],
        &["search", "x", "--url", "http://a", "--data", "b"],
        &["list", "--memories", "--containers"],
        &["completions", "cmd"],
        &["add", "x", "--tag", "bad tag!"],
        &["search", "x", "--tag", "a,b c"],
    ] {
        let ended = world.run(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:?}");
    }
    let refused = world.run(&["add", "x", "--tag", "bad tag!"]);
    assert!(refused.stderr.contains("--tag"), "{refused:?}");
    assert!(
        refused.stderr.contains("1 to 100 characters"),
        "{refused:?}"
    );
    let missing = world.run(&["add", "gone.md"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("gone.md"), "{missing:?}");
    assert!(!world.path(".recollect").exists());
}

#[test]
fn every_help_has_examples_that_the_command_line_accepts() {
    let world = World::new();
    for command in [
        "add", "search", "ask", "profile", "list", "show", "forget", "status", "watch", "open",
        "profiles",
    ] {
        let help = world.succeed(&[command, "--help"]);
        let (_, examples) = help.split_once("Examples:\n").expect("examples");
        let examples = examples
            .lines()
            .filter(|line| line.starts_with("  recollect "));
        let mut checked = 0;
        for example in examples {
            let line = example.trim().split(['|', '<', '>']).next().unwrap();
            // A second column explains the command.
            let line = line.split("   ").next().unwrap().replace('"', "");
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            let ended = world.run(&[&words[..], &["--help"]].concat());
            assert_eq!(ended.code, Some(0), "{example}: {ended:?}");
            checked += 1;
        }
        assert!(checked > 0, "{command}");
    }
}

#[test]
fn completions_and_the_manual_know_every_command() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.succeed(&["completions", shell]);
        for word in ["forget", "watch", "own-words"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(world.succeed(&["manual"]).contains("recollect\\-add"));
    assert!(
        world
            .succeed(&["manual", "add"])
            .contains("\\-\\-own\\-words")
    );
    let page = world.succeed(&["manual", "keys", "create"]);
    let source = format!("\"recollect {}", env!("CARGO_PKG_VERSION"));
    assert!(
        page.contains(".TH recollect-keys-create 1") && page.contains(&source),
        "{page}"
    );
    assert!(page.contains("\\-\\-expires\\-days"), "{page}");
    for unknown in [&["manual", "fly"][..], &["manual", "keys", "fly"]] {
        assert_eq!(world.run(unknown).code, Some(1), "{unknown:?}");
    }
}

#[test]
fn output_that_nobody_reads_is_no_failure() {
    let world = World::with_folder();
    world.succeed(&["add", "--text", "The ferry leaves at nine."]);
    for command in [&["list"][..], &["keys", "list"], &["check"]] {
        let mut child = world.spawn(command);
        drop(child.stdout.take());
        assert!(child.wait().unwrap().success(), "{command:?}");
    }
}

#[test]
fn reports_of_deletions_are_looked_for_and_verified() {
    let world = World::with_folder();
    world.succeed(&["add", "--text", "The ferry leaves at nine."]);
    let missing = world.run(&["erasure-report", "7Qm4x2BvNc8sJtKfWyEh3d"]);
    assert_eq!(missing.code, Some(4), "{missing:?}");
    assert!(missing.stderr.contains("no deletion"), "{missing:?}");

    world.write(
        "report.json",
        r#"{"report": {}, "jws": "a.b", "publicKey": {"x": "c"}}"#,
    );
    let file = world.path("report.json").display().to_string();
    let changed = world.run(&["erasure-report", "--verify", &file]);
    assert_eq!(changed.code, Some(1), "{changed:?}");
    assert!(changed.stderr.contains("three parts"), "{changed:?}");
}
