//! `recollect status`: says whether the service answers, what it holds, and what failed.

use std::collections::BTreeMap;

use anyhow::Result;
use api_client::{ApiClient, ApiError, StatusCode};
use serde_json::{Value, json};

use super::api::{get, tags_of};
use super::output::{Outcome, Output, clean_text, one_line};
use super::target::{OpenService, Purpose, target_arguments};
use crate::arguments::Status;
use crate::counts::count;

/// The unfinished and failed documents that are looked at.
const MAX_DOCUMENTS: usize = 1000;
/// The failed documents that are named.
const MAX_NAMED: usize = 10;

/// The state of the service, as `status` shows it.
struct ServiceStatus {
    service: String,
    api_version: Value,
    session: Value,
    /// `None` if the key may not list containers.
    containers: Option<Value>,
    /// Documents that are unfinished or have failed.
    documents: Vec<Value>,
    /// The arguments of a command for the same service.
    arguments: String,
}

pub(super) async fn run_status(options: Status) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    if options.health {
        let service = OpenService::open_for_health(&options.target).await?;
        get(&service.client, "/health").await?;
        output.print(&format!("{} answers\n", service.name))?;
        return Ok(Outcome::Done);
    }

    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let status = ServiceStatus::ask(&service, target_arguments(&options.target)).await?;
    service.close().await;

    match output.is_json {
        true => output.print_json(&status.to_json())?,
        false => output.print(&status.to_text(&output))?,
    }
    Ok(match status.failed().is_empty() {
        true => Outcome::Done,
        false => Outcome::PartlyFailed,
    })
}

impl ServiceStatus {
    async fn ask(service: &OpenService, arguments: String) -> Result<Self, ApiError> {
        let client = &service.client;
        let session = get(client, "/v3/session").await?;
        let description = get(client, "/v4/openapi").await?;
        let path = format!("/v3/documents/processing?view=all&limit={MAX_DOCUMENTS}");
        let mut processing = get(client, &path).await?;
        let documents = match processing["documents"].take() {
            Value::Array(documents) => documents,
            _ => Vec::new(),
        };

        Ok(Self {
            service: service.name.clone(),
            api_version: description["info"]["version"].clone(),
            containers: list_containers(client).await?,
            session,
            documents,
            arguments,
        })
    }

    fn failed(&self) -> Vec<&Value> {
        let failed = |document: &&Value| document["status"] == "failed";
        self.documents.iter().filter(failed).collect()
    }

    /// Returns the numbers of unfinished documents by their status.
    fn unfinished(&self) -> BTreeMap<&str, usize> {
        let mut numbers = BTreeMap::new();
        for document in &self.documents {
            match document["status"].as_str() {
                Some("failed") | None => {}
                Some(status) => *numbers.entry(status).or_default() += 1,
            }
        }
        numbers
    }

    fn to_json(&self) -> Value {
        json!({
            "service": self.service, "version": env!("CARGO_PKG_VERSION"), "apiVersion": self.api_version,
            "session": self.session, "containers": self.containers, "unfinished": self.unfinished(),
            "failed": self.failed(),
        })
    }

    fn to_text(&self, output: &Output) -> String {
        let mut text = String::new();
        let mut row = |name: &str, value: &str| {
            text += &format!("{} {value}\n", output.dim(&format!("{name:<11}")));
        };
        row(
            "service",
            &format!("{} {}", self.service, output.green("answers")),
        );
        row("version", &self.versions());
        row("key", &self.key());
        row("content", &self.content());
        row("processing", &self.processing());

        let failed = self.failed();
        if failed.is_empty() {
            row("failed", "nothing");
            return text;
        }
        row("failed", &output.red(&count(failed.len(), "document")));
        for document in failed.iter().take(MAX_NAMED) {
            text += &format_failure(output, document);
        }
        if failed.len() > MAX_NAMED {
            let arguments = &self.arguments;
            text += &format!("  … all of them: recollect list --status failed{arguments}\n");
        }
        text
    }

    fn versions(&self) -> String {
        let api = self.api_version.as_str().unwrap_or("unknown");
        let own = env!("CARGO_PKG_VERSION");
        format!("API {}, this program {own}", one_line(api))
    }

    fn key(&self) -> String {
        let text = |value: &Value| one_line(value.as_str().unwrap_or("unknown"));
        let reach = match self.session["containerTags"].as_array() {
            Some(tags) => one_line(&tags_of(tags).join(", ")),
            None => "all containers".to_owned(),
        };
        format!(
            "{}, {} of the organization {}, reaches {reach}",
            text(&self.session["user"]["name"]),
            text(&self.session["role"]),
            text(&self.session["org"]["id"]),
        )
    }

    fn content(&self) -> String {
        let Some(containers) = self.containers.as_ref().and_then(Value::as_array) else {
            return "this key may not count it".to_owned();
        };
        let sum = |field: &str| {
            let numbers = containers.iter().map(|one| one[field].as_u64());
            let sum: u64 = numbers.map(Option::unwrap_or_default).sum();
            usize::try_from(sum).unwrap_or(usize::MAX)
        };
        format!(
            "{} and {} in {}",
            count(sum("documentCount"), "document"),
            count(sum("memoryCount"), "memory"),
            count(containers.len(), "container")
        )
    }

    fn processing(&self) -> String {
        let unfinished = self.unfinished();
        let parts = unfinished.iter();
        let parts: Vec<String> = parts
            .map(|(status, number)| format!("{number} {status}"))
            .collect();
        match parts.is_empty() {
            true => "nothing".to_owned(),
            false => parts.join(", "),
        }
    }
}

/// Returns the containers, or `None` if the key may not list them.
async fn list_containers(client: &ApiClient) -> Result<Option<Value>, ApiError> {
    match get(client, "/v3/container-tags/list").await {
        Ok(containers) => Ok(Some(containers)),
        Err(ApiError::Refused(refusal)) if refusal.status == StatusCode::FORBIDDEN => Ok(None),
        Err(error) => Err(error),
    }
}

fn format_failure(output: &Output, document: &Value) -> String {
    let text = |field: &str| document[field].as_str();
    let source = text("filepath").or(text("title")).or(text("url"));
    let source = one_line(source.unwrap_or("untitled"));
    let reason = clean_text(text("errorMessage").unwrap_or("no reason is known"));
    let id = output.dim(text("id").unwrap_or_default());
    format!("  {source}: {reason}  {id}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_counts_what_is_unfinished_and_names_what_failed() {
        let document = |status: &str| json!({"id": "d", "status": status, "filepath": "a.pdf", "errorMessage": "it is encrypted"});
        let status = ServiceStatus {
            service: "http://127.0.0.1:8787".to_owned(),
            api_version: "3.0.0".into(),
            session: json!({
                "user": {"name": "laptop"}, "org": {"id": "acme"}, "role": "viewer",
                "containerTags": [
                    {"containerTag": "a", "permission": "read"}, {"containerTag": "b", "permission": "read"},
                ],
            }),
            containers: Some(json!([
                {"documentCount": 2, "memoryCount": 3}, {"documentCount": 1, "memoryCount": 0},
            ])),
            documents: ["queued", "failed", "queued", "embedding"]
                .map(document)
                .to_vec(),
            arguments: String::new(),
        };
        let own = env!("CARGO_PKG_VERSION");
        let expected = format!(
            "\
service     http://127.0.0.1:8787 answers
version     API 3.0.0, this program {own}
key         laptop, viewer of the organization acme, reaches a, b
content     3 documents and 3 memories in 2 containers
processing  1 embedding, 2 queued
failed      1 document
  a.pdf: it is encrypted  d
"
        );
        assert_eq!(status.to_text(&Output::plain(None)), expected);
        assert_eq!(
            status.to_json()["unfinished"],
            json!({"embedding": 1, "queued": 2})
        );

        let many = ServiceStatus {
            documents: vec![document("failed"); MAX_NAMED + 1],
            arguments: " --profile work".to_owned(),
            ..status
        };
        let text = many.to_text(&Output::plain(None));
        let hint = "all of them: recollect list --status failed --profile work\n";
        assert!(text.ends_with(hint), "{text}");
    }
}
