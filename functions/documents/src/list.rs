//! `POST /v3/documents/list`: lists documents.

use axum::extract::State;
use domain::connection::Provider;
use domain::{ContainerTag, DocumentStatus, DocumentType, Filter, Result};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, Order, Pagination, ReadContent, SortField, TypeName,
    deserialize_bool, deserialize_count, page_and_limit, parse_scope,
};
use openapi::{ErrorAnswer, Operation};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use service::{ListQuery, explain_empty_list, read_document_texts};

use crate::DocumentsState;
use crate::wire::{ListedDocument, record_example};

/// The number of documents on a page if the request does not set a limit.
pub(crate) const DEFAULT_LIMIT: usize = 10;
/// The most documents on a page. Part of the API.
pub(crate) const MAX_LIMIT: usize = 1100;

/// The documents to list, their order and the page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ListDocumentsRequest")]
pub(crate) struct ListRequest {
    /// A container tag, in addition to `containerTags`.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// Container tags. Without any, all that the key reaches.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES))]
    container_tags: Option<Vec<String>>,
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/Filters"))]
    filters: Option<Value>,
    /// True to list documents with their text.
    #[serde(deserialize_with = "deserialize_bool")]
    #[schemars(schema_with = "edge::flexible_boolean_schema")]
    include_content: bool,
    /// The number of documents on a page.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::count_schema::<1, MAX_LIMIT>")]
    #[schemars(extend("default" = DEFAULT_LIMIT))]
    limit: Option<usize>,
    /// The number of the page, from 1.
    #[serde(deserialize_with = "deserialize_count")]
    #[schemars(schema_with = "edge::page_schema")]
    #[schemars(extend("default" = 1))]
    page: Option<usize>,
    /// The field by which the list is sorted.
    #[schemars(extend("default" = "createdAt"))]
    sort: Option<SortField>,
    /// The direction of the list.
    #[schemars(extend("default" = "desc"))]
    order: Option<Order>,
    /// The path of the documents, or a prefix of it if it ends with `/`.
    filepath: Option<String>,
    /// The provider from which the documents came.
    source: Option<String>,
    /// The status of the documents, or several.
    #[serde(deserialize_with = "deserialize_statuses")]
    #[schemars(schema_with = "statuses_schema")]
    status: Option<Vec<DocumentStatus>>,
    /// The type of the documents, or several.
    #[serde(rename = "type", deserialize_with = "deserialize_types")]
    #[schemars(schema_with = "types_schema")]
    types: Option<Vec<DocumentType>>,
    /// A text in the title, in upper or lower case. A document without a title is found by its
    /// summary, or else its customId or its address.
    title: Option<String>,
}

/// Returns the schema of what [`deserialize_statuses`] reads.
fn statuses_schema(generator: &mut SchemaGenerator) -> Schema {
    one_or_several_schema(generator.subschema_for::<StatusFilter>())
}

/// A status that documents may have. No document has the status `unknown`.
#[derive(JsonSchema)]
#[schemars(rename = "DocumentStatusFilter", untagged)]
#[expect(dead_code, reason = "describes what `deserialize_statuses` reads")]
enum StatusFilter {
    Status(DocumentStatus),
    Unknown(#[schemars(extend("const" = "unknown"))] String),
}

/// Deserializes one status or several. Returns `None` for none.
///
/// compat: the status `unknown` of the hosted service is accepted.
fn deserialize_statuses<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<DocumentStatus>>, D::Error> {
    let Some(names) = deserialize_names(deserializer)? else {
        return Ok(None);
    };
    let mut statuses = Vec::with_capacity(names.len());
    for name in &names {
        match DocumentStatus::parse(name) {
            Some(status) => statuses.push(status),
            None if name == "unknown" => {}
            None => {
                return Err(serde::de::Error::custom(
                    "expected queued, extracting, chunking, embedding, indexing, done or failed, \
                     or an array of these",
                ));
            }
        }
    }

    Ok(Some(statuses))
}

/// Returns the schema of what [`deserialize_types`] reads.
fn types_schema(generator: &mut SchemaGenerator) -> Schema {
    one_or_several_schema(generator.subschema_for::<TypeName>())
}

/// Deserializes one type of document or several. Returns `None` for none.
fn deserialize_types<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<DocumentType>>, D::Error> {
    let Some(names) = deserialize_names(deserializer)? else {
        return Ok(None);
    };
    let types: Option<Vec<_>> = names.iter().map(|name| DocumentType::parse(name)).collect();
    match types {
        Some(types) => Ok(Some(types)),
        None => {
            let known = DocumentType::ALL.map(DocumentType::as_str).join(", ");
            Err(serde::de::Error::custom(format!(
                "expected one of {known}, or an array of these"
            )))
        }
    }
}

/// Returns the schema of what [`deserialize_names`] reads, with the schema of a name.
fn one_or_several_schema(name: Schema) -> Schema {
    json_schema!({
        "anyOf": [
            name,
            {"type": "array", "maxItems": MAX_ENTRIES, "items": name},
            {"type": "null"},
        ],
    })
}

/// Deserializes one name or an array of names. Returns `None` for none. What is not a string is an
/// empty name.
fn deserialize_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let values = match Value::deserialize(deserializer)? {
        Value::Null => return Ok(None),
        Value::Array(values) if values.is_empty() => return Ok(None),
        Value::Array(values) => values,
        value => vec![value],
    };
    if values.len() > MAX_ENTRIES {
        return Err(serde::de::Error::custom(format!(
            "expected at most {MAX_ENTRIES} values"
        )));
    }

    let names = values
        .iter()
        .map(|value| value.as_str().unwrap_or_default());
    Ok(Some(names.map(str::to_owned).collect()))
}

/// A page of documents.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "DocumentListResponse")]
pub(crate) struct ListResponse {
    // compat: the name of the array of documents in the API.
    /// The documents, which are called memories here.
    memories: Vec<ListedDocument>,
    /// The position of the page.
    pagination: Pagination,
    /// The reason why there are no documents, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) async fn list_documents(
    State(state): State<DocumentsState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<ListRequest>,
) -> ApiResult<Json<ListResponse>> {
    let include_content = request.include_content;
    let query = request.into_query()?;
    let app = &state.app;
    let page = state.list_documents(&tenant, &query).await?;
    let texts = if include_content {
        read_document_texts(&app.ctx, &tenant, &page.documents).await?
    } else {
        vec![None; page.documents.len()]
    };

    let mut memories = Vec::with_capacity(page.documents.len());
    for (document, text) in page.documents.iter().zip(texts) {
        memories.push(ListedDocument::new(app.provider_names, document, text));
    }
    let pagination = Pagination::new(query.page, query.limit, page.total);

    let hint = match page.total {
        0 => explain_empty_list(&app.ctx, &tenant, &query.scope).await?,
        _ => None,
    };
    Ok(Json(ListResponse {
        memories,
        pagination,
        hint,
    }))
}

/// Returns the names that are those of providers. No document comes from any other.
pub(crate) fn parse_providers(names: &[String]) -> Vec<Provider> {
    names
        .iter()
        .filter_map(|name| Provider::parse(name))
        .collect()
}

impl ListRequest {
    fn into_query(self) -> Result<ListQuery> {
        let (page, limit) = page_and_limit(self.page, self.limit, DEFAULT_LIMIT, MAX_LIMIT)?;
        Ok(ListQuery {
            scope: parse_scope(
                self.container_tag.as_deref(),
                self.container_tags.as_deref(),
            )?,
            filter: Filter::parse_optional(self.filters.as_ref())?,
            filepath: self.filepath,
            statuses: self.status,
            types: self.types,
            name: self.title.filter(|title| !title.is_empty()),
            sort: self.sort.unwrap_or_default().into(),
            changed_since: None,
            providers: self.source.map(|source| parse_providers(&[source])),
            ascending: self.order == Some(Order::Asc),
            page,
            limit,
        })
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let list = Operation::post("/v3/documents/list", "list_documents")
        .group("Documents")
        .summary("List documents, newest first unless asked otherwise.")
        .description(
            "Every document that matches is counted, and the pages of a list that does not change \
             are disjoint and complete.",
        )
        .optional_body::<ListRequest>(json!({
            "containerTags": ["user_42"],
            "filters": {
                "AND": [
                    {
                        "key": "year",
                        "value": "2020",
                        "filterType": "numeric",
                        "numericOperator": ">=",
                    },
                ],
            },
            "limit": 50,
            "sort": "updatedAt",
        }))
        .answer::<ListResponse>(
            "A page of documents.",
            json!({
                "memories": [record_example()],
                "pagination": {
                    "currentPage": 1,
                    "limit": 10,
                    "totalItems": 1,
                    "totalPages": 1,
                },
            }),
        )
        .error(ErrorAnswer::Invalid, "");
    vec![list.alias("/v3/memories/list"), list]
}
