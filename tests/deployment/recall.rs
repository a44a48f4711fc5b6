//! The recall service in the template: its tasks have what the function `search` has.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use testkit::template::{as_list, load_template, resource_properties};

/// The parts of the function's rights that the tasks do not have: they write no log of their own, and
/// the function stores answers that are too large for it.
const FUNCTION_ONLY: [&str; 2] = ["Log", "LargeAnswers"];

/// Returns the properties of the container.
fn container(template: &Value) -> &Value {
    &resource_properties(template, "RecallTask")["ContainerDefinitions"][0]
}

/// Returns the value of a choice if its condition holds.
fn when_true(value: &Value) -> &Value {
    match value["Fn::If"].as_array() {
        Some(choice) => &choice[1],
        None => value,
    }
}

#[test]
fn tasks_have_the_variables_of_the_function() {
    let template = load_template();
    let mut expected = BTreeMap::new();
    let function = &resource_properties(&template, "SearchFunction")["Environment"];
    for variables in [&template["Globals"]["Function"]["Environment"], function] {
        for (name, value) in variables["Variables"].as_object().unwrap() {
            let is_absent = value["Fn::If"][2] == json!({"Ref": "AWS::NoValue"});
            let value = if is_absent { when_true(value) } else { value };
            expected.insert(name.as_str(), value);
        }
    }
    let service = expected.remove("RECOLLECT_RECALL_SERVICE");
    assert!(service.is_some(), "tasks ask no tasks");

    let given = container(&template)["Environment"].as_array().unwrap();
    let mut given: BTreeMap<&str, &Value> = given
        .iter()
        .map(|entry| match entry["Fn::If"][2] {
            Value::Null => entry,
            _ => when_true(entry),
        })
        .map(|entry| (entry["Name"].as_str().unwrap(), &entry["Value"]))
        .collect();
    for own in ["RECOLLECT_CACHE_MB", "AWS_REGION"] {
        assert!(given.remove(own).is_some(), "{own}");
    }
    assert_eq!(given, expected);
}

#[test]
fn tasks_have_the_rights_of_the_function() {
    let template = load_template();
    let statements = |role| {
        let policy = &resource_properties(&template, role)["Policies"][0]["PolicyDocument"];
        as_list(&policy["Statement"])
    };
    let of_function = statements("SearchRole").into_iter();
    let expected: Vec<&Value> = of_function
        .filter(|statement| !FUNCTION_ONLY.contains(&statement["Sid"].as_str().unwrap()))
        .collect();
    assert_eq!(statements("RecallRole"), expected);
}

#[test]
fn the_function_finds_the_tasks_by_their_name() {
    let template = load_template();
    let function = resource_properties(&template, "SearchFunction");
    let given = when_true(&function["Environment"]["Variables"]["RECOLLECT_RECALL_SERVICE"]);
    let namespace = &resource_properties(&template, "RecallNamespace")["Name"]["Fn::Sub"];
    let name = &resource_properties(&template, "RecallDiscovery")["Name"];
    let port = &container(&template)["PortMappings"][0]["ContainerPort"];
    let address = format!(
        "{}.{}:{port}",
        name.as_str().unwrap(),
        namespace.as_str().unwrap()
    );
    assert_eq!(given["Fn::Sub"], address);

    let command = as_list(&container(&template)["Command"]);
    assert_eq!(
        command,
        [
            &json!("recall"),
            &json!("--bind"),
            &json!("0.0.0.0"),
            &json!("--port"),
            &json!(port.to_string())
        ]
    );
    let ingress = &resource_properties(&template, "RecallTasksGroup")["SecurityGroupIngress"][0];
    assert_eq!((&ingress["FromPort"], &ingress["ToPort"]), (port, port));
}

#[test]
fn without_the_service_nothing_of_it_exists() {
    let template = load_template();
    let kinds = [
        "AWS::ECS::",
        "AWS::ServiceDiscovery::",
        "AWS::EC2::",
        "AWS::ApplicationAutoScaling::",
    ];
    let all = template["Resources"].as_object().unwrap().iter();
    let mut count = 0;
    for (id, resource) in all {
        let kind = resource["Type"].as_str().unwrap();
        let is_policy = ["NetworkPolicy", "ImagePolicy"].contains(&id.as_str());
        let is_of_service = is_policy || id.starts_with("Recall");
        if kinds.iter().any(|prefix| kind.starts_with(prefix)) || is_of_service {
            let condition = resource["Condition"].as_str().unwrap_or_default();
            assert!(
                ["HasRecallService", "ScalesRecall"].contains(&condition),
                "{id}"
            );
            count += 1;
        }
    }
    assert_eq!(count, 13);
    assert_eq!(template["Parameters"]["RecallTier"]["Default"], "function");
}

#[test]
fn each_size_leaves_room_beside_the_warm_indexes() {
    let template = load_template();
    let sizes = template["Mappings"]["RecallSizes"].as_object().unwrap();
    let names: Vec<&str> = sizes.keys().map(String::as_str).collect();
    let allowed = &template["Parameters"]["RecallSize"]["AllowedValues"];
    for (name, size) in sizes {
        let number = |field: &str| size[field].as_str().unwrap().parse::<u64>().unwrap();
        assert!(number("Memory") - number("Cache") >= 1536, "{name}");
        assert!(as_list(allowed).contains(&&json!(name)), "{name}");
    }
    assert_eq!(names.len(), as_list(allowed).len());
}
