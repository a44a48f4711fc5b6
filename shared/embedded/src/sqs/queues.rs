//! Creating, finding, describing, emptying and deleting of queues.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::error::{SqsError, SqsResult};
use super::settings::{self, QueueSettings};
use super::store::{ACCOUNT, ARN_PREFIX, Queue, QueueStore, find_queue, queue_of_url, to_json};
use super::wire::{
    AttributesAnswer, EmptyAnswer, ListQueuesRequest, QueueAttributesRequest, QueueNameRequest,
    QueueUrlAnswer, QueueUrlsAnswer, SourceQueueUrlsAnswer,
};

/// The most queues in one answer.
const MAX_LISTED: usize = 1000;

/// Creates a queue. Repeating the call with the same attributes gives the same answer; with other
/// attributes, it fails with `QueueNameExists`.
pub(super) fn create_queue(
    store: &QueueStore,
    request: QueueNameRequest,
    base: &str,
) -> SqsResult<QueueUrlAnswer> {
    let QueueNameRequest {
        queue_name,
        attributes,
    } = request;

    check_name(&queue_name, &attributes)?;
    store.write_transaction(|tx| {
        check_settings(tx, &queue_name, &attributes)?;
        if let Some(existing) = find_queue(tx, &queue_name)? {
            let current_attributes = static_attributes(&existing);
            for (name, value) in &attributes {
                if current_attributes.get(name) != Some(value) {
                    return Err(SqsError::queue_exists(name));
                }
            }
            return Ok(());
        }

        let text = to_json(&attributes)?;
        let sql = "INSERT INTO queues (name, attributes, created_ms, modified_ms) VALUES (?1, ?2, ?3, ?3)";
        tx.execute(sql, params![queue_name, text, store.now()])?;
        Ok(())
    })?;

    Ok(QueueUrlAnswer {
        queue_url: url_of(base, &queue_name),
    })
}

pub(super) fn get_queue_url(
    store: &QueueStore,
    request: QueueNameRequest,
    base: &str,
) -> SqsResult<QueueUrlAnswer> {
    match find_queue(&store.lock_connection(), &request.queue_name)? {
        Some(queue) => Ok(QueueUrlAnswer {
            queue_url: url_of(base, &queue.name),
        }),
        None => Err(SqsError::no_such_queue()),
    }
}

pub(super) fn list_queues(
    store: &QueueStore,
    request: ListQueuesRequest,
    base: &str,
) -> SqsResult<QueueUrlsAnswer> {
    let limit = request
        .max_results
        .unwrap_or(MAX_LISTED)
        .clamp(1, MAX_LISTED);
    let mut names = queue_names(&store.lock_connection())?;
    names.retain(|name| name.starts_with(&request.queue_name_prefix) && *name > request.next_token);
    let has_more = names.len() > limit;
    names.truncate(limit);
    // AWS pages only if the request has a page size.
    let next_token = if has_more && request.max_results.is_some() {
        names.last().cloned()
    } else {
        None
    };

    Ok(QueueUrlsAnswer {
        queue_urls: names.iter().map(|name| url_of(base, name)).collect(),
        next_token,
    })
}

/// Lists the queues whose messages may be moved to the given dead-letter queue.
pub(super) fn list_sources(
    store: &QueueStore,
    request: ListQueuesRequest,
    base: &str,
) -> SqsResult<SourceQueueUrlsAnswer> {
    let connection = store.lock_connection();
    let target = queue_of_url(&connection, &request.queue_url)?;
    let mut queue_urls = Vec::new();
    for name in queue_names(&connection)? {
        if let Some(queue) = find_queue(&connection, &name)?
            && let Some(redrive) = queue.settings.redrive
            && redrive.target == target.name
        {
            queue_urls.push(url_of(base, &name));
        }
    }
    Ok(SourceQueueUrlsAnswer { queue_urls })
}

pub(super) fn get_attributes(
    store: &QueueStore,
    request: QueueAttributesRequest,
) -> SqsResult<AttributesAnswer> {
    let connection = store.lock_connection();
    let queue = queue_of_url(&connection, &request.queue_url)?;
    let mut attributes = static_attributes(&queue);
    attributes.extend(count_messages(&connection, &queue, store.now())?);
    let requested = &request.attribute_names;
    if !requested.iter().any(|name| name == "All") {
        attributes.retain(|name, _| requested.contains(name));
    }
    Ok(AttributesAnswer { attributes })
}

/// Changes the given attributes. An empty value removes an attribute, such as `RedrivePolicy`.
pub(super) fn set_attributes(
    store: &QueueStore,
    request: QueueAttributesRequest,
) -> SqsResult<EmptyAnswer> {
    store.write_transaction(|tx| {
        let queue = queue_of_url(tx, &request.queue_url)?;
        let mut attributes = queue.attributes;

        for (name, value) in request.attributes {
            if name == "FifoQueue" {
                return Err(SqsError::attribute_name(&name));
            }
            if value.is_empty() {
                attributes.remove(&name)
            } else {
                attributes.insert(name, value)
            };
        }

        check_settings(tx, &queue.name, &attributes)?;
        let text = to_json(&attributes)?;
        let sql = "UPDATE queues SET attributes = ?2, modified_ms = ?3 WHERE id = ?1";
        tx.execute(sql, params![queue.id, text, store.now()])?;
        Ok(EmptyAnswer {})
    })
}

pub(super) fn purge_queue(
    store: &QueueStore,
    request: QueueAttributesRequest,
) -> SqsResult<EmptyAnswer> {
    store.write_transaction(|tx| {
        let queue = queue_of_url(tx, &request.queue_url)?;
        tx.execute("DELETE FROM messages WHERE queue = ?1", [queue.id])?;
        Ok(EmptyAnswer {})
    })
}

pub(super) fn delete_queue(
    store: &QueueStore,
    request: QueueAttributesRequest,
) -> SqsResult<EmptyAnswer> {
    store.write_transaction(|tx| {
        let queue = queue_of_url(tx, &request.queue_url)?;
        tx.execute("DELETE FROM messages WHERE queue = ?1", [queue.id])?;
        tx.execute("DELETE FROM deduplication WHERE queue = ?1", [queue.id])?;
        tx.execute("DELETE FROM queues WHERE id = ?1", [queue.id])?;
        Ok(EmptyAnswer {})
    })
}

fn url_of(base: &str, name: &str) -> String {
    format!("{base}/{ACCOUNT}/{name}")
}

/// Returns the names of all queues, in order.
pub(super) fn queue_names(connection: &Connection) -> SqsResult<Vec<String>> {
    let mut statement = connection.prepare_cached("SELECT name FROM queues ORDER BY name")?;
    Ok(statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?)
}

/// Checks the name of a queue: up to 80 letters, digits, hyphens and underscores. The name of a
/// FIFO queue ends with `.fifo`, and its attributes must agree.
fn check_name(name: &str, attributes: &BTreeMap<String, String>) -> SqsResult<()> {
    let stem = name.strip_suffix(".fifo").unwrap_or(name);
    let is_valid = stem
        .chars()
        .all(|character| character.is_ascii_alphanumeric() || "-_".contains(character));
    if stem.is_empty() || name.len() > 80 || !is_valid {
        let reason =
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.";
        return Err(SqsError::invalid_parameter("QueueName", name, reason));
    }

    let declares_fifo = attributes
        .get("FifoQueue")
        .is_some_and(|value| value == "true");
    if declares_fifo != name.ends_with(".fifo") {
        return Err(SqsError::attribute_value("FifoQueue"));
    }

    Ok(())
}

/// Checks that the attributes are valid, apply to the kind of queue, and name a dead-letter queue
/// of the same kind.
fn check_settings(
    connection: &Connection,
    name: &str,
    attributes: &BTreeMap<String, String>,
) -> SqsResult<()> {
    let settings = QueueSettings::parse(attributes)?;
    let is_fifo = name.ends_with(".fifo");
    if !is_fifo && attributes.contains_key("ContentBasedDeduplication") {
        return Err(SqsError::attribute_name("ContentBasedDeduplication"));
    }

    if let Some(redrive) = settings.redrive {
        match find_queue(connection, &redrive.target)? {
            Some(target) if target.is_fifo() == is_fifo => {}
            _ => return Err(SqsError::attribute_value("RedrivePolicy")),
        }
    }

    Ok(())
}

/// Returns all attributes except the counts.
fn static_attributes(queue: &Queue) -> BTreeMap<String, String> {
    let mut attributes = settings::default_attributes();
    attributes.extend(queue.attributes.clone());
    if queue.is_fifo() {
        attributes
            .entry("ContentBasedDeduplication".to_owned())
            .or_insert_with(|| "false".to_owned());
    }

    attributes.insert("QueueArn".to_owned(), format!("{ARN_PREFIX}{}", queue.name));
    attributes.insert(
        "CreatedTimestamp".to_owned(),
        (queue.created_ms / 1000).to_string(),
    );
    attributes.insert(
        "LastModifiedTimestamp".to_owned(),
        (queue.modified_ms / 1000).to_string(),
    );

    attributes
}

/// Counts the messages that are visible, in flight and delayed. Messages behind others of a FIFO
/// group count as visible.
fn count_messages(
    connection: &Connection,
    queue: &Queue,
    now: i64,
) -> SqsResult<[(String, String); 3]> {
    let ready_sql = "SELECT count(*) FROM messages WHERE queue = ?1 AND state IN (1, 2)";
    let ready_count: i64 = connection
        .prepare_cached(ready_sql)?
        .query_row([queue.id], |row| row.get(0))?;
    let waiting_sql = "SELECT count(*) FILTER (WHERE due_ms <= ?2), \
                          count(*) FILTER (WHERE due_ms > ?2 AND receipt IS NOT NULL), \
                          count(*) FILTER (WHERE due_ms > ?2 AND receipt IS NULL) \
                   FROM messages WHERE queue = ?1 AND state = 0";
    let (due_count, in_flight_count, delayed_count): (i64, i64, i64) = connection
        .prepare_cached(waiting_sql)?
        .query_row([queue.id, now], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;

    Ok([
        (
            "ApproximateNumberOfMessages".to_owned(),
            (ready_count + due_count).to_string(),
        ),
        (
            "ApproximateNumberOfMessagesNotVisible".to_owned(),
            in_flight_count.to_string(),
        ),
        (
            "ApproximateNumberOfMessagesDelayed".to_owned(),
            delayed_count.to_string(),
        ),
    ])
}
