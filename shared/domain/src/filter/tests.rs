use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse_and_match(filter: &Value, metadata: &Value) -> bool {
    let metadata = Metadata::parse(metadata.as_object().unwrap().clone()).unwrap();
    Filter::parse(filter).unwrap().matches(&metadata)
}

fn document() -> Value {
    json!({"team": "Core", "size": 10, "ratio": "2.5", "whole": 2024.0, "open": true, "labels": ["Red", "green"]})
}

#[test]
fn conditions_follow_the_frozen_semantics() {
    let table = [
        (json!({"key": "team", "value": "Core"}), true),
        (json!({"key": "team", "value": "core"}), false),
        (
            json!({"key": "team", "value": "core", "ignoreCase": "true"}),
            true,
        ),
        (json!({"key": "size", "value": "10"}), true),
        (json!({"key": "whole", "value": "2024"}), true),
        (json!({"key": "whole", "value": "2024.0"}), true),
        (json!({"key": "whole", "value": "2025"}), false),
        (json!({"key": "open", "value": "true"}), true),
        (json!({"key": "labels", "value": "Red"}), false),
        (json!({"key": "missing", "value": "x"}), false),
        (
            json!({"key": "missing", "value": "x", "negate": true}),
            true,
        ),
        (
            json!({"key": "size", "value": "9", "filterType": "numeric", "numericOperator": ">"}),
            true,
        ),
        (
            json!({"key": "size", "value": "10", "filter_type": "numeric", "numeric_operator": ">", "negate": "true"}),
            true,
        ),
        (
            json!({"key": "ratio", "value": "2.50", "filterType": "numeric"}),
            true,
        ),
        (
            json!({"key": "team", "value": "1", "filterType": "numeric"}),
            false,
        ),
        (
            json!({"key": "labels", "value": "Red", "filterType": "array_contains"}),
            true,
        ),
        (
            json!({"key": "labels", "value": "red", "filterType": "array_contains"}),
            false,
        ),
        (
            json!({"key": "labels", "value": "red", "filterType": "array_contains", "ignoreCase": true}),
            true,
        ),
        (
            json!({"key": "team", "value": "Core", "filterType": "array_contains"}),
            true,
        ),
        (
            json!({"key": "team", "value": "or", "filterType": "string_contains"}),
            true,
        ),
        (
            json!({"key": "labels", "value": "ree", "filterType": "string_contains"}),
            true,
        ),
        (json!({"AND": []}), true),
        (json!({"OR": []}), false),
        (
            json!("{\"OR\":[{\"key\":\"team\",\"value\":\"Core\"}]}"),
            true,
        ),
    ];

    for (filter, expected) in table {
        assert_eq!(parse_and_match(&filter, &document()), expected, "{filter}");
    }
}

#[test]
fn wrong_expressions_say_where() {
    let table = [
        (json!(5), "filters:"),
        (json!("{"), "not JSON"),
        (json!({"AND": [], "OR": []}), "exactly one property"),
        (json!({"AND": {}}), "filters.AND"),
        (
            json!({"AND": [{"key": "a"}]}),
            "filters.AND[0]: a condition needs `value`",
        ),
        (json!({"value": "a"}), "needs `key`"),
        (
            json!({"key": "a", "value": "b", "filterType": "regex"}),
            "filters.filterType",
        ),
        (
            json!({"key": "a", "value": "b", "numericOperator": "!="}),
            "filters.numericOperator",
        ),
        (
            json!({"key": "a", "value": "x", "filterType": "numeric"}),
            "filters.value",
        ),
        (
            json!({"key": "a", "value": "b", "negate": "maybe"}),
            "filters.negate",
        ),
        (
            json!({"key": "a", "value": "b", "scope": "all"}),
            "filters.scope",
        ),
        (json!({"key": "a", "value": ["b"]}), "filters.value"),
    ];

    for (filter, expected) in table {
        let message = Filter::parse(&filter).unwrap_err().to_string();
        assert!(message.contains(expected), "{filter}: {message}");
    }
}

#[test]
fn limits_are_exact() {
    let condition = json!({"key": "a", "value": "b"});
    let many = |n: usize| json!({ "OR": vec![condition.clone(); n] });
    assert!(Filter::parse(&many(MAX_CONDITIONS)).is_ok());
    assert!(Filter::parse(&many(MAX_CONDITIONS + 1)).is_err());
    let deep = |n: usize| (0..n).fold(condition.clone(), |inner, _| json!({ "AND": [inner] }));
    assert!(Filter::parse(&deep(MAX_DEPTH)).is_ok());
    assert!(Filter::parse(&deep(MAX_DEPTH + 1)).is_err());
}

/// Evaluates a filter by the same rules, implemented a second time over the raw JSON without the
/// parser's types.
fn evaluate_naively(filter: &Value, metadata: &Map<String, Value>) -> bool {
    if let Some(parts) = filter.get("AND") {
        return parts
            .as_array()
            .unwrap()
            .iter()
            .filter(|part| !evaluate_naively(part, metadata))
            .count()
            == 0;
    }

    if let Some(parts) = filter.get("OR") {
        return parts
            .as_array()
            .unwrap()
            .iter()
            .filter(|part| evaluate_naively(part, metadata))
            .count()
            > 0;
    }

    let fold = |text: &str| {
        if filter["ignoreCase"] == true {
            text.to_lowercase()
        } else {
            text.to_owned()
        }
    };
    let expected = fold(filter["value"].as_str().unwrap());
    let scalar = |value: &Value| match value {
        Value::String(text) => fold(text),
        other => fold(&other.to_string()),
    };

    let items = |value: &Value| {
        value
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![value.clone()])
    };
    let number = |text: &str| text.trim().parse::<f64>().ok();

    let holds = metadata
        .get(filter["key"].as_str().unwrap())
        .is_some_and(|value| match filter["filterType"].as_str() {
            Some("numeric") => {
                let raw = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                let (Some(left), Some(right)) =
                    (number(&raw), number(filter["value"].as_str().unwrap()))
                else {
                    return false;
                };
                match filter["numericOperator"].as_str().unwrap_or("=") {
                    "=" => left == right,
                    ">" => left > right,
                    "<" => left < right,
                    ">=" => left >= right,
                    _ => left <= right,
                }
            }
            Some("array_contains") => items(value).iter().any(|item| scalar(item) == expected),
            Some("string_contains") => items(value)
                .iter()
                .any(|item| item.is_string() && scalar(item).contains(&expected)),
            _ => !value.is_array() && scalar(value) == expected,
        });

    holds != (filter["negate"] == true)
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec!["a", "A", "ab", "1", "2.0", ""]).prop_map(|text| json!(text)),
        (-2i64..3).prop_map(|number| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        prop::collection::vec(prop::sample::select(vec!["a", "B", "ab", "1"]), 0..3)
            .prop_map(|items| json!(items)),
    ]
}

fn any_condition() -> impl Strategy<Value = Value> {
    let operator = prop::sample::select(vec!["=", ">", "<", ">=", "<="]);

    let text = (
        prop::sample::select(vec!["k", "l", "m"]),
        prop::sample::select(vec!["a", "b", "A", "1", "true", ""]),
    );
    let kind = prop::sample::select(vec!["metadata", "array_contains", "string_contains"]);
    let text_condition = (text, kind, any::<bool>(), any::<bool>()).prop_map(|((key, value), kind, negate, fold)| {
        json!({"key": key, "value": value, "filterType": kind, "negate": negate, "ignoreCase": fold})
    });

    let numeric = (
        prop::sample::select(vec!["k", "l"]),
        -2i64..3,
        operator,
        any::<bool>(),
    );
    let numeric = numeric.prop_map(|(key, value, operator, negate)| {
        json!({"key": key, "value": value.to_string(), "filterType": "numeric", "numericOperator": operator, "negate": negate})
    });

    prop_oneof![text_condition, numeric]
}

fn any_filter() -> impl Strategy<Value = Value> {
    any_condition().prop_recursive(4, 24, 4, |inner| {
        (any::<bool>(), prop::collection::vec(inner, 0..4)).prop_map(|(and, parts)| {
            if and {
                json!({ "AND": parts })
            } else {
                json!({ "OR": parts })
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]
    #[test]
    fn evaluator_agrees_with_a_naive_one(
        filter in any_filter(),
        entries in prop::collection::btree_map(prop::sample::select(vec!["k", "l", "m"]), any_value(), 0..3),
    ) {
        let object: Map<String, Value> = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let parsed = Filter::parse(&filter).unwrap();
        let from_text = Filter::parse(&Value::String(filter.to_string())).unwrap();
        prop_assert_eq!(&parsed, &from_text);
        let metadata = Metadata::parse(object.clone()).unwrap();
        prop_assert_eq!(parsed.matches(&metadata), evaluate_naively(&filter, &object), "{} on {:?}", filter, object);
    }

    #[test]
    fn no_json_makes_the_parser_panic(text in ".{0,200}") {
        let _ = Filter::parse(&Value::String(text));
    }
}

#[test]
fn the_form_with_operators_has_the_same_semantics() {
    let matches = |filter: Value| {
        let metadata = Metadata::parse(document().as_object().unwrap().clone()).unwrap();
        let filter = Filter::parse_operators(Some(&filter)).unwrap();
        filter.unwrap().matches(&metadata)
    };
    let condition = |field: &str, operator: &str, value: Value| json!({"field": field, "operator": operator, "value": value});

    let table = [
        (condition("team", "eq", json!("Core")), true),
        (condition("team", "eq", json!("core")), false),
        (
            json!({"field": "team", "operator": "eq", "value": "core", "caseSensitive": false}),
            true,
        ),
        (condition("team", "neq", json!("Core")), false),
        (condition("missing", "neq", json!("x")), true),
        (condition("size", "eq", json!(10.0)), true),
        (condition("size", "neq", json!(10)), false),
        (condition("open", "eq", json!(true)), true),
        (condition("size", "gt", json!(9)), true),
        (condition("size", "lte", json!(9.5)), false),
        (condition("ratio", "gte", json!(2.5)), true),
        (condition("ratio", "lt", json!(2.5)), false),
        (condition("team", "contains", json!("or")), true),
        (condition("team", "notContains", json!("or")), false),
        (condition("labels", "arrayContains", json!("Red")), true),
        (condition("labels", "arrayNotContains", json!("blue")), true),
        (json!({"operator": "and", "operands": []}), true),
        (json!({"operator": "or", "operands": []}), false),
        (
            json!({"operator": "or", "operands": [
                condition("team", "eq", json!("other")),
                {"operator": "and", "operands": [condition("size", "lt", json!(11))]},
            ]}),
            true,
        ),
    ];
    for (filter, expected) in table {
        assert_eq!(matches(filter.clone()), expected, "{filter}");
    }
    assert!(Filter::parse_operators(None).unwrap().is_none());
    assert!(
        Filter::parse_operators(Some(&Value::Null))
            .unwrap()
            .is_none()
    );
}

#[test]
fn wrong_conditions_with_operators_are_refused_by_their_place() {
    let message = |filter: Value| {
        let error = Filter::parse_operators(Some(&filter)).unwrap_err();
        error.to_string()
    };
    let nested = (0..=MAX_DEPTH).fold(
        json!({"field": "a", "operator": "eq", "value": "b"}),
        |inner, _| json!({"operator": "and", "operands": [inner]}),
    );
    let many = vec![json!({"operator": "or", "operands": []}); MAX_CONDITIONS + 1];

    let table = [
        (json!("text"), "filter: a condition"),
        (
            json!({"field": "a", "value": "b"}),
            "filter.operator: missing",
        ),
        (
            json!({"field": "a", "operator": "like", "value": "b"}),
            "filter.operator: one of",
        ),
        (
            json!({"field": "a", "operator": "gt", "value": "b"}),
            "filter.value: a number",
        ),
        (
            json!({"field": "a", "operator": "eq", "value": null}),
            "filter.value: a string, number or boolean",
        ),
        (
            json!({"field": "a", "operator": "contains", "value": 1}),
            "filter.value: a string",
        ),
        (
            json!({"operator": "eq", "value": "b"}),
            "filter: a condition needs `field`",
        ),
        (
            json!({"field": "a", "operator": "eq", "value": "b", "negate": true}),
            "filter.negate: unknown",
        ),
        (
            json!({"operator": "and", "operands": [{"operator": "or"}]}),
            "filter.operands[0].operands: an array",
        ),
        (nested, "filter: groups nest at most"),
        (
            json!({"operator": "and", "operands": many}),
            "filter: at most 200 conditions",
        ),
    ];
    for (filter, expected) in table {
        let message = message(filter);
        assert!(message.starts_with(expected), "{message}");
    }
}
