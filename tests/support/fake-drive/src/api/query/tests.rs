//! Queries in the forms that clients send.

use super::*;

#[test]
fn queries_are_read() {
    let parent = |id: &str| Box::new(QueryCondition::Parent(id.to_owned()));
    let name = |text: &str| QueryCondition::Name(QueryComparison::Is, text.to_owned());

    for (text, expected) in [
        ("'a' in parents", *parent("a")),
        ("name = 'it\\'s \\\\ here'", name("it's \\ here")),
        ("trashed!=true", QueryCondition::Trashed(false)),
        (
            "modifiedTime >= '2026-01-01T00:00:00'",
            QueryCondition::Time(
                TimeField::Modified,
                QueryComparison::GreaterOrEqual,
                1_767_225_600_000,
            ),
        ),
        ("not name = 'x'", QueryCondition::Not(Box::new(name("x")))),
        (
            "'a' in parents and trashed = false or 'b' in parents",
            QueryCondition::Or(
                Box::new(QueryCondition::And(
                    parent("a"),
                    Box::new(QueryCondition::Trashed(false)),
                )),
                parent("b"),
            ),
        ),
        (
            "trashed = false and ('a' in parents or 'b' in parents)",
            QueryCondition::And(
                Box::new(QueryCondition::Trashed(false)),
                Box::new(QueryCondition::Or(parent("a"), parent("b"))),
            ),
        ),
        (
            "shortcutDetails.targetId='a'",
            QueryCondition::Target(QueryComparison::Is, "a".to_owned()),
        ),
        ("", QueryCondition::All),
    ] {
        assert_eq!(QueryCondition::parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_no_query_is_refused() {
    for text in [
        "id = 'a'",
        "name = a",
        "name = 'a",
        "'a' in",
        "name > 'a'",
        "trashed = 'true'",
        "(name = 'a'",
        "name = 'a' name = 'b'",
        "modifiedTime > 'soon'",
        "name = 'a' and",
        "parents in 'a'",
        "shortcutDetails.targetId contains 'a'",
        "shortcutDetails = 'a'",
        "trashed. = true",
        "name = 'a\\n'",
        "é",
    ] {
        let failure = QueryCondition::parse(text).unwrap_err();
        assert_eq!(
            (failure.status, failure.reason.as_str()),
            (400, "invalid"),
            "{text}"
        );
    }
}

#[test]
fn folders_bound_a_query_only_where_nothing_else_can_match() {
    for (text, folders) in [
        (
            "trashed = false and ('a' in parents or 'b' in parents)",
            Some(vec!["a", "b"]),
        ),
        ("'a' in parents or 'a' in parents", Some(vec!["a"])),
        ("'a' in parents or trashed = false", None),
        ("not 'a' in parents", None),
    ] {
        assert_eq!(
            QueryCondition::parse(text).unwrap().required_folders(),
            folders,
            "{text}"
        );
    }
}
