//! `recollect forget`: forgets memories, or deletes documents.

use anyhow::Result;
use api_client::{ApiClient, ApiError, Method, StatusCode};
use serde_json::{Value, json};

use super::api::{choose_container, document_path, found, get, live_memories, post};
use super::output::{Outcome, Output, one_line, print_note};
use super::target::{OpenService, Purpose};
use crate::arguments::Forget;
use crate::command::confirm::{ask, check_terminal};
use crate::counts::count;

/// The most ids of one request (`/v4/memories/forget-matching`).
const MAX_IDS: usize = 500;

/// A memory or document to forget: its id, and the text by which people recognize it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    id: String,
    shown: String,
}

pub(super) async fn run_forget(options: Forget) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    if !options.yes {
        check_terminal()?;
    }

    let service = OpenService::open(&options.target, Purpose::Change).await?;
    let outcome = match options.document {
        true => delete_documents(&service.client, &options, &output).await,
        false => forget_memories(&service.client, &options, &output).await,
    };
    service.close().await;
    outcome
}

async fn delete_documents(
    client: &ApiClient,
    options: &Forget,
    output: &Output,
) -> Result<Outcome> {
    let (mut candidates, mut missing) = (Vec::new(), Vec::new());
    for id in &options.ids {
        match found(get(client, &document_path(id)).await)? {
            Some(document) => candidates.push(document_candidate(&document)),
            None => missing.push(id.clone()),
        }
    }
    for id in &missing {
        print_note(&format!("There is no document {id}."));
    }
    if candidates.is_empty() {
        return Ok(Outcome::NothingFound);
    }
    if !is_confirmed(options, "Delete", &candidates, "document")? {
        return Ok(Outcome::Failed);
    }

    for candidate in &candidates {
        let path = document_path(&candidate.id);
        // It may have been deleted while the user was asked.
        found(client.send(Method::DELETE, &path, None).await)?;
    }
    let ids: Vec<&str> = candidates.iter().map(|one| one.id.as_str()).collect();
    match output.is_json {
        true => output.print_json(&json!({"deleted": ids, "missing": missing}))?,
        false => output.print(&format!("Deleted {}.\n", count(ids.len(), "document")))?,
    }
    Ok(match missing.is_empty() {
        true => Outcome::Done,
        false => Outcome::PartlyFailed,
    })
}

fn document_candidate(document: &Value) -> Candidate {
    let text = |field: &str| document[field].as_str().map(one_line);
    let title = text("title").unwrap_or_else(|| "untitled".to_owned());
    let memories = live_memories(document).len();
    let source = text("filepath").map_or(String::new(), |path| format!(" ({path})"));
    Candidate {
        id: text("id").unwrap_or_default(),
        shown: format!("{title}{source}, with {}", count(memories, "memory")),
    }
}

async fn forget_memories(client: &ApiClient, options: &Forget, output: &Output) -> Result<Outcome> {
    let tag = choose_container(client, options.tag.as_deref()).await?;
    let candidates = match &options.query {
        Some(query) => {
            let body = json!({"query": query, "threshold": options.threshold});
            find_memories(client, &tag, body).await?
        }
        None => find_named_memories(client, &tag, &options.ids).await?,
    };
    if candidates.is_empty() {
        print_note(&format!("There is nothing to forget in {tag}."));
        return Ok(Outcome::NothingFound);
    }
    if !is_confirmed(options, "Forget", &candidates, "memory")? {
        return Ok(Outcome::Failed);
    }

    // Forgets the memories that were shown, even if the question would find others by now.
    let ids: Vec<&str> = candidates.iter().map(|one| one.id.as_str()).collect();
    for ids in ids.chunks(MAX_IDS) {
        let body = json!({"containerTag": tag, "ids": ids});
        let answer = post(client, "/v4/memories/forget-matching", &body).await?;
        if output.is_json {
            output.print_json(&answer)?;
        }
    }
    if !output.is_json {
        output.print(&format!("Forgot {}.\n", count(ids.len(), "memory")))?;
    }
    Ok(Outcome::Done)
}

/// Returns the memories with these ids, and those of the documents with these ids.
async fn find_named_memories(
    client: &ApiClient,
    tag: &str,
    ids: &[String],
) -> Result<Vec<Candidate>> {
    let mut candidates: Vec<Candidate> = Vec::new();
    for id in ids {
        let mut named = find_memories(client, tag, json!({"ids": [id]})).await?;
        if named.is_empty() {
            named = memories_of_document(client, tag, id).await?;
        }
        if named.is_empty() {
            print_note(&format!(
                "{tag} has no memory and no document with memories named {id}."
            ));
        }
        named.retain(|memory| !candidates.contains(memory));
        candidates.extend(named);
    }
    Ok(candidates)
}

/// Asks what would be forgotten.
async fn find_memories(client: &ApiClient, tag: &str, mut body: Value) -> Result<Vec<Candidate>> {
    body["containerTag"] = tag.into();
    body["dryRun"] = true.into();
    let answer = match post(client, "/v4/memories/forget-matching", &body).await {
        Ok(answer) => answer,
        Err(ApiError::Refused(refusal)) if is_absent(refusal.status) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let candidates = answer["candidates"].as_array().into_iter().flatten();
    Ok(candidates.filter_map(memory_candidate).collect())
}

/// A memory that does not exist is a 404, and one that is forgotten already a 409.
fn is_absent(status: StatusCode) -> bool {
    status == StatusCode::NOT_FOUND || status == StatusCode::CONFLICT
}

/// Returns the memories of a document in the container that are not forgotten yet.
async fn memories_of_document(client: &ApiClient, tag: &str, id: &str) -> Result<Vec<Candidate>> {
    let Some(document) = found(get(client, &document_path(id)).await)? else {
        return Ok(Vec::new());
    };
    let memories = live_memories(&document).into_iter();
    let ids: Vec<&str> = memories
        .filter_map(|memory| memory["id"].as_str())
        .collect();
    let mut candidates = Vec::new();
    for ids in ids.chunks(MAX_IDS) {
        candidates.extend(find_memories(client, tag, json!({"ids": ids})).await?);
    }
    Ok(candidates)
}

fn memory_candidate(memory: &Value) -> Option<Candidate> {
    Some(Candidate {
        id: memory["id"].as_str()?.to_owned(),
        shown: one_line(memory["memory"].as_str()?),
    })
}

/// Shows what will be forgotten, and asks unless the user has agreed already.
fn is_confirmed(
    options: &Forget,
    verb: &str,
    candidates: &[Candidate],
    noun: &str,
) -> Result<bool> {
    let mut text = String::new();
    for candidate in candidates {
        text += &format!("  • {}  {}\n", candidate.shown, candidate.id);
    }
    if options.yes {
        print_note(text.trim_end());
        return Ok(true);
    }

    let question = format!("{text}{verb} {}?", count(candidates.len(), noun));
    let is_yes = ask(&question)?;
    if !is_yes {
        print_note("Nothing was changed.");
    }
    Ok(is_yes)
}
