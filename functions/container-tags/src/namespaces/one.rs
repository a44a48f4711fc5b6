//! `GET` and `PATCH /ns/{namespace}`: returns or changes what the memories of a namespace are made
//! with.

use axum::extract::State;
use domain::container::MAX_ENTITY_CONTEXT;
use domain::{Container, ContainerChange, ContainerTag, Patch};
use edge::{
    ApiResult, App, Auth, Json, Path, ReadUnscoped, TimesOfItem, WriteUnscoped, parse_namespace,
    rename_fields,
};
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{change_container, find_existing_container, find_writable_container};

use super::{GROUP, MERGING, NAMESPACE, NO_NAMESPACE, times_of};
use crate::one::clear_blank;

/// The changes to a namespace.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "UpdateNamespaceRequest")]
pub(crate) struct UpdateRequest {
    /// A description of the content. It guides the extraction of memories and is never a source of
    /// facts. Null clears it.
    #[schemars(with = "Option<String>", length(max = MAX_ENTITY_CONTEXT))]
    supporting_context: Patch<String>,
}

/// A namespace.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NamespaceDetails")]
pub(crate) struct NamespaceDetails {
    /// The namespace.
    #[schemars(with = "ContainerTag")]
    namespace: String,
    /// The description of its content. Null if there is none.
    supporting_context: Option<String>,
    /// Its times.
    system: TimesOfItem,
}

impl From<Container> for NamespaceDetails {
    fn from(container: Container) -> Self {
        Self {
            namespace: container.tag.to_string(),
            system: times_of(&container),
            supporting_context: container.entity_context,
        }
    }
}

pub(crate) async fn get_namespace(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(namespace): Path<String>,
) -> ApiResult<Json<NamespaceDetails>> {
    let tag = parse_namespace(&namespace)?;
    let container = find_existing_container(&app.ctx, &tenant, &tag).await?;
    Ok(Json(container.into()))
}

/// Changes a namespace that exists. Unlike a container tag, it is not created.
pub(crate) async fn update_namespace(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(namespace): Path<String>,
    Json(request): Json<UpdateRequest>,
) -> ApiResult<Json<NamespaceDetails>> {
    let tag = parse_namespace(&namespace)?;
    find_writable_container(&app.ctx, &tenant, &tag).await?;
    let change = ContainerChange {
        entity_context: clear_blank(request.supporting_context),
        ..ContainerChange::default()
    };

    let container = change_container(&app.ctx, &tenant, &tag, &change)
        .await
        .map_err(|error| rename_fields(error, &[("entityContext", "supportingContext")]))?;
    Ok(Json(container.into()))
}

/// Returns an example of a namespace.
fn details_example() -> Value {
    json!({
        "namespace": "user_42",
        "supportingContext": "Notes of somebody who watches birds.",
        "system": {
            "createdAt": "2026-03-01T09:30:00.000Z",
            "updatedAt": "2026-03-02T10:00:00.000Z",
        },
    })
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/ns/{namespace}", "get_namespace")
            .group(GROUP)
            .summary("Get the settings of a namespace.")
            .description("The description of its content, and its times.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .answer::<NamespaceDetails>("The namespace.", details_example())
            .error(ErrorAnswer::Invalid, "The namespace is malformed.")
            .error(ErrorAnswer::NotFound, NO_NAMESPACE),
        Operation::patch("/ns/{namespace}", "update_namespace")
            .group(GROUP)
            .summary("Change the settings of a namespace.")
            .description("It applies to documents that are processed from now on.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .optional_body::<UpdateRequest>(json!({
                "supportingContext": "Notes of somebody who watches birds.",
            }))
            .answer::<NamespaceDetails>("The namespace after the change.", details_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_NAMESPACE)
            .error(ErrorAnswer::Conflict, MERGING),
    ]
}
