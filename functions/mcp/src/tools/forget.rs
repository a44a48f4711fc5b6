//! The tool `forget`.

use api_client::ApiClient;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ReadableAnswer, RecollectTool, ToolEffect, find_only_container};
use crate::arguments::{check_text, path_segment};
use crate::bounds::{MAX_RESULT_CHARS, cut_text};
use crate::failure::ToolFailure;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forget {
    /// The id of one memory, from `search` or `list_memories`. Ids of documents and passages are
    /// refused.
    #[schemars(length(min = 1, max = 100))]
    id: String,
    /// The container of the memory; `get_document` shows that of its document. It may be left out
    /// only if the API key reaches exactly one.
    #[serde(default)]
    container: Option<String>,
    /// Why it should be forgotten, for the history.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    reason: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForgetAnswer {
    /// The id of the forgotten memory.
    id: String,
    /// What it said.
    memory: String,
    /// Its container.
    container: String,
}

impl RecollectTool for Forget {
    const NAME: &'static str = "forget";
    const TITLE: &'static str = "Forget a memory";
    const DESCRIPTION: &'static str = "Forgets one memory for good: no search finds it afterwards, \
        and its documents do not bring it back. Use it only if the user asks for it or says that \
        the memory is wrong, and check its text first. To correct a memory, forget it and `add` the \
        right one. Documents stay.";
    const EFFECT: ToolEffect = ToolEffect::Deletes;
    type Answer = ForgetAnswer;

    async fn run(self, api: &ApiClient) -> Result<ForgetAnswer, ToolFailure> {
        check_text("id", &self.id)?;
        let container = match self.container {
            Some(container) => container,
            None => find_only_container(api).await?,
        };
        check_text("container", &container)?;
        let memory = find_memory(api, &container, &self.id).await?;

        let mut body = json!({"id": self.id, "containerTag": container});
        if let Some(reason) = self.reason {
            body["reason"] = reason.into();
        }
        let path = "/v4/memories";
        api.send(Method::DELETE, path, Some(&body)).await?;

        Ok(ForgetAnswer {
            id: self.id,
            memory: cut_text(&memory, MAX_RESULT_CHARS),
            container,
        })
    }
}

/// Returns the text of a memory. The API also takes the id of a document and would forget every
/// memory from it, which nobody has asked for.
async fn find_memory(api: &ApiClient, container: &str, id: &str) -> Result<String, ToolFailure> {
    let (namespace, id) = (path_segment(container), path_segment(id));
    let path = format!("/ns/{namespace}/memories/{id}");
    let found = api.send(Method::GET, &path, None).await;

    match found.map_err(ToolFailure::from) {
        Ok(memory) => Ok(memory["memory"].as_str().unwrap_or_default().to_owned()),
        Err(failure) if failure.has_status(StatusCode::NOT_FOUND) => {
            Err(ToolFailure::new(format!(
                "The container `{container}` has no memory with this id. Use the id of a memory, \
                 not of a document or a passage, with the container that it is in."
            )))
        }
        Err(failure) => Err(failure),
    }
}

impl ReadableAnswer for ForgetAnswer {
    fn to_text(&self) -> String {
        format!(
            "Forgotten in the container {}: {}",
            self.container, self.memory
        )
    }
}
