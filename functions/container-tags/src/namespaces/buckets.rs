//! `GET`, `PUT` and `DELETE /ns/{namespace}/profile/buckets`: the buckets of a namespace's profile.

use std::collections::BTreeMap;

use axum::extract::State;
use domain::{ContainerTag, ProfileBucket, settings::MAX_BUCKETS};
use edge::{
    ApiResult, App, Auth, Json, MAX_ENTRIES, Path, ReadContent, WriteUnscoped, check_length,
    parse_namespace,
};
use openapi::{ErrorAnswer, Operation};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use service::{list_buckets, remove_buckets};

use super::{GROUP, MERGING, NAMESPACE, NO_NAMESPACE};

/// The buckets to set.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "SetNamespaceBucketsRequest")]
pub(crate) struct SetRequest {
    /// The descriptions of buckets by their names. Buckets that are not named stay.
    #[schemars(schema_with = "described_buckets")]
    buckets: BTreeMap<String, String>,
}

/// The buckets to delete.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DeleteNamespaceBucketsRequest")]
pub(crate) struct DeleteRequest {
    /// The names of buckets. Those that the namespace does not have are ignored.
    #[schemars(length(max = MAX_ENTRIES))]
    buckets: Vec<String>,
}

/// The buckets of a namespace's profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NamespaceBuckets")]
pub(crate) struct BucketsResponse {
    /// The descriptions of the buckets by their names, those of the organization first.
    #[schemars(with = "BTreeMap<String, String>")]
    buckets: Map<String, Value>,
}

impl From<Vec<ProfileBucket>> for BucketsResponse {
    fn from(buckets: Vec<ProfileBucket>) -> Self {
        let mut descriptions = Map::new();
        for bucket in buckets {
            descriptions.insert(bucket.key, bucket.description.into());
        }
        Self {
            buckets: descriptions,
        }
    }
}

/// Returns the schema of buckets that are sent by their names.
fn described_buckets(generator: &mut SchemaGenerator) -> Schema {
    let bucket = ProfileBucket::json_schema(generator);
    let field = |name: &str| bucket.get("properties").map(|fields| fields[name].clone());
    json_schema!({
        "type": "object",
        "maxProperties": MAX_BUCKETS,
        "propertyNames": field("key"),
        "additionalProperties": field("description"),
    })
}

pub(crate) async fn get_buckets(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
) -> ApiResult<Json<BucketsResponse>> {
    let tag = parse_namespace(&namespace)?;
    let buckets = list_buckets(&app.ctx, &tenant, &tag).await?;
    Ok(Json(buckets.into()))
}

pub(crate) async fn set_buckets(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(namespace): Path<String>,
    Json(request): Json<SetRequest>,
) -> ApiResult<Json<BucketsResponse>> {
    let tag = parse_namespace(&namespace)?;
    let mut buckets = Vec::with_capacity(request.buckets.len());
    for (key, description) in request.buckets {
        buckets.push(ProfileBucket { key, description });
    }

    let buckets = service::set_buckets(&app.ctx, &tenant, &tag, &buckets).await?;
    Ok(Json(buckets.into()))
}

pub(crate) async fn delete_buckets(
    State(app): State<App>,
    Auth { tenant, .. }: Auth<WriteUnscoped>,
    Path(namespace): Path<String>,
    Json(request): Json<DeleteRequest>,
) -> ApiResult<Json<BucketsResponse>> {
    let tag = parse_namespace(&namespace)?;
    check_length("buckets", &request.buckets, MAX_ENTRIES)?;
    let buckets = remove_buckets(&app.ctx, &tenant, &tag, &request.buckets).await?;
    Ok(Json(buckets.into()))
}

/// Returns an example of the buckets of a profile.
fn buckets_example() -> Value {
    json!({
        "buckets": {
            "preferences": "Likes, dislikes, preferences and opinions.",
            "birds": "Birds, nests and feathers.",
        },
    })
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    const PATH: &str = "/ns/{namespace}/profile/buckets";
    vec![
        Operation::get(PATH, "get_namespace_buckets")
            .group(GROUP)
            .summary("Get the buckets of a namespace's profile.")
            .description(
                "Those of the organization, and those that the namespace adds. A namespace that \
                 does not exist adds none.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .answer::<BucketsResponse>("The buckets.", buckets_example())
            .error(ErrorAnswer::Invalid, "The namespace is malformed."),
        Operation::put(PATH, "set_namespace_buckets")
            .group(GROUP)
            .summary("Add buckets to a namespace's profile, or describe them anew.")
            .description(
                "A bucket of the organization is changed in the settings of the organization; here \
                 it can be sent only as it is.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .body::<SetRequest>(json!({"buckets": {"birds": "Birds, nests and feathers."}}))
            .answer::<BucketsResponse>("The buckets after the change.", buckets_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_NAMESPACE)
            .error(
                ErrorAnswer::Conflict,
                "A bucket is the organization's and has another description there, or the \
                 namespace is being merged.",
            ),
        Operation::delete(PATH, "delete_namespace_buckets")
            .group(GROUP)
            .summary("Remove buckets of a namespace's own.")
            .description("Buckets of the organization stay.")
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .body::<DeleteRequest>(json!({"buckets": ["birds"]}))
            .answer::<BucketsResponse>("The buckets after the change.", buckets_example())
            .error(ErrorAnswer::Invalid, "")
            .error(ErrorAnswer::NotFound, NO_NAMESPACE)
            .error(ErrorAnswer::Conflict, MERGING),
    ]
}
