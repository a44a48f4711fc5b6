//! Kills the server at random moments, repeatedly. Accepted content must be found, and deleted
//! content must stay gone.

use std::collections::{BTreeMap, BTreeSet};

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use crate::documents::{
    multipart_form, random_text, read_pdf, search_container, search_document, text_identifier,
};
use crate::http::{self, Reply};
use crate::server::{GIVE_UP_AFTER, RecollectServer};

/// The number of kills in one run.
const KILLS: usize = 36;
/// The number of kills between two checks, before each of which all processing ends. A document
/// that was begun 20 times counts as one that kills the server itself and ends as `failed`, so no
/// document may live through so many.
const KILLS_BETWEEN_CHECKS: usize = 4;
/// The container of all documents.
const TAG: &str = "crash";
/// The size of a text that takes long enough to be observed while it is chunked and embedded.
const LARGE: usize = 600_000;

/// The moment of a kill.
#[derive(Debug, Clone, Copy)]
enum KillMoment {
    /// After content was accepted.
    Accepted,
    /// As soon as a document is observed in this state.
    Seen(&'static str),
    /// After a deletion was answered.
    Deleted,
    /// Some time after the last answer.
    Later,
    /// While the server starts and recovers its work.
    Starting,
}

const MOMENTS: [KillMoment; 12] = [
    KillMoment::Accepted,
    KillMoment::Seen("extracting"),
    KillMoment::Seen("indexing"),
    KillMoment::Starting,
    KillMoment::Seen("chunking"),
    KillMoment::Deleted,
    KillMoment::Seen("queued"),
    KillMoment::Later,
    KillMoment::Seen("embedding"),
    KillMoment::Starting,
    KillMoment::Seen("done"),
    KillMoment::Later,
];

/// The states of a document that does not fail.
const STATES: [&str; 6] = [
    "queued",
    "extracting",
    "chunking",
    "embedding",
    "indexing",
    "done",
];

/// The state that the server has promised so far.
struct ServerHistory {
    folder: PathBuf,
    random: StdRng,
    /// The identifier in the text of each accepted document; `None` for a PDF.
    accepted: BTreeMap<String, Option<usize>>,
    /// Documents whose deletion was answered.
    deleted: BTreeMap<String, Option<usize>>,
    /// Documents whose deletion was requested but not answered.
    perhaps_deleted: BTreeSet<String>,
    /// The number of requests to add something that were not answered.
    perhaps_added: usize,
    /// The document that is replaced repeatedly: its id and the number of the last accepted text.
    diary: Option<(String, usize)>,
    diary_sent: usize,
    numbers: usize,
    seen: BTreeMap<&'static str, usize>,
}

#[test]
fn nothing_accepted_is_lost_and_nothing_deleted_returns_however_often_the_server_is_killed() {
    let seed = std::env::var_os("RECOLLECT_SEED")
        .and_then(|seed| seed.to_str()?.parse().ok())
        .unwrap_or_else(rand::random::<u64>);
    println!("RECOLLECT_SEED={seed} repeats this run as far as timing allows");
    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let mut story = ServerHistory::new(&folder.path().join("data"), seed);
    let mut kills = 0;
    loop {
        // A state may pass before it is observed. Unobserved states get more attempts at the end.
        let unseen = STATES
            .iter()
            .find(|state| !story.seen.contains_key(**state));
        let moment = match unseen {
            _ if kills < KILLS => MOMENTS[kills % MOMENTS.len()],
            Some(state) if kills < 3 * KILLS => KillMoment::Seen(state),
            _ => break,
        };
        story.run_and_kill(moment);
        kills += 1;
        if kills.is_multiple_of(KILLS_BETWEEN_CHECKS) {
            story.check_everything();
        }
    }

    let (accepted, deleted) = (story.accepted.len(), story.deleted.len());
    println!(
        "{kills} kills in {:?}: {accepted} documents, {deleted} deleted",
        begun.elapsed()
    );
    println!("killed in the states {:?}", story.seen);
    assert_eq!(story.seen.len(), STATES.len(), "no kill in some state");
}

impl ServerHistory {
    fn new(folder: &Path, seed: u64) -> Self {
        Self {
            folder: folder.to_owned(),
            random: StdRng::seed_from_u64(seed),
            accepted: BTreeMap::new(),
            deleted: BTreeMap::new(),
            perhaps_deleted: BTreeSet::new(),
            perhaps_added: 0,
            diary: None,
            diary_sent: 0,
            numbers: 0,
            seen: BTreeMap::new(),
        }
    }

    /// Runs the server once and kills it at the given moment.
    fn run_and_kill(&mut self, moment: KillMoment) {
        if matches!(moment, KillMoment::Starting) {
            let server = RecollectServer::spawn_server(&self.folder, &[]);
            self.random_pause(150);
            return server.kill();
        }

        let server = RecollectServer::start(&self.folder);
        let mut fresh = Vec::new();
        match moment {
            // A small document passes these states too quickly to be observed.
            KillMoment::Seen("extracting" | "chunking" | "embedding") => {
                fresh.push(self.add_text(&server, LARGE))
            }
            // Large documents keep the workers busy, so that later ones have to wait.
            KillMoment::Seen("queued") => (0..5).for_each(|_| drop(self.add_text(&server, LARGE))),
            _ => {}
        }

        for _ in 0..self.random.random_range(1..5) {
            let bytes = [200, 2_000, 40_000][self.random.random_range(0..3)];
            fresh.push(self.add_text(&server, bytes));
        }

        if self.random.random_bool(0.5) {
            fresh.push(self.add_pdf(&server));
        }

        self.write_diary(&server);
        match moment {
            KillMoment::Seen(state) => self.wait_until_seen(&server, &fresh, state),
            KillMoment::Deleted => self.delete(&server, &fresh),
            KillMoment::Later => self.random_pause(300),
            KillMoment::Accepted | KillMoment::Starting => {}
        }

        // In half of the cases, a request is in progress when the server dies.
        if self.random.random_bool(0.5) {
            self.kill_during_request(server);
        } else {
            server.kill();
        }
    }

    /// Kills the server while it receives a request.
    fn kill_during_request(&mut self, server: RecollectServer) {
        self.perhaps_added += 1;
        self.numbers += 1;
        let body = json!({"content": random_text(&mut self.random, self.numbers, 20_000), "containerTag": TAG});
        let address = server.address();
        let wait = Duration::from_micros(self.random.random_range(0..8_000));
        let call = thread::spawn(move || {
            http::send(
                address,
                "POST",
                "/v3/documents",
                &[],
                body.to_string().as_bytes(),
            )
        });

        thread::sleep(wait);
        server.kill();

        if let Ok(reply) = call.join().expect("a client does not panic") {
            self.perhaps_added -= 1;
            let id = accepted_id(&reply);
            self.accepted.insert(id, Some(self.numbers));
        }
    }

    fn random_pause(&mut self, most_millis: u64) {
        thread::sleep(Duration::from_millis(
            self.random.random_range(0..most_millis),
        ));
    }

    fn add_text(&mut self, server: &RecollectServer, bytes: usize) -> String {
        self.numbers += 1;
        let number = self.numbers;
        let content = random_text(&mut self.random, number, bytes);
        let body = json!({"content": content, "containerTag": TAG});
        let id = accepted_id(&server.call("POST", "/v3/documents", &body));
        self.accepted.insert(id.clone(), Some(number));
        id
    }

    fn add_pdf(&mut self, server: &RecollectServer) -> String {
        self.numbers += 1;
        let custom_id = format!("pdf-{}", self.numbers);
        let fields = [("containerTag", TAG), ("customId", custom_id.as_str())];
        let (kind, body) = multipart_form("tern.pdf", &read_pdf(), &fields);
        let headers = [("content-type", kind.as_str())];
        let reply = http::send(
            server.address(),
            "POST",
            "/v3/documents/file",
            &headers,
            &body,
        );
        let id = accepted_id(&reply.expect("the server runs"));
        self.accepted.insert(id.clone(), None);

        id
    }

    fn write_diary(&mut self, server: &RecollectServer) {
        self.numbers += 1;
        self.diary_sent = self.numbers;
        let content = random_text(&mut self.random, self.numbers, 1_000);
        let body = json!({"content": content, "containerTag": TAG, "customId": "diary"});
        let id = accepted_id(&server.call("POST", "/v3/documents", &body));
        self.diary = Some((id, self.numbers));
    }

    /// Watches one document: the last one for the state `queued`, because it waits for the others,
    /// otherwise the first.
    fn wait_until_seen(&mut self, server: &RecollectServer, fresh: &[String], state: &'static str) {
        let watched = if state == "queued" {
            fresh.last()
        } else {
            fresh.first()
        };
        let watched = watched.expect("something was added");

        let begun = Instant::now();
        loop {
            let found = server
                .document_status(watched)
                .expect("an accepted document is there");
            if found == state {
                *self.seen.entry(state).or_default() += 1;
                return;
            }
            assert_ne!(found, "failed");
            if found == "done" {
                return;
            }
            assert!(begun.elapsed() < GIVE_UP_AFTER, "{watched} stays {found}");
        }
    }

    fn delete(&mut self, server: &RecollectServer, fresh: &[String]) {
        let old = self.accepted.keys().next().cloned();
        for id in old.iter().chain(fresh.iter().take(2)) {
            let Some(number) = self.accepted.remove(id) else {
                continue;
            };
            match server.try_call("DELETE", &format!("/v3/documents/{id}"), &Value::Null) {
                Ok(reply) => {
                    assert_eq!(reply.status, 204, "{}", reply.body);
                    self.deleted.insert(id.clone(), number);
                }
                Err(_) => drop(self.perhaps_deleted.insert(id.clone())),
            }
        }
    }

    /// Restarts the server, waits until everything is processed, and searches for every document.
    fn check_everything(&mut self) {
        let server = RecollectServer::start(&self.folder);
        for id in self.accepted.keys() {
            server.wait_done(id);
        }

        for (id, number) in &self.accepted {
            let found = match number {
                Some(number) => search_container(&server, &text_identifier(*number), TAG),
                // All PDFs have the same text.
                None => search_document(&server, "TP-4471-X", id),
            };
            assert!(
                found.contains(id),
                "{id} ({number:?}) is done and not found, only {found:?}"
            );
        }

        for (id, number) in &self.deleted {
            assert_eq!(server.document_status(id), None, "{id} was deleted");
            if let Some(number) = number {
                let found = search_container(&server, &text_identifier(*number), TAG);
                assert!(!found.contains(id), "{id} was deleted and is found");
            }
        }

        self.check_diary(&server);
        self.check_list(&server);
    }

    fn check_diary(&self, server: &RecollectServer) {
        let Some((id, number)) = &self.diary else {
            return;
        };

        server.wait_done(id);
        let read = server
            .call("GET", &format!("/v3/documents/{id}"), &Value::Null)
            .body;
        let content = read["content"].as_str().expect("a text");
        assert!(
            content.contains(&text_identifier(*number)),
            "the last text of {id} is {number}"
        );
        assert!(search_container(server, &text_identifier(*number), TAG).contains(id));
    }

    fn check_list(&self, server: &RecollectServer) {
        let body = json!({"containerTags": [TAG], "limit": 1000});
        let listed = server.call("POST", "/v3/documents/list", &body).body;
        let total = listed["pagination"]["totalItems"]
            .as_u64()
            .expect("a number") as usize;
        let sure = self.accepted.len() + usize::from(self.diary.is_some());
        let most = sure + self.perhaps_added + self.perhaps_deleted.len();
        assert!(
            (sure..=most).contains(&total),
            "{total} documents instead of {sure} to {most}"
        );

        for document in listed["memories"].as_array().expect("a list") {
            let id = document["id"].as_str().expect("an id");
            assert!(!self.deleted.contains_key(id), "{id} was deleted");
        }
    }
}

/// Returns the id of an accepted document.
fn accepted_id(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.body);
    reply.body["id"].as_str().expect("an id").to_owned()
}
