//! The fields that every way of adding content shares, their limits and their checks.

use domain::container::MAX_ENTITY_CONTEXT;
use domain::tag::MAX_TAGS_PER_DOCUMENT;
use domain::{
    BodyForm, ContainerTag, CustomId, Dreaming, Error, Metadata, Provenance, Result, TaskType,
    Timestamp,
};
use edge::parse_scope;
use http::HeaderMap;
use remote::parse_page_url;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use service::{Content, NewDocument, Upsert};

/// The most bytes of text: 1 MB. Part of the API.
pub(crate) const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// The most characters of a path.
pub(crate) const MAX_FILEPATH_CHARS: usize = 1024;

/// The fields that every way of adding content shares.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommonFields {
    /// The container tag. Without one, the content goes to the only one that the key reaches, or to
    /// `sm_project_default`.
    #[schemars(with = "Option<ContainerTag>")]
    pub(crate) container_tag: Option<String>,
    /// The container tags, if there are several. The document is found under each of them, and the
    /// settings of the first one apply.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_TAGS_PER_DOCUMENT))]
    pub(crate) container_tags: Option<Vec<String>>,
    // A batch and a conversation do not use it: see `add_custom_id`.
    #[schemars(skip)]
    pub(crate) custom_id: Option<String>,
    /// The caller's own keys.
    #[schemars(with = "Option<Metadata>")]
    pub(crate) metadata: Option<Map<String, Value>>,
    /// The path in the caller's own tree. An empty one means none.
    #[schemars(length(max = MAX_FILEPATH_CHARS))]
    pub(crate) filepath: Option<String>,
    /// The metadata that other documents need to have for their memories to be considered beside
    /// those of this one.
    #[schemars(with = "Option<Metadata>")]
    pub(crate) filter_by_metadata: Option<Map<String, Value>>,
    /// The results of its processing. The default for new documents is `memory`.
    pub(crate) task_type: Option<TaskType>,
    /// The time that the content is from, as a day or a timestamp with an offset.
    #[schemars(extend("examples" = ["2025-04-15", "2025-04-15T11:30:00+02:00"]))]
    pub(crate) document_date: Option<String>,
    /// A description of the content of the container. It stays with the container tag.
    #[schemars(length(max = MAX_ENTITY_CONTEXT))]
    pub(crate) entity_context: Option<String>,
    /// The time at which memories are formed.
    #[schemars(extend("default" = "dynamic"))]
    pub(crate) dreaming: Option<Dreaming>,
    /// The author of the content. Without it, the author that was given before stays. If there was
    /// none, plain text and the turns of users are the user's own words, except for the mails,
    /// pages, quotations and transcripts that can be recognized in them; files, pages and items of
    /// connections are another person's.
    pub(crate) provenance: Option<Provenance>,
}

impl CommonFields {
    /// Checks every field and returns the new document.
    pub(crate) fn into_document(
        self,
        content: Content,
        idempotency_key: Option<String>,
    ) -> Result<NewDocument> {
        if let Some(context) = &self.entity_context {
            check_entity_context(context)?;
        }

        Ok(NewDocument {
            tags: parse_scope(
                self.container_tag.as_deref(),
                self.container_tags.as_deref(),
            )?
            .tags,
            custom_id: parse_custom_id(self.custom_id.as_deref())?,
            content,
            upsert: Upsert::Replace,
            metadata: parse_object("metadata", self.metadata)?,
            filepath: match self.filepath {
                Some(path) if !path.is_empty() => Some(check_filepath(path)?),
                _ => None,
            },
            filter_by_metadata: parse_object("filterByMetadata", self.filter_by_metadata)?,
            entity_context: self.entity_context,
            task_type: self.task_type,
            dreaming: self.dreaming.unwrap_or_default(),
            document_date: parse_document_date(self.document_date.as_deref())?,
            provenance: self.provenance,
            idempotency_key,
        })
    }

    /// Returns these fields, with those of `defaults` in place of absent ones. A container tag in
    /// either field replaces both default tags.
    pub(crate) fn or_defaults(self, defaults: &Self) -> Self {
        let has_tag = self.container_tag.is_some() || self.container_tags.is_some();
        let tags = if has_tag { &self } else { defaults };

        Self {
            container_tag: tags.container_tag.clone(),
            container_tags: tags.container_tags.clone(),
            custom_id: self.custom_id,
            metadata: self.metadata.or_else(|| defaults.metadata.clone()),
            filepath: self.filepath.or_else(|| defaults.filepath.clone()),
            filter_by_metadata: self
                .filter_by_metadata
                .or_else(|| defaults.filter_by_metadata.clone()),
            task_type: self.task_type.or(defaults.task_type),
            document_date: self
                .document_date
                .or_else(|| defaults.document_date.clone()),
            entity_context: self
                .entity_context
                .or_else(|| defaults.entity_context.clone()),
            dreaming: self.dreaming.or(defaults.dreaming),
            provenance: self.provenance.or(defaults.provenance),
        }
    }
}

/// Adds `customId` to the schema of a request for one document. The documents of a batch each have
/// their own, and in a conversation `conversationId` takes its place.
pub(crate) fn add_custom_id(schema: &mut Schema) {
    let mut custom_id = CustomId::json_schema(&mut SchemaGenerator::default());
    custom_id.insert("type".into(), json!(["string", "null"]));
    let description = "The caller's own identifier, of one document in the organization as far as the \
                       key reaches. Content that is sent again with it replaces the content of the \
                       document, and other container tags move it.";
    custom_id.insert("description".into(), description.into());

    let properties = schema.ensure_object().entry("properties");
    properties.or_insert_with(|| json!({}))["customId"] = custom_id.into();
}

/// The header that identifies a request when it is repeated.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(
    dead_code,
    reason = "describes the header that `read_idempotency_key` reads"
)]
pub(crate) struct IdempotencyKey(#[schemars(length(min = 1, max = 255))] String);

/// The description of the header `Idempotency-Key`.
pub(crate) const IDEMPOTENCY_KEY: &str = "Identifies the request for 24 hours. The same request \
    with the same key answers with the document that it has added. A 409 says that the document \
    was deleted since; nothing brings it back. With a customId it has no effect, because \
    the customId identifies the document.";

/// Returns the bytes of a text, and whether it is text or the address of a page.
pub(crate) fn body_of_text(text: String) -> Result<(bytes::Bytes, BodyForm)> {
    if text.len() > MAX_TEXT_BYTES {
        let size = text.len();
        let message = format!(
            "content has {size} bytes, but text has at most {MAX_TEXT_BYTES}; send a file instead"
        );
        return Err(Error::TooLarge(message));
    }

    let form = if parse_page_url(&text).is_some() {
        BodyForm::Url
    } else {
        BodyForm::Text
    };

    Ok((text.into(), form))
}

/// Checks the path of a document.
pub(crate) fn check_filepath(path: String) -> Result<String> {
    check_char_count("filepath", &path, MAX_FILEPATH_CHARS)?;
    Ok(path)
}

/// Parses the field `customId`.
pub(crate) fn parse_custom_id(text: Option<&str>) -> Result<Option<CustomId>> {
    match text {
        Some(text) => Ok(Some(CustomId::parse(text)?)),
        None => Ok(None),
    }
}

/// Parses the field `documentDate`.
pub(crate) fn parse_document_date(text: Option<&str>) -> Result<Option<Timestamp>> {
    match text {
        Some(text) => Ok(Some(Timestamp::parse("documentDate", text)?)),
        None => Ok(None),
    }
}

/// Checks the description of a container.
pub(crate) fn check_entity_context(context: &str) -> Result<()> {
    check_char_count("entityContext", context, MAX_ENTITY_CONTEXT)
}

fn parse_object(field: &str, object: Option<Map<String, Value>>) -> Result<Option<Metadata>> {
    match object {
        Some(object) => Ok(Some(Metadata::parse_field(field, object)?)),
        None => Ok(None),
    }
}

fn check_char_count(field: &str, text: &str, max: usize) -> Result<()> {
    if text.chars().count() > max {
        return Err(Error::invalid_field(
            field,
            format!("at most {max} characters"),
        ));
    }
    Ok(())
}

/// Returns the header that identifies a request when it is repeated because its answer was lost.
pub(crate) fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<String>> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(text) if (1..=255).contains(&text.len()) => Ok(Some(text.to_owned())),
        _ => Err(Error::invalid_field(
            "Idempotency-Key",
            "1 to 255 printable ASCII characters",
        )),
    }
}
