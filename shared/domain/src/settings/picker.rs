//! The look of the pages of the picker, and the pages that may show them in a frame.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::redirects::normalize_origin;
use crate::error::{Error, Result};

/// The largest number of origins. This limit is part of the API.
pub const MAX_PICKER_ORIGINS: usize = 20;
/// The largest number of characters in the name. This limit is part of the API.
pub const MAX_PICKER_NAME_CHARS: usize = 60;
/// The largest logo in bytes, as an address. It is stored in the item of the settings, which many
/// requests read as a whole. This limit is part of the API.
pub const MAX_PICKER_LOGO_BYTES: usize = 32 * 1024;
/// The media types of a logo. No script of a picture runs, because pages show it as an image.
const LOGO_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/svg+xml"];

/// The settings of the hosted picker.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PickerSettings {
    /// The origins whose pages may show the picker in a frame. No page may if there are none.
    pub origins: Vec<String>,
    /// The name of the organization that users read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The colour of buttons and links, as in `#1f5fc4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// The logo, as a `data:` address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo: Option<String>,
}

impl PickerSettings {
    /// Validates these settings, and returns them as they are stored and compared.
    ///
    /// # Errors
    /// Returns [`Error::Invalid`] with the rule that is broken.
    pub(super) fn checked(&self) -> Result<Self> {
        let refuse = |rule: String| Err(Error::invalid_field("picker", rule));
        if self.origins.len() > MAX_PICKER_ORIGINS {
            return refuse(format!("at most {MAX_PICKER_ORIGINS} origins"));
        }
        let Some(origins) = self
            .origins
            .iter()
            .map(|origin| exact_origin(origin))
            .collect()
        else {
            return refuse(
                "origins like https://app.example.com, with a port if it is not the usual one and \
                 without a star; http for localhost and 127.0.0.1 only"
                    .into(),
            );
        };

        let name = self.name.as_deref().map(str::trim);
        let is_name = |name: &str| {
            (1..=MAX_PICKER_NAME_CHARS).contains(&name.chars().count())
                && !name.chars().any(char::is_control)
        };
        if !name.is_none_or(is_name) {
            return refuse(format!(
                "a name of 1 to {MAX_PICKER_NAME_CHARS} characters, without control characters"
            ));
        }

        let color = self.color.as_deref().map(str::to_lowercase);
        if !color.as_deref().is_none_or(is_color) {
            return refuse("a color of six hexadecimal digits like #1f5fc4".into());
        }

        if !self.logo.as_deref().is_none_or(is_logo) {
            return refuse(format!(
                "a logo like data:image/png;base64,…, of the types {}, with at most \
                 {MAX_PICKER_LOGO_BYTES} bytes",
                LOGO_TYPES.join(", ")
            ));
        }

        Ok(Self {
            origins,
            name: name.map(str::to_owned),
            color,
            logo: self.logo.clone(),
        })
    }
}

/// Returns an origin as browsers write it, or `None` if it is a pattern or not a valid origin.
/// Policies of pages cannot name an address of IPv6.
fn exact_origin(origin: &str) -> Option<String> {
    normalize_origin(origin).filter(|origin| !origin.contains(['*', '[']))
}

fn is_color(color: &str) -> bool {
    let digits = color.strip_prefix('#');
    digits.is_some_and(|digits| digits.len() == 6 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn is_logo(logo: &str) -> bool {
    let content = logo
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .filter(|(media_type, _)| LOGO_TYPES.contains(media_type));
    logo.len() <= MAX_PICKER_LOGO_BYTES
        && content.is_some_and(|(_, text)| !text.is_empty() && STANDARD.decode(text).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: PickerSettings) -> Result<PickerSettings, String> {
        settings.checked().map_err(|error| error.to_string())
    }

    fn with_origin(origin: &str) -> PickerSettings {
        PickerSettings {
            origins: vec![origin.to_owned()],
            ..PickerSettings::default()
        }
    }

    #[test]
    fn only_exact_origins_may_show_the_picker() {
        for (sent, stored) in [
            ("https://app.example.com", "https://app.example.com"),
            ("HTTPS://App.example.com:443/", "https://app.example.com"),
            (
                "https://app.example.com:8443",
                "https://app.example.com:8443",
            ),
            ("http://localhost:3000", "http://localhost:3000"),
            ("http://127.0.0.1", "http://127.0.0.1"),
        ] {
            assert_eq!(check(with_origin(sent)).unwrap().origins, [stored]);
        }

        for bad in [
            "https://*.example.com",
            "*",
            "https://*",
            "http://app.example.com",
            "http://[::1]:3000",
            "https://[::1]",
            "https://app.example.com:+8443",
            "https://app.example.com:08443",
            "https://app.example.com/path",
            "https://app.example.com; script-src *",
            "https://a.example https://b.example",
            "https://app.example.com,x",
            "data:text/html,x",
            "null",
            "",
        ] {
            let error = check(with_origin(bad)).unwrap_err();
            assert!(error.starts_with("picker: origins"), "{bad}: {error}");
        }

        let many = |count| PickerSettings {
            origins: vec!["https://a.example".to_owned(); count],
            ..PickerSettings::default()
        };
        assert!(check(many(MAX_PICKER_ORIGINS)).is_ok());
        assert!(check(many(MAX_PICKER_ORIGINS + 1)).is_err());
    }

    #[test]
    fn a_look_is_a_name_a_color_and_a_picture_in_its_address() {
        let of = |name: Option<&str>, color: Option<&str>, logo: Option<&str>| {
            let own = |text: Option<&str>| text.map(str::to_owned);
            check(PickerSettings {
                origins: Vec::new(),
                name: own(name),
                color: own(color),
                logo: own(logo),
            })
        };
        let png = "data:image/png;base64,iVBORw0KGgo=";
        let look = of(Some(" Harbour "), Some("#1F5FC4"), Some(png)).unwrap();
        assert_eq!(look.name.as_deref(), Some("Harbour"));
        assert_eq!(look.color.as_deref(), Some("#1f5fc4"));
        assert_eq!(look.logo.as_deref(), Some(png));

        for bad in ["", "  ", "a\nb", &"ü".repeat(61)] {
            assert!(of(Some(bad), None, None).is_err(), "{bad:?}");
        }
        for bad in [
            "",
            "red",
            "#fff",
            "1f5fc4",
            "#1f5fc4ff",
            "#1f5fcg",
            "#1f5f é",
        ] {
            assert!(of(None, Some(bad), None).is_err(), "{bad:?}");
        }
        let large = format!("data:image/png;base64,{}", "AAAA".repeat(8192));
        for bad in [
            "",
            "https://example.com/logo.png",
            "data:image/png,raw",
            "data:image/png;base64,",
            "data:image/png;base64,not base64",
            "data:image/png;charset=x;base64,AAAA",
            "data:text/html;base64,AAAA",
            "data:image/gif;base64,AAAA",
            "javascript:alert(1)",
            &large,
        ] {
            assert!(of(None, None, Some(bad)).is_err(), "{bad:?}");
        }
    }
}
