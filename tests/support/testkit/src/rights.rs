//! The rights of the functions, as the roles in `template.yaml` give them. The embedded services let
//! everybody do everything, so the requests that a function sends in a test are compared with its role.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use aws::layout::{
    ACTIVITY_TABLE, BUCKET, COMMIT_QUEUE, MAINTENANCE_QUEUE, PROCESS_QUEUE, QueueLayout,
    RECORDS_TABLE, SECRETS_TABLE, SYNC_QUEUE,
};
use axum::Router;
use axum::extract::{MatchedPath, Request};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use domain::{DeliveryOutcome, QueueDelivery, QueueWorker};
use http::Method;
use http::request::Parts;
use serde_json::Value;

use crate::template::{
    as_list, crate_of_function, function_events, load_template, referenced_id, resources,
};

tokio::task_local! {
    /// The crate of the function that works in this task.
    static FUNCTION: String;
}

static RIGHTS: LazyLock<FunctionRights> = LazyLock::new(FunctionRights::load);

/// What the template says about functions.
struct FunctionRights {
    /// The crates of the functions, by the method and the path of their routes.
    routes: HashMap<(String, String), String>,
    /// The rights, by the crate of the function.
    rights: HashMap<String, Vec<Right>>,
}

/// The right to do something with some resources.
struct Right {
    /// Actions such as `dynamodb:GetItem`.
    actions: Vec<String>,
    /// Resources such as `RecordsTable/index/pending`, with the logical id of the template first. One that
    /// ends with `*` stands for all that begin alike.
    resources: Vec<String>,
    /// The beginnings of the partition keys that may be used, each with `*` at its end. `None` for all.
    leading_keys: Option<Vec<String>>,
}

/// An action of a request to a service.
#[derive(Debug, PartialEq)]
struct Action {
    name: String,
    resource: String,
    /// The partition key of the item, if the request names one.
    key: Option<String>,
}

/// Wraps the routes of all functions, so that each request is checked as one of the function that has the
/// route.
pub(crate) fn with_rights_of_functions(routes: Router) -> Router {
    routes.layer(from_fn(run_as_function_of_route))
}

async fn run_as_function_of_route(request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map(MatchedPath::as_str).unwrap_or_default();
    let method = match *request.method() {
        Method::HEAD => "GET",
        ref method => method.as_str(),
    };
    let route = (method.to_owned(), path.to_owned());
    match RIGHTS.routes.get(&route) {
        Some(function) => run_as(function, next.run(request)).await,
        None => next.run(request).await,
    }
}

/// Runs something as a function. The requests that it sends are checked, unless another task sends them.
pub(crate) async fn run_as<F: Future>(function: &str, work: F) -> F::Output {
    FUNCTION.scope(function.to_owned(), work).await
}

/// A worker whose requests are checked as those of its function.
pub(crate) struct CheckedWorker {
    function: &'static str,
    worker: Arc<dyn QueueWorker>,
}

impl CheckedWorker {
    /// Wraps the worker of a queue, or of its dead-letter queue.
    pub(crate) fn wrap(
        queue: &QueueLayout,
        is_dead_letter_queue: bool,
        worker: Arc<dyn QueueWorker>,
    ) -> Arc<dyn QueueWorker> {
        let function = if is_dead_letter_queue || *queue == MAINTENANCE_QUEUE {
            "maintenance"
        } else if *queue == SYNC_QUEUE {
            "synchronizer"
        } else {
            "processor"
        };
        Arc::new(Self { function, worker })
    }
}

#[async_trait]
impl QueueWorker for CheckedWorker {
    async fn handle_batch(&self, batch: &[QueueDelivery]) -> Vec<DeliveryOutcome> {
        run_as(self.function, self.worker.handle_batch(batch)).await
    }
}

/// Returns what the function that sends a request has no right to do, or nothing.
pub(crate) fn find_missing_rights(parts: &Parts, body: &[u8]) -> Vec<String> {
    let Ok(function) = FUNCTION.try_with(String::clone) else {
        return Vec::new();
    };
    let rights = RIGHTS.rights.get(&function).map_or(&[][..], Vec::as_slice);
    let actions = actions_of_request(parts, body).into_iter();
    let missing = actions.filter(|action| !rights.iter().any(|right| right.allows(action)));
    missing
        .map(|Action { name, resource, .. }| {
            format!("template.yaml does not let `{function}` do {name} with {resource}")
        })
        .collect()
}

impl FunctionRights {
    fn load() -> Self {
        let template = load_template();
        let (mut routes, mut rights) = (HashMap::new(), HashMap::new());
        for (id, function) in resources(&template, "AWS::Serverless::Function") {
            let name = crate_of_function(&template, id).to_owned();
            for event in function_events(function, "HttpApi") {
                // One event has no path: it gets what no other has.
                if let (Some(method), Some(path)) =
                    (event["Method"].as_str(), event["Path"].as_str())
                {
                    // The template writes the rest of a path as `{path+}`, the router as `{*path}`.
                    let path = path.replace("{path+}", "{*path}");
                    routes.insert((method.to_owned(), path), name.clone());
                }
            }

            let role = &template["Resources"][referenced_id(&function["Role"])]["Properties"];
            let policies = role["Policies"].as_array().expect("policies");
            let statements = policies
                .iter()
                .flat_map(|policy| as_list(&policy["PolicyDocument"]["Statement"]));
            rights.insert(name, statements.map(Right::parse).collect());
        }
        Self { routes, rights }
    }
}

impl Right {
    fn parse(statement: &Value) -> Self {
        let texts = |value: &Value| -> Vec<String> {
            let texts = as_list(value).into_iter();
            texts
                .filter_map(|text| text.as_str().map(str::to_owned))
                .collect()
        };
        let resource = |value: &Value| {
            let below = value["Fn::Sub"].as_str();
            let below = below.and_then(|text| text.split_once('}'));
            format!(
                "{}{}",
                referenced_id(value),
                below.map_or("", |(_, below)| below)
            )
        };
        let keys = &statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"];
        Self {
            actions: texts(&statement["Action"]),
            resources: as_list(&statement["Resource"])
                .into_iter()
                .map(resource)
                .collect(),
            leading_keys: (!keys.is_null()).then(|| texts(keys)),
        }
    }

    fn allows(&self, action: &Action) -> bool {
        let key = action.key.as_deref().unwrap_or_default();
        let keys = self.leading_keys.as_ref();
        self.actions.contains(&action.name)
            && self
                .resources
                .iter()
                .any(|pattern| is_like(&action.resource, pattern))
            && keys.is_none_or(|keys| keys.iter().any(|pattern| is_like(key, pattern)))
    }
}

/// Checks whether a text matches a pattern of IAM, which may end with `*`.
fn is_like(text: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => text.starts_with(beginning),
        None => text == pattern,
    }
}

fn actions_of_request(parts: &Parts, body: &[u8]) -> Vec<Action> {
    let target = parts.headers.get("x-amz-target");
    let target = target.and_then(|target| target.to_str().ok());
    let Some((service, operation)) = target.and_then(|target| target.split_once('.')) else {
        return vec![s3_action(parts)];
    };
    let body: Value = serde_json::from_slice(body).expect("a request in JSON");
    match service {
        "DynamoDB_20120810" => dynamodb_actions(operation, &body),
        "AmazonSQS" => vec![sqs_action(operation, &body)],
        _ => vec![Action {
            name: format!("kms:{operation}"),
            resource: "SecretsKey".to_owned(),
            key: None,
        }],
    }
}

fn dynamodb_actions(operation: &str, body: &Value) -> Vec<Action> {
    match operation {
        "TransactWriteItems" => {
            let parts = body["TransactItems"].as_array().into_iter().flatten();
            let parts = parts.flat_map(|part| part.as_object().into_iter().flatten());
            parts
                .map(|(part, request)| {
                    let operation = match part.as_str() {
                        "ConditionCheck" => "ConditionCheckItem".to_owned(),
                        part => format!("{part}Item"),
                    };
                    item_action(&operation, request)
                })
                .collect()
        }
        "BatchGetItem" | "BatchWriteItem" => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            tables
                .map(|(table, _)| dynamodb_action(operation, table, "", None))
                .collect()
        }
        _ => vec![item_action(operation, body)],
    }
}

/// Returns the action of a request about one table.
fn item_action(operation: &str, request: &Value) -> Action {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let table = text(&request["TableName"]).unwrap_or_default();
    let index = match request["IndexName"].as_str() {
        Some(index) => format!("/index/{index}"),
        None => String::new(),
    };
    let key = text(&request["Key"]["pk"]["S"]).or_else(|| text(&request["Item"]["pk"]["S"]));
    dynamodb_action(operation, &table, &index, key)
}

fn dynamodb_action(operation: &str, table: &str, index: &str, key: Option<String>) -> Action {
    let tables = [
        (RECORDS_TABLE.name, "RecordsTable"),
        (SECRETS_TABLE.name, "SecretsTable"),
        (ACTIVITY_TABLE.name, "ActivityTable"),
    ];
    let id = logical_id(&tables, table);
    Action {
        name: format!("dynamodb:{operation}"),
        resource: format!("{id}{index}"),
        key,
    }
}

fn sqs_action(operation: &str, body: &Value) -> Action {
    let queues = [
        (PROCESS_QUEUE.name, "ProcessQueue"),
        (COMMIT_QUEUE.name, "CommitQueue"),
        (MAINTENANCE_QUEUE.name, "KeeperQueue"),
        (SYNC_QUEUE.name, "SyncQueue"),
    ];
    let address = body["QueueUrl"].as_str().unwrap_or_default();
    let name = address.rsplit('/').next().unwrap_or_default();
    // The right to send a message is also that to send several.
    let operation = operation.strip_suffix("Batch").unwrap_or(operation);
    Action {
        name: format!("sqs:{operation}"),
        resource: logical_id(&queues, name).to_owned(),
        key: None,
    }
}

fn s3_action(parts: &Parts) -> Action {
    let path = parts.uri.path().trim_start_matches('/');
    let below = path.strip_prefix(BUCKET).unwrap_or(path);
    let operation = match parts.method {
        Method::GET | Method::HEAD if below.trim_matches('/').is_empty() => "ListBucket",
        Method::GET | Method::HEAD => "GetObject",
        Method::DELETE => "DeleteObject",
        Method::POST if below.trim_matches('/').is_empty() => "DeleteObject",
        _ => "PutObject",
    };
    let below = match (operation, below.trim_matches('/')) {
        ("ListBucket", _) => String::new(),
        (_, below) => format!("/{below}"),
    };
    Action {
        name: format!("s3:{operation}"),
        resource: format!("Bucket{below}"),
        key: None,
    }
}

/// Returns the logical id of a resource by its name in embedded mode.
fn logical_id<'a>(ids: &[(&str, &'a str)], name: &'a str) -> &'a str {
    let known = ids.iter().find(|(known, _)| *known == name);
    known.map_or(name, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn missing(function: &str, operation: &str, body: &Value) -> Vec<String> {
        let request = http::Request::post("/")
            .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
            .body(())
            .expect("a request");
        let (parts, ()) = request.into_parts();
        let body = body.to_string();
        FUNCTION.sync_scope(function.to_owned(), || {
            find_missing_rights(&parts, body.as_bytes())
        })
    }

    #[test]
    fn an_action_without_a_right_is_found() {
        let query = json!({"TableName": "records", "IndexName": "pending"});
        assert_eq!(missing("documents", "Query", &query), [""; 0]);
        assert_eq!(
            missing("analytics", "Query", &query),
            [
                "template.yaml does not let `analytics` do dynamodb:Query with RecordsTable/index/pending"
            ]
        );

        let part = json!({"TableName": "secrets", "Key": {"pk": {"S": "K#1"}}});
        let write = json!({"TransactItems": [{"Update": part}]});
        assert_eq!(missing("search", "TransactWriteItems", &write).len(), 1);
    }

    #[test]
    fn a_key_outside_the_condition_is_found() {
        let get = |key: &str| json!({"TableName": "secrets", "Key": {"pk": {"S": key}}});
        assert_eq!(missing("container-tags", "GetItem", &get("K#1")), [""; 0]);
        assert_eq!(missing("container-tags", "GetItem", &get("E#1")).len(), 1);
    }
}
