//! The schemas of settings. The code reads and writes settings by their names, so these types only
//! describe them.
#![expect(dead_code, reason = "describes what `wire` reads and writes")]

use std::borrow::Cow;

use domain::settings::{
    AppProvider, LogContentMode, MAX_CLIENT_ID_CHARS, MAX_FILTER_PROMPT, MAX_PICKER_LOGO_BYTES,
    MAX_PICKER_NAME_CHARS, MAX_PICKER_ORIGINS, MAX_SECRET_CHARS, MAX_WORKSPACE_PROMPT,
};
use domain::{OrgId, ProfileBucket};
use edge::ProviderName;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::wire::prefixes;

/// The most buckets of an organization.
const MAX_BUCKETS: usize = domain::settings::MAX_BUCKETS;
/// The most entries of a list, and the most characters of an entry.
const MAX_ENTRIES: usize = 100;
const MAX_ENTRY_CHARS: usize = 255;
/// The most origins, and the most characters of an origin.
const MAX_ORIGINS: usize = 50;
const MAX_ORIGIN_CHARS: usize = 300;

/// The settings to change. Absent settings stay as they are, and null clears a setting.
/// `filterPrompt`, `includeItems` and `excludeItems` can be set while `shouldLLMFilter` is true, in
/// this request or before.
#[derive(JsonSchema)]
#[schemars(rename = "UpdateSettingsRequest", rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false), transform = add_new_apps)]
pub(crate) struct SettingsChangeShape {
    /// The desired size of a chunk in characters. With -1 or null, the service decides.
    #[schemars(schema_with = "new_chunk_size")]
    chunk_size: Option<i64>,
    /// The buckets of every profile, with keys that differ. Null is the default, one for
    /// preferences. An empty array is none.
    #[schemars(length(max = MAX_BUCKETS))]
    profile_buckets: Option<Vec<ProfileBucket>>,
    /// True to filter incoming content. The filters stay when it is turned off.
    #[schemars(rename = "shouldLLMFilter")]
    should_llm_filter: Option<bool>,
    /// A description of what matters to the organization. A blank one clears the setting.
    #[schemars(length(max = MAX_FILTER_PROMPT))]
    filter_prompt: Option<String>,
    /// The items that connections include.
    include_items: Option<ItemRulesShape>,
    /// The items that connections exclude.
    exclude_items: Option<ItemRulesShape>,
    /// A description of the organization's work. A blank one clears the setting.
    #[schemars(length(max = MAX_WORKSPACE_PROMPT))]
    workspace_prompt: Option<String>,
    /// The sources whose words count as the user's own.
    trusted_sources: Option<TrustedSourcesShape>,
    /// The content of requests and answers that the request log keeps. Null is `redacted`.
    log_content: Option<LogContentMode>,
    /// The origins to which `redirectUrl` and `returnUrl` of connections may lead.
    allowed_redirect_urls: Option<Origins>,
    /// The look of the hosted picker, and the pages that may show it in a frame. It is set as a whole.
    picker: Option<NewPickerShape>,
}

/// The settings of an organization. Null is not set.
#[derive(JsonSchema)]
#[schemars(rename = "Settings", rename_all = "camelCase", transform = add_shown_apps)]
#[schemars(extend("additionalProperties" = false))]
pub(crate) struct SettingsShape {
    /// The desired size of a chunk in characters. With -1, the service decides.
    #[schemars(range(min = -1, max = 16_000))]
    chunk_size: i64,
    /// The buckets of every profile. With null, the service decides.
    #[schemars(length(max = MAX_BUCKETS))]
    profile_buckets: Option<Vec<ProfileBucket>>,
    /// True if incoming content is filtered by `filterPrompt`, `includeItems` and `excludeItems`.
    #[schemars(rename = "shouldLLMFilter")]
    should_llm_filter: Option<bool>,
    /// A description of what matters to the organization. A model selects memories by it, and takes
    /// no fact from it.
    #[schemars(length(max = MAX_FILTER_PROMPT))]
    filter_prompt: Option<String>,
    /// The items that connections include, as they were sent.
    include_items: Option<ItemRulesShape>,
    /// The items that connections exclude, as they were sent.
    exclude_items: Option<ItemRulesShape>,
    /// A description of the organization's work, for a model that finds memories.
    #[schemars(length(max = MAX_WORKSPACE_PROMPT))]
    workspace_prompt: Option<String>,
    /// The sources whose words count as the user's own.
    trusted_sources: Option<TrustedSourcesShape>,
    /// The content of requests and answers that the request log keeps.
    log_content: LogContentMode,
    /// The origins to which `redirectUrl` and `returnUrl` of connections may lead.
    allowed_redirect_urls: Option<Origins>,
    /// The look of the hosted picker, and the pages that may show it in a frame.
    picker: Option<PickerShape>,
}

/// The settings that were sent, as they are now, and again in `updated`.
pub(crate) struct UpdatedSettingsShape;

/// Items by `patterns` of their names and by their `folders`, each an array of at most 100 texts of
/// 1 to 1000 characters. `extensions`, or an array of names, is understood as well. Any other JSON
/// of at most 64 KB is stored without an effect, and the answer names it in `ignored`.
#[derive(JsonSchema)]
#[schemars(rename = "ItemRules", transform = allow_everything)]
#[schemars(extend("examples" = [
    {"patterns": ["*.pdf", "Projects/**"], "folders": ["Archive"]},
    {"extensions": ["pdf"]},
    ["drafts"],
]))]
struct ItemRulesShape(Value);

/// Sources whose words count as the user's own: they may instruct, become lasting traits, and
/// replace what the user said. They apply to content that is processed from then on. The sender of a
/// mail can be forged.
#[derive(JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
struct TrustedSourcesShape {
    /// Providers of connections.
    #[schemars(length(max = MAX_ENTRIES))]
    providers: Option<Vec<ProviderName>>,
    /// Ids of connections.
    #[schemars(length(max = MAX_ENTRIES), inner(length(min = 1, max = MAX_ENTRY_CHARS)))]
    connections: Option<Vec<String>>,
    /// Addresses of senders of mails, or the domains of such addresses.
    #[schemars(length(max = MAX_ENTRIES), inner(length(min = 1, max = MAX_ENTRY_CHARS)))]
    senders: Option<Vec<String>>,
    /// Hosts of pages, without their subdomains.
    #[schemars(length(max = MAX_ENTRIES), inner(length(min = 1, max = MAX_ENTRY_CHARS)))]
    hosts: Option<Vec<String>>,
}

/// The look of the picker, and its origins. A field that is left out is not set.
#[derive(JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
struct NewPickerShape {
    /// The origins whose pages may show the picker in a frame, such as `https://app.example.com`,
    /// without a star; http is for localhost and 127.0.0.1 only. Without them, no page may.
    #[schemars(length(max = MAX_PICKER_ORIGINS), inner(length(min = 1, max = MAX_ORIGIN_CHARS)))]
    origins: Option<Vec<String>>,
    /// The name of the organization that users read.
    #[schemars(length(min = 1, max = MAX_PICKER_NAME_CHARS))]
    name: Option<String>,
    /// The colour of buttons and links. It is made darker or lighter as far as text needs it.
    #[schemars(regex(pattern = "^#[0-9a-fA-F]{6}$"))]
    color: Option<String>,
    /// The logo: a picture of at most 32 KB as a `data:` address in base64, of the type
    /// `image/png`, `image/jpeg`, `image/webp` or `image/svg+xml`.
    #[schemars(length(min = 1, max = MAX_PICKER_LOGO_BYTES), regex(pattern = "^data:image/"))]
    logo: Option<String>,
}

/// The look of the picker, and its origins. Null is not set.
#[derive(JsonSchema)]
#[schemars(inline, extend("additionalProperties" = false))]
struct PickerShape {
    /// The origins whose pages may show the picker in a frame.
    origins: Vec<String>,
    /// The name of the organization that users read.
    name: Option<String>,
    /// The colour of buttons and links.
    color: Option<String>,
    /// The logo, as a `data:` address.
    logo: Option<String>,
}

/// Origins such as `https://app.example.com` or `https://*.example.com`; http is for this machine
/// only. Null or an empty array permits any https address, and http of the user's own machine. An
/// address of another origin is answered 400.
#[derive(JsonSchema)]
#[schemars(inline)]
struct Origins(
    #[schemars(length(max = MAX_ORIGINS), inner(length(min = 1, max = MAX_ORIGIN_CHARS)))]
    Vec<String>,
);

impl JsonSchema for UpdatedSettingsShape {
    fn schema_name() -> Cow<'static, str> {
        "UpdateSettingsResponse".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<SettingsShape>();
        let settings = SettingsShape::json_schema(generator);
        let mut updated = Map::new();
        if let Some(Value::Object(fields)) = settings.get("properties") {
            for name in fields.keys() {
                let place = format!("#/components/schemas/Settings/properties/{name}");
                updated.insert(name.clone(), json!({"$ref": place}));
            }
        }

        let mut fields = updated.clone();
        let id = generator.subschema_for::<OrgId>();
        fields.insert("orgId".into(), id.clone().to_value());
        fields.insert("orgSlug".into(), id.to_value());
        fields.insert(
            "updated".into(),
            json!({
                "description": "The settings that were sent; beside a secret, whether there is one.",
                "type": "object",
                "properties": updated,
            }),
        );
        fields.insert(
            "ignored".into(),
            json!({
                "description": "The parts of `includeItems` and `excludeItems` that have no effect. \
                                Absent if there are none.",
                "type": "array",
                "items": {"type": "string"},
            }),
        );
        fields.insert(
            "hint".into(),
            json!({
                "description": "The reason why a setting has no effect, and what to do. Absent if \
                                there is none.",
                "type": "string",
            }),
        );

        json_schema!({
            "description": "The organization, and the settings that were sent as they are now, twice.",
            "type": "object",
            "required": ["orgId", "orgSlug", "updated"],
            "properties": fields,
        })
    }
}

fn new_chunk_size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "integer", "minimum": 64, "maximum": 16_000},
            {"type": "integer", "const": -1},
            {"type": "null"},
        ],
    })
}

fn allow_everything(schema: &mut Schema) {
    schema.remove("type");
}

/// Adds the settings of the organization's own OAuth apps to the schema of a change.
fn add_new_apps(schema: &mut Schema) {
    // Every setting may be left out.
    schema.remove("required");
    for provider in AppProvider::ALL {
        let name = provider_name(provider);
        for prefix in prefixes(provider) {
            let is_older = *prefix != provider.settings_prefix();
            let mut add = |suffix: &str, mut field: Value| {
                if is_older {
                    field["deprecated"] = json!(true);
                }
                add_property(schema, &format!("{prefix}{suffix}"), field);
            };
            add(
                "ClientId",
                json!({
                    "type": ["string", "null"],
                    "minLength": 1,
                    "maxLength": MAX_CLIENT_ID_CHARS,
                    "description": format!("The client id of the organization's own app with {name}."),
                }),
            );
            add(
                "ClientSecret",
                json!({
                    "type": ["string", "null"],
                    "minLength": 1,
                    "maxLength": MAX_SECRET_CHARS,
                    "description": "The secret of that app, which is sealed and not read back. Null deletes it.",
                    "writeOnly": true,
                }),
            );
            add(
                "ClientSecretSet",
                json!({
                    "type": "boolean",
                    "description": "As it was read, beside the secret. With true, a secret that is null stays as it is.",
                }),
            );
            add(
                "CustomKeyEnabled",
                json!({
                    "type": ["boolean", "null"],
                    "description": format!("True if connections to {name} use that app, which needs its id and its secret."),
                }),
            );
        }
    }
}

/// Adds the settings of the organization's own OAuth apps to the schema of the settings.
fn add_shown_apps(schema: &mut Schema) {
    let mut names = Vec::new();
    for provider in AppProvider::ALL {
        let name = provider_name(provider);
        for prefix in prefixes(provider) {
            let mut add = |suffix: &str, field: Value| {
                let name = format!("{prefix}{suffix}");
                add_property(schema, &name, field);
                names.push(name);
            };
            add(
                "ClientId",
                json!({
                    "type": ["string", "null"],
                    "maxLength": MAX_CLIENT_ID_CHARS,
                    "description": format!("The client id of the organization's own app with {name}."),
                }),
            );
            add(
                "ClientSecret",
                json!({"type": "null", "description": "Not read back."}),
            );
            add(
                "ClientSecretSet",
                json!({"type": "boolean", "description": "True if there is a secret."}),
            );
            add(
                "CustomKeyEnabled",
                json!({
                    "type": ["boolean", "null"],
                    "description": format!("True if connections to {name} use that app."),
                }),
            );
        }
    }

    let required = schema.ensure_object().entry("required");
    if let Value::Array(required) = required.or_insert_with(|| json!([])) {
        required.extend(names.into_iter().map(Value::String));
    }
}

/// Adds a property to the schema of an object.
fn add_property(schema: &mut Schema, name: &str, property: Value) {
    let properties = schema.ensure_object().entry("properties");
    properties.or_insert_with(|| json!({}))[name] = property;
}

fn provider_name(provider: AppProvider) -> &'static str {
    match provider {
        AppProvider::CloudDrive => "the cloud drive",
        AppProvider::Notion => "Notion",
        AppProvider::Onedrive => "OneDrive",
        AppProvider::Github => "GitHub",
    }
}
