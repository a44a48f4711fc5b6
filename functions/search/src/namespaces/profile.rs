//! `POST /ns/{namespace}/profile`: what is known at a glance.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{ContainerTag, Filter, MemoryId};
use edge::{ApiResult, Auth, Json, MAX_ENTRIES, Path, ReadContent, check_length, namespace_scope};
use http::HeaderMap;
use memory_model::ProfileLine;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{GROUP, NAMESPACE};
use crate::SearchState;
use crate::profile::{
    MarkdownProfile, ProfileSections, ProfileSelection, markdown_profile, prefers_markdown,
    read_profile,
};

/// The memories and buckets to show.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(rename = "GetNamespaceProfileRequest")]
pub(crate) struct ProfileRequest {
    /// Conditions on metadata.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/FilterExpression"))]
    filter: Option<Value>,
    /// The keys of the buckets to show. Unknown keys are ignored. The default is all.
    #[schemars(length(max = MAX_ENTRIES))]
    buckets: Option<Vec<String>>,
}

/// A profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GetNamespaceProfileResponse")]
pub(crate) struct ProfileResponse {
    /// The profile.
    profile: FactProfile,
}

/// The facts of a profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct FactProfile {
    /// Lasting traits: instructions, then preferences, then facts.
    #[serde(rename = "static")]
    statics: Vec<ProfileFact>,
    /// Everything else, the newest first, each sentence after its day. Words of others come with
    /// the place where they were read.
    dynamic: Vec<ProfileFact>,
    /// The sentences of each bucket, each after its day.
    buckets: BTreeMap<String, Vec<ProfileFact>>,
}

/// A memory in a profile.
#[derive(Debug, Serialize, JsonSchema)]
struct ProfileFact {
    /// The id of the memory.
    id: MemoryId,
    /// The sentence.
    #[schemars(length(min = 1))]
    memory: String,
}

pub(crate) async fn get_namespace_profile(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Path(namespace): Path<String>,
    headers: HeaderMap,
    Json(request): Json<ProfileRequest>,
) -> ApiResult<Response> {
    let scope = namespace_scope(&namespace)?;
    let bucket_keys = request.buckets.as_deref();
    check_length("buckets", bucket_keys.unwrap_or_default(), MAX_ENTRIES)?;
    let filter = Filter::parse_operators(request.filter.as_ref())?;

    let selection = ProfileSelection {
        filter: filter.as_ref(),
        with_buckets: true,
        ..ProfileSelection::default()
    };
    let mut sections = read_profile(&state, &tenant, &scope, selection).await?;
    sections.retain_buckets(bucket_keys);
    if prefers_markdown(&headers) {
        return Ok(markdown_profile(sections));
    }

    let profile = FactProfile::new(sections);
    Ok(Json(ProfileResponse { profile }).into_response())
}

impl FactProfile {
    fn new(sections: ProfileSections) -> Self {
        let mut buckets = BTreeMap::new();
        for (key, lines) in sections.buckets {
            buckets.insert(key, facts_of(lines));
        }

        Self {
            statics: facts_of(sections.statics),
            dynamic: facts_of(sections.dynamic),
            buckets,
        }
    }
}

fn facts_of(lines: Vec<ProfileLine>) -> Vec<ProfileFact> {
    let mut facts = Vec::with_capacity(lines.len());
    for line in lines {
        facts.push(ProfileFact {
            id: line.memory,
            memory: line.text,
        });
    }
    facts
}

/// Describes the operations of this module.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/ns/{namespace}/profile", "get_namespace_profile")
            .group(GROUP)
            .summary("Get what is known of a namespace at a glance.")
            .description(
                "Lasting traits come in the order of instructions, preferences and facts. \
                 Everything else, and the sentences in buckets, come with their day, the newest \
                 first. A namespace that does not exist has an empty profile. A request with the \
                 header `Accept: text/markdown` is answered with Markdown.",
            )
            .path_parameter::<ContainerTag>("namespace", NAMESPACE)
            .optional_body::<ProfileRequest>(json!({"buckets": ["preferences"]}))
            .answer::<ProfileResponse>(
                "The profile.",
                json!({
                    "profile": {
                        "static": [
                            {"id": "acxV5LHMEsG2hMSNb4umbn", "memory": "Answer in one sentence."},
                        ],
                        "dynamic": [
                            {
                                "id": "5Hd1p8aGkT9mYwqZrLcXv2",
                                "memory": "[2026-03-20] Mara counts the herons.",
                            },
                        ],
                        "buckets": {"preferences": []},
                    },
                }),
            )
            .or_as::<MarkdownProfile>(
                "text/markdown",
                json!("# Profile\n\n## Static\n\n- Answer in one sentence.\n"),
            )
            .error(ErrorAnswer::Invalid, ""),
    ]
}
