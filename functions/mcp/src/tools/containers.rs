//! The tool `list_containers`.

use api_client::ApiClient;
use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::identity::Identity;
use super::{ReadableAnswer, RecollectTool, ToolEffect, continuation};
use crate::arguments::check_range;
use crate::bounds::{MAX_LABEL_CHARS, cut_text, offset_cursor, parse_offset};
use crate::failure::ToolFailure;

/// The most containers of one call.
const MAX_LIMIT: u32 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListContainers {
    /// The most containers, 1 to 100.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100))]
    limit: u32,
    /// The `nextCursor` of the last answer, to read on.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContainersAnswer {
    /// The containers, sorted by tag.
    containers: Vec<Container>,
    /// The number of containers on all pages.
    total: usize,
    /// The cursor of the next page. Absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// A container that the key reaches.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Container {
    /// The tag, which the argument `container` of other tools takes.
    pub(crate) tag: String,
    /// The name that people gave it, if it is not the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// The number of its documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    documents: Option<u64>,
    /// The number of its memories.
    #[serde(skip_serializing_if = "Option::is_none")]
    memories: Option<u64>,
}

fn default_limit() -> u32 {
    50
}

impl RecollectTool for ListContainers {
    const NAME: &'static str = "list_containers";
    const TITLE: &'static str = "List containers";
    const DESCRIPTION: &'static str = "Lists the containers that the API key reaches. A container \
        holds the documents and memories of one user, project or topic, and nothing of one is found \
        in another. Use it to learn which `container` to name to the other tools.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = ContainersAnswer;

    async fn run(self, api: &ApiClient) -> Result<ContainersAnswer, ToolFailure> {
        check_range("limit", self.limit, 1, MAX_LIMIT)?;
        let offset = parse_offset(self.cursor.as_deref())?;
        let containers = find_containers(api).await?;
        let total = containers.len();
        let end = offset.saturating_add(self.limit as usize);
        let shown = containers.into_iter().skip(offset);

        Ok(ContainersAnswer {
            containers: shown.take(self.limit as usize).collect(),
            total,
            next_cursor: (total > end).then(|| offset_cursor(end)),
        })
    }
}

/// Returns all containers that the key reaches. A key for the content of some containers may not
/// list them, so its own are returned without counts.
pub(crate) async fn find_containers(api: &ApiClient) -> Result<Vec<Container>, ToolFailure> {
    let path = "/v3/container-tags/list";
    let listed = api.send(Method::GET, path, None).await;
    let listed = match listed.map_err(ToolFailure::from) {
        Err(failure) if failure.has_status(StatusCode::FORBIDDEN) => {
            let tags = Identity::load(api).await?.containers.unwrap_or_default();
            return Ok(tags.into_iter().map(Container::with_tag).collect());
        }
        listed => listed?,
    };

    let containers = listed.as_array().into_iter().flatten();
    Ok(containers.map(Container::from_api).collect())
}

impl Container {
    fn with_tag(tag: String) -> Self {
        Self {
            tag,
            name: None,
            documents: None,
            memories: None,
        }
    }

    fn from_api(container: &Value) -> Self {
        let tag = container["containerTag"].as_str().unwrap_or_default();
        let name = container["name"].as_str().filter(|name| *name != tag);
        Self {
            name: name.map(|name| cut_text(name, MAX_LABEL_CHARS)),
            documents: container["documentCount"].as_u64(),
            memories: container["memoryCount"].as_u64(),
            ..Self::with_tag(tag.to_owned())
        }
    }

    /// Returns the container as a line of a list.
    pub(crate) fn to_line(&self) -> String {
        let mut line = format!("- {}", self.tag);
        if let Some(name) = &self.name {
            line.push_str(&format!(" \"{name}\""));
        }
        if let (Some(documents), Some(memories)) = (self.documents, self.memories) {
            line.push_str(&format!(": {documents} documents, {memories} memories"));
        }
        line + "\n"
    }
}

impl ReadableAnswer for ContainersAnswer {
    fn to_text(&self) -> String {
        if self.total == 0 {
            return "There are no containers yet. The tool `add` makes one.".to_owned();
        }

        let mut text = format!("{} of {} containers:\n", self.containers.len(), self.total);
        for container in &self.containers {
            text.push_str(&container.to_line());
        }
        text + &continuation(self.next_cursor.as_deref())
    }
}
