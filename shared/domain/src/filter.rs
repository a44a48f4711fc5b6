//! Filter expressions, with one parser and one evaluator for listings, search and profiles.
//!
//! The following semantics are frozen, in addition to the form that the API defines:
//! - A missing key makes a condition false, and its negation true. `negate` is logical negation
//!   everywhere.
//! - `metadata` compares the text of the value exactly. Numbers and booleans are compared by their
//!   JSON text, and an array is never equal.
//! - `numeric` compares as 64-bit floats when both sides parse, and is false otherwise.
//! - `array_contains` on a scalar is equality. `string_contains` searches a string, or each item of
//!   an array.
//! - `ignoreCase` folds by Unicode lower case and applies to every textual comparison.
//! - An empty `AND` is true, an empty `OR` is false.

mod operators;

use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::metadata::Metadata;

/// The largest number of conditions in one expression, including empty groups.
pub const MAX_CONDITIONS: usize = 200;
/// The deepest nesting of groups.
pub const MAX_DEPTH: usize = 8;

/// A parsed filter expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// All parts must hold.
    And(Vec<Filter>),
    /// At least one part must hold.
    Or(Vec<Filter>),
    /// One comparison must hold.
    Condition(FilterCondition),
}

/// One comparison of a metadata key.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterCondition {
    key: String,
    value: String,
    comparison: Comparison,
    negate: bool,
    ignore_case: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    Numeric(NumericOperator),
    ArrayContains,
    StringContains,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum NumericOperator {
    Equal,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
}

impl Filter {
    /// Parses an expression as [`Filter::parse`] does. Returns `None` if it is absent or `null`.
    ///
    /// # Errors
    /// Returns the errors of [`Filter::parse`].
    pub fn parse_optional(value: Option<&Value>) -> Result<Option<Self>> {
        match value {
            None | Some(Value::Null) => Ok(None),
            // compat: clients that keep filters as text send an empty one for none.
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(value) => Self::parse(value).map(Some),
        }
    }

    /// Parses an expression that is given as an object, or as a string that contains one.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the location and the rule that is broken, including
    /// [`MAX_CONDITIONS`] and [`MAX_DEPTH`].
    pub fn parse(value: &Value) -> Result<Self> {
        let mut conditions = 0;
        match value {
            Value::String(text) => {
                let inner: Value = serde_json::from_str(text).map_err(|error| {
                    invalid_filter("filters", &format!("the string is not JSON ({error})"))
                })?;
                parse_node(&inner, "filters", 1, &mut conditions)
            }
            _ => parse_node(value, "filters", 1, &mut conditions),
        }
    }

    /// Parses the form of newer clients: a condition `{field, operator, value, caseSensitive?}` or a
    /// group `{operator: "and" | "or", operands}`. Returns `None` if it is absent or `null`.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the location and the rule that is broken, including
    /// [`MAX_CONDITIONS`] and [`MAX_DEPTH`].
    pub fn parse_operators(value: Option<&Value>) -> Result<Option<Self>> {
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(value) => operators::parse_node(value, "filter", 1, &mut 0).map(Some),
        }
    }

    /// Checks whether the metadata satisfies the expression.
    pub fn matches(&self, metadata: &Metadata) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.matches(metadata)),
            Self::Or(parts) => parts.iter().any(|part| part.matches(metadata)),
            Self::Condition(condition) => condition.matches(metadata),
        }
    }
}

impl FilterCondition {
    fn matches(&self, metadata: &Metadata) -> bool {
        let holds = metadata
            .get(&self.key)
            .is_some_and(|value| self.matches_value(value));
        holds != self.negate
    }

    fn matches_value(&self, value: &Value) -> bool {
        match self.comparison {
            Comparison::Equal => self.equals_scalar(value),
            Comparison::Numeric(operator) => self.compare_numbers(operator, value),
            Comparison::ArrayContains => match value {
                Value::Array(items) => items.iter().any(|item| self.equals_scalar(item)),
                _ => self.equals_scalar(value),
            },
            Comparison::StringContains => match value {
                Value::Array(items) => items
                    .iter()
                    .filter_map(Value::as_str)
                    .any(|item| self.is_within_text(item)),
                _ => value.as_str().is_some_and(|text| self.is_within_text(text)),
            },
        }
    }

    fn equals_scalar(&self, value: &Value) -> bool {
        scalar_text(value).is_some_and(|text| self.equals_text(&text))
            // compat: a whole number that was sent as `2024.0` was compared as that text.
            || (value.is_number() && self.equals_text(&value.to_string()))
    }

    fn equals_text(&self, text: &str) -> bool {
        if self.ignore_case {
            text.to_lowercase() == self.value.to_lowercase()
        } else {
            text == self.value
        }
    }

    fn is_within_text(&self, text: &str) -> bool {
        if self.ignore_case {
            text.to_lowercase().contains(&self.value.to_lowercase())
        } else {
            text.contains(&self.value)
        }
    }

    fn compare_numbers(&self, operator: NumericOperator, value: &Value) -> bool {
        let left = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };

        let (Some(left), Ok(right)) = (left, self.value.trim().parse::<f64>()) else {
            return false;
        };

        match operator {
            NumericOperator::Equal => left == right,
            NumericOperator::Greater => left > right,
            NumericOperator::Less => left < right,
            NumericOperator::GreaterOrEqual => left >= right,
            NumericOperator::LessOrEqual => left <= right,
        }
    }
}

/// Returns the text by which a scalar is compared. A number without a fraction has none in its text, also if
/// it was sent as `2024.0`.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(match whole_float(number) {
            Some(whole) => whole.to_string(),
            None => number.to_string(),
        }),
        Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns a floating-point number without a fraction as an integer, if it is exact.
pub fn whole_float(number: &serde_json::Number) -> Option<i64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= MAX_EXACT).then_some(float as i64)
}

fn invalid_filter(path: &str, rule: &str) -> Error {
    Error::invalid_field(path, rule)
}

fn parse_node(value: &Value, path: &str, depth: usize, conditions: &mut usize) -> Result<Filter> {
    let Value::Object(object) = value else {
        return Err(invalid_filter(
            path,
            "a condition {key, value, …} or a group {\"AND\": […]} or {\"OR\": […]}",
        ));
    };

    let group = object.keys().find(|key| *key == "AND" || *key == "OR");
    let Some(name) = group else {
        count_condition("filters", conditions)?;
        return parse_condition(object, path).map(Filter::Condition);
    };

    if object.len() != 1 {
        return Err(invalid_filter(
            path,
            "a group has exactly one property, AND or OR",
        ));
    }

    check_depth("filters", depth)?;

    let Value::Array(items) = &object[name] else {
        return Err(invalid_filter(
            &format!("{path}.{name}"),
            "an array of conditions or groups",
        ));
    };

    if items.is_empty() {
        // An empty group counts as a condition, so that the limit on conditions also bounds the
        // groups.
        count_condition("filters", conditions)?;
    }

    let parts = items
        .iter()
        .enumerate()
        .map(|(i, item)| parse_node(item, &format!("{path}.{name}[{i}]"), depth + 1, conditions))
        .collect::<Result<Vec<_>>>()?;

    Ok(if name == "AND" {
        Filter::And(parts)
    } else {
        Filter::Or(parts)
    })
}

/// Refuses groups that nest more than [`MAX_DEPTH`] levels.
fn check_depth(field: &str, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        let rule = format!("groups nest at most {MAX_DEPTH} levels");
        return Err(invalid_filter(field, &rule));
    }
    Ok(())
}

/// Counts one more condition or empty group. Fails above [`MAX_CONDITIONS`].
fn count_condition(field: &str, conditions: &mut usize) -> Result<()> {
    *conditions += 1;
    if *conditions > MAX_CONDITIONS {
        return Err(invalid_filter(
            field,
            &format!("at most {MAX_CONDITIONS} conditions"),
        ));
    }
    Ok(())
}

fn parse_condition(object: &Map<String, Value>, path: &str) -> Result<FilterCondition> {
    let (mut key, mut value, mut kind, mut operator) =
        (None, None, "metadata", NumericOperator::Equal);
    let (mut negate, mut ignore_case) = (false, false);
    for (name, field_value) in object {
        let field_path = format!("{path}.{name}");
        match name.as_str() {
            "key" => key = Some(expect_text(field_value, &field_path)?.to_owned()),
            "value" => {
                value = Some(
                    scalar_text(field_value)
                        .ok_or_else(|| invalid_filter(&field_path, "a string"))?,
                )
            }
            // compat: the Python client passes the spelling of the documentation through
            // untranslated.
            // compat: typed clients send `null` for what is not set.
            "filterType" | "filter_type" | "numericOperator" | "numeric_operator"
                if field_value.is_null() => {}
            "filterType" | "filter_type" => kind = expect_text(field_value, &field_path)?,
            "numericOperator" | "numeric_operator" => {
                operator = parse_operator(field_value, &field_path)?
            }
            "negate" => negate = parse_flag(field_value, &field_path)?,
            "ignoreCase" | "ignore_case" => ignore_case = parse_flag(field_value, &field_path)?,
            _ => {
                let rule = "unknown; a condition has key, value, filterType, numericOperator, negate, ignoreCase";
                return Err(invalid_filter(&field_path, rule));
            }
        }
    }

    let missing = |field: &str| invalid_filter(path, &format!("a condition needs `{field}`"));
    let comparison = match kind {
        "metadata" => Comparison::Equal,
        "numeric" => Comparison::Numeric(operator),
        "array_contains" => Comparison::ArrayContains,
        "string_contains" => Comparison::StringContains,
        _ => {
            let rule = "one of metadata, numeric, array_contains, string_contains";
            return Err(invalid_filter(&format!("{path}.filterType"), rule));
        }
    };

    let (key, value) = (
        key.ok_or_else(|| missing("key"))?,
        value.ok_or_else(|| missing("value"))?,
    );

    if matches!(comparison, Comparison::Numeric(_)) && value.trim().parse::<f64>().is_err() {
        return Err(invalid_filter(
            &format!("{path}.value"),
            "a number, because filterType is numeric",
        ));
    }

    Ok(FilterCondition {
        key,
        value,
        comparison,
        negate,
        ignore_case,
    })
}

fn expect_text<'a>(value: &'a Value, path: &str) -> Result<&'a str> {
    value
        .as_str()
        .ok_or_else(|| invalid_filter(path, "a string"))
}

fn parse_flag(value: &Value, path: &str) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        Value::Null => Ok(false),
        _ => Err(invalid_filter(path, "a boolean")),
    }
}

fn parse_operator(value: &Value, path: &str) -> Result<NumericOperator> {
    match value.as_str() {
        Some("=") => Ok(NumericOperator::Equal),
        Some(">") => Ok(NumericOperator::Greater),
        Some("<") => Ok(NumericOperator::Less),
        Some(">=") => Ok(NumericOperator::GreaterOrEqual),
        Some("<=") => Ok(NumericOperator::LessOrEqual),
        _ => Err(invalid_filter(path, "one of =, >, <, >=, <=")),
    }
}

#[cfg(test)]
mod tests;
