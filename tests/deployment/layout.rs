//! The tables, the queues and the readers of queues in the template match `aws::layout`, from which
//! the embedded services are created.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use aws::ResourceNames;
use aws::layout::{
    BUCKET, COMMIT_QUEUE, IndexProjection, MAINTENANCE_QUEUE, MAX_RECEIVE_COUNT, PROCESS_QUEUE,
    QUEUES, QueueLayout, SYNC_QUEUE, TABLES, TableLayout, VISIBILITY_SECONDS,
};
use serde_json::{Value, json};

use crate::tree::{list_folders, read_file};
use testkit::template::{
    STORES_IN_USE, crate_of_function, function_events, load_template, referenced_id,
    resource_properties, resources,
};

/// Returns each environment variable with the part of the layout that it names.
fn layout_variables() -> Vec<(&'static str, String)> {
    let names = ResourceNames {
        process_queue: PROCESS_QUEUE.name.into(),
        commit_queue: COMMIT_QUEUE.name.into(),
        maintenance_queue: MAINTENANCE_QUEUE.name.into(),
        sync_queue: SYNC_QUEUE.name.into(),
        ..ResourceNames::for_embedded()
    };
    names.to_environment()
}

/// Returns the logical id of the resource with this name in the layout, taken from the variable
/// that functions receive.
fn logical_id_of<'a>(template: &'a Value, name: &str) -> &'a str {
    let variables = layout_variables();
    let (variable, _) = variables
        .iter()
        .find(|(_, value)| value == name)
        .expect("a variable for each name");
    referenced_id(&template["Globals"]["Function"]["Environment"]["Variables"][variable])
}

#[test]
fn functions_get_exactly_the_variables_that_are_read() {
    let template = load_template();
    let given = template["Globals"]["Function"]["Environment"]["Variables"]
        .as_object()
        .unwrap();
    let given: BTreeSet<&str> = given.keys().map(String::as_str).collect();
    let mut read: BTreeSet<&str> = layout_variables()
        .into_iter()
        .map(|(variable, _)| variable)
        .collect();
    // The glue, the AWS SDK and the exporter of traces read these.
    read.extend([
        "RECOLLECT_LOG",
        "RECOLLECT_CORS_ORIGINS",
        "RECOLLECT_PROVIDER_NAMES",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "AWS_ENDPOINT_URL",
    ]);
    // The SDK of OpenTelemetry reads these.
    read.extend(["OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"]);
    assert_eq!(given, read);

    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let own = function["Environment"]["Variables"].as_object();
        let own: BTreeSet<&str> = own
            .into_iter()
            .flatten()
            .map(|(name, _)| name.as_str())
            .collect();
        let mut wanted = match id {
            "ProcessorFunction" => {
                let mut wanted = model_variables();
                wanted.retain(|name| !name.contains("RERANK"));
                wanted
            }
            // Questions and documents are embedded, results of searches are reranked, and nothing
            // else is asked of a model.
            "SearchFunction" | "MaintenanceFunction" => {
                let mut wanted = model_variables();
                wanted.retain(|name| {
                    name.contains("EMBEDDING")
                        || name.starts_with("RECOLLECT_MODEL_")
                        || (name.contains("RERANK") && id == "SearchFunction")
                });
                wanted
            }
            // The tools embed questions as searches do, and name the address of the service. They do
            // not rerank.
            "McpFunction" => {
                let mut wanted = model_variables();
                wanted.retain(|name| {
                    name.contains("EMBEDDING") || name.starts_with("RECOLLECT_MODEL_")
                });
                wanted.insert("RECOLLECT_PUBLIC_URL".to_owned());
                wanted
            }
            // Settings say whether a filter prompt has a model.
            "SettingsFunction" => BTreeSet::from(["RECOLLECT_MEMORY_MODEL".to_owned()]),
            "ConnectionsFunction" => drive_variables(),
            // The synchronizer asks a model whether an item is wanted, but sends it neither
            // pictures nor recordings.
            "SynchronizerFunction" => {
                let mut wanted = model_variables();
                let other_models = ["VISION", "TRANSCRIPTION", "EMBEDDING", "RERANK"];
                wanted.retain(|name| !other_models.iter().any(|model| name.contains(model)));
                wanted.extend(drive_variables());
                wanted
            }
            // Hostile content must not learn the address and the headers of the collector of traces.
            "ReaderFunction" => {
                let exporter = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"];
                for name in exporter {
                    assert_eq!(function["Environment"]["Variables"][name], "", "{name}");
                }
                exporter.map(str::to_owned).into()
            }
            _ => BTreeSet::new(),
        };
        if id == "SearchFunction" {
            wanted.insert("RECOLLECT_RECALL_SERVICE".to_owned());
        }
        if ["ProcessorFunction", "SynchronizerFunction"].contains(&id) {
            wanted.insert("RECOLLECT_READER_FUNCTION".to_owned());
        }
        let may_be_secret = |variable: &&str| wanted.contains(*variable);
        let secrets = lambda::SECRET_SETTINGS.map(|(_, variable)| variable);
        if secrets.iter().any(may_be_secret) {
            wanted.insert("RECOLLECT_SECRET_ARN".to_owned());
        }
        assert_eq!(own, wanted.iter().map(String::as_str).collect(), "{id}");
    }
}

#[test]
fn the_secret_may_hold_every_parameter_that_is_not_shown() {
    let template = load_template();
    let parameters = template["Parameters"].as_object().unwrap();
    let mut hidden: BTreeSet<&str> = BTreeSet::new();
    for (name, parameter) in parameters {
        if parameter["NoEcho"] == true {
            hidden.insert(name);
        }
    }
    // Traces begin before the secret is read.
    hidden.remove("TracesHeaders");
    let names = lambda::SECRET_SETTINGS.map(|(name, _)| name);
    assert_eq!(hidden, BTreeSet::from(names));

    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let variables = &function["Environment"]["Variables"];
        for (name, variable) in lambda::SECRET_SETTINGS {
            let value = &variables[variable];
            assert!(
                value.is_null() || referenced_id(value) == name,
                "{id}: {variable}"
            );
        }
    }
}

/// Returns the environment variables that connections read: the OAuth app, and the address of the
/// API. Connections also read the addresses of the drive, but a deployment never sets those.
fn drive_variables() -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::from(["RECOLLECT_PUBLIC_URL".to_owned()]));
    connectors::DriveSettings::from_environment(|name| {
        if !name.ends_with("_URL") {
            asked.borrow_mut().insert(name.to_owned());
        }
        None
    });
    asked.into_inner()
}

/// Returns the environment variables for models that the processor reads, without the credentials of
/// its role, which Lambda sets.
fn model_variables() -> BTreeSet<String> {
    let asked = RefCell::new(BTreeSet::new());
    remote::ModelSettings::from_environment(|name| {
        if !name.starts_with("AWS_") {
            asked.borrow_mut().insert(name.to_owned());
        }
        None
    });
    asked.into_inner()
}

#[test]
fn the_bucket_tells_maintenance_of_every_upload() {
    let template = load_template();
    let notified = &resource_properties(&template, logical_id_of(&template, BUCKET))["NotificationConfiguration"];
    let [configuration] = notified["QueueConfigurations"]
        .as_array()
        .unwrap()
        .as_slice()
    else {
        panic!("one configuration: {notified}");
    };
    assert_eq!(
        referenced_id(&configuration["Queue"]),
        logical_id_of(&template, MAINTENANCE_QUEUE.name)
    );
    assert_eq!(configuration["Event"], "s3:ObjectCreated:*");

    let rules = &configuration["Filter"]["S3Key"]["Rules"];
    assert_eq!(
        rules,
        &serde_json::json!([{"Name": "suffix", "Value": "/upload"}])
    );

    let allows = |policy: &Value| {
        let statement = &policy["PolicyDocument"]["Statement"][0];
        statement["Principal"]["Service"] == "s3.amazonaws.com"
            && referenced_id(&statement["Resource"])
                == logical_id_of(&template, MAINTENANCE_QUEUE.name)
    };
    assert!(
        resources(&template, "AWS::SQS::QueuePolicy")
            .into_iter()
            .any(|(_, policy)| allows(policy))
    );
}

#[test]
fn tables_are_those_of_the_layout() {
    let template = load_template();
    assert_eq!(
        resources(&template, "AWS::DynamoDB::Table").len(),
        TABLES.len()
    );
    for layout in &TABLES {
        let table = resource_properties(&template, logical_id_of(&template, layout.name));
        check_table(layout, table);
    }
    let bucket = logical_id_of(&template, BUCKET);
    assert_eq!(template["Resources"][bucket]["Type"], "AWS::S3::Bucket");
}

fn check_table(layout: &TableLayout, table: &Value) {
    let name = layout.name;
    let schema = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    assert_eq!(table["BillingMode"], "PAY_PER_REQUEST", "{name}");
    assert_eq!(table["KeySchema"], schema("pk", "sk"), "{name}");
    assert!(table["LocalSecondaryIndexes"].is_null(), "{name}");
    let empty = Vec::new();
    let indexes = table["GlobalSecondaryIndexes"].as_array().unwrap_or(&empty);
    assert_eq!(indexes.len(), layout.indexes.len(), "{name}");
    let mut attributes = BTreeSet::from(["pk", "sk"]);
    for (wanted, index) in layout.indexes.iter().zip(indexes) {
        let projection = match wanted.projection {
            IndexProjection::All => json!({"ProjectionType": "ALL"}),
            IndexProjection::KeysOnly => json!({"ProjectionType": "KEYS_ONLY"}),
            IndexProjection::Include(attributes) => {
                json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": attributes})
            }
        };
        assert_eq!(index["IndexName"], wanted.name);
        assert_eq!(
            index["KeySchema"],
            schema(wanted.partition_key, wanted.sort_key),
            "{}",
            wanted.name
        );
        assert_eq!(index["Projection"], projection, "{}", wanted.name);
        attributes.extend([wanted.partition_key, wanted.sort_key]);
    }

    let defined: BTreeMap<&str, &str> = table["AttributeDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["AttributeName"].as_str().unwrap(),
                one["AttributeType"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        defined,
        attributes
            .into_iter()
            .map(|attribute| (attribute, "S"))
            .collect(),
        "{name}"
    );
    let ttl = layout.ttl_attribute.map_or(
        Value::Null,
        |ttl| json!({"AttributeName": ttl, "Enabled": true}),
    );
    assert_eq!(table["TimeToLiveSpecification"], ttl, "{name}");
}

#[test]
fn tables_that_hold_data_are_kept_and_can_be_recovered() {
    let template = load_template();
    for name in ["records", "secrets"] {
        let id = logical_id_of(&template, name);
        let policy = template["Resources"][id]["DeletionPolicy"]
            .as_str()
            .unwrap();
        assert!(policy.starts_with("Retain"), "{id}");
        let recovery = &resource_properties(&template, id)["PointInTimeRecoverySpecification"];
        assert_eq!(recovery["PointInTimeRecoveryEnabled"], true, "{id}");
    }
}

#[test]
fn a_store_that_a_parameter_names_takes_the_place_of_the_stacks_own() {
    let template = load_template();
    for (in_use, own) in STORES_IN_USE {
        let choice = &resource_properties(&template, in_use)["Value"]["Fn::If"];
        let condition = choice[0].as_str().unwrap();
        assert_eq!(choice[1]["Fn::GetAtt"], format!("{own}.Arn"), "{in_use}");
        assert_eq!(template["Resources"][own]["Condition"], condition, "{own}");

        let condition_of_parameter = match &template["Conditions"][condition]["Fn::Or"][1] {
            Value::Null => &template["Conditions"][condition],
            last => last,
        };
        let parameter = condition_of_parameter["Fn::Equals"][0]["Ref"]
            .as_str()
            .unwrap();
        assert_eq!(template["Parameters"][parameter]["Default"], "", "{own}");
        let other = &choice[2];
        assert!(
            other["Ref"] == parameter
                || other["Fn::Sub"]
                    .as_str()
                    .is_some_and(|arn| arn.ends_with(&format!("${{{parameter}}}"))),
            "{in_use}: {other}"
        );

        let names = serde_json::to_string(&template).unwrap();
        let count = |text: String| names.matches(text.as_str()).count();
        let arns = count(format!("\"{own}.Arn\"")) + count(format!("{{{own}.Arn}}"));
        assert_eq!(arns, 1, "{own}: rights name the store that is in use");
        let reference = format!("{{\"Ref\":\"{own}\"}}");
        let choices = count(format!(
            "[\"{condition}\",{reference},{{\"Ref\":\"{parameter}\"}}]"
        ));
        assert_eq!(count(reference), choices, "{own}");
    }
}

/// Returns the logical id of a queue's dead-letter queue.
fn dead_letter_queue_of<'a>(template: &'a Value, layout: &QueueLayout) -> &'a str {
    let queue = resource_properties(template, logical_id_of(template, layout.name));
    referenced_id(&queue["RedrivePolicy"]["deadLetterTargetArn"])
}

#[test]
fn queues_are_those_of_the_layout() {
    let template = load_template();
    assert_eq!(
        resources(&template, "AWS::SQS::Queue").len(),
        2 * QUEUES.len()
    );

    for layout in &QUEUES {
        let queue = resource_properties(&template, logical_id_of(&template, layout.name));
        assert_eq!(
            queue["RedrivePolicy"]["maxReceiveCount"], MAX_RECEIVE_COUNT,
            "{}",
            layout.name
        );
        let dead = resource_properties(&template, dead_letter_queue_of(&template, layout));
        for (name, queue) in [(layout.name, queue), (layout.dead_letter_queue, dead)] {
            let full = queue["QueueName"]["Fn::Sub"].as_str().unwrap();
            assert!(
                full.ends_with(&format!("-{name}")),
                "{full} is not for {name}"
            );
            assert_eq!(
                queue["FifoQueue"].as_bool().unwrap_or(false),
                layout.is_fifo(),
                "{name}"
            );
            assert_eq!(queue["VisibilityTimeout"], VISIBILITY_SECONDS, "{name}");
        }
        assert_eq!(
            dead["MessageRetentionPeriod"],
            14 * 24 * 3600,
            "{}",
            layout.dead_letter_queue
        );
        assert!(
            dead["RedrivePolicy"].is_null(),
            "{}",
            layout.dead_letter_queue
        );
    }
}

#[test]
fn every_queue_is_read_by_its_function_in_batches_of_the_layout_within_the_visibility_timeout() {
    let template = load_template();
    let mut readers = BTreeMap::new();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        for event in function_events(function, "SQS") {
            let queue = referenced_id(&event["Queue"]);
            assert_eq!(
                event["FunctionResponseTypes"],
                json!(["ReportBatchItemFailures"]),
                "{id}: {queue}"
            );

            let visible_after = resource_properties(&template, queue)["VisibilityTimeout"]
                .as_u64()
                .unwrap();
            // Six times the time limit is advised. Most work of maintenance ends long before its limit.
            let times = if id == "MaintenanceFunction" { 1 } else { 6 };
            assert!(
                times * function["Timeout"].as_u64().unwrap() <= visible_after,
                "{id}: {queue}"
            );

            let own = QUEUES
                .iter()
                .find(|layout| logical_id_of(&template, layout.name) == queue);
            let batch_size = own.map_or(10, |layout| layout.batch_size);
            assert_eq!(event["BatchSize"], batch_size, "{id}: {queue}");

            let before = readers.insert(queue, crate_of_function(&template, id));
            assert_eq!(before, None, "{queue} has two readers");
        }
    }

    // Messages that the maintenance function itself gave up are left for an operator. The sweep
    // resends due connections.
    let wanted = BTreeMap::from([
        (logical_id_of(&template, PROCESS_QUEUE.name), "processor"),
        (logical_id_of(&template, COMMIT_QUEUE.name), "processor"),
        (
            logical_id_of(&template, MAINTENANCE_QUEUE.name),
            "maintenance",
        ),
        (logical_id_of(&template, SYNC_QUEUE.name), "synchronizer"),
        (
            dead_letter_queue_of(&template, &PROCESS_QUEUE),
            "maintenance",
        ),
        (
            dead_letter_queue_of(&template, &COMMIT_QUEUE),
            "maintenance",
        ),
    ]);
    assert_eq!(readers, wanted);
}

#[test]
fn the_schedule_sweeps_as_often_as_one_machine_does() {
    let template = load_template();
    let workers = read_file("cli/src/workers.rs");
    let pace = workers
        .split("const SWEEP_INTERVAL: Duration = Duration::from_secs(")
        .nth(1);
    let pace: u64 = pace
        .and_then(|rest| rest.split(')').next()?.parse().ok())
        .expect("the local pace");
    let functions = resources(&template, "AWS::Serverless::Function");
    let schedules: Vec<(&str, &Value)> = functions
        .iter()
        .flat_map(|(id, function)| {
            let name = crate_of_function(&template, id);
            function_events(function, "ScheduleV2")
                .into_iter()
                .map(move |event| (name, event))
        })
        .collect();
    let [(name, schedule)] = schedules.as_slice() else {
        panic!("one schedule, not {schedules:?}");
    };
    assert_eq!(*name, "maintenance");
    assert_eq!(pace % 60, 0);

    let unit = if pace == 60 { "minute" } else { "minutes" };
    // Its name is unique in an account and region, and SAM makes a role for it.
    let stack_name = &schedule["Name"]["Fn::Sub"];
    assert!(
        stack_name
            .as_str()
            .unwrap()
            .starts_with("${AWS::StackName}")
    );
    let boundary = &schedule["PermissionsBoundary"]["Fn::If"];
    assert_eq!(boundary[0], "HasBoundary");
    assert_eq!(
        schedule["ScheduleExpression"],
        format!("rate({} {unit})", pace / 60)
    );
}

#[test]
fn every_function_is_a_package_with_one_binary_of_its_name() {
    let template = load_template();
    assert_eq!(template["Globals"]["Function"]["CodeUri"], ".");
    let mut deployed = BTreeSet::new();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        assert!(
            function["CodeUri"].is_null(),
            "{id} is not built from the workspace's root"
        );
        let name = crate_of_function(&template, id);
        let code = format!("functions/{name}");
        let manifest = read_file(&format!("{code}/Cargo.toml"));
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{id}");
        assert!(
            !manifest.contains("[[bin]]"),
            "{code} has a binary of another name"
        );
        assert!(
            !crate::tree::workspace_root()
                .join(&code)
                .join("src/bin")
                .exists(),
            "{code} has more binaries"
        );
        assert!(
            read_file(&format!("{code}/src/main.rs")).contains("fn main()"),
            "{code}"
        );
        assert_eq!(
            template["Resources"][id]["Metadata"]["BuildMethod"], "rust-cargolambda",
            "{id}"
        );
        deployed.insert(name.to_owned());
    }

    assert_eq!(
        deployed,
        list_folders("functions")
            .into_iter()
            .collect::<BTreeSet<_>>()
    );
}

#[test]
fn sam_never_takes_an_old_build_for_a_new_one() {
    let config = read_file("samconfig.toml");
    let sections: Vec<&str> = config.split("\n[").collect();
    let builds: Vec<&&str> = sections
        .iter()
        .filter(|text| text.contains(".build.parameters]"))
        .collect();
    assert!(!builds.is_empty());
    for build in builds {
        assert!(
            build.lines().any(|line| line == "cached = false"),
            "[{build}"
        );
    }

    assert!(!config.contains("cached = true"));
}
