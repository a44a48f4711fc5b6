//! Sends content, under an id by which it is recognized when it is added again.

use std::path::Path;

use api_client::{ApiClient, UploadFile};
use domain::ContainerTag;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::api::post;
use super::find::FoundFile;
use crate::arguments::Marking;

/// Something to add.
#[derive(Debug, Clone)]
pub(in super::super) enum Source {
    File(FoundFile),
    Page(String),
    Text { name: &'static str, content: String },
}

/// A document that the service has accepted.
#[derive(Debug, Clone)]
pub(in super::super) struct Accepted {
    /// The source as people know it.
    pub(in super::super) source: String,
    /// The id of the document.
    pub(in super::super) id: String,
    /// Its status.
    pub(in super::super) status: String,
    /// The service had this content already.
    pub(in super::super) is_unchanged: bool,
}

/// Sends content to one container.
#[derive(Debug, Clone)]
pub(in super::super) struct Sender {
    client: ApiClient,
    tag: Option<String>,
    metadata: Map<String, Value>,
    is_own_words: bool,
    id: Option<String>,
}

impl Source {
    /// Returns the source as people know it.
    pub(in super::super) fn shown(&self) -> &str {
        match self {
            Self::File(file) => &file.shown,
            Self::Page(url) => url,
            Self::Text { name, .. } => name,
        }
    }
}

impl Sender {
    /// Returns a sender to the container of `marking`. `id` is the user's own id of a single
    /// document.
    pub(in super::super) fn new(client: &ApiClient, marking: &Marking, id: Option<String>) -> Self {
        let metadata = marking.metadata.iter();
        Self {
            client: client.clone(),
            tag: marking.tag.clone().filter(|tag| !tag.is_empty()),
            metadata: metadata
                .map(|(key, value)| (key.clone(), parse_value(value)))
                .collect(),
            is_own_words: marking.own_words,
            id,
        }
    }

    /// Sends content.
    ///
    /// # Errors
    /// Returns a sentence that says why it was not accepted.
    pub(in super::super) async fn send(&self, source: &Source) -> Result<Accepted, String> {
        let answer = match source {
            Source::File(file) => self.send_file(file).await?,
            Source::Page(url) => {
                self.send_text(url, Some(self.custom_id("page", url.as_bytes())))
                    .await?
            }
            Source::Text { content, .. } => self.send_text(content, self.id.clone()).await?,
        };
        let (Some(id), Some(status)) = (answer["id"].as_str(), answer["status"].as_str()) else {
            return Err("the service answered without an id".to_owned());
        };
        Ok(Accepted {
            source: source.shown().to_owned(),
            id: id.to_owned(),
            status: status.to_owned(),
            // New content begins as queued.
            is_unchanged: status == "done",
        })
    }

    async fn send_file(&self, file: &FoundFile) -> Result<Value, String> {
        let bytes = tokio::fs::read(&file.path).await;
        let bytes = bytes.map_err(|error| error.to_string())?;
        let name = file.path.file_name().unwrap_or_default();
        let upload = UploadFile {
            name: name.to_string_lossy().into_owned(),
            content_type: None,
            bytes: bytes.into(),
        };

        let mut fields = vec![
            ("customId", self.file_id(&file.path)),
            ("filepath", file.shown.clone()),
        ];
        if let Some(tag) = &self.tag {
            fields.push(("containerTag", tag.clone()));
        }
        if !self.metadata.is_empty() {
            fields.push(("metadata", Value::from(self.metadata.clone()).to_string()));
        }
        if self.is_own_words {
            fields.push(("provenance", "user".to_owned()));
        }
        let answer = self.client.upload(upload, &fields).await;
        answer.map_err(|error| error.to_string())
    }

    async fn send_text(&self, content: &str, id: Option<String>) -> Result<Value, String> {
        let mut body = json!({"content": content});
        if let Some(id) = id {
            body["customId"] = id.into();
        }
        if let Some(tag) = &self.tag {
            body["containerTag"] = tag.as_str().into();
        }
        if !self.metadata.is_empty() {
            body["metadata"] = self.metadata.clone().into();
        }
        if self.is_own_words {
            body["provenance"] = "user".into();
        }
        let answer = post(&self.client, "/v3/documents", &body).await;
        answer.map_err(|error| error.to_string())
    }

    /// Returns the id of the document of a file.
    pub(in super::super) fn file_id(&self, path: &Path) -> String {
        self.custom_id("file", path.as_os_str().as_encoded_bytes())
    }

    /// Returns the user's own id, or one of the source and the container: the same file may be in
    /// several containers.
    fn custom_id(&self, kind: &str, name: &[u8]) -> String {
        if let Some(id) = &self.id {
            return id.clone();
        }
        let tag = self.tag.as_deref().unwrap_or(ContainerTag::DEFAULT);
        let digest = Sha256::digest([tag.as_bytes(), b"\n", name].concat());
        format!("{kind}-{}", &hex::encode(digest)[..32])
    }
}

/// Reads the value of a property: a number, `true`, `false`, or a text.
fn parse_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;

    use super::*;

    fn sender(tag: Option<&str>, id: Option<&str>) -> Sender {
        let marking = Marking {
            tag: tag.map(str::to_owned),
            metadata: Vec::new(),
            own_words: false,
        };
        let client = ApiClient::in_process(Router::new());
        Sender::new(&client, &marking, id.map(str::to_owned))
    }

    #[test]
    fn a_file_has_one_id_in_each_container() {
        let path = Path::new("/notes/a.md");
        let id = sender(Some("a"), None).file_id(path);
        assert!(domain::CustomId::parse(&id).is_ok(), "{id}");
        assert_eq!(sender(Some("a"), None).file_id(path), id);
        assert_ne!(sender(Some("b"), None).file_id(path), id);
        assert_ne!(
            sender(Some("a"), None).file_id(Path::new("/notes/b.md")),
            id
        );
        assert_eq!(
            sender(None, None).file_id(path),
            sender(Some(ContainerTag::DEFAULT), None).file_id(path)
        );
        assert_eq!(sender(None, Some("own")).file_id(path), "own");
    }

    #[test]
    fn properties_are_numbers_truth_values_or_texts() {
        assert_eq!(parse_value("2025"), json!(2025));
        assert_eq!(parse_value("true"), json!(true));
        for text in ["Ada", "", "[1]", "null", "\"x\"", "1.2.3"] {
            assert_eq!(parse_value(text), json!(text));
        }
    }
}
