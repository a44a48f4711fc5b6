//! The tool `list_documents`.

use api_client::ApiClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReadableAnswer, RecollectTool, ToolEffect, continuation};
use crate::bounds::{ListPage, MAX_LABEL_CHARS, cut_text};
use crate::failure::ToolFailure;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDocuments {
    /// The container to list. Without it, all containers that the API key reaches.
    #[serde(default)]
    container: Option<String>,
    /// The most documents, 1 to 50.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
    /// The `nextCursor` of the last answer, to read on.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DocumentsAnswer {
    /// The documents, the newest first.
    documents: Vec<ListedDocument>,
    /// The number of documents on all pages.
    total: u64,
    /// The cursor of the next page. Absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedDocument {
    /// The id, for `get_document`.
    id: String,
    /// The title, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Its container.
    container: String,
    /// What it is: text, pdf, webpage and others.
    #[serde(rename = "type")]
    kind: String,
    /// `done`, `failed`, or a step of its processing.
    status: String,
    /// When it was added.
    created_at: String,
    /// What it is about, at most 300 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
}

fn default_limit() -> u32 {
    20
}

impl RecollectTool for ListDocuments {
    const NAME: &'static str = "list_documents";
    const TITLE: &'static str = "List documents";
    const DESCRIPTION: &'static str = "Lists the stored documents, the newest first: title, type, \
        state of processing and a short summary, without their text. Use it to see what is there or \
        what was added last. To find something by its content, use `search`. To read one, use \
        `get_document`.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = DocumentsAnswer;

    async fn run(self, api: &ApiClient) -> Result<DocumentsAnswer, ToolFailure> {
        let path = "/v3/documents/list";
        let position = (self.cursor.as_deref(), self.limit);
        let page = ListPage::get(api, path, self.container.as_deref(), position).await?;
        let documents = page.answer["memories"].as_array().into_iter().flatten();
        let total = page.answer["pagination"]["totalItems"].as_u64();

        Ok(DocumentsAnswer {
            documents: documents.map(ListedDocument::from_api).collect(),
            total: total.unwrap_or(0),
            next_cursor: page.next_cursor,
        })
    }
}

impl ListedDocument {
    fn from_api(document: &Value) -> Self {
        let text = |field: &str| document[field].as_str().unwrap_or_default().to_owned();
        let label = |field: &str| {
            let value = document[field].as_str()?;
            Some(cut_text(value, MAX_LABEL_CHARS))
        };

        Self {
            id: text("id"),
            title: label("title"),
            container: text("containerTag"),
            kind: text("type"),
            status: text("status"),
            created_at: text("createdAt"),
            summary: label("summary"),
        }
    }
}

impl ReadableAnswer for DocumentsAnswer {
    fn to_text(&self) -> String {
        if self.documents.is_empty() {
            return "There are no documents here.".to_owned();
        }

        let mut text = format!("{} of {} documents:\n", self.documents.len(), self.total);
        for document in &self.documents {
            let title = document.title.as_deref().unwrap_or("(without a title)");
            let day = document.created_at.get(..10).unwrap_or_default();
            text.push_str(&format!(
                "- {title} ({}, {}, container {}, {day}, id {})\n",
                document.kind, document.status, document.container, document.id
            ));
            if let Some(summary) = &document.summary {
                text.push_str(&format!("  {summary}\n"));
            }
        }
        text + &continuation(self.next_cursor.as_deref())
    }
}
