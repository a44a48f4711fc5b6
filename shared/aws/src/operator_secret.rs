//! The secret of the operator in AWS Secrets Manager, an object of strings as JSON.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use aws_config::SdkConfig;
use domain::Secret;

/// Reads the secret with this ARN, and returns its values by their names.
///
/// # Errors
/// Fails if the secret cannot be read, or is not an object of strings. The error has no value.
pub async fn read_operator_secret(
    config: &SdkConfig,
    arn: &str,
) -> Result<HashMap<String, Secret>> {
    let client = aws_sdk_secretsmanager::Client::new(config);
    let answer = client.get_secret_value().secret_id(arn).send().await;
    let answer = answer.with_context(|| format!("cannot read the secret {arn}"))?;
    match answer.secret_string() {
        Some(text) => parse_values(text).with_context(|| format!("cannot use the secret {arn}")),
        None => bail!("the secret {arn} is binary; store an object of strings as JSON"),
    }
}

fn parse_values(text: &str) -> Result<HashMap<String, Secret>> {
    // The error of the parser would show a part of the text.
    let Ok(values) = serde_json::from_str::<HashMap<String, String>>(text) else {
        bail!("it is not an object of strings as JSON");
    };
    let values = values.into_iter();
    Ok(values
        .map(|(name, value)| (name, Secret::new(value)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_an_object_of_strings() {
        let values = parse_values(r#"{"ModelKey": "sk-1", "Other": ""}"#).expect("an object");
        assert_eq!(values["ModelKey"].expose(), "sk-1");
        for text in ["sk-1", r#"{"ModelKey": 1}"#, r#"["sk-1"]"#, ""] {
            let error = parse_values(text).expect_err(text).to_string();
            assert!(!error.contains("sk-1"), "{error}");
        }
    }
}
