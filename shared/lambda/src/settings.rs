//! The settings of a function.

use std::collections::HashMap;

use anyhow::Result;
use aws::SdkConfig;
use domain::Secret;

use crate::{read_non_empty, read_variable};

/// The variable with the ARN of the operator's secret, if there is one.
const SECRET_ARN: &str = "RECOLLECT_SECRET_ARN";
/// The names in the operator's secret, which are those of parameters of the template, each with the
/// variable that the parameter sets.
pub const SECRET_SETTINGS: [(&str, &str); 4] = [
    ("ModelKey", "RECOLLECT_MODEL_KEY"),
    ("EmbeddingKey", "RECOLLECT_EMBEDDING_KEY"),
    ("RerankKey", "RECOLLECT_RERANK_KEY"),
    ("CloudDriveClientSecret", "CLOUD_DRIVE_CLIENT_SECRET"),
];

/// The settings of a function: the variables of its environment, and the operator's secret in their
/// place where it has a value.
#[derive(Debug, Default)]
pub struct Settings {
    secret: HashMap<String, Secret>,
}

impl Settings {
    /// Reads the operator's secret, if the environment names one. This takes one call, at the start of
    /// the function.
    ///
    /// # Errors
    /// Fails if the secret cannot be read.
    pub(crate) async fn load(config: &SdkConfig) -> Result<Self> {
        let Some(arn) = read_non_empty(SECRET_ARN) else {
            return Ok(Self::default());
        };
        let secret = aws::read_operator_secret(config, &arn).await?;
        Ok(Self { secret })
    }

    /// Returns a setting by the name of its variable.
    pub fn get(&self, variable: &str) -> Option<String> {
        let named = SECRET_SETTINGS
            .iter()
            .find(|(_, replaced)| *replaced == variable);
        match named.and_then(|(name, _)| self.secret.get(*name)) {
            Some(value) => Some(value.expose().to_owned()),
            None => read_variable(variable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_comes_before_the_environment_for_what_it_may_hold() {
        let values = [("ModelKey", "sk-1"), ("PATH", "/nowhere")];
        let settings = Settings {
            secret: values
                .map(|(name, value)| (name.to_owned(), Secret::new(value)))
                .into(),
        };
        assert_eq!(settings.get("RECOLLECT_MODEL_KEY").as_deref(), Some("sk-1"));
        assert_eq!(settings.get("RECOLLECT_RERANK_KEY"), None);
        assert_eq!(settings.get("PATH"), read_variable("PATH"));
    }
}
