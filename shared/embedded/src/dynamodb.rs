//! DynamoDB on the crate `dynoxide-rs`: the method for each operation, and the form of errors on
//! the wire.

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use dynoxide::{Database, DynoxideError};
use http::{Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::folder::{self, DataFolder};
use crate::log::CommitLog;
use crate::{Durability, blocking, incomplete_tables, wire};

/// The prefixes of `x-amz-target` for this service.
pub(crate) const TARGET_PREFIXES: [&str; 2] = ["DynamoDB_20120810.", "DynamoDBStreams_20120810."];

/// The operations on one item. They are too short to hand the thread over.
const SHORT_OPERATIONS: [&str; 4] = ["GetItem", "PutItem", "UpdateItem", "DeleteItem"];

/// The prefixes that the engine writes before the messages of requests that it could not parse,
/// longest first. The flag is set if the message is of a `ValidationException`, and clear if it is
/// of a `SerializationException`.
const ERROR_MARKERS: [(&str, bool); 5] = [
    ("SERIALIZATION_AS_READ:", false),
    ("VALIDATION_AS_READ:", true),
    ("VALIDATION_REQUEST:", true),
    ("SERIALIZATION:", false),
    ("VALIDATION:", true),
];

/// An embedded DynamoDB in one file.
pub(crate) struct DynamoDb {
    database: Database,
    /// The write-ahead log, which brings commits to the disk.
    pub(crate) log: Arc<CommitLog>,
    folder: DataFolder,
}

impl DynamoDb {
    /// Opens or creates the database of `folder`, which the caller has locked.
    pub(crate) fn open(folder: DataFolder, durability: Durability) -> anyhow::Result<Self> {
        let file = folder.file_path(folder::DYNAMODB);
        let path = file.to_str().context("the folder's path must be UTF-8")?;
        incomplete_tables::remove_incomplete_tables(&file)
            .with_context(|| format!("cannot open {path}"))?;
        let database = Database::new(path).with_context(|| format!("cannot open {path}"))?;
        // The engine opens files with synchronous=FULL, which syncs each write while all others
        // wait for the connection. Leaving its bulk-loading mode sets NORMAL, and the log then
        // makes one sync for all.
        database.disable_bulk_loading()?;
        let log = Arc::new(CommitLog::open(&file, durability)?);

        Ok(Self {
            database,
            log,
            folder,
        })
    }

    /// Answers one request. Everything that it wrote or saw is on the disk before the answer, as
    /// far as the durability promises.
    pub(crate) async fn handle_request(&self, operation: &str, body: &[u8]) -> Response<Bytes> {
        let response = self.run(operation, body);
        match self.log.sync_before_answer().await {
            Ok(()) => response,
            Err(error) => {
                tracing::error!(
                    operation,
                    "embedded DynamoDB failed in {operation}: {error:#}"
                );
                let error = DynoxideError::InternalServerError(format!("{error:#}"));
                wire::json_response(StatusCode::INTERNAL_SERVER_ERROR, error.to_json())
            }
        }
    }

    /// Runs one request synchronously. All calls of a process take turns on one connection.
    fn run(&self, operation: &str, body: &[u8]) -> Response<Bytes> {
        // A process that starts removes half-made tables, so it must not start in the middle of
        // this operation.
        let _lock = if operation == "CreateTable" {
            self.folder.lock().ok()
        } else {
            None
        };

        let outcome = if SHORT_OPERATIONS.contains(&operation) {
            dispatch_operation(&self.database, operation, body)
        } else {
            blocking::run_blocking(|| dispatch_operation(&self.database, operation, body))
        };

        match outcome {
            Ok(json) => wire::json_response(StatusCode::OK, json),
            Err(error) => {
                let status =
                    StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::BAD_REQUEST);
                if status.is_server_error() {
                    tracing::error!(operation, %error, "embedded DynamoDB failed in {operation}: {error}");
                }
                wire::json_response(status, error.to_json())
            }
        }
    }

    /// Deletes the items of all tables whose time to live is over. Returns the number of deleted
    /// items.
    pub(crate) fn sweep_expired(&self) -> anyhow::Result<usize> {
        self.database
            .sweep_ttl()
            .context("cannot sweep expired items")
    }
}

/// Calls the method of the engine for `operation`.
fn dispatch_operation(db: &Database, operation: &str, body: &[u8]) -> dynoxide::Result<Vec<u8>> {
    match operation {
        "GetItem" => run_operation(body, |q| db.get_item(q)),
        "PutItem" => run_operation(body, |q| db.put_item(q)),
        "UpdateItem" => run_operation(body, |q| db.update_item(q)),
        "DeleteItem" => run_operation(body, |q| db.delete_item(q)),
        "Query" => run_operation(body, |q| db.query(q)),
        "Scan" => run_operation(body, |q| db.scan(q)),
        "SearchVectors" => run_operation(body, |q| db.search_vectors(q)),
        "BatchGetItem" => run_operation(body, |q| db.batch_get_item(q)),
        "BatchWriteItem" => run_operation(body, |q| db.batch_write_item(q)),
        "TransactWriteItems" => run_operation(body, |q| db.transact_write_items(q)),
        "TransactGetItems" => run_operation(body, |q| db.transact_get_items(q)),
        "CreateTable" => run_operation(body, |q| db.create_table(q)),
        "DescribeTable" => run_operation(body, |q| db.describe_table(q)),
        "ListTables" => run_operation(body, |q| db.list_tables(q)),
        "UpdateTable" => run_operation(body, |q| db.update_table(q)),
        "DeleteTable" => run_operation(body, |q| db.delete_table(q)),
        "UpdateTimeToLive" => run_operation(body, |q| db.update_time_to_live(q)),
        "DescribeTimeToLive" => run_operation(body, |q| db.describe_time_to_live(q)),
        "ListStreams" => run_operation(body, |q| db.list_streams(q)),
        "DescribeStream" => run_operation(body, |q| db.describe_stream(q)),
        "GetShardIterator" => run_operation(body, |q| db.get_shard_iterator(q)),
        "GetRecords" => run_operation(body, |q| db.get_records(q)),
        "ExecuteStatement" => run_operation(body, |q| db.execute_statement(q)),
        "ExecuteTransaction" => run_operation(body, |q| db.execute_transaction(q)),
        "BatchExecuteStatement" => run_operation(body, |q| db.batch_execute_statement(q)),
        "TagResource" => run_operation(body, |q| db.tag_resource(q)),
        "UntagResource" => run_operation(body, |q| db.untag_resource(q)),
        "ListTagsOfResource" => run_operation(body, |q| db.list_tags_of_resource(q)),
        _ => Err(DynoxideError::ValidationException(format!(
            "The embedded DynamoDB does not implement {operation}"
        ))),
    }
}

/// Parses the request, runs the method of the engine and serializes the answer.
fn run_operation<Q, A>(
    body: &[u8],
    method: impl FnOnce(Q) -> dynoxide::Result<A>,
) -> dynoxide::Result<Vec<u8>>
where
    Q: DeserializeOwned,
    A: Serialize,
{
    let request = serde_json::from_slice(body).map_err(|error| parse_error(&error.to_string()))?;
    let response = method(request)?;
    serde_json::to_vec(&response)
        .map_err(|error| DynoxideError::InternalServerError(error.to_string()))
}

/// Returns the error of a request that could not be parsed. Its message has neither the engine's
/// internal marker nor the position that the JSON parser appends.
fn parse_error(message: &str) -> DynoxideError {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let message = &message[..end];
    for (marker, is_validation) in ERROR_MARKERS {
        if let Some(rest) = message.strip_prefix(marker) {
            return if is_validation {
                DynoxideError::ValidationException(rest.to_owned())
            } else {
                DynoxideError::SerializationException(rest.to_owned())
            };
        }
    }
    DynoxideError::SerializationException(message.to_owned())
}
