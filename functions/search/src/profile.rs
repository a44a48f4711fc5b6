//! Profiles: `POST /v4/profile`, `POST /v4/profile/buckets` and
//! `GET /v3/container-tags/{tag}/profile`.

mod markdown;
mod sections;

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{ContainerTag, Error, Filter, ProfileBucket, Result, Tenant};
use edge::{
    ApiResult, Auth, Json, MAX_ENTRIES, Path, ReadContent, ReadUnscoped, check_length, resolve_tag,
};
use http::HeaderMap;
use memory_model::ProfileLine;
use openapi::{ErrorAnswer, Operation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use service::{ContainerScope, find_existing_container};

use crate::SearchState;
use crate::v4::{MAX_QUESTION_CHARS, SearchResponse, check_threshold};
use sections::{effective_buckets, find_container, load_profile};

pub(crate) use markdown::prefers_markdown;
pub(crate) use sections::{ProfileSections, ProfileSelection, SorterCache, read_profile};

/// A container, and the parts of its profile.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "GetProfileRequest")]
pub(crate) struct ProfileRequest {
    /// The container tag. This or one of `containerTags` is required.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
    /// A question for which the memories are searched as well.
    #[schemars(length(max = MAX_QUESTION_CHARS))]
    q: Option<String>,
    /// The similarity below which a result of the question is left out.
    #[schemars(range(min = 0, max = 1), extend("default" = 0.6))]
    threshold: Option<f32>,
    /// Conditions on metadata, for the profile and for the search.
    #[schemars(with = "Value", extend("$ref" = "#/components/schemas/Filters"))]
    filters: Option<Value>,
    /// The parts of the profile. The default is all.
    #[schemars(length(max = MAX_ENTRIES))]
    include: Option<Vec<ProfilePart>>,
    /// The keys of the buckets to show, which are then included. Unknown keys are ignored. The
    /// default is all.
    #[schemars(length(max = MAX_ENTRIES))]
    buckets: Option<Vec<String>>,
    /// The most tokens of the lasting traits and everything else together, estimated as four
    /// letters each. A bucket has at most as many as everything else. Without it, the traits have
    /// 1000 and the others 600, and instructions may exceed that.
    #[schemars(range(min = 1, max = MAX_PROFILE_TOKENS))]
    max_tokens: Option<u32>,
}

/// The most tokens of a profile that a request may ask for.
const MAX_PROFILE_TOKENS: u32 = 32_000;

/// A part of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ProfilePart {
    Static,
    Dynamic,
    Buckets,
}

/// A profile, and the results of the question.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProfileResponse {
    /// The requested parts.
    profile: ProfileParts,
    /// The results of the question. Absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<SearchResponse>")]
    search_results: Option<Value>,
}

/// The requested parts of a profile.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct ProfileParts {
    /// Lasting traits: instructions, then preferences, then facts.
    #[serde(rename = "static", skip_serializing_if = "Option::is_none")]
    #[schemars(inner(length(min = 1)))]
    statics: Option<Vec<String>>,
    /// Everything else, the newest first, each sentence after its day. Words of others come with
    /// the place where they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(inner(regex(pattern = DATED_LINE)))]
    dynamic: Option<Vec<String>>,
    /// The sentences of each bucket, each after its day.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Vec<DatedLine>>>")]
    buckets: Option<BTreeMap<String, Vec<String>>>,
}

/// The form of a sentence after the day that it is about or on which it was said.
const DATED_LINE: &str = r"^\[[0-9+-]+-[0-9]{2}-[0-9]{2}\] ";

/// A sentence after the day that it is about or on which it was said.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes a sentence of a bucket")]
struct DatedLine(#[schemars(regex(pattern = DATED_LINE))] String);

pub(crate) async fn get_profile(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    headers: HeaderMap,
    Json(request): Json<ProfileRequest>,
) -> ApiResult<Response> {
    let scope = named_scope(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;

    check_length(
        "include",
        request.include.as_deref().unwrap_or_default(),
        MAX_ENTRIES,
    )?;
    check_length(
        "buckets",
        request.buckets.as_deref().unwrap_or_default(),
        MAX_ENTRIES,
    )?;

    let filter = Filter::parse_optional(request.filters.as_ref())?;
    let threshold = match request.threshold {
        Some(value) => Some(check_threshold(value, "threshold")?),
        None => None,
    };

    let max_tokens = match request.max_tokens {
        Some(tokens) if !(1..=MAX_PROFILE_TOKENS).contains(&tokens) => {
            let expected = format!("a number from 1 to {MAX_PROFILE_TOKENS}");
            return Err(Error::invalid_field("maxTokens", expected).into());
        }
        tokens => tokens.map(|tokens| tokens as usize),
    };

    // Some clients send an empty question if they have none.
    let question = request.q.as_deref().filter(|q| !q.trim().is_empty());
    let selection = ProfileSelection {
        filter: filter.as_ref(),
        with_buckets: request.includes_part(ProfilePart::Buckets),
        max_tokens,
        is_searched: question.is_some(),
    };
    let sections = read_profile(&state, &tenant, &scope, selection).await?;

    let search_results = match question {
        Some(q) => {
            let filters = request.filters.clone();
            Some(search_for_question(&state, &tenant, q, &scope, threshold, filters).await?)
        }
        None => None,
    };

    let response = ProfileResponse {
        profile: request.select_parts(sections),
        search_results,
    };

    if prefers_markdown(&headers) {
        return Ok(markdown::markdown_response(&response));
    }

    Ok(Json(response).into_response())
}

/// Returns a whole profile as Markdown.
pub(crate) fn markdown_profile(sections: ProfileSections) -> Response {
    markdown::markdown_response(&ProfileResponse {
        profile: ProfileParts::new(sections),
        search_results: None,
    })
}

/// Returns the profile of an existing tag, without buckets.
pub(crate) async fn get_tag_profile(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadUnscoped>,
    Path(tag): Path<String>,
) -> ApiResult<Json<ProfileResponse>> {
    let container =
        find_existing_container(&state.app.ctx, &tenant, &ContainerTag::parse(&tag)?).await?;
    let built_profile = load_profile(
        &state,
        &tenant,
        Some(&container),
        None,
        ProfileSelection::default(),
    )
    .await?;
    let profile = ProfileParts {
        statics: Some(line_texts(built_profile.static_lines)),
        dynamic: Some(line_texts(built_profile.dynamic_lines)),
        buckets: None,
    };

    Ok(Json(ProfileResponse {
        profile,
        search_results: None,
    }))
}

/// The container whose buckets are listed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "ListBucketsRequest")]
pub(crate) struct BucketsRequest {
    /// The container tag. This or one of `containerTags` is required.
    #[schemars(with = "Option<ContainerTag>")]
    container_tag: Option<String>,
    /// The older form of `containerTag`, with one tag.
    #[schemars(with = "Option<Vec<ContainerTag>>", length(max = MAX_ENTRIES), extend("deprecated" = true))]
    container_tags: Option<Vec<String>>,
}

/// The buckets of a profile.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BucketsResponse {
    /// The buckets, those of the organization first.
    buckets: Vec<ProfileBucket>,
}

pub(crate) async fn list_buckets(
    State(state): State<SearchState>,
    Auth { tenant, .. }: Auth<ReadContent>,
    Json(request): Json<BucketsRequest>,
) -> ApiResult<Json<BucketsResponse>> {
    let scope = named_scope(
        &tenant,
        request.container_tag.as_deref(),
        request.container_tags.as_deref(),
    )?;
    let container = find_container(&state, &tenant, &scope).await?;

    Ok(Json(BucketsResponse {
        buckets: effective_buckets(&state, &tenant, container.as_ref()).await?,
    }))
}

/// Returns the scope of the one container tag that the request names.
fn named_scope(
    tenant: &Tenant,
    tag: Option<&str>,
    tags: Option<&[String]>,
) -> Result<ContainerScope> {
    Ok(ContainerScope {
        tags: vec![resolve_tag(
            tenant,
            tag,
            tags,
            "name the container of the profile",
        )?],
    })
}

/// Returns the texts of lines.
fn line_texts(lines: Vec<ProfileLine>) -> Vec<String> {
    lines.into_iter().map(|line| line.text).collect()
}

/// Searches the container for the question that came with the profile request.
async fn search_for_question(
    state: &SearchState,
    tenant: &Tenant,
    q: &str,
    scope: &ContainerScope,
    threshold: Option<f32>,
    filters: Option<Value>,
) -> Result<Value> {
    let response =
        crate::v4::search_for_profile(state, tenant, q, scope, threshold, filters).await?;
    serde_json::to_value(response).map_err(|_| Error::internal("results serialize"))
}

impl ProfileRequest {
    fn includes_part(&self, part: ProfilePart) -> bool {
        let has_named_buckets = matches!(self.buckets.as_deref(), Some([_, ..]));
        match self.include.as_deref().unwrap_or_default() {
            [] => true,
            parts => parts.contains(&part) || (part == ProfilePart::Buckets && has_named_buckets),
        }
    }

    fn select_parts(&self, mut sections: ProfileSections) -> ProfileParts {
        sections.retain_buckets(self.buckets.as_deref());
        let mut parts = ProfileParts::new(sections);
        if !self.includes_part(ProfilePart::Static) {
            parts.statics = None;
        }
        if !self.includes_part(ProfilePart::Dynamic) {
            parts.dynamic = None;
        }
        if !self.includes_part(ProfilePart::Buckets) {
            parts.buckets = None;
        }

        parts
    }
}

impl ProfileParts {
    /// Returns all parts as texts.
    fn new(sections: ProfileSections) -> Self {
        let mut buckets = BTreeMap::new();
        for (key, lines) in sections.buckets {
            buckets.insert(key, line_texts(lines));
        }

        Self {
            statics: Some(line_texts(sections.statics)),
            dynamic: Some(line_texts(sections.dynamic)),
            buckets: Some(buckets),
        }
    }
}

/// Describes the operations of this module.
pub(crate) fn operations() -> Vec<Operation> {
    let profile = json!({
        "profile": {
            "static": ["Answer in one sentence.", "Mara is a ringer of birds."],
            "dynamic": ["[2026-03-20] Mara counts the herons."],
        },
    });

    vec![
        Operation::post("/v4/profile", "get_profile")
            .group("Recall (Search)")
            .summary("Get what is known at a glance.")
            .description(
                "Lasting traits come in the order of instructions, preferences and facts. \
                 Everything else, and the sentences in buckets, come with their day, the newest \
                 first. Instructions and preferences are chosen first. Without `maxTokens`, they \
                 may take twice the room of their part, and the newest of them is always included. \
                 A container that does not exist has an empty profile. A request with the header \
                 `Accept: text/markdown` is answered with Markdown.",
            )
            .body::<ProfileRequest>(json!({
                "containerTag": "user_42",
                "q": "Where does the heron wait?",
                "include": ["static", "dynamic", "buckets"],
            }))
            .answer::<ProfileResponse>("The profile.", profile.clone())
            .or_as::<MarkdownProfile>(
                "text/markdown",
                json!("# Profile\n\n## Static\n\n- Mara is a ringer of birds.\n"),
            )
            .error(ErrorAnswer::Invalid, ""),
        Operation::post("/v4/profile/buckets", "list_profile_buckets")
            .group("Recall (Search)")
            .summary("List the buckets of a profile.")
            .description("Those of the organization, then those that the container adds.")
            .body::<BucketsRequest>(json!({"containerTag": "user_42"}))
            .answer::<BucketsResponse>(
                "The buckets.",
                json!({
                    "buckets": [{"key": "preferences", "description": "Likes and dislikes."}],
                }),
            )
            .error(ErrorAnswer::Invalid, ""),
        Operation::get(
            "/v3/container-tags/{tag}/profile",
            "get_container_tag_profile",
        )
        .group("Recall (Search)")
        .summary("Get the profile of a container tag.")
        .description("Without buckets. The container tag has to exist.")
        .path_parameter::<ContainerTag>("tag", "A container tag.")
        .answer::<ProfileResponse>("The profile.", profile)
        .error(ErrorAnswer::Invalid, "The container tag is malformed.")
        .error(
            ErrorAnswer::NotFound,
            "No document has this container tag yet, or it was deleted.",
        ),
    ]
}

/// A profile as Markdown.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "describes the answer in Markdown")]
pub(crate) struct MarkdownProfile(#[schemars(regex(pattern = "^# Profile"))] String);
