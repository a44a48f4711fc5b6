//! A later statement replaces an earlier one in search and in the profile, and the old version
//! becomes history.
//!
//! `updates/` has one table for each kind of change, with one case per line. Each case has a
//! container of its own. `talks` are conversations, each a day and its turns (`u: ` the user, `a: `
//! the assistant, otherwise the name of the speaker). Then the question `q` is asked, and these
//! must hold:
//!
//! - The first memory found and one line of the profile contain all words of `new`, or with `any`
//!   one of them.
//! - No memory found and no line of the profile contains a word of `old`, except in a sentence that
//!   also contains all of `new` or one of `but` ("moved from Vienna to Salzburg").
//! - An earlier version of the first memory contains one word of `old`.
//! - A live memory contains each word of `keep`.

use serde_json::{Value, json};

use crate::client::OrgClient;

/// The kinds of change, their cases, and the smallest number of cases that hold.
const TABLES: &[(&str, &str, usize)] = &[
    ("move", include_str!("updates/move.jsonl"), 11),
    ("job", include_str!("updates/job.jsonl"), 10),
    ("preference", include_str!("updates/preference.jsonl"), 12),
    ("name", include_str!("updates/name.jsonl"), 6),
    ("number", include_str!("updates/number.jsonl"), 11),
    ("plan", include_str!("updates/plan.jsonl"), 11),
    ("life", include_str!("updates/life.jsonl"), 12),
    ("negation", include_str!("updates/negation.jsonl"), 8),
    ("project", include_str!("updates/project.jsonl"), 12),
    ("correction", include_str!("updates/correction.jsonl"), 11),
    ("chain", include_str!("updates/chain.jsonl"), 8),
    ("third", include_str!("updates/third.jsonl"), 9),
    ("mixed", include_str!("updates/mixed.jsonl"), 6),
    ("world", include_str!("updates/world.jsonl"), 11),
    ("control", include_str!("updates/control.jsonl"), 15),
];
/// The smallest number of all cases that find the new statement first without a threshold of their
/// own.
const MIN_FIRST_AT_DEFAULT: usize = 150;

/// One line of a table.
struct UpdateCase {
    tag: String,
    body: Value,
}

impl UpdateCase {
    fn all() -> Vec<(&'static str, usize, Vec<Self>)> {
        let parse = |kind: &str, lines: &str| -> Vec<Self> {
            let bodies = lines
                .lines()
                .map(|line| serde_json::from_str(line).expect("a case"));
            bodies
                .enumerate()
                .map(|(i, body)| Self {
                    tag: format!("{kind}-{}", i + 1),
                    body,
                })
                .collect()
        };

        TABLES
            .iter()
            .map(|(kind, lines, floor)| (*kind, *floor, parse(kind, lines)))
            .collect()
    }

    /// Returns the words under a name, in lower case.
    fn case_words(&self, name: &str) -> Vec<String> {
        let words = self.body[name]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        words
            .iter()
            .map(|word| word.as_str().expect("a word").to_lowercase())
            .collect()
    }

    fn is_new(&self, text: &str) -> bool {
        let mut words = self.case_words("new").into_iter();
        let has = |word: String| text.to_lowercase().contains(&word);
        if self.body["any"] == true {
            words.any(has)
        } else {
            words.all(has)
        }
    }

    /// Checks whether the sentence states the old state as if it were true.
    fn is_old(&self, text: &str) -> bool {
        let has = |name| {
            self.case_words(name)
                .iter()
                .any(|word| text.to_lowercase().contains(word))
        };
        has("old") && !has("but") && !self.is_new(text)
    }

    async fn send_talks(&self, client: &OrgClient) {
        for (i, talk) in self.body["talks"]
            .as_array()
            .expect("talks")
            .iter()
            .enumerate()
        {
            let parts: Vec<&str> = talk
                .as_array()
                .expect("a talk")
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let turns: Vec<Value> = parts[1..].iter().map(|turn| parse_turn(turn)).collect();
            let body = json!({
                "conversationId": format!("{}-{i}", self.tag), "containerTags": [self.tag],
                "documentDate": parts[0], "messages": turns,
            });

            let answer = client.post("/v4/conversations", body).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    }

    /// Returns the rows of a search with the case's question and more fields.
    async fn search(&self, client: &OrgClient, more: &Value) -> Vec<Value> {
        let mut body =
            json!({"q": self.body["q"], "containerTag": self.tag, "searchMode": "memories"});
        for (name, value) in more.as_object().expect("fields") {
            body[name] = value.clone();
        }
        let answer = client.post("/v4/search", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["results"].as_array().expect("results").clone()
    }

    async fn profile(&self, client: &OrgClient) -> Vec<String> {
        let answer = client
            .post("/v4/profile", json!({"containerTag": self.tag}))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let profile = &answer.body["profile"];
        ["static", "dynamic"]
            .iter()
            .flat_map(|part| collect_texts(&profile[part], None))
            .collect()
    }

    /// Returns all violations of the case's rules.
    async fn find_violations(&self, client: &OrgClient) -> Vec<String> {
        let mut faults = Vec::new();
        let mut expect = |holds: bool, what: String| faults.extend((!holds).then_some(what));
        let asked = json!({"threshold": 0.3, "include": {"relatedMemories": true}});
        let rows = self.search(client, &asked).await;
        let found = collect_texts(&json!(rows), Some("memory"));
        expect(
            found.first().is_some_and(|text| self.is_new(text)),
            format!("first: {found:?}"),
        );
        let stale: Vec<_> = found.iter().filter(|text| self.is_old(text)).collect();
        expect(stale.is_empty(), format!("old found: {stale:?}"));
        let profile = self.profile(client).await;
        expect(
            profile.iter().any(|line| self.is_new(line)),
            format!("profile: {profile:?}"),
        );
        let stale: Vec<_> = profile.iter().filter(|line| self.is_old(line)).collect();
        expect(stale.is_empty(), format!("old in profile: {stale:?}"));
        let parents = rows
            .first()
            .map(|row| collect_texts(&row["context"]["parents"], Some("memory")));
        let parents = parents.unwrap_or_default();
        let old = self.case_words("old");
        let is_history = |text: &String| old.iter().any(|word| text.to_lowercase().contains(word));
        let wants_history = !old.is_empty() && self.body["nohistory"] != true;
        expect(
            !wants_history || parents.iter().any(is_history),
            format!("history: {parents:?}"),
        );
        let all = self
            .search(client, &json!({"threshold": 0, "limit": 100}))
            .await;
        let live = collect_texts(&json!(all), Some("memory"));
        for word in self.case_words("keep") {
            let kept = live.iter().any(|text| text.to_lowercase().contains(&word));
            expect(kept, format!("lost {word}: {live:?}"));
        }

        faults
    }

    async fn is_first_at_default(&self, client: &OrgClient) -> bool {
        let rows = self.search(client, &json!({})).await;
        collect_texts(&json!(rows), Some("memory"))
            .first()
            .is_some_and(|text| self.is_new(text))
    }
}

fn parse_turn(turn: &str) -> Value {
    match turn.split_once(": ").expect("who speaks") {
        ("u", text) => json!({"role": "user", "content": text}),
        ("a", text) => json!({"role": "assistant", "content": text}),
        (name, text) => json!({"role": "user", "name": name, "content": text}),
    }
}

/// Returns the strings of an array, or one field of each of its objects.
fn collect_texts(items: &Value, field: Option<&str>) -> Vec<String> {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |item: &Value| {
        field
            .map_or(item, |field| &item[field])
            .as_str()
            .map(str::to_owned)
    };
    items.iter().filter_map(text).collect()
}

#[tokio::test]
async fn what_is_said_later_replaces_what_was_said_before() {
    let client = OrgClient::new().await;
    let tables = UpdateCase::all();
    for case in tables.iter().flat_map(|(_, _, cases)| cases) {
        case.send_talks(&client).await;
    }

    client.run_until_settled().await;
    let (mut short, mut at_default, mut total) = (Vec::new(), 0, 0);
    for (kind, floor, cases) in &tables {
        let mut held = 0;
        for case in cases {
            let faults = case.find_violations(&client).await;
            held += usize::from(faults.is_empty());
            let is_first = case.is_first_at_default(&client).await;
            at_default += usize::from(is_first);
            if !is_first && faults.is_empty() {
                println!(
                    "{:14} not first at the default threshold: {}",
                    case.tag, case.body["q"]
                );
            }
            for fault in faults {
                println!("{:14} {fault}", case.tag);
            }
        }
        println!("== {kind}: {held} of {}", cases.len());
        total += held;
        short.extend((held < *floor).then(|| format!("{kind}: {held}, not {floor}")));
    }

    let all: usize = tables.iter().map(|(_, _, cases)| cases.len()).sum();
    println!("== all: {total} of {all}; first at the default threshold: {at_default}");
    assert!(short.is_empty(), "fewer cases hold: {}", short.join(", "));
    assert!(
        at_default >= MIN_FIRST_AT_DEFAULT,
        "first at the default threshold: {at_default}, not {MIN_FIRST_AT_DEFAULT}"
    );
}
