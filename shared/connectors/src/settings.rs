//! The operator's settings for Google Drive: an OAuth app, and addresses other than the usual ones.

use domain::connection::OAuthAppRef;
use domain::ports::OAuthClient;
use domain::vault::Secret;
use url::{Host, Url};

const API_ADDRESS: &str = "https://www.googleapis.com";
const AUTHORIZE_ADDRESS: &str = "https://accounts.google.com/o/oauth2/v2/auth";
const TOKEN_ADDRESS: &str = "https://oauth2.googleapis.com/token";
const REVOKE_ADDRESS: &str = "https://oauth2.googleapis.com/revoke";

/// The operator's settings. Addresses that are not set are those of Google Drive.
#[derive(Debug, Clone, Default)]
pub struct DriveSettings {
    /// The client id of the operator's OAuth app.
    pub client_id: Option<String>,
    /// The client secret of the operator's OAuth app.
    pub client_secret: Option<Secret>,
    /// The address of a single server that serves everything under the usual paths, such as a fake
    /// drive.
    pub url: Option<String>,
    /// The address of the API, without `/drive/v3`.
    pub api_url: Option<String>,
    /// The address at which users are asked for permission.
    pub auth_url: Option<String>,
    /// The address at which codes are exchanged for tokens.
    pub token_url: Option<String>,
    /// The address at which tokens are revoked.
    pub revoke_url: Option<String>,
}

/// The error for an invalid setting.
#[derive(Debug, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct DriveSettingsError {
    name: &'static str,
    reason: &'static str,
}

/// The addresses of the provider.
#[derive(Debug, Clone)]
pub(crate) struct DriveAddresses {
    /// The address of the API, without `/drive/v3` and without a slash at the end.
    pub(crate) api: String,
    pub(crate) authorize: Url,
    pub(crate) token: Url,
    pub(crate) revoke: Url,
}

impl DriveSettings {
    /// Reads the settings from variables such as `CLOUD_DRIVE_CLIENT_ID`. An empty value counts as
    /// not set.
    pub fn from_environment(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let non_empty = |name: &str| lookup(name).filter(|text| !text.trim().is_empty());
        Self {
            client_id: non_empty("CLOUD_DRIVE_CLIENT_ID"),
            client_secret: non_empty("CLOUD_DRIVE_CLIENT_SECRET").map(Secret::new),
            url: non_empty("CLOUD_DRIVE_URL"),
            api_url: non_empty("CLOUD_DRIVE_API_URL"),
            auth_url: non_empty("CLOUD_DRIVE_AUTH_URL"),
            token_url: non_empty("CLOUD_DRIVE_TOKEN_URL"),
            revoke_url: non_empty("CLOUD_DRIVE_REVOKE_URL"),
        }
    }

    /// Returns the settings for a fake drive at `url`, with the credentials of the app that it
    /// accepts.
    pub fn for_fake_drive(url: &str, client_id: &str, client_secret: &str) -> Self {
        Self {
            client_id: Some(client_id.to_owned()),
            client_secret: Some(Secret::new(client_secret)),
            url: Some(url.to_owned()),
            ..Self::default()
        }
    }

    /// Returns the operator's app if both its id and its secret are set.
    pub(crate) fn operator_app(&self) -> Option<OAuthClient> {
        let app = OAuthAppRef::Operator {
            client_id: self.client_id.clone()?,
        };
        Some(OAuthClient {
            app,
            secret: self.client_secret.clone()?,
        })
    }

    pub(crate) fn addresses(&self) -> Result<DriveAddresses, DriveSettingsError> {
        let resolve = |name, configured: &Option<String>, path: &str, default_address: &str| {
            if let Some(address) = configured {
                return parse_address(name, address);
            }
            let address = match &self.url {
                Some(url) => format!("{}{path}", url.trim_end_matches('/')),
                None => default_address.to_owned(),
            };
            parse_address("CLOUD_DRIVE_URL", &address)
        };

        let api = resolve("CLOUD_DRIVE_API_URL", &self.api_url, "", API_ADDRESS)?;
        let api = api
            .as_str()
            .trim_end_matches('/')
            .trim_end_matches("/drive/v3");

        Ok(DriveAddresses {
            api: api.to_owned(),
            authorize: resolve(
                "CLOUD_DRIVE_AUTH_URL",
                &self.auth_url,
                "/o/oauth2/v2/auth",
                AUTHORIZE_ADDRESS,
            )?,
            token: resolve(
                "CLOUD_DRIVE_TOKEN_URL",
                &self.token_url,
                "/token",
                TOKEN_ADDRESS,
            )?,
            revoke: resolve(
                "CLOUD_DRIVE_REVOKE_URL",
                &self.revoke_url,
                "/revoke",
                REVOKE_ADDRESS,
            )?,
        })
    }
}

/// Parses an address. Tokens are sent to it, so it has to be https, unless it leads to this
/// machine.
fn parse_address(name: &'static str, text: &str) -> Result<Url, DriveSettingsError> {
    let invalid = |reason| DriveSettingsError { name, reason };
    let url = Url::parse(text).map_err(|_| invalid("not an address"))?;
    let is_plain = url.query().is_none() && url.fragment().is_none();
    if !is_plain || !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("an address without user, query and fragment"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err(invalid("https, or http to this machine")),
    }
}

/// Checks whether an address leads to this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_addresses_are_the_drives() {
        let usual = DriveSettings::default().addresses().unwrap();
        assert_eq!(usual.api, "https://www.googleapis.com");
        assert_eq!(usual.token.as_str(), "https://oauth2.googleapis.com/token");
        assert!(DriveSettings::default().operator_app().is_none());
    }

    #[test]
    fn one_server_may_be_everything_and_single_addresses_win() {
        let mut settings = DriveSettings::for_fake_drive("http://127.0.0.1:9/", "app", "hidden");
        settings.token_url = Some("https://tokens.example/new".into());
        let addresses = settings.addresses().unwrap();
        assert_eq!(addresses.api, "http://127.0.0.1:9");
        assert_eq!(
            addresses.authorize.as_str(),
            "http://127.0.0.1:9/o/oauth2/v2/auth"
        );
        assert_eq!(addresses.token.as_str(), "https://tokens.example/new");
        assert_eq!(addresses.revoke.as_str(), "http://127.0.0.1:9/revoke");
        assert!(!format!("{settings:?}").contains("hidden"));
    }

    #[test]
    fn tokens_leave_the_machine_sealed_only() {
        let with = |api: &str| {
            DriveSettings {
                api_url: Some(api.into()),
                ..DriveSettings::default()
            }
            .addresses()
        };

        for valid in [
            "https://drive.example",
            "http://localhost:80",
            "http://[::1]:7",
            "http://127.9.9.9/drive/v3",
        ] {
            assert!(with(valid).is_ok(), "{valid}");
        }

        for invalid in [
            "http://drive.example",
            "drive",
            "ftp://localhost",
            "https://a:b@c.example",
            "https://c.example?x",
        ] {
            assert!(
                with(invalid)
                    .unwrap_err()
                    .to_string()
                    .starts_with("CLOUD_DRIVE_API_URL: "),
                "{invalid}"
            );
        }

        assert_eq!(
            with("http://127.0.0.1:5/drive/v3/").unwrap().api,
            "http://127.0.0.1:5"
        );
    }

    #[test]
    fn empty_variables_are_no_settings() {
        let settings = DriveSettings::from_environment(|name| {
            Some(if name.ends_with("ID") { "app" } else { " " }.into())
        });
        assert_eq!(
            (settings.client_id.as_deref(), settings.client_secret),
            (Some("app"), None)
        );
        assert_eq!(settings.url, None);
    }
}
