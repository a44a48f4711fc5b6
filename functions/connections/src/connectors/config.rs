//! The configuration of a connector, which is a part of the metadata of its connection.

use domain::connection::{Connection, Provider, SyncScope};
use domain::{Error, Result};
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

/// The settings of a connector to a website, each with its name in the metadata of a connection.
const CRAWLER_SETTINGS: [(&str, &str); 5] = [
    ("startUrl", "startUrl"),
    ("sitemapUrl", "sitemapUrl"),
    ("crawlDepth", "maxDepth"),
    ("maxPages", "maxPages"),
    ("pathPrefix", "pathPrefix"),
];
/// The settings of a connector to a drive.
const DRIVE_SETTINGS: [(&str, &str); 1] = [("syncScope", "syncScope")];

/// The configuration of a new connector: `syncScope` for a drive, and everything else for a
/// website.
#[derive(JsonSchema)]
#[schemars(rename = "ConnectorConfig", rename_all = "camelCase")]
#[schemars(extend("additionalProperties" = false))]
#[expect(dead_code, reason = "describes what `metadata_of` reads")]
pub(crate) struct ConfigShape {
    /// How much is included: what the user selects, which is the default, or everything.
    #[schemars(extend("enum" = ["selected", "full", null]))]
    sync_scope: Option<String>,
    /// The first page. A website needs it, or a sitemap.
    #[schemars(length(min = 1))]
    start_url: Option<String>,
    /// The address of the sitemap, on the host of the first page.
    #[schemars(length(min = 1))]
    sitemap_url: Option<String>,
    /// The most links from the first page to any other. The default is 3.
    #[schemars(range(min = 0, max = 10))]
    crawl_depth: Option<u64>,
    /// The most pages in one crawl. The default is 100.
    #[schemars(range(min = 1, max = 1000))]
    max_pages: Option<u64>,
    /// The beginning of the paths of all pages.
    #[schemars(regex(pattern = "^/"))]
    path_prefix: Option<String>,
}

fn settings_of(provider: Provider) -> &'static [(&'static str, &'static str)] {
    match provider {
        Provider::CloudDrive => &DRIVE_SETTINGS,
        Provider::WebCrawler => &CRAWLER_SETTINGS,
    }
}

/// Returns the metadata of a connection with this configuration.
///
/// # Errors
/// [`Error::Invalid`] about `config` for a setting that the provider does not have. An ignored
/// setting could include more than was meant.
pub(super) fn metadata_of(
    provider: Provider,
    config: Map<String, Value>,
) -> Result<Map<String, Value>> {
    let settings = settings_of(provider);
    let mut metadata = Map::new();
    for (name, value) in config {
        match settings.iter().find(|(known, _)| *known == name) {
            Some((_, metadata_name)) => metadata.insert((*metadata_name).to_owned(), value),
            None if value.is_null() => continue,
            None => {
                let names: Vec<&str> = settings.iter().map(|(known, _)| *known).collect();
                let rule = format!("this provider has the settings {}", names.join(", "));
                return Err(Error::invalid_field("config", rule));
            }
        };
    }
    Ok(metadata)
}

/// Returns an error about the metadata of a connection as one about its configuration.
pub(super) fn as_config_error(error: Error, provider: Provider) -> Error {
    let Error::Invalid {
        mut message,
        mut issues,
    } = error
    else {
        return error;
    };

    for (name, metadata_name) in settings_of(provider) {
        let (from, to) = (
            format!("metadata.{metadata_name}"),
            format!("config.{name}"),
        );
        message = message.replace(&from, &to);
        for part in issues.iter_mut().flat_map(|issue| &mut issue.path) {
            *part = part.replace(&from, &to);
        }
    }
    Error::Invalid { message, issues }
}

/// Returns the configuration of a connection. The other metadata belongs to its caller.
pub(super) fn config_of(connection: &Connection) -> Map<String, Value> {
    let mut config = Map::new();
    if connection.provider == Provider::CloudDrive {
        let scope = match connection.scope {
            SyncScope::Selected => "selected",
            SyncScope::Full => "full",
        };
        config.insert("syncScope".to_owned(), json!(scope));
        return config;
    }

    for (name, metadata_name) in settings_of(connection.provider) {
        if let Some(value) = connection.metadata.get(metadata_name) {
            config.insert((*name).to_owned(), value.clone());
        }
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_setting_of_another_provider_is_refused() {
        let crawl = object(json!({"startUrl": "https://a.example", "crawlDepth": 2}));
        let metadata = metadata_of(Provider::WebCrawler, crawl.clone()).unwrap();
        assert_eq!(
            Value::from(metadata),
            json!({"startUrl": "https://a.example", "maxDepth": 2})
        );
        let error = metadata_of(Provider::CloudDrive, crawl).unwrap_err();
        assert!(error.to_string().ends_with("syncScope"), "{error}");
        let unset = object(json!({"crawlDepth": null}));
        assert!(metadata_of(Provider::CloudDrive, unset).is_ok());
    }

    #[test]
    fn errors_name_the_settings_of_the_request() {
        let error = Error::invalid("metadata.maxDepth: expected a whole number from 0 to 10");
        let error = as_config_error(error, Provider::WebCrawler);
        assert!(
            error.to_string().starts_with("config.crawlDepth: "),
            "{error}"
        );

        let error = Error::invalid_field("metadata.syncScope", "selected or full");
        let Error::Invalid { message, issues } = as_config_error(error, Provider::CloudDrive)
        else {
            panic!("another error");
        };
        assert_eq!(message, "config.syncScope: selected or full");
        assert_eq!(issues[0].path, ["config.syncScope"]);
    }
}
