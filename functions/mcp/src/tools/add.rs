//! The tool `add`.

use api_client::ApiClient;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ReadableAnswer, RecollectTool, ToolEffect};
use crate::arguments::check_text;
use crate::failure::ToolFailure;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    /// The text to remember, in plain words or Markdown, or one http or https address of a page to
    /// fetch. Write so that it is understood without this conversation: names instead of pronouns,
    /// dates instead of "today".
    #[schemars(length(min = 1, max = 1048576))]
    content: String,
    /// The container to put it into; it is made if it does not exist. Without it, the only container
    /// that the API key reaches, or else `sm_project_default`.
    #[serde(default)]
    container: Option<String>,
    /// True to wait, at most 20 seconds, until `search` can find it.
    #[serde(default)]
    wait: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AddAnswer {
    /// The id of the document, for `get_document`.
    document_id: String,
    /// The state of its processing: `done` means that `search` finds it.
    status: String,
}

impl RecollectTool for Add {
    const NAME: &'static str = "add";
    const TITLE: &'static str = "Remember a text or a page";
    const DESCRIPTION: &'static str = "Stores a text or a web page for later conversations. Use it \
        when the user asks you to remember something, or states a lasting fact, preference or \
        decision. The content becomes a document, and the memories in it are found in the \
        background: `search` finds them a few seconds later, or at once with `wait`. Do not store \
        passwords or keys.";
    const EFFECT: ToolEffect = ToolEffect::Adds;
    type Answer = AddAnswer;

    async fn run(self, api: &ApiClient) -> Result<AddAnswer, ToolFailure> {
        check_text("content", &self.content)?;
        let mut body = json!({"content": self.content});
        if let Some(container) = &self.container {
            body["containerTag"] = container.as_str().into();
        }

        let path = if self.wait {
            "/v3/documents?wait=true"
        } else {
            "/v3/documents"
        };
        let answer = api.send(Method::POST, path, Some(&body)).await?;
        Ok(AddAnswer {
            document_id: answer["id"].as_str().unwrap_or_default().to_owned(),
            status: answer["status"].as_str().unwrap_or_default().to_owned(),
        })
    }
}

impl ReadableAnswer for AddAnswer {
    fn to_text(&self) -> String {
        let state = match self.status.as_str() {
            "done" => "It can be found now.",
            "failed" => "It could not be processed: `get_document` says why.",
            _ => "It can be found in a few seconds.",
        };
        format!("Stored as document {}. {state}", self.document_id)
    }
}
