//! The templates stay within the documented limits of the services that they use. The linter
//! accepts values that the services refuse in the middle of a deployment.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::tree::{list_files, read_file};
use testkit::template::{load_template, parse, resources};

/// Returns the paths of all templates.
fn template_paths() -> Vec<String> {
    let parts = list_files("infra")
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.ends_with(".yaml"));
    std::iter::once("template.yaml".to_owned())
        .chain(parts)
        .collect()
}

/// Calls `check` with the path of each template and each of its resources of a type. Fails if there
/// is none.
fn for_each_resource(kind: &str, mut check: impl FnMut(&str, &Value)) {
    let mut seen = 0;
    for path in template_paths() {
        let template = parse(&read_file(&path));
        for (id, properties) in resources(&template, kind) {
            check(&format!("{path}: {id}"), properties);
            seen += 1;
        }
    }
    assert!(seen > 0, "no template has a resource of the type {kind}");
}

/// Checks that a number in a template lies within the limits. A missing number is the service's
/// default.
fn check_range(what: &str, value: &Value, least: u64, most: u64) {
    if value.is_null() {
        return;
    }
    let number = value
        .as_u64()
        .unwrap_or_else(|| panic!("{what} is no number: {value}"));
    assert!(
        (least..=most).contains(&number),
        "{what} is {number}, the service takes {least} to {most}"
    );
}

/// Checks that a text is no longer than the service accepts.
fn check_length(what: &str, value: &Value, most: usize) {
    let length = value.as_str().map_or(0, |text| text.chars().count());
    assert!(
        length <= most,
        "{what} has {length} characters, the service takes {most}"
    );
}

/// See <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>.
#[test]
fn templates_stay_within_the_limits_of_cloudformation() {
    for path in template_paths() {
        let text = read_file(&path);
        assert!(
            text.len() <= 1024 * 1024,
            "{path} is larger than CloudFormation reads from a bucket"
        );

        let template = parse(&read_file(&path));
        check_length(
            &format!("{path}: Description"),
            &template["Description"],
            1024,
        );

        for (section, most) in [
            ("Parameters", 200),
            ("Mappings", 200),
            ("Outputs", 200),
            ("Resources", 500),
        ] {
            let Some(entries) = template[section].as_object() else {
                continue;
            };
            assert!(
                entries.len() <= most,
                "{path} has {} entries in {section}",
                entries.len()
            );

            for (name, entry) in entries {
                assert!(name.len() <= 255, "{path}: {name} is too long");
                assert!(
                    name.chars().all(|letter| letter.is_ascii_alphanumeric()),
                    "{path}: {name}"
                );
                check_length(&format!("{path}: {name}"), &entry["Default"], 4096);
                check_length(&format!("{path}: {name}"), &entry["Description"], 4000);
            }
        }
    }
}

/// SAM creates several resources from one: a role, a permission for each event, a stage.
#[test]
fn the_expanded_template_stays_within_the_resources_of_one_stack() {
    let template = load_template();
    let functions = resources(&template, "AWS::Serverless::Function");
    let events = functions
        .iter()
        .filter_map(|(_, function)| function["Events"].as_object());
    let events: usize = events.map(|events| events.len()).sum();
    let declared = template["Resources"].as_object().map_or(0, |all| all.len());
    // Each function adds a role, and each event adds a permission or a mapping.
    let expanded = declared + functions.len() + events;
    assert!(
        expanded <= 500,
        "{expanded} resources, CloudFormation takes 500 in one stack"
    );
}

/// See <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-limits.html> and the
/// reference of `PutMetricAlarm`.
#[test]
fn alarms_stay_within_the_limits_of_cloudwatch() {
    let mut names = BTreeSet::new();
    for_each_resource("AWS::CloudWatch::Alarm", |id, alarm| {
        check_length(
            &format!("the name of {id}"),
            &alarm["AlarmName"]["Fn::Sub"],
            255 - 128,
        );
        check_length(
            &format!("the description of {id}"),
            &alarm["AlarmDescription"],
            1024,
        );

        assert!(
            names.insert(alarm["AlarmName"].to_string()),
            "{id} has the name of another alarm"
        );

        let metrics = alarm["Metrics"].as_array().map_or(&[][..], Vec::as_slice);
        let stored = metrics
            .iter()
            .filter(|metric| !metric["MetricStat"].is_null())
            .count();
        let computed = metrics.len() - stored;
        assert!(
            stored <= 10,
            "{id} has {stored} metrics, CloudWatch takes 10 in one alarm"
        );
        assert!(
            computed <= 10,
            "{id} has {computed} expressions, CloudWatch takes 10 in one alarm"
        );

        if !metrics.is_empty() {
            let shown = metrics
                .iter()
                .filter(|metric| metric["ReturnData"] != false)
                .count();
            assert_eq!(
                shown, 1,
                "{id} watches {shown} values, an alarm watches one"
            );

            let ids: BTreeSet<String> = metrics
                .iter()
                .map(|metric| metric["Id"].to_string())
                .collect();
            assert_eq!(ids.len(), metrics.len(), "{id} uses an id twice");
        }

        let periods = metrics.iter().map(|metric| &metric["MetricStat"]["Period"]);
        for period in periods
            .chain([&alarm["Period"]])
            .filter(|period| !period.is_null())
        {
            let seconds = period.as_u64().expect("a period is a number");
            assert!(
                [10, 20, 30].contains(&seconds) || seconds.is_multiple_of(60),
                "{id}: {seconds} s"
            );

            let evaluated = seconds
                * alarm["EvaluationPeriods"]
                    .as_u64()
                    .expect("a number of periods");
            let most = if seconds < 3600 { 86_400 } else { 7 * 86_400 };
            assert!(
                evaluated <= most,
                "{id} looks back {evaluated} s, CloudWatch {most}"
            );
        }

        for metric in metrics
            .iter()
            .map(|metric| &metric["MetricStat"]["Metric"])
            .chain([alarm])
        {
            let dimensions = metric["Dimensions"].as_array().map_or(0, Vec::len);
            assert!(
                dimensions <= 30,
                "{id} has a metric of {dimensions} dimensions"
            );
        }
    });
}

/// The documentation beside the templates states the cost of the alarms, which depends on the
/// number of their metrics.
#[test]
fn the_told_price_of_the_alarms_is_that_of_their_metrics() {
    let (mut basic, mut all) = (0, 0);
    let template = parse(&read_file("infra/monitoring.yaml"));
    let resources = template["Resources"].as_object().expect("resources");
    for resource in resources.values() {
        // The alarm of the recall service is told with the price of the service.
        if resource["Type"] != "AWS::CloudWatch::Alarm" || resource["Condition"] == "HasRecall" {
            continue;
        }
        let listed = resource["Properties"]["Metrics"].as_array();
        let listed = listed.map_or(&[][..], Vec::as_slice);
        let stored = listed
            .iter()
            .filter(|metric| !metric["MetricStat"].is_null())
            .count();
        all += stored.max(1);
        if resource["Condition"].is_null() {
            basic += stored.max(1);
        }
    }

    assert!(basic > 0 && basic < all, "{basic} of {all}");
    for metrics in [basic, all] {
        let told = format!(
            "alarms ${}.{}0 ({metrics} metrics at $0.10",
            metrics / 10,
            metrics % 10
        );
        assert!(
            read_file("docs/deploy.md").contains(&told),
            "docs/deploy.md does not say `{told}`"
        );
    }
}

/// Writes to a table are also refused when one of its indexes throttles, which has metrics of its own.
#[test]
fn the_alarm_about_throttles_has_every_index_of_the_records_table() {
    let monitoring = parse(&read_file("infra/monitoring.yaml"));
    let alarm = &monitoring["Resources"]["TableThrottles"]["Properties"];
    let mut watched = BTreeSet::new();
    for metric in alarm["Metrics"].as_array().expect("metrics") {
        let dimensions = metric["MetricStat"]["Metric"]["Dimensions"].as_array();
        for dimension in dimensions.into_iter().flatten() {
            if dimension["Name"] == "GlobalSecondaryIndexName" {
                watched.insert(
                    dimension["Value"]
                        .as_str()
                        .expect("the name of an index")
                        .to_owned(),
                );
            }
        }
    }

    let template = load_template();
    let table = &template["Resources"]["RecordsTable"]["Properties"];
    let indexes = table["GlobalSecondaryIndexes"].as_array().expect("indexes");
    let indexes: BTreeSet<String> = indexes
        .iter()
        .map(|index| index["IndexName"].as_str().expect("a name").to_owned())
        .collect();
    assert_eq!(watched, indexes);
}

/// See
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html>.
#[test]
fn the_dashboard_stays_within_the_limits_of_cloudwatch() {
    for_each_resource("AWS::CloudWatch::Dashboard", |id, dashboard| {
        let body = dashboard["DashboardBody"]["Fn::Sub"]
            .as_str()
            .expect("a body");
        let body: Value =
            serde_json::from_str(body).unwrap_or_else(|error| panic!("{id}: {error}"));
        let widgets = body["widgets"].as_array().expect("widgets");
        assert!(widgets.len() <= 500, "{id} has {} widgets", widgets.len());

        for widget in widgets {
            check_range(
                &format!("the width of a widget of {id}"),
                &widget["width"],
                1,
                24,
            );
            check_range(
                &format!("the place of a widget of {id}"),
                &widget["x"],
                0,
                23,
            );

            let metrics = widget["properties"]["metrics"]
                .as_array()
                .map_or(0, Vec::len);
            assert!(metrics <= 500, "{id} has a widget of {metrics} metrics");
        }
    });
}

/// See <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>.
#[test]
fn functions_stay_within_the_limits_of_lambda() {
    let globals = load_template()["Globals"]["Function"].clone();
    let of = |function: &Value, name: &str| match &function[name] {
        Value::Null => globals[name].clone(),
        own => own.clone(),
    };

    for_each_resource("AWS::Serverless::Function", |id, function| {
        check_range(
            &format!("the memory of {id} in MB"),
            &of(function, "MemorySize"),
            128,
            10_240,
        );
        check_range(
            &format!("the time limit of {id} in seconds"),
            &of(function, "Timeout"),
            1,
            900,
        );
        check_length(
            &format!("the description of {id}"),
            &function["Description"],
            256,
        );
        // The name of a stack has at most 128 characters, and the function's part may take 64.
        check_length(
            &format!("the name of {id}"),
            &function["FunctionName"]["Fn::Sub"],
            64,
        );
        let variables = [&globals, function].map(|part| part["Environment"]["Variables"].clone());
        let names = variables
            .iter()
            .filter_map(Value::as_object)
            .flat_map(|map| map.keys());
        // The values are known only after deployment. The address of a queue has about 90
        // characters.
        let bytes: usize = names.map(|name| name.len() + 100).sum();
        assert!(
            bytes <= 4096,
            "the variables of {id} take about {bytes} bytes, Lambda takes 4096"
        );
        for event in function["Events"]
            .as_object()
            .into_iter()
            .flat_map(|events| events.values())
        {
            let properties = &event["Properties"];
            match event["Type"].as_str() {
                Some("SQS") => check_mapping(id, properties, &of(function, "Timeout")),
                // An HTTP API waits no longer than this for its function.
                Some("HttpApi") => check_range(
                    &format!("the time limit of {id}"),
                    &of(function, "Timeout"),
                    1,
                    30,
                ),
                _ => {}
            }
        }
    });
}

/// See <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-parameters.html>.
fn check_mapping(id: &str, event: &Value, timeout: &Value) {
    let template = load_template();
    let queue = testkit::template::referenced_id(&event["Queue"]);
    let queue = &template["Resources"][queue]["Properties"];
    let windowed = event["MaximumBatchingWindowInSeconds"]
        .as_u64()
        .unwrap_or(0)
        > 0;
    let most = if windowed && queue["FifoQueue"] != true {
        10_000
    } else {
        10
    };

    check_range(&format!("the batch of {id}"), &event["BatchSize"], 1, most);
    check_range(
        &format!("the window of {id}"),
        &event["MaximumBatchingWindowInSeconds"],
        0,
        300,
    );
    assert!(
        queue["FifoQueue"] != true || !windowed,
        "{id} waits for a batch of a FIFO queue, which has no batching window"
    );
    let visible_after = queue["VisibilityTimeout"].as_u64().unwrap_or(30);
    assert!(
        Some(visible_after) >= timeout.as_u64(),
        "{id} may run longer than its message is invisible"
    );
}

/// See
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>.
#[test]
fn queues_stay_within_the_limits_of_sqs() {
    for_each_resource("AWS::SQS::Queue", |id, queue| {
        check_range(
            &format!("VisibilityTimeout of {id}"),
            &queue["VisibilityTimeout"],
            0,
            43_200,
        );
        check_range(
            &format!("MessageRetentionPeriod of {id}"),
            &queue["MessageRetentionPeriod"],
            60,
            1_209_600,
        );

        check_range(
            &format!("DelaySeconds of {id}"),
            &queue["DelaySeconds"],
            0,
            900,
        );
        check_range(
            &format!("ReceiveMessageWaitTimeSeconds of {id}"),
            &queue["ReceiveMessageWaitTimeSeconds"],
            0,
            20,
        );

        check_range(
            &format!("maxReceiveCount of {id}"),
            &queue["RedrivePolicy"]["maxReceiveCount"],
            1,
            1000,
        );
        let name = queue["QueueName"]["Fn::Sub"].as_str().unwrap_or_default();
        assert!(name.len() <= 80, "the name of {id} is too long");
        assert!(
            name.is_empty() || (queue["FifoQueue"] == true) == name.ends_with(".fifo"),
            "{id}: {name}"
        );
    });
}

/// See <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>.
#[test]
fn tables_stay_within_the_limits_of_dynamodb() {
    for_each_resource("AWS::DynamoDB::Table", |id, table| {
        let indexes = table["GlobalSecondaryIndexes"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        assert!(indexes.len() <= 20, "{id} has {} indexes", indexes.len());

        let list = |of: &Value| -> BTreeSet<String> {
            of.as_array()
                .into_iter()
                .flatten()
                .map(|one| one["AttributeName"].to_string())
                .collect()
        };
        let keys = indexes
            .iter()
            .map(|index| &index["KeySchema"])
            .chain([&table["KeySchema"]]);

        let used: BTreeSet<String> = keys.flat_map(list).collect();
        assert_eq!(
            list(&table["AttributeDefinitions"]),
            used,
            "{id} defines exactly the attributes of its keys"
        );

        let projected = indexes
            .iter()
            .filter_map(|index| index["Projection"]["NonKeyAttributes"].as_array());
        let projected: usize = projected.map(Vec::len).sum();
        assert!(
            projected <= 100,
            "the indexes of {id} project {projected} attributes, DynamoDB takes 100"
        );
    });
}

/// See <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html>.
#[test]
fn roles_stay_within_the_limits_of_iam() {
    for_each_resource("AWS::Serverless::Function", |id, function| {
        let policies = function["Policies"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let managed = policies.iter().filter(|policy| policy.is_string()).count();
        assert!(
            managed <= 10,
            "{id} has {managed} managed policies, a role takes 10"
        );

        // Deployment expands each reference to an ARN, which adds about 60 characters.
        let inline = serde_json::to_string(policies).expect("policies are JSON");
        let references = inline.matches("\"Ref\"").count() + inline.matches("Fn::").count();
        let size = inline.len() + 60 * references;
        assert!(
            size <= 10_240,
            "the policies of {id} have about {size} characters, a role takes 10,240"
        );
    });
}

/// See <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>.
#[test]
fn routes_stay_within_the_limits_of_an_http_api() {
    let mut routes = 0;
    for_each_resource("AWS::Serverless::Function", |_, function| {
        let events = function["Events"]
            .as_object()
            .into_iter()
            .flat_map(|events| events.values());
        routes += events.filter(|event| event["Type"] == "HttpApi").count();
    });
    assert!(routes <= 300, "{routes} routes, an HTTP API takes 300");
}
