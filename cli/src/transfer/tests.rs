//! Tests of reading the files of other services.

use domain::{ContainerTag, Timestamp};
use serde_json::{Map, Value, json};

use super::foreign_records::ForeignRecords;
use super::import::ImportFormat;
use super::{convert, zep};

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[test]
fn files_are_known_by_their_shape() {
    let memory = json!({"id": "1", "memory": "x"});
    let fact = json!({"uuid": "1", "fact": "x"});
    let session = json!({"session_id": "1", "messages": []});
    let document = json!({"id": "1", "status": "done", "type": "text", "content": "x"});
    let entry = json!({"id": "1", "memory": "x", "isLatest": true});
    let message = json!({"role": "user", "content": "x"});
    let cases = [
        (
            json!({"memories": [{"content": "x"}, {"content": "y"}]}).to_string(),
            (2, 0, 0),
        ),
        (
            json!({"memoryEntries": [entry], "pagination": {}}).to_string(),
            (1, 0, 0),
        ),
        (
            json!({"s1": session, "s2": {"messages": [message]}}).to_string(),
            (0, 2, 0),
        ),
        (
            json!({"s1": [message], "s2": [message, message]}).to_string(),
            (0, 2, 0),
        ),
        (json!([memory, memory]).to_string(), (2, 0, 0)),
        (
            json!({"count": 1, "results": [memory]}).to_string(),
            (1, 0, 0),
        ),
        (format!("{memory}\n\n{memory}\n"), (2, 0, 0)),
        (
            json!({"results": [memory], "relations": []}).to_string(),
            (1, 0, 0),
        ),
        (
            json!({"sessions": [session], "edges": [fact, fact]}).to_string(),
            (0, 1, 2),
        ),
        (
            json!({"messages": [], "relevant_facts": [fact], "facts": ["y"]}).to_string(),
            (0, 1, 2),
        ),
        (session.to_string(), (0, 1, 0)),
        (json!([]).to_string(), (0, 0, 0)),
    ];

    for (text, expected) in cases {
        let records = ForeignRecords::read_records(&text, ImportFormat::Auto).unwrap();
        let counts = (
            records.memories.len(),
            records.sessions.len(),
            records.facts.len(),
        );
        assert_eq!(counts, expected, "{text}");
        assert_eq!(records.documents, [], "{text}");
    }

    for list in ["memories", "documents"] {
        let page = json!({list: [document, document], "pagination": {"totalItems": 2}}).to_string();
        let records = ForeignRecords::read_records(&page, ImportFormat::Auto).unwrap();
        assert_eq!((records.documents.len(), records.memories.len()), (2, 0));
    }
}

#[test]
fn a_record_has_the_owner_of_the_object_around_it() {
    let text = json!({"sessions": [
        {"session_id": "s1", "user_id": "ada", "messages": [], "facts": ["Ada is allergic to nuts"]},
        {"session_id": "s2", "user_id": "ben", "messages": [], "facts": [
            {"fact": "Ben is diabetic", "user_id": null}, {"fact": "Cy is tall", "user_id": "cy"},
            {"fact": "It rains", "containerTag": "weather"},
        ]},
    ]});
    let records = ForeignRecords::read_records(&text.to_string(), ImportFormat::Auto).unwrap();
    let owners: Vec<(&Value, &Value)> = records
        .facts
        .iter()
        .map(|(_, fact)| {
            let field = |name: &str| fact.get(name).unwrap_or(&Value::Null);
            (field("user_id"), field("containerTag"))
        })
        .collect();
    let null = Value::Null;
    let expected = [
        (&json!("ada"), &null),
        (&json!("ben"), &null),
        (&json!("cy"), &null),
        (&null, &json!("weather")),
    ];
    assert_eq!(owners, expected);

    let page = json!({"containerTags": ["a", "b"], "results": [{"memory": "x"}]}).to_string();
    let records = ForeignRecords::read_records(&page, ImportFormat::Auto).unwrap();
    assert_eq!(records.memories[0].1["containerTags"], json!(["a", "b"]));
}

#[test]
fn an_unknown_shape_is_refused_with_those_that_are_known() {
    for (text, reason) in [
        ("what is this", "line 1"),
        ("{\"memory\": \"x\"}\nnot json", "line 2"),
        ("{\"hello\": 1}", "record 1 is of no known shape"),
        ("[{\"memory\": \"x\"}, 7]", "record 2 is a number"),
        ("[{\"memory\": {\"nested\": true}}]", "record 1"),
        ("{}", "record 1 is of no known shape"),
        ("{\"songs\": []}", "record 1 is of no known shape"),
        ("{\"s1\": {\"messages\": []}, \"s2\": 7}", "record 1"),
    ] {
        let error = format!(
            "{:#}",
            ForeignRecords::read_records(text, ImportFormat::Auto).unwrap_err()
        );
        assert!(
            error.contains(reason) && error.contains("\"session_id\""),
            "{text}: {error}"
        );
    }
}

#[test]
fn messages_of_both_versions_become_turns() {
    let parse_turn = |message: Value| {
        let session = object(json!({"thread_id": "t", "messages": [message]}));
        let new = zep::conversation_of_session(&ContainerTag::default_tag(), &session).unwrap()?;
        let service::Content::Turns(turns) = new.content else {
            return None;
        };
        let turn = turns.into_iter().next()?;
        Some((
            turn.role,
            turn.name.unwrap_or_default(),
            turn.at.map(Timestamp::as_millis),
        ))
    };
    let cases = [
        (
            json!({"role_type": "user", "role": "Ada", "content": "x"}),
            Some(("user", "Ada", None)),
        ),
        (
            json!({"role_type": "assistant", "role": "assistant", "content": "x"}),
            Some(("assistant", "", None)),
        ),
        (
            json!({"role": "assistant", "name": "Bo", "content": "x"}),
            Some(("assistant", "Bo", None)),
        ),
        (
            json!({"role": "function", "content": "x"}),
            Some(("tool", "", None)),
        ),
        (
            json!({"role_type": "norole", "content": "x"}),
            Some(("user", "", None)),
        ),
        (
            json!({"role": "Cy", "content": "x", "created_at": "1970-01-01T00:00:01Z"}),
            Some(("user", "Cy", Some(1000))),
        ),
        (json!({"role": "user", "content": "  "}), None),
    ];

    for (message, expected) in cases {
        let expected = expected.map(|(role, name, at)| (role.to_owned(), name.to_owned(), at));
        assert_eq!(parse_turn(message.clone()), expected, "{message}");
    }

    let nameless = object(json!({"messages": [{"role": "user", "content": "x"}]}));
    assert!(zep::conversation_of_session(&ContainerTag::default_tag(), &nameless).is_err());
}

#[test]
fn times_and_metadata_are_read_as_they_come() {
    for (text, expected) in [
        ("2024-02-03T10:00:00+02:00", "2024-02-03T08:00:00.000Z"),
        ("2024-02-03T10:00:00.5", "2024-02-03T10:00:00.500Z"),
        ("2024-02-03 10:00:00", "2024-02-03T10:00:00.000Z"),
        ("2024-02-03", "2024-02-03T00:00:00.000Z"),
    ] {
        let time = convert::time_field(&object(json!({"at": text})), &["no", "at"])
            .unwrap()
            .unwrap();
        assert_eq!(time.to_string(), expected, "{text}");
    }

    assert!(convert::time_field(&object(json!({"at": "soon"})), &["at"]).is_err());
    assert_eq!(
        convert::time_field(&object(json!({"at": null})), &["at"]).unwrap(),
        None
    );
    let converted = convert::convert_metadata(Some(
        &json!({"a b/ü": 1, "": true, "l": ["x", 2], "n": null, "s": ["x"]}),
    ));
    assert_eq!(
        Value::Object(converted),
        json!({"a_b__": 1, "_": true, "l": "[\"x\",2]", "s": ["x"]})
    );
}
