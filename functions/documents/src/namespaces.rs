//! The documents of a namespace: `/ns/{namespace}/document*` and `/ns/{namespace}/list/documents*`,
//! the form of the API that version 5 of the Python client calls.

pub(crate) mod add;
pub(crate) mod batch;
pub(crate) mod document;
pub(crate) mod files;
pub(crate) mod list;
pub(crate) mod update;

use domain::container::MAX_ENTITY_CONTEXT;
use domain::{DocumentStatus, Dreaming, Error, Metadata, Result, TaskType};
use edge::{check_field_name, parse_object_text, rename_fields};
use openapi::Operation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use service::{AcceptedDocument, Content, NewDocument, Upsert};

use crate::common_fields::CommonFields;
use crate::upload::{FormFields, parse_variant};

/// The description of the namespace in a path.
const NAMESPACE: &str = "The namespace, which is a container tag.";
/// The group of these operations.
const GROUP: &str = "Namespaces";

/// The names of fields elsewhere, with those of these requests.
const FIELD_NAMES: [(&str, &str); 5] = [
    ("containerTag", "namespace"),
    ("customId", "id"),
    ("documentDate", "date"),
    ("entityContext", "supportingContext"),
    ("filterByMetadata", "group"),
];

/// The fields that every way of adding content to a namespace shares.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SharedFields {
    /// A description of the content of the namespace. It stays with the namespace.
    #[schemars(length(max = MAX_ENTITY_CONTEXT))]
    supporting_context: Option<String>,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    metadata: Option<Map<String, Value>>,
    /// The metadata that other documents need to have for their memories to be considered beside
    /// those of this one.
    #[schemars(with = "Option<Metadata>")]
    group: Option<Map<String, Value>>,
    /// The time that the content is from, as a day or a timestamp with an offset.
    #[schemars(extend("examples" = ["2025-04-15", "2025-04-15T11:30:00+02:00"]))]
    date: Option<String>,
    /// The results of its processing. The default for new documents is `memory`.
    task_type: Option<TaskType>,
    /// The time at which memories are formed.
    #[schemars(extend("default" = "dynamic"))]
    dreaming: Option<Dreaming>,
}

impl SharedFields {
    /// Checks every field and returns the new document. The content is added to that of a document
    /// with the same id in the namespace.
    fn into_document(
        self,
        namespace: &str,
        id: Option<String>,
        content: Content,
        idempotency_key: Option<String>,
    ) -> Result<NewDocument> {
        let fields = CommonFields {
            container_tag: Some(namespace.to_owned()),
            custom_id: id,
            metadata: self.metadata,
            filter_by_metadata: self.group,
            task_type: self.task_type,
            document_date: self.date,
            entity_context: self.supporting_context,
            dreaming: self.dreaming,
            ..CommonFields::default()
        };
        let new = fields
            .into_document(content, idempotency_key)
            .map_err(in_these_names)?;
        Ok(NewDocument {
            upsert: Upsert::Append,
            ..new
        })
    }
}

impl FormFields for SharedFields {
    fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let value = Some(text.to_owned());
        match name {
            "supportingContext" => self.supporting_context = value,
            "metadata" => self.metadata = Some(parse_object_text(name, text)?),
            "group" => self.group = Some(parse_object_text(name, text)?),
            "date" => self.date = value,
            "taskType" => self.task_type = Some(parse_variant(name, text)?),
            "dreaming" => self.dreaming = Some(parse_variant(name, text)?),
            _ => check_field_name(name, &[])?,
        }

        Ok(())
    }
}

/// Names the fields of an error as these requests do.
fn in_these_names(error: Error) -> Error {
    rename_fields(error, &FIELD_NAMES)
}

/// The document that was added or changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DocumentRef")]
pub(crate) struct DocumentRef {
    /// The caller's own id, or else that of the document.
    id: String,
    /// Its status.
    status: DocumentStatus,
}

impl DocumentRef {
    /// Returns the reference to an accepted document. `id` is the one that the caller has sent.
    fn new(id: Option<String>, accepted: &AcceptedDocument) -> Self {
        Self {
            id: id.unwrap_or_else(|| accepted.id.to_string()),
            status: accepted.status,
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    [
        add::operations(),
        batch::operations(),
        document::operations(),
        files::operations(),
        list::operations(),
        update::operations(),
    ]
    .concat()
}
