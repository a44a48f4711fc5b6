//! The permissions of the functions: named actions on named resources, including those needed to
//! read their queues.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use testkit::template::{
    as_list, function_events, load_template, referenced_id, resource_properties, resources,
};

/// Returns the statements of a role.
fn role_statements(role: &Value) -> Vec<&Value> {
    let policies = role["Policies"].as_array().expect("policies written out");
    policies
        .iter()
        .flat_map(|policy| as_list(&policy["PolicyDocument"]["Statement"]))
        .collect()
}

/// Returns the role of a function, by logical id.
fn role_of<'a>(template: &'a Value, function: &'a Value) -> &'a Value {
    &template["Resources"][referenced_id(&function["Role"])]["Properties"]
}

/// Returns the resources on which a function may do an action.
fn resources_of_action<'a>(
    template: &'a Value,
    function: &'a Value,
    action: &str,
) -> Vec<&'a Value> {
    role_statements(role_of(template, function))
        .into_iter()
        .filter(|statement| as_list(&statement["Action"]).contains(&&Value::from(action)))
        .flat_map(|statement| as_list(&statement["Resource"]))
        .collect()
}

#[test]
fn no_role_has_a_wildcard() {
    let template = load_template();
    let roles = resources(&template, "AWS::IAM::Role");
    assert!(!roles.is_empty());

    for (id, role) in roles {
        assert!(
            role["ManagedPolicyArns"].is_null(),
            "{id}: managed policies have wildcards"
        );
        for statement in role_statements(role) {
            assert!(
                statement["NotAction"].is_null() && statement["NotResource"].is_null(),
                "{id}"
            );
            for action in as_list(&statement["Action"]) {
                let action = action.as_str().unwrap();
                assert!(!action.contains('*'), "{id} may {action}");
                assert_ne!(action, "dynamodb:Scan", "{id}");
            }
            for resource in as_list(&statement["Resource"]) {
                // This panics for a text such as `*`: every resource must be a reference.
                let owner = referenced_id(resource);
                assert!(
                    !template["Resources"][owner].is_null(),
                    "{id} reaches {resource}"
                );
            }
        }
    }
}

#[test]
fn every_function_has_a_role_of_its_own() {
    let template = load_template();
    let functions = resources(&template, "AWS::Serverless::Function");
    let roles: BTreeSet<&str> = functions
        .iter()
        .map(|(_, function)| referenced_id(&function["Role"]))
        .collect();
    assert_eq!(roles.len(), functions.len());

    for (id, function) in functions {
        assert!(
            function["Policies"].is_null(),
            "{id} has policies beside its role"
        );
    }
}

#[test]
fn the_function_that_reads_for_others_may_only_write_its_log() {
    let template = load_template();
    let reader = resource_properties(&template, "ReaderFunction");
    let [log] = role_statements(role_of(&template, reader))[..] else {
        panic!("one statement");
    };
    assert_eq!(
        log["Action"],
        json!(["logs:CreateLogStream", "logs:PutLogEvents"])
    );
    assert_eq!(referenced_id(&log["Resource"]), "ReaderLog");
    assert!(reader["Events"].is_null(), "nothing but functions calls it");

    let callers = roles_with_variables(&template, &["RECOLLECT_READER_FUNCTION"]);
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let called: Vec<&str> = resources_of_action(&template, function, "lambda:InvokeFunction")
            .into_iter()
            .map(referenced_id)
            .collect();
        let expected = match callers.contains(referenced_id(&function["Role"])) {
            true => vec!["ReaderFunction"],
            false => Vec::new(),
        };
        assert_eq!(called, expected, "{id}");
    }
}

#[test]
fn the_processor_may_send_each_message_that_it_sends() {
    let template = load_template();
    let processor = resource_properties(&template, "ProcessorFunction");
    let queues: BTreeSet<&str> = resources_of_action(&template, processor, "sqs:SendMessage")
        .into_iter()
        .map(referenced_id)
        .collect();
    // Files that have not arrived, and texts that are processed alone; commits; purges.
    let wanted = ["ProcessQueue", "CommitQueue", "KeeperQueue"];
    assert_eq!(queues, BTreeSet::from(wanted));
}

#[test]
fn callers_may_hand_the_function_what_is_too_large_for_a_call() {
    let template = load_template();
    let callers = roles_with_variables(&template, &["RECOLLECT_READER_FUNCTION"]);
    let callers: Vec<&Value> = resources(&template, "AWS::Serverless::Function")
        .into_iter()
        .map(|(_, function)| function)
        .filter(|function| callers.contains(referenced_id(&function["Role"])))
        .collect();
    assert_eq!(callers.len(), 2);
    for function in callers {
        for action in ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"] {
            let objects = resources_of_action(&template, function, action);
            let objects: Vec<&str> = objects
                .into_iter()
                .filter_map(|o| o["Fn::Sub"].as_str())
                .collect();
            assert_eq!(objects, ["${BucketInUse.Value}/*"], "{action}");
        }
    }
}

#[test]
fn there_is_time_for_the_longest_page_and_the_longest_file() {
    let template = load_template();
    let seconds = |id| {
        resource_properties(&template, id)["Timeout"]
            .as_u64()
            .unwrap()
    };
    let (fetch, extract) = (reader::FETCH_LIMITS.time, reader::EXTRACT_LIMITS.time);
    let work = sandbox::WALL_TIME + 2 * lambda::TRANSFER_TIMEOUT;
    assert!(work < extract);
    assert!(extract.as_secs() < seconds("ReaderFunction"));
    // A page is fetched, and then parsed like a file.
    assert!((fetch + extract).as_secs() < seconds("ProcessorFunction"));
    assert!(fetch.as_secs() < seconds("SynchronizerFunction"));
}

/// Returns the only statement of a policy beside the roles, and the roles that have the policy.
fn shared_policy<'a>(template: &'a Value, id: &str) -> (&'a Value, BTreeSet<&'a str>) {
    let policy = resource_properties(template, id);
    let [statement] = as_list(&policy["PolicyDocument"]["Statement"])[..] else {
        panic!("one statement in {id}");
    };
    let roles = as_list(&policy["Roles"]).into_iter().map(referenced_id);
    (statement, roles.collect())
}

/// Returns the roles of the functions that have all of these variables.
fn roles_with_variables<'a>(template: &'a Value, names: &[&str]) -> BTreeSet<&'a str> {
    let functions = resources(template, "AWS::Serverless::Function").into_iter();
    let has_all = |function: &Value| {
        let variables = &function["Environment"]["Variables"];
        names.iter().all(|name| !variables[*name].is_null())
    };
    functions
        .filter(|(_, function)| has_all(function))
        .map(|(_, function)| referenced_id(&function["Role"]))
        .collect()
}

/// Returns the roles of the functions that may use a table or a bucket.
fn roles_that_reach_data(template: &Value) -> BTreeSet<&str> {
    let functions = resources(template, "AWS::Serverless::Function").into_iter();
    let reaches_data = |function: &Value| {
        let statements = role_statements(role_of(template, function)).into_iter();
        let mut actions = statements.flat_map(|statement| as_list(&statement["Action"]));
        actions.any(|action| {
            let action = action.as_str().unwrap();
            action.starts_with("dynamodb:") || action.starts_with("s3:")
        })
    };
    functions
        .filter(|(_, function)| reaches_data(function))
        .map(|(_, function)| referenced_id(&function["Role"]))
        .collect()
}

#[test]
fn the_key_of_the_data_encrypts_all_of_it() {
    let template = load_template();
    let given = |setting: &Value| match setting["Fn::If"].as_array().map(Vec::as_slice) {
        Some([condition, given, _]) if condition == "HasDataKey" => given.clone(),
        _ => panic!("no setting for a key: {setting}"),
    };
    let tables = resources(&template, "AWS::DynamoDB::Table");
    assert_eq!(tables.len(), 3);
    for (id, table) in tables {
        // The table of secrets has a key of its own.
        if id != "SecretsTable" {
            let encryption = given(&table["SSESpecification"]);
            assert_eq!(encryption["SSEEnabled"], true, "{id}");
            assert_eq!(encryption["SSEType"], "KMS", "{id}");
            assert_eq!(
                referenced_id(&encryption["KMSMasterKeyId"]),
                "DataKeyArn",
                "{id}"
            );
        }
    }
    for (id, bucket) in resources(&template, "AWS::S3::Bucket") {
        let rules = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"];
        let encryption = &given(&rules[0])["ServerSideEncryptionByDefault"];
        assert_eq!(encryption["SSEAlgorithm"], "aws:kms", "{id}");
        assert_eq!(
            referenced_id(&encryption["KMSMasterKeyID"]),
            "DataKeyArn",
            "{id}"
        );
    }
}

#[test]
fn policies_beside_the_roles_reach_what_a_parameter_names() {
    let template = load_template();
    let policies = resources(&template, "AWS::IAM::Policy").into_iter();
    let policies: BTreeSet<&str> = policies.map(|(id, _)| id).collect();
    let expected = [
        "BedrockPolicy",
        "DataKeyPolicy",
        "ImagePolicy",
        "NetworkPolicy",
        "SecretPolicy",
    ];
    assert_eq!(policies, BTreeSet::from(expected));

    let (models, roles) = shared_policy(&template, "BedrockPolicy");
    let actions = json!(["bedrock:InvokeModel", "bedrock-mantle:CreateInference"]);
    assert_eq!(models["Action"], actions);
    assert_eq!(referenced_id(&models["Resource"]), "BedrockModels");
    // Those that only embed have no model of Bedrock: it embeds by another protocol.
    let asking = ["RECOLLECT_MODEL_URL", "RECOLLECT_MEMORY_MODEL"];
    assert_eq!(roles, roles_with_variables(&template, &asking));

    let (key, mut roles) = shared_policy(&template, "DataKeyPolicy");
    assert!(
        roles.remove("RecallRole"),
        "its tasks do what a function does"
    );
    assert_eq!(key["Action"], json!(["kms:Decrypt", "kms:GenerateDataKey"]));
    assert_eq!(referenced_id(&key["Resource"]), "DataKeyArn");
    let services = &key["Condition"]["StringEquals"]["kms:ViaService"];
    let services: Vec<&str> = as_list(services)
        .iter()
        .map(|service| service["Fn::Sub"].as_str().unwrap())
        .collect();
    let region = "${AWS::Region}.amazonaws.com";
    let expected = ["dynamodb", "s3"].map(|service| format!("{service}.{region}"));
    assert_eq!(services, expected);
    assert_eq!(roles, roles_that_reach_data(&template));

    let (secret, mut roles) = shared_policy(&template, "SecretPolicy");
    assert!(
        roles.remove("RecallRole"),
        "its tasks do what a function does"
    );
    assert_eq!(secret["Action"], "secretsmanager:GetSecretValue");
    assert_eq!(referenced_id(&secret["Resource"]), "SecretArn");
    assert_eq!(
        roles,
        roles_with_variables(&template, &["RECOLLECT_SECRET_ARN"])
    );
}

#[test]
fn only_lambda_itself_and_not_the_code_of_search_changes_the_network() {
    let template = load_template();
    let policy = resource_properties(&template, "NetworkPolicy");
    assert_eq!(policy["Roles"], json!([{"Ref": "SearchRole"}]));
    let [join, deny] = as_list(&policy["PolicyDocument"]["Statement"])[..] else {
        panic!("two statements");
    };
    assert_eq!(
        (&join["Effect"], &deny["Effect"]),
        (&json!("Allow"), &json!("Deny"))
    );
    assert_eq!(join["Action"], deny["Action"]);
    let denied = &deny["Condition"]["ArnEquals"]["lambda:SourceFunctionArn"]["Fn::Sub"];
    let function = &resource_properties(&template, "SearchFunction")["FunctionName"]["Fn::Sub"];
    let ending = format!(":function:{}", function.as_str().unwrap());
    assert!(denied.as_str().unwrap().ends_with(&ending), "{denied}");
}

#[test]
fn the_platform_pulls_images_and_does_nothing_else_in_registries() {
    let template = load_template();
    let policy = resource_properties(&template, "ImagePolicy");
    assert_eq!(policy["Roles"], json!([{"Ref": "RecallExecutionRole"}]));
    for statement in as_list(&policy["PolicyDocument"]["Statement"]) {
        // AWS takes no resource for entering a registry.
        let enters = statement["Action"] == "ecr:GetAuthorizationToken";
        assert_eq!(statement["Resource"] == "*", enters, "{statement}");
        for action in as_list(&statement["Action"]) {
            let action = action.as_str().unwrap();
            let reads = ["ecr:Get", "ecr:BatchGet", "ecr:BatchCheck"];
            assert!(
                reads.iter().any(|prefix| action.starts_with(prefix)),
                "{action}"
            );
        }
    }
}

#[test]
fn functions_receive_from_their_queues_and_from_no_other() {
    let template = load_template();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let reads: BTreeSet<&str> = function_events(function, "SQS")
            .iter()
            .map(|event| referenced_id(&event["Queue"]))
            .collect();
        for action in [
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
        ] {
            let may: BTreeSet<&str> = resources_of_action(&template, function, action)
                .into_iter()
                .map(referenced_id)
                .collect();
            assert_eq!(may, reads, "{id}: {action}");
        }
    }
}

/// Returns the statements of a function's role about the table of secrets.
fn secret_statements<'a>(template: &'a Value, function: &'a Value) -> Vec<&'a Value> {
    let secrets = referenced_id(
        &template["Globals"]["Function"]["Environment"]["Variables"]["RECOLLECT_SECRETS_TABLE"],
    );
    let is_meant = |statement: &&Value| {
        as_list(&statement["Resource"])
            .into_iter()
            .any(|one| referenced_id(one) == secrets)
    };
    role_statements(role_of(template, function))
        .into_iter()
        .filter(is_meant)
        .collect()
}

#[test]
fn only_what_answers_requests_reads_api_keys_and_one_function_writes_them() {
    let template = load_template();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let actions: BTreeSet<&str> = secret_statements(&template, function)
            .into_iter()
            .flat_map(|statement| as_list(&statement["Action"]))
            .map(|action| action.as_str().unwrap())
            .collect();
        let answers = !function_events(function, "HttpApi").is_empty();

        match id {
            "SettingsFunction" => assert!(actions.contains("dynamodb:PutItem"), "{id}"),
            // Browser tickets and sealed secrets are in the same table, under keys with other
            // prefixes.
            "ConnectionsFunction" | "SynchronizerFunction" | "ContainerTagsFunction" => {
                let mut wanted = BTreeSet::from(["dynamodb:GetItem", "dynamodb:PutItem"]);
                let signs_only = id == "ContainerTagsFunction";
                if !signs_only {
                    wanted.insert("dynamodb:DeleteItem");
                }
                assert_eq!(actions, wanted, "{id}");
                for statement in secret_statements(&template, function) {
                    let keys =
                        &statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
                    let may_read_keys = answers
                        && statement["Action"] == "dynamodb:GetItem"
                        && *keys == json!(["K#*"]);
                    let secrets = if signs_only {
                        json!(["O#*"])
                    } else {
                        json!(["E#*", "O#*"])
                    };
                    assert!(may_read_keys || *keys == secrets, "{id}: {statement}");
                }
            }

            _ if answers => assert_eq!(actions, BTreeSet::from(["dynamodb:GetItem"]), "{id}"),
            _ => assert_eq!(actions, BTreeSet::new(), "{id}"),
        }
    }
}

#[test]
fn whoever_answers_requests_may_log_them() {
    let template = load_template();
    let activity = referenced_id(
        &template["Globals"]["Function"]["Environment"]["Variables"]["RECOLLECT_ACTIVITY_TABLE"],
    );

    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        let may = resources_of_action(&template, function, "dynamodb:PutItem")
            .into_iter()
            .any(|one| referenced_id(one) == activity);
        assert!(
            may || function_events(function, "HttpApi").is_empty(),
            "{id}"
        );
    }
}

#[test]
fn whoever_answers_requests_may_store_large_answers() {
    let template = load_template();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        if function_events(function, "HttpApi").is_empty() {
            continue;
        }
        for action in ["s3:GetObject", "s3:PutObject"] {
            let may = resources_of_action(&template, function, action)
                .into_iter()
                .any(|resource| {
                    let resource = resource["Fn::Sub"].as_str().unwrap_or_default();
                    ["${BucketInUse.Value}/*", "${BucketInUse.Value}/_answers/*"]
                        .contains(&resource)
                });
            assert!(may, "{id}: {action}");
        }
    }
}

#[test]
fn no_function_unseals_what_it_need_not_use() {
    let template = load_template();
    for (id, function) in resources(&template, "AWS::Serverless::Function") {
        for statement in role_statements(role_of(&template, function)) {
            let unseals = as_list(&statement["Action"]).contains(&&Value::from("kms:Decrypt"));
            let through_table =
                statement["Condition"]["StringEquals"]["kms:ViaService"].is_object();
            // Functions that act for users unseal the users' tokens and the app's secret,
            // restricted to the names with which those were sealed. What signs erasure reports
            // unseals their key.
            let names = &statement["Condition"]["StringLike"]["kms:EncryptionContext:name"];
            let may_unseal = match id {
                "ConnectionsFunction" | "SynchronizerFunction" => {
                    *names == json!(["grant/*", "oauth-app/cloud-drive/*"])
                }
                "ContainerTagsFunction" => *names == json!(["erasure-report-key"]),
                _ => false,
            };

            assert!(!unseals || through_table || may_unseal, "{id}: {statement}");
        }
    }
}
