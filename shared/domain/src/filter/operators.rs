//! The form of filter expressions in requests to `/ns/{namespace}`: each condition names its
//! operator. The semantics are those of [`Filter`].

use serde_json::{Map, Value};

use super::{
    Comparison, Filter, FilterCondition, NumericOperator, check_depth, count_condition,
    expect_text, invalid_filter, parse_flag,
};
use crate::error::Result;

/// Parses a condition or a group at `path`.
pub(super) fn parse_node(
    value: &Value,
    path: &str,
    depth: usize,
    conditions: &mut usize,
) -> Result<Filter> {
    let Value::Object(object) = value else {
        let rule = "a condition {field, operator, value} or a group {operator, operands}";
        return Err(invalid_filter(path, rule));
    };

    match object.get("operator").and_then(Value::as_str) {
        Some("and") => parse_operands(object, path, depth, conditions).map(Filter::And),
        Some("or") => parse_operands(object, path, depth, conditions).map(Filter::Or),
        Some(operator) => {
            count_condition("filter", conditions)?;
            parse_condition(object, operator, path).map(Filter::Condition)
        }
        None => Err(invalid_filter(
            &format!("{path}.operator"),
            "missing, or not a string",
        )),
    }
}

fn parse_operands(
    object: &Map<String, Value>,
    path: &str,
    depth: usize,
    conditions: &mut usize,
) -> Result<Vec<Filter>> {
    check_fields(object, &["operator", "operands"], path)?;
    check_depth("filter", depth)?;

    let path = format!("{path}.operands");
    let Some(Value::Array(operands)) = object.get("operands") else {
        return Err(invalid_filter(&path, "an array of conditions or groups"));
    };
    if operands.is_empty() {
        // An empty group counts as a condition, so that the limit on conditions also bounds the
        // groups.
        count_condition("filter", conditions)?;
    }

    let mut parts = Vec::with_capacity(operands.len());
    for (position, operand) in operands.iter().enumerate() {
        let path = format!("{path}[{position}]");
        parts.push(parse_node(operand, &path, depth + 1, conditions)?);
    }
    Ok(parts)
}

fn parse_condition(
    object: &Map<String, Value>,
    operator: &str,
    path: &str,
) -> Result<FilterCondition> {
    check_fields(
        object,
        &["field", "operator", "value", "caseSensitive"],
        path,
    )?;
    let missing = |field: &str| invalid_filter(path, &format!("a condition needs `{field}`"));
    let key = object.get("field").ok_or_else(|| missing("field"))?;
    let value = object.get("value").ok_or_else(|| missing("value"))?;
    let value_path = format!("{path}.value");

    let (comparison, negate) = match operator {
        // Numbers are equal by value, so that 2 equals 2.0.
        "eq" | "neq" if value.is_number() => (
            Comparison::Numeric(NumericOperator::Equal),
            operator == "neq",
        ),
        "eq" | "neq" => (Comparison::Equal, operator == "neq"),
        "gt" => (Comparison::Numeric(NumericOperator::Greater), false),
        "gte" => (Comparison::Numeric(NumericOperator::GreaterOrEqual), false),
        "lt" => (Comparison::Numeric(NumericOperator::Less), false),
        "lte" => (Comparison::Numeric(NumericOperator::LessOrEqual), false),
        "contains" => (Comparison::StringContains, false),
        "notContains" => (Comparison::StringContains, true),
        "arrayContains" => (Comparison::ArrayContains, false),
        "arrayNotContains" => (Comparison::ArrayContains, true),
        _ => {
            let rule = "one of and, or, eq, neq, gt, gte, lt, lte, contains, notContains, \
                        arrayContains, arrayNotContains";
            return Err(invalid_filter(&format!("{path}.operator"), rule));
        }
    };

    let value = match (comparison, value) {
        (Comparison::Numeric(_), Value::Number(number)) => number.to_string(),
        (Comparison::Numeric(_), _) => return Err(invalid_filter(&value_path, "a number")),
        (_, Value::String(text)) => text.clone(),
        (Comparison::Equal, Value::Bool(flag)) => flag.to_string(),
        (Comparison::Equal, _) => {
            return Err(invalid_filter(&value_path, "a string, number or boolean"));
        }
        (Comparison::StringContains | Comparison::ArrayContains, _) => {
            return Err(invalid_filter(&value_path, "a string"));
        }
    };

    let ignore_case = match object.get("caseSensitive") {
        None | Some(Value::Null) => false,
        Some(flag) => !parse_flag(flag, &format!("{path}.caseSensitive"))?,
    };
    Ok(FilterCondition {
        key: expect_text(key, &format!("{path}.field"))?.to_owned(),
        value,
        comparison,
        negate,
        ignore_case,
    })
}

fn check_fields(object: &Map<String, Value>, known: &[&str], path: &str) -> Result<()> {
    for name in object.keys() {
        if !known.contains(&name.as_str()) {
            let rule = format!("unknown; {} are known here", known.join(", "));
            return Err(invalid_filter(&format!("{path}.{name}"), &rule));
        }
    }
    Ok(())
}
