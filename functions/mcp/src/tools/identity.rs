//! The tool `whoami`.

use api_client::ApiClient;
use http::Method;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ReadableAnswer, RecollectTool, ToolEffect};
use crate::failure::ToolFailure;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WhoAmI {}

/// The API key of the caller, and what it permits.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Identity {
    /// The organization that everything belongs to.
    organization: String,
    /// The name of the API key.
    key: String,
    /// True if `add` and `forget` are permitted.
    can_write: bool,
    /// The containers that the key reaches. Absent if it reaches all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) containers: Option<Vec<String>>,
    /// When the key stops working. Absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

impl RecollectTool for WhoAmI {
    const NAME: &'static str = "whoami";
    const TITLE: &'static str = "Show the API key";
    const DESCRIPTION: &'static str = "Shows whose API key this connection uses: the organization, \
        whether it may write, and which containers it reaches. Use it when another tool says that \
        something is not permitted. The key itself is not shown.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Answer = Identity;

    async fn run(self, api: &ApiClient) -> Result<Identity, ToolFailure> {
        Identity::load(api).await
    }
}

impl Identity {
    /// Returns who the caller is.
    pub(crate) async fn load(api: &ApiClient) -> Result<Self, ToolFailure> {
        let session = api.send(Method::GET, "/v3/session", None).await?;
        let text = |pointer: &str| {
            let value = session.pointer(pointer)?.as_str()?;
            Some(value.to_owned())
        };
        let tags = session["scope"]["tags"].as_array();
        let tags = tags.map(|tags| {
            let tags = tags.iter().filter_map(|tag| tag.as_str());
            tags.map(str::to_owned).collect()
        });

        Ok(Self {
            organization: text("/org/name").unwrap_or_default(),
            key: text("/user/name").unwrap_or_default(),
            can_write: session["scope"]["permission"] == "write",
            containers: tags,
            expires_at: text("/scope/expires"),
        })
    }
}

/// Returns the container of a caller that reaches exactly one.
///
/// # Errors
/// A failure that asks for the argument `container` if the key is not limited to one.
pub(crate) async fn find_only_container(api: &ApiClient) -> Result<String, ToolFailure> {
    let reached = Identity::load(api).await?.containers.unwrap_or_default();
    match <[String; 1]>::try_from(reached) {
        Ok([container]) => Ok(container),
        Err(_) => Err(ToolFailure::new(
            "The argument `container` is missing, and the API key is not limited to one container. \
             Name one: the tool `list_containers` lists them.",
        )),
    }
}

impl ReadableAnswer for Identity {
    fn to_text(&self) -> String {
        let permission = if self.can_write {
            "may read and write"
        } else {
            "may only read"
        };
        let reach = match &self.containers {
            None => "all containers".to_owned(),
            Some(tags) => format!("the containers {}", tags.join(", ")),
        };
        let mut text = format!(
            "The key \"{}\" of the organization {} {permission}, and reaches {reach}.",
            self.key, self.organization
        );
        if let Some(time) = &self.expires_at {
            text.push_str(&format!(" It works until {time}."));
        }
        text
    }
}
