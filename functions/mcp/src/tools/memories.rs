//! The tool `list_memories`.

use api_client::ApiClient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ReadableAnswer, RecollectTool, ToolEffect, continuation, hint_for_model};
use crate::bounds::{ListPage, cut_text};
use crate::failure::ToolFailure;

/// The most characters of a memory in the list.
const MAX_MEMORY_CHARS: usize = 500;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListMemories {
    /// The container to list. It may be left out only if the API key reaches some containers and
    /// not all; then these are listed.
    #[serde(default)]
    container: Option<String>,
    /// The most memories, 1 to 50.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 50))]
    limit: u32,
    /// The `nextCursor` of the last answer, to read on.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MemoriesAnswer {
    /// The memories, the newest first. A page may have fewer than `limit`, because forgotten
    /// memories are left out.
    memories: Vec<ListedMemory>,
    /// The cursor of the next page. Absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// Why there are no memories, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedMemory {
    /// The id, for `forget`.
    id: String,
    /// What it says, at most 500 characters of it.
    memory: String,
    /// `fact`, `preference`, `instruction` or another kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Whose words it is: `user`, `client`, `document` and `assistant` are of the user's side, and
    /// `external` is text that others wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<String>,
    /// When it was last changed.
    updated_at: String,
    /// The first document that states it, for `get_document`.
    #[serde(skip_serializing_if = "Option::is_none")]
    document_id: Option<String>,
}

fn default_limit() -> u32 {
    20
}

impl RecollectTool for ListMemories {
    const NAME: &'static str = "list_memories";
    const TITLE: &'static str = "List memories";
    const DESCRIPTION: &'static str = "Lists the memories of a container, the newest first: short \
        facts, preferences and instructions that were found in what was added. Use it to review \
        what is remembered, for example before `forget`. To answer a question, use `search`.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = MemoriesAnswer;

    async fn run(self, api: &ApiClient) -> Result<MemoriesAnswer, ToolFailure> {
        let path = "/v4/memories/list";
        let position = (self.cursor.as_deref(), self.limit);
        let page = ListPage::get(api, path, self.container.as_deref(), position).await?;
        let entries = page.answer["memoryEntries"]
            .as_array()
            .into_iter()
            .flatten();
        let present = entries.filter(|entry| entry["isForgotten"] != true);

        Ok(MemoriesAnswer {
            memories: present.map(ListedMemory::from_api).collect(),
            next_cursor: page.next_cursor,
            hint: page.answer["hint"].as_str().map(hint_for_model),
        })
    }
}

impl ListedMemory {
    fn from_api(entry: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let memory = entry["memory"].as_str().unwrap_or_default();
        Self {
            id: text(&entry["id"]).unwrap_or_default(),
            memory: cut_text(memory, MAX_MEMORY_CHARS),
            kind: text(&entry["kind"]),
            trust: text(&entry["trust"]),
            updated_at: text(&entry["updatedAt"]).unwrap_or_default(),
            document_id: text(&entry["documentIds"][0]),
        }
    }
}

impl ReadableAnswer for MemoriesAnswer {
    fn to_text(&self) -> String {
        let more = continuation(self.next_cursor.as_deref());
        if self.memories.is_empty() {
            let hint = self.hint.as_deref().unwrap_or_default();
            let text = format!("There are no memories on this page. {hint}\n{more}");
            return text.trim_end().to_owned();
        }

        let mut text = format!("{} memories:\n", self.memories.len());
        for memory in &self.memories {
            let kind = memory.kind.as_deref().unwrap_or("memory");
            let day = memory.updated_at.get(..10).unwrap_or_default();
            text.push_str(&format!(
                "- {} ({kind}, {day}, id {})\n",
                memory.memory, memory.id
            ));
        }
        text + &more
    }
}
