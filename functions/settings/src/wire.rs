//! Settings in the shape of the API.
//!
//! No message repeats a value from the request, because it may be a misplaced secret.

use domain::connection;
use domain::settings::{
    AppChange, AppProvider, ItemRules, LogContentMode, NewSecret, PickerSettings, SettingsChange,
    TrustedSources,
};
use domain::{Error, Patch, ProfileBucket, Result, Secret, Settings};
use edge::{ProviderNames, as_whole_number};
use serde_json::{Map, Value, json};

/// The settings other than those of providers.
const SETTING_NAMES: [&str; 11] = [
    "chunkSize",
    "profileBuckets",
    "shouldLLMFilter",
    "filterPrompt",
    "includeItems",
    "excludeItems",
    "workspacePrompt",
    "trustedSources",
    "logContent",
    "allowedRedirectUrls",
    "picker",
];
/// The suffixes of the settings of a provider.
const APP_NAMES: [&str; 3] = ["ClientId", "ClientSecret", "CustomKeyEnabled"];

const TEXT_RULE: &str = "a string, or null";
const FLAG_RULE: &str = "true or false, or null";

/// Returns every setting by its name. A secret is shown as null, next to a flag that says whether
/// it is set.
pub(crate) fn show_settings(settings: &Settings, names: ProviderNames) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut set = |name: String, value: Value| fields.insert(name, value);
    set(
        "chunkSize".into(),
        json!(settings.chunk_size.map_or(-1, i64::from)),
    );
    set("profileBuckets".into(), json!(settings.profile_buckets));
    set("shouldLLMFilter".into(), json!(settings.should_llm_filter));
    set("filterPrompt".into(), json!(settings.filter_prompt));
    set(
        "includeItems".into(),
        json!(settings.include_items.as_ref().map(ItemRules::as_sent)),
    );
    set(
        "excludeItems".into(),
        json!(settings.exclude_items.as_ref().map(ItemRules::as_sent)),
    );
    set("workspacePrompt".into(), json!(settings.workspace_prompt));
    let trusted_sources = settings.trusted_sources.as_ref();
    set(
        "trustedSources".into(),
        json!(trusted_sources.map(|sources| show_trusted_sources(sources, names))),
    );
    set("logContent".into(), json!(settings.log_content));
    set(
        "allowedRedirectUrls".into(),
        json!(settings.allowed_redirect_urls),
    );
    set(
        "picker".into(),
        json!(settings.picker.as_ref().map(show_picker)),
    );

    for provider in AppProvider::ALL {
        let app = settings.apps.get(&provider).cloned().unwrap_or_default();
        for prefix in prefixes(provider) {
            set(format!("{prefix}ClientId"), json!(app.client_id));
            set(format!("{prefix}ClientSecret"), Value::Null);
            set(
                format!("{prefix}ClientSecretSet"),
                json!(app.secret.is_some()),
            );
            set(format!("{prefix}CustomKeyEnabled"), json!(app.enabled));
        }
    }

    fields
}

fn show_picker(picker: &PickerSettings) -> Value {
    json!({
        "origins": picker.origins,
        "name": picker.name,
        "color": picker.color,
        "logo": picker.logo,
    })
}

fn show_trusted_sources(sources: &TrustedSources, names: ProviderNames) -> Value {
    let providers = sources.providers.iter();
    let provider_names = providers.map(|provider| names.of_provider(*provider));
    let mut shown = json!(sources);
    shown["providers"] = json!(provider_names.collect::<Vec<_>>());
    shown
}

/// Returns the prefixes of the settings of a provider, the one of this service first.
///
/// compat: clients of the hosted service use the vendor's name for the cloud drive.
pub(crate) fn prefixes(provider: AppProvider) -> &'static [&'static str] {
    match provider {
        AppProvider::CloudDrive => &["cloudDrive", "googleDrive"],
        AppProvider::Notion => &["notion"],
        AppProvider::Onedrive => &["onedrive"],
        AppProvider::Github => &["github"],
    }
}

/// Returns the names of a setting, the given one first.
fn spellings(name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    if let Some(rest) = name.strip_prefix("cloudDrive") {
        names.push(format!("googleDrive{rest}"));
    } else if let Some(rest) = name.strip_prefix("googleDrive") {
        names.push(format!("cloudDrive{rest}"));
    }

    names
}

/// Parses the changes in a request. Returns them with the names under which the answer shows them.
///
/// # Errors
/// [`Error::Invalid`] naming the field.
pub(crate) fn parse_change(fields: &Map<String, Value>) -> Result<(Vec<String>, SettingsChange)> {
    let (mut names, mut change) = (Vec::new(), SettingsChange::default());
    for (name, value) in fields {
        let canonical_name = match name.strip_prefix("googleDrive") {
            Some(rest) => format!("cloudDrive{rest}"),
            None => name.clone(),
        };
        // A client may send back what it has read, with both names of a setting and the flags.
        if names.contains(name) || is_flag_of_sent_secret(fields, name) {
            if name.ends_with("ClientSecretSet") && !value.is_boolean() {
                return Err(Error::invalid_field(name, "true or false"));
            }
            check_other_spellings(fields, name, value)?;
            continue;
        }
        parse_setting(&mut change, name, &canonical_name, value)?;
        for spelling in spellings(name) {
            let presence_field = spelling
                .ends_with("ClientSecret")
                .then(|| format!("{spelling}Set"));
            names.push(spelling);
            names.extend(presence_field);
        }
    }

    for (provider, app) in &mut change.apps {
        if matches!(app.client_secret, Patch::Clear) && shows_secret(fields, *provider) {
            app.client_secret = Patch::Keep;
        }
    }

    Ok((names, change))
}

/// Checks whether a field is the flag that says whether there is a secret, next to that secret.
fn is_flag_of_sent_secret(fields: &Map<String, Value>, name: &str) -> bool {
    match name.strip_suffix("Set") {
        Some(secret) if secret.ends_with("ClientSecret") => spellings(secret)
            .iter()
            .any(|spelling| fields.contains_key(spelling)),
        _ => false,
    }
}

/// Checks whether a request has the flag that there is a secret. With it, null is the secret as it is
/// shown, and not its removal.
fn shows_secret(fields: &Map<String, Value>, provider: AppProvider) -> bool {
    prefixes(provider).iter().any(|prefix| {
        let flag = fields.get(&format!("{prefix}ClientSecretSet"));
        flag.and_then(Value::as_bool) == Some(true)
    })
}

/// Checks that a setting which is sent under several names has one value.
fn check_other_spellings(fields: &Map<String, Value>, name: &str, value: &Value) -> Result<()> {
    for spelling in spellings(name) {
        if fields.get(&spelling).is_some_and(|other| other != value) {
            return Err(Error::invalid_field(
                name,
                format!("the same setting as {spelling}, which is sent with another value"),
            ));
        }
    }

    Ok(())
}

/// Parses one setting. `name` is the name in the request, and `canonical_name` is the name of the
/// setting.
fn parse_setting(
    change: &mut SettingsChange,
    name: &str,
    canonical_name: &str,
    value: &Value,
) -> Result<()> {
    match canonical_name {
        "chunkSize" => {
            change.chunk_size =
                parse_patch(name, value, "a whole number, or null", as_whole_number)?
        }
        "profileBuckets" => {
            let rule = "an array of {key, description}, or null";
            change.profile_buckets = parse_patch(name, value, rule, parse_buckets)?;
        }
        "shouldLLMFilter" => {
            change.should_llm_filter = parse_patch(name, value, FLAG_RULE, Value::as_bool)?
        }
        "filterPrompt" => change.filter_prompt = parse_patch(name, value, TEXT_RULE, as_text)?,
        "includeItems" | "excludeItems" => {
            let rules = if value.is_null() {
                Patch::Clear
            } else {
                Patch::Set(ItemRules::read(value).0)
            };
            *(if canonical_name == "includeItems" {
                &mut change.include_items
            } else {
                &mut change.exclude_items
            }) = rules;
        }
        "workspacePrompt" => {
            change.workspace_prompt = parse_patch(name, value, TEXT_RULE, as_text)?
        }
        "trustedSources" => {
            let rule = "an object of `providers` (cloud-drive, web-crawler), `connections`, `senders` and `hosts`, which are \
                        arrays of strings; or null";
            change.trusted_sources = parse_patch(name, value, rule, parse_trusted_sources)?;
        }
        "logContent" => {
            let mode = |value: &Value| LogContentMode::parse(value.as_str()?);
            change.log_content = parse_patch(name, value, "full, redacted or off, or null", mode)?;
        }
        "allowedRedirectUrls" => {
            let rule = "an array of origins like https://app.example.com, or null";
            change.allowed_redirect_urls = parse_patch(name, value, rule, as_texts)?;
        }
        "picker" => {
            let rule = "an object of `origins`, which is an array of strings, and `name`, `color` and `logo`, which are \
                        strings or null; or null";
            change.picker = parse_patch(name, value, rule, parse_picker)?;
        }
        _ => return parse_app_setting(change, name, canonical_name, value),
    }
    Ok(())
}

fn parse_app_setting(
    change: &mut SettingsChange,
    name: &str,
    canonical_name: &str,
    value: &Value,
) -> Result<()> {
    let providers = AppProvider::ALL.into_iter();
    let found = providers
        .filter_map(|provider| {
            Some((
                provider,
                canonical_name.strip_prefix(provider.settings_prefix())?,
            ))
        })
        .next();
    let (provider, field) = found
        .filter(|(_, field)| APP_NAMES.contains(field))
        .ok_or_else(|| unknown_setting_error(name))?;
    let app: &mut AppChange = change.apps.entry(provider).or_default();
    match field {
        "ClientId" => app.client_id = parse_patch(name, value, TEXT_RULE, as_text)?,
        "ClientSecret" => {
            let new = |secret| NewSecret::for_app(provider, Secret::new(secret));
            app.client_secret = parse_patch(name, value, TEXT_RULE, as_text)?.map(new);
        }
        _ => app.enabled = parse_patch(name, value, FLAG_RULE, Value::as_bool)?,
    }

    Ok(())
}

fn unknown_setting_error(name: &str) -> Error {
    let mut setting_names = SETTING_NAMES.map(str::to_owned).to_vec();
    for provider in AppProvider::ALL {
        for prefix in prefixes(provider) {
            setting_names.extend(APP_NAMES.map(|field| format!("{prefix}{field}")));
        }
    }

    Error::invalid_field(
        name,
        format!(
            "not a setting of this service; there are {}",
            setting_names.join(", ")
        ),
    )
}

fn parse_patch<T>(
    name: &str,
    value: &Value,
    rule: &str,
    parse: impl Fn(&Value) -> Option<T>,
) -> Result<Patch<T>> {
    if value.is_null() {
        return Ok(Patch::Clear);
    }
    parse(value)
        .map(Patch::Set)
        .ok_or_else(|| Error::invalid_field(name, rule))
}

fn as_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn as_texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(as_text).collect()
}

fn parse_buckets(value: &Value) -> Option<Vec<ProfileBucket>> {
    serde_json::from_value(value.clone()).ok()
}

fn parse_trusted_sources(value: &Value) -> Option<TrustedSources> {
    let object = value.as_object()?;
    let known_keys = ["providers", "connections", "senders", "hosts"];
    if object.keys().any(|key| !known_keys.contains(&key.as_str())) {
        return None;
    }

    let list = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(entries) => entries
            .as_array()?
            .iter()
            .map(as_text)
            .collect::<Option<Vec<String>>>(),
    };

    let lowercase_list = |key| {
        Some(
            list(key)?
                .iter()
                .map(|entry| entry.trim().to_lowercase())
                .collect(),
        )
    };

    let providers = list("providers")?;
    let providers = providers
        .iter()
        .map(|name| connection::Provider::parse(name))
        .collect::<Option<_>>()?;
    let (connections, senders, hosts) = (
        list("connections")?,
        lowercase_list("senders")?,
        lowercase_list("hosts")?,
    );

    Some(TrustedSources {
        providers,
        connections,
        senders,
        hosts,
    })
}

fn parse_picker(value: &Value) -> Option<PickerSettings> {
    let object = value.as_object()?;
    let known_keys = ["origins", "name", "color", "logo"];
    if object.keys().any(|key| !known_keys.contains(&key.as_str())) {
        return None;
    }

    let text = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Some(None),
        Some(value) => as_text(value).map(Some),
    };
    Some(PickerSettings {
        origins: match object.get("origins") {
            None | Some(Value::Null) => Vec::new(),
            Some(origins) => as_texts(origins)?,
        },
        name: text("name")?,
        color: text("color")?,
        logo: text("logo")?,
    })
}

/// Returns the parts of the rules for items that have no effect, as in `excludeItems.owner`.
pub(crate) fn ignored_rules(fields: &Map<String, Value>) -> Vec<String> {
    let mut ignored = Vec::new();
    for name in ["includeItems", "excludeItems"] {
        if let Some(value) = fields.get(name)
            && !value.is_null()
        {
            let (_, parts) = ItemRules::read(value);
            ignored.extend(parts.iter().map(|part| format!("{name}.{part}")));
        }
    }

    ignored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_that_is_shown_can_be_set_and_no_other() {
        let shown = show_settings(&Settings::default(), ProviderNames::Cloud);
        for name in shown
            .keys()
            .filter(|name| !name.ends_with("ClientSecretSet"))
        {
            let (names, _) = parse_change(&Map::from_iter([(name.clone(), Value::Null)])).unwrap();
            assert_eq!(names[0], *name);
            let refusal = unknown_setting_error("x").to_string();
            assert!(
                refusal.contains(name.as_str()),
                "{name} is missing in: {refusal}"
            );
        }

        for name in [
            "cloudDriveClientSecretSet",
            "version",
            "githubClient",
            "gitlabClientId",
            "googleDrive",
        ] {
            assert!(
                parse_change(&Map::from_iter([(name.to_owned(), Value::Null)])).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_setting_has_one_value_in_any_order_of_its_names() {
        let names = ["cloudDriveClientId", "googleDriveClientId"];
        for (first, second) in [(names[0], names[1]), (names[1], names[0])] {
            let change = |first_value: &str, second_value: &str| {
                parse_change(&Map::from_iter([
                    (first.to_owned(), json!(first_value)),
                    (second.to_owned(), json!(second_value)),
                ]))
            };
            assert!(change("a", "a").is_ok(), "{first}, {second}");
            assert!(change("a", "b").is_err(), "{first}, {second}");
        }
    }

    #[test]
    fn a_secret_that_is_sent_back_as_it_was_read_stays() {
        let secret_after = |fields: Value| {
            let (_, change) = parse_change(fields.as_object().unwrap()).unwrap();
            change.apps[&AppProvider::CloudDrive].client_secret.clone()
        };

        for (secret, flag) in [
            ("cloudDriveClientSecret", "cloudDriveClientSecretSet"),
            ("googleDriveClientSecret", "googleDriveClientSecretSet"),
            ("cloudDriveClientSecret", "googleDriveClientSecretSet"),
        ] {
            for fields in [
                json!({secret: null, flag: true}),
                json!({flag: true, secret: null}),
            ] {
                assert!(matches!(secret_after(fields), Patch::Keep), "{flag}");
            }
            let fields = json!({secret: null, flag: false});
            assert!(matches!(secret_after(fields), Patch::Clear), "{flag}");
            let fields = json!({secret: "new", flag: true});
            assert!(matches!(secret_after(fields), Patch::Set(_)), "{flag}");
        }
        let fields = json!({"cloudDriveClientSecret": null, "cloudDriveClientSecretSet": "yes"});
        assert!(parse_change(fields.as_object().unwrap()).is_err());
        assert!(matches!(
            secret_after(json!({"cloudDriveClientSecret": null})),
            Patch::Clear
        ));
    }

    #[test]
    fn no_message_repeats_what_was_sent() {
        for name in show_settings(&Settings::default(), ProviderNames::Cloud)
            .keys()
            .filter(|name| !name.contains("Prompt"))
        {
            for value in [
                json!(["s3cr3t"]),
                json!({"s3cr3t": "s3cr3t"}),
                json!("s3cr3t"),
            ] {
                let refusal = parse_change(&Map::from_iter([(name.clone(), value)])).err();
                assert!(
                    refusal.is_none_or(|refusal| !format!("{refusal:?}").contains("s3cr3t")),
                    "{name}"
                );
            }
        }
    }
}
