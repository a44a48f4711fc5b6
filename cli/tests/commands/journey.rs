//! The way of a user: add a folder, search it, ask, look at it, forget.

use serde_json::Value;

use crate::world::{World, read_pdf};

#[test]
fn a_folder_is_added_searched_and_forgotten_in_a_data_folder() {
    make_journey(&World::with_folder());
}

#[test]
fn a_folder_is_added_searched_and_forgotten_on_a_server() {
    make_journey(&World::with_server());
}

fn make_journey(world: &World) {
    world.write(
        "notes/ada.md",
        "I live in Lisbon and I prefer tea over coffee.\n",
    );
    world.write(
        "notes/more/harbour.md",
        "# Harbour\n\nThe ferry to Barreiro leaves at nine.\n",
    );
    world.write("notes/terms.pdf", read_pdf());
    world.write("notes/.hidden.md", "The secret word is plover.\n");

    add_folder(world);
    add_again(world);
    look_for_it(world);
    look_at_it(world);
    forget_it(world);
}

fn add_folder(world: &World) {
    let printed = world.succeed(&[
        "add",
        "notes",
        "--own-words",
        "--tag",
        "ada",
        "-m",
        "year=2025",
    ]);
    assert!(printed.contains("Added 3 documents"), "{printed}");
    assert!(printed.contains("notes/more/harbour.md"), "{printed}");
    assert!(printed.contains("1 hidden entry"), "{printed}");
}

fn add_again(world: &World) {
    let ids = document_ids(world);
    let added = world.json(&[
        "add",
        "notes",
        "--own-words",
        "--tag",
        "ada",
        "-m",
        "year=2025",
    ]);
    let documents = added["documents"].as_array().unwrap();
    assert!(
        documents.iter().all(|one| one["unchanged"] == true),
        "{added}"
    );
    assert_eq!(added["hidden"][0], "notes/.hidden.md");
    assert_eq!(document_ids(world), ids);

    let text = "I moved to Porto. I prefer tea over coffee.\n";
    world.write("notes/ada.md", text);
    let file = world.path("notes/ada.md");
    let added = world.json(&["add", file.to_str().unwrap(), "--own-words", "--tag", "ada"]);
    assert_eq!(added["documents"][0]["unchanged"], false, "{added}");
    assert_eq!(
        document_ids(world),
        ids,
        "a changed file is the same document"
    );
}

/// Returns the ids of all documents in order.
fn document_ids(world: &World) -> Vec<String> {
    let listed = world.json(&["list"]);
    let documents = listed["memories"].as_array().unwrap().iter();
    let mut ids: Vec<String> = documents.map(|one| text(&one["id"])).collect();
    ids.sort();
    assert_eq!(ids.len(), 3, "{listed}");
    ids
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn look_for_it(world: &World) {
    let printed = world.succeed(&["search", "deposit", "for", "a", "sailing", "boat"]);
    assert!(printed.contains("300 euro"), "{printed}");
    assert!(
        printed.contains("Rental terms (notes/terms.pdf)"),
        "{printed}"
    );
    let found = world.json(&[
        "search", "ferry", "-n", "1", "--mode", "passages", "--tag", "ada",
    ]);
    let chunk = text(&found["results"][0]["chunk"]);
    assert!(chunk.contains("leaves at nine"), "{found}");
    let nothing = world.run(&["search", "plover", "--threshold", "0.9"]);
    assert_eq!(nothing.code, Some(4), "{nothing:?}");
    assert!(
        nothing.stdout.starts_with("Nothing was found"),
        "{nothing:?}"
    );

    let printed = world.succeed(&["ask", "What does the user prefer to drink?"]);
    let (memories, passages) = printed.split_once("\n\n").expect("two groups");
    assert!(memories.starts_with("What is remembered\n"), "{printed}");
    assert!(memories.contains("prefers tea over coffee"), "{printed}");
    assert!(passages.contains("| I moved to Porto"), "{printed}");

    let profile = world.succeed(&["profile"]);
    assert!(profile.starts_with("Profile of ada\n"), "{profile}");
    assert!(profile.contains("prefers tea over coffee"), "{profile}");
}

fn look_at_it(world: &World) {
    let list = world.succeed(&["list", "--path", "notes/more/"]);
    let rows: Vec<&str> = list.lines().collect();
    assert_eq!(rows.len(), 2, "{list}");
    assert!(rows[0].starts_with("ID"), "{list}");
    let id = rows[1].split_whitespace().next().unwrap();

    for id in [id, &format!("{id}-0")] {
        let shown = world.succeed(&["show", id]);
        assert!(shown.starts_with("Harbour\n"), "{shown}");
        assert!(shown.contains("{\"year\":2025}"), "{shown}");
        assert!(
            shown.contains("| The ferry to Barreiro leaves at nine."),
            "{shown}"
        );
    }
    let shown = world.json(&["show", id]);
    assert_eq!(shown["document"]["id"], id);
    assert_eq!(shown["chunks"].as_array().unwrap().len(), 1);
    assert_eq!(world.run(&["show", "nothing"]).code, Some(4));

    let containers = world.succeed(&["list", "--containers"]);
    assert!(
        containers.lines().nth(1).unwrap().starts_with("ada"),
        "{containers}"
    );
    assert_eq!(world.run(&["list", "--status", "failed"]).code, Some(4));

    let status = world.succeed(&["status"]);
    assert!(status.contains("3 documents and"), "{status}");
    assert!(status.contains("processing  nothing"), "{status}");
    assert_eq!(world.json(&["status"])["session"]["org"]["id"], "local");
}

fn forget_it(world: &World) {
    let refused = world.run(&["forget", "--query", "tea or coffee"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert!(
        world
            .succeed(&["list", "--memories"])
            .contains("prefers tea")
    );

    let forgotten = world.run(&[
        "forget",
        "--query",
        "Does the user prefer tea or coffee?",
        "--yes",
    ]);
    assert_eq!(forgotten.code, Some(0), "{forgotten:?}");
    assert!(
        forgotten.stderr.contains("prefers tea over coffee"),
        "{forgotten:?}"
    );
    let memories = world.json(&[
        "search",
        "tea or coffee",
        "--mode",
        "memories",
        "--threshold",
        "0",
    ]);
    assert!(!memories.to_string().contains("prefers tea"), "{memories}");

    let listed = world.json(&["list", "--path", "notes/more/harbour.md"]);
    let id = text(&listed["memories"][0]["id"]);
    let deleted = world.run(&["forget", "--document", &id, "gone", "--yes"]);
    assert_eq!(deleted.code, Some(3), "{deleted:?}");
    assert!(deleted.stderr.contains("no document gone"), "{deleted:?}");
    assert_eq!(world.run(&["show", &id]).code, Some(4));
    assert_eq!(
        world.run(&["forget", "--document", &id, "--yes"]).code,
        Some(4)
    );
}

#[test]
fn a_file_that_cannot_be_read_is_reported_beside_those_that_can() {
    let world = World::with_folder();
    world.write("mixed/good.md", "The heron stands in the reeds.");
    world.write("mixed/bad.pdf", "%PDF-1.7 and nothing more");
    let added = world.run(&["add", "mixed", "--no-wait"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(
        added.stdout.contains("recollect work --until-idle --data "),
        "{added:?}"
    );

    let added = world.run(&["add", "mixed"]);
    assert_eq!(added.code, Some(3), "{added:?}");
    assert!(added.stdout.contains("failed mixed/bad.pdf: "), "{added:?}");
    assert!(added.stdout.contains("added mixed/good.md"), "{added:?}");
    assert_eq!(world.run(&["add", "mixed/bad.pdf"]).code, Some(1));

    let status = world.run(&["status"]);
    assert_eq!(status.code, Some(3), "{status:?}");
    assert!(status.stdout.contains("mixed/bad.pdf: "), "{status:?}");
    let listed = world.succeed(&["list", "--status", "failed"]);
    assert!(
        listed.contains("bad.pdf") && !listed.contains("good.md"),
        "{listed}"
    );
}

#[test]
fn text_is_added_from_the_command_line_and_from_standard_input() {
    let world = World::with_folder();
    let data = world.path("data").display().to_string();
    let first = world.json(&[
        "add",
        "--text",
        "The kiln reaches 1200 degrees.",
        "--id",
        "kiln",
    ]);
    let second = world.run_with_input(
        &["add", "-", "--id", "kiln", "--json", "--data", &data],
        "The kiln reaches 1300 degrees.",
    );
    assert_eq!(second.code, Some(0), "{second:?}");
    let second: Value = serde_json::from_str(&second.stdout).unwrap();
    assert_eq!(second["documents"][0]["id"], first["documents"][0]["id"]);
    let printed = world.succeed(&["search", "kiln"]);
    assert!(
        printed.contains("1300") && !printed.contains("1200"),
        "{printed}"
    );
    assert_eq!(world.run(&["add", "--text", " "]).code, Some(1));
    world.write("empty/.only-hidden", "x");
    assert_eq!(world.run(&["add", "empty"]).code, Some(4));
}
