//! `template.yaml` as JSON, with its short tags expanded: `!Ref X` as `{"Ref": "X"}`, `!Sub` and
//! the others as `{"Fn::Sub": …}`.

use serde_json::{Value, json};
use serde_norway::Value as Yaml;

const TEMPLATE_YAML: &str = include_str!("../../../../template.yaml");

/// Returns the main template.
pub fn load_template() -> Value {
    parse(TEMPLATE_YAML)
}

/// Parses the text of a template.
///
/// # Panics
/// Panics if it is not a template.
pub fn parse(text: &str) -> Value {
    let yaml = serde_norway::from_str(text).expect("a template");
    expand_tags(yaml)
}

fn expand_tags(yaml: Yaml) -> Value {
    match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(flag) => flag.into(),
        Yaml::Number(number) => number
            .as_i64()
            .map_or_else(|| json!(number.as_f64()), Value::from),
        Yaml::String(text) => text.into(),
        Yaml::Sequence(list) => list.into_iter().map(expand_tags).collect(),
        Yaml::Mapping(map) => {
            let name = |key: Yaml| key.as_str().expect("keys are texts").to_owned();
            Value::Object(
                map.into_iter()
                    .map(|(key, value)| (name(key), expand_tags(value)))
                    .collect(),
            )
        }

        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            let tag = tag.trim_start_matches('!');
            let name = if tag == "Ref" || tag == "Condition" {
                tag.to_owned()
            } else {
                format!("Fn::{tag}")
            };
            json!({ name: expand_tags(tagged.value) })
        }
    }
}

/// Returns the resources of a type with their logical ids.
pub fn resources<'a>(template: &'a Value, kind: &str) -> Vec<(&'a str, &'a Value)> {
    let all = template["Resources"].as_object().expect("resources");
    all.iter()
        .filter(|(_, resource)| resource["Type"] == kind)
        .map(|(id, resource)| (id.as_str(), &resource["Properties"]))
        .collect()
}

/// Returns the crate from which a function is built, by the function's logical id.
pub fn crate_of_function<'a>(template: &'a Value, id: &str) -> &'a str {
    let binary = template["Resources"][id]["Metadata"]["BuildProperties"]["Binary"].as_str();
    binary.unwrap_or_else(|| panic!("{id} names no binary"))
}

/// Returns the properties of a resource, by its logical id.
pub fn resource_properties<'a>(template: &'a Value, id: &str) -> &'a Value {
    &template["Resources"][id]["Properties"]
}

/// The parameters of Systems Manager with the ARN of a store, each with the store that the stack makes
/// if no other is named.
pub const STORES_IN_USE: [(&str, &str); 4] = [
    ("RecordsInUse", "RecordsTable"),
    ("SecretsInUse", "SecretsTable"),
    ("SecretsKeyInUse", "SecretsKey"),
    ("BucketInUse", "Bucket"),
];

/// Returns the logical id in `!Ref X`, `!GetAtt X.Arn` or `!Sub "${X.Arn}/…"`. A store that another
/// one may replace is named as the stack's own.
pub fn referenced_id(value: &Value) -> &str {
    if let Some(choice) = value["Fn::If"].as_array() {
        return referenced_id(&choice[1]);
    }

    let named = value["Ref"]
        .as_str()
        .or_else(|| value["Fn::GetAtt"].as_str());
    let named = named.or_else(|| value["Fn::Sub"].as_str()?.strip_prefix("${"));
    let named = named.unwrap_or_else(|| panic!("{value} names no resource"));
    let id = named.split(['.', '}']).next().expect("a first part");
    let in_use = STORES_IN_USE.into_iter().find(|(in_use, _)| *in_use == id);
    in_use.map_or(id, |(_, own)| own)
}

/// Returns a function's events of a type. A function that others call has none.
pub fn function_events<'a>(function: &'a Value, kind: &str) -> Vec<&'a Value> {
    let all = function["Events"].as_object().into_iter().flatten();
    all.map(|(_, event)| event)
        .filter(|event| event["Type"] == kind)
        .map(|event| &event["Properties"])
        .collect()
}

/// Returns the elements of a list. A single value counts as a list of one.
pub fn as_list(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        one => vec![one],
    }
}
