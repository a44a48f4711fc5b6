//! The tools. Each is a type of arguments, with what a model has to know about it.

mod add;
mod containers;
mod documents;
mod forget;
mod identity;
mod memories;
mod one_document;
mod search;

use std::sync::{Arc, LazyLock};

use api_client::ApiClient;
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arguments::parse_arguments;
use crate::failure::ToolFailure;
use crate::schema::{input_schema, output_schema};

pub(crate) use containers::find_containers;
pub(crate) use identity::find_only_container;

/// The effect of a tool on what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// Nothing.
    Reads,
    /// Something new is stored. It may be fetched from the web.
    Adds,
    /// Something is gone afterwards.
    Deletes,
}

impl ToolEffect {
    fn annotations(self) -> ToolAnnotations {
        ToolAnnotations::new()
            .read_only(self == Self::Reads)
            .destructive(self == Self::Deletes)
            .idempotent(self != Self::Adds)
            .open_world(self == Self::Adds)
    }
}

/// A tool, as the type of its arguments.
pub(crate) trait RecollectTool: DeserializeOwned + JsonSchema {
    /// The name by which a model calls it.
    const NAME: &'static str;
    /// The name that people see.
    const TITLE: &'static str;
    /// Its purpose and its use, for a model that does not know the service.
    const DESCRIPTION: &'static str;
    /// Its effect on what is stored.
    const EFFECT: ToolEffect;

    /// The structured answer.
    type Answer: Serialize + JsonSchema + ReadableAnswer;

    /// Does the work of the tool.
    async fn run(self, api: &ApiClient) -> Result<Self::Answer, ToolFailure>;
}

/// An answer that can also be read as text. Many clients show a model only the text.
pub(crate) trait ReadableAnswer {
    /// Returns the same answer as text.
    fn to_text(&self) -> String;
}

/// The definitions of all tools, in the order in which models see them.
pub(crate) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        define::<search::Search>(),
        define::<add::Add>(),
        define::<forget::Forget>(),
        define::<documents::ListDocuments>(),
        define::<memories::ListMemories>(),
        define::<one_document::GetDocument>(),
        define::<containers::ListContainers>(),
        define::<identity::WhoAmI>(),
    ]
});

/// Calls a tool by its name.
///
/// # Errors
/// An error of the protocol if there is no tool of this name. What goes wrong inside a tool is a
/// result, which the model reads.
pub(crate) async fn call_tool(
    name: &str,
    arguments: Option<JsonObject>,
    api: &ApiClient,
) -> Result<CallToolResult, ErrorData> {
    let result = match name {
        search::Search::NAME => run::<search::Search>(arguments, api).await,
        add::Add::NAME => run::<add::Add>(arguments, api).await,
        forget::Forget::NAME => run::<forget::Forget>(arguments, api).await,
        documents::ListDocuments::NAME => run::<documents::ListDocuments>(arguments, api).await,
        memories::ListMemories::NAME => run::<memories::ListMemories>(arguments, api).await,
        one_document::GetDocument::NAME => run::<one_document::GetDocument>(arguments, api).await,
        containers::ListContainers::NAME => run::<containers::ListContainers>(arguments, api).await,
        identity::WhoAmI::NAME => run::<identity::WhoAmI>(arguments, api).await,
        _ => {
            let message = "There is no tool of this name. The request tools/list names the tools.";
            return Err(ErrorData::invalid_params(message, None));
        }
    };

    Ok(result.unwrap_or_else(ToolFailure::into_result))
}

fn define<T: RecollectTool>() -> Tool {
    Tool::new(T::NAME, T::DESCRIPTION, Arc::new(input_schema::<T>()))
        .with_title(T::TITLE)
        .with_raw_output_schema(Arc::new(output_schema::<T::Answer>()))
        .with_annotations(T::EFFECT.annotations())
}

async fn run<T: RecollectTool>(
    arguments: Option<JsonObject>,
    api: &ApiClient,
) -> Result<CallToolResult, ToolFailure> {
    let tool: T = parse_arguments(arguments)?;
    let answer = tool.run(api).await?;
    let text = answer.to_text();
    let structured = serde_json::to_value(answer)
        .map_err(|error| ToolFailure::new(format!("The answer cannot be written: {error}.")))?;

    let mut result = CallToolResult::structured(structured);
    result.content = vec![ContentBlock::text(text)];
    Ok(result)
}

/// The requests and fields that hints of the API name, and the tools and arguments in their place.
const WORDS_OF_TOOLS: [(&str, &str); 4] = [
    ("GET /v3/container-tags/list", "`list_containers`"),
    ("POST /v3/documents", "`add`"),
    ("GET /v3/documents/processing", "`get_document`"),
    ("`searchMode`", "`mode`"),
];

/// Returns a hint of the API in the words of the tools.
fn hint_for_model(hint: &str) -> String {
    let mut hint = hint.to_owned();
    for (word_of_api, word_of_tools) in WORDS_OF_TOOLS {
        hint = hint.replace(word_of_api, word_of_tools);
    }
    hint
}

/// Returns the line that says how to read on.
fn continuation(next_cursor: Option<&str>) -> String {
    match next_cursor {
        Some(cursor) => {
            format!("\nThere is more. To read on, call this tool again with cursor `{cursor}`.\n")
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn definitions() -> Vec<Value> {
        let tools = TOOLS.iter().map(|tool| serde_json::to_value(tool).unwrap());
        tools.collect()
    }

    #[test]
    fn a_model_learns_everything_from_the_definitions() {
        for tool in definitions() {
            let name = tool["name"].as_str().unwrap();
            assert!(tool["title"].is_string(), "{name}");
            assert!(tool["description"].as_str().unwrap().len() > 80, "{name}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
            for hint in [
                "readOnlyHint",
                "destructiveHint",
                "idempotentHint",
                "openWorldHint",
            ] {
                assert!(tool["annotations"][hint].is_boolean(), "{name}: {hint}");
            }

            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{name}: {schema}");
                let fields = tool[schema]["properties"].as_object();
                for (field, schema) in fields.into_iter().flatten() {
                    assert!(schema["description"].is_string(), "{name}: {field}");
                }
            }
        }
    }

    #[test]
    fn a_hint_names_what_the_tools_have() {
        let hint = "No memories were found in the documents. `searchMode`: `hybrid` searches their text \
                    as well. GET /v3/container-tags/list has the tags that exist.";
        assert_eq!(
            hint_for_model(hint),
            "No memories were found in the documents. `mode`: `hybrid` searches their text as well. \
             `list_containers` has the tags that exist."
        );
    }

    #[test]
    fn the_schemas_are_plain() {
        let text = json!(definitions()).to_string();
        for unwanted in ["$ref", "\"null\"", "$schema", "anyOf", "\"format\""] {
            assert!(!text.contains(unwanted), "{unwanted} in {text}");
        }
    }

    #[test]
    fn the_definitions_take_little_of_a_context() {
        // About 4,000 tokens.
        let length = json!(definitions()).to_string().len();
        assert!(length < 16_000, "{length}");
    }

    #[test]
    fn only_one_tool_destroys_anything() {
        for tool in definitions() {
            let annotations = &tool["annotations"];
            assert_eq!(
                annotations["destructiveHint"],
                tool["name"] == "forget",
                "{tool}"
            );
            let changes = ["add", "forget"].map(Value::from).contains(&tool["name"]);
            assert_eq!(annotations["readOnlyHint"], !changes, "{tool}");
        }
    }
}
