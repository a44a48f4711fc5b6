//! The operator's settings of the model endpoint.

use domain::Secret;

pub(crate) const URL_VARIABLE: &str = "RECOLLECT_MODEL_URL";
pub(crate) const KEY_VARIABLE: &str = "RECOLLECT_MODEL_KEY";
pub(crate) const VISION_MODEL: &str = "RECOLLECT_VISION_MODEL";
pub(crate) const TRANSCRIPTION_MODEL: &str = "RECOLLECT_TRANSCRIPTION_MODEL";
pub(crate) const EMBEDDING_MODEL: &str = "RECOLLECT_EMBEDDING_MODEL";
pub(crate) const EMBEDDING_URL: &str = "RECOLLECT_EMBEDDING_URL";
pub(crate) const EMBEDDING_KEY: &str = "RECOLLECT_EMBEDDING_KEY";
pub(crate) const RERANK_MODEL: &str = "RECOLLECT_RERANK_MODEL";
pub(crate) const RERANK_URL: &str = "RECOLLECT_RERANK_URL";
pub(crate) const RERANK_KEY: &str = "RECOLLECT_RERANK_KEY";
pub(crate) const MEMORY_MODEL: &str = "RECOLLECT_MEMORY_MODEL";

/// The environment variables with the credentials of a function's role, which Lambda sets.
const ACCESS_KEY_ID: &str = "AWS_ACCESS_KEY_ID";
const SECRET_ACCESS_KEY: &str = "AWS_SECRET_ACCESS_KEY";
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

/// The credentials of the role under which a process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleCredentials {
    /// The id of the access key.
    pub access_key_id: String,
    /// The secret of the access key.
    pub secret_access_key: Secret,
    /// The token of temporary credentials.
    pub session_token: Option<Secret>,
}

/// An endpoint that speaks OpenAI's protocol, and the models to use there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelSettings {
    /// The base URL of the endpoint, as in `https://api.openai.com/v1` or
    /// `http://127.0.0.1:11434/v1`.
    pub url: Option<String>,
    /// The key, sent as a bearer token. Endpoints on the same machine often need none.
    pub key: Option<Secret>,
    /// The role that signs requests to Amazon Bedrock without a key. Other endpoints get no signature.
    pub role: Option<RoleCredentials>,
    /// The model that describes images.
    pub vision_model: Option<String>,
    /// The model that transcribes audio and video.
    pub transcription_model: Option<String>,
    /// The model that proposes memories. Without it, only the built-in extractor finds them.
    pub memory_model: Option<String>,
    /// The model that embeds texts. Without it, only the built-in embedder does.
    pub embedding_model: Option<String>,
    /// The base URL of the endpoint of that model, if it is another one.
    pub embedding_url: Option<String>,
    /// The key of that other endpoint.
    pub embedding_key: Option<Secret>,
    /// The model that reranks search results. Without it, words and built-in vectors do.
    pub rerank_model: Option<String>,
    /// The base URL of the endpoint of that model, if it is another one.
    pub rerank_url: Option<String>,
    /// The key of that other endpoint.
    pub rerank_key: Option<Secret>,
}

impl ModelSettings {
    /// Reads the settings from environment variables. An empty variable counts as absent.
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| {
            let value = lookup(name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        Self {
            url: value(URL_VARIABLE),
            key: value(KEY_VARIABLE).map(Secret::new),
            role: read_role(value),
            vision_model: value(VISION_MODEL),
            transcription_model: value(TRANSCRIPTION_MODEL),
            memory_model: value(MEMORY_MODEL),
            embedding_model: value(EMBEDDING_MODEL),
            embedding_url: value(EMBEDDING_URL),
            embedding_key: value(EMBEDDING_KEY).map(Secret::new),
            rerank_model: value(RERANK_MODEL),
            rerank_url: value(RERANK_URL),
            rerank_key: value(RERANK_KEY).map(Secret::new),
        }
    }
}

fn read_role(value: impl Fn(&str) -> Option<String>) -> Option<RoleCredentials> {
    Some(RoleCredentials {
        access_key_id: value(ACCESS_KEY_ID)?,
        secret_access_key: Secret::new(value(SECRET_ACCESS_KEY)?),
        session_token: value(SESSION_TOKEN).map(Secret::new),
    })
}
