//! `recollect erasure-report`: shows the signed report of a deletion, or verifies one.

use std::path::Path;

use anyhow::{Context, Result, bail};
use api_client::{ApiError, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use service::verify_erasure_report;

use super::api::{found, get};
use super::output::{Outcome, Output, one_line, print_note};
use super::target::{OpenService, Purpose};
use crate::arguments::ErasureReport;

pub(super) async fn run_erasure_report(options: ErasureReport) -> Result<Outcome> {
    let output = Output::stdout(options.output.json);
    if let Some(file) = &options.verify {
        return verify_file(&output, file, options.key_id.as_deref());
    }

    let id = options.id.as_deref().unwrap_or_default();
    let path = format!(
        "/v3/container-tags/deletions/{}/report",
        utf8_percent_encode(id, NON_ALPHANUMERIC)
    );
    let service = OpenService::open(&options.target, Purpose::Read).await?;
    let answer = found(get(&service.client, &path).await);
    service.close().await;
    let signed = match answer {
        Ok(Some(signed)) => signed,
        Ok(None) => {
            print_note(&format!("There is no deletion {id}."));
            return Ok(Outcome::NothingFound);
        }
        Err(ApiError::Refused(refusal)) if refusal.status == StatusCode::CONFLICT => {
            bail!("the report is not ready yet; ask again about 18 minutes after the deletion")
        }
        Err(error) => return Err(error.into()),
    };

    match output.is_json {
        true => output.print_json(&signed)?,
        false => output.print(&format_report(&output, &signed))?,
    }
    Ok(Outcome::Done)
}

/// Verifies a saved report, and that the named key has signed it.
fn verify_file(output: &Output, file: &Path, expected_key: Option<&str>) -> Result<Outcome> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
    let signed: Value =
        serde_json::from_str(&text).with_context(|| format!("{shown} is not JSON"))?;
    let key = verify_erasure_report(&signed)?;
    if let Some(expected) = expected_key.filter(|expected| *expected != key) {
        print_note(&format!(
            "The report was signed by the key {key}, not by {expected}."
        ));
        return Ok(Outcome::Failed);
    }

    if output.is_json {
        output.print_json(&json!({"valid": true, "key": key}))?;
    } else {
        output.print(&format_report(output, &signed))?;
        print_note("The signature is valid.");
    }
    if expected_key.is_none() {
        print_note("Compare the id of the key with the one that the operator has told you.");
    }
    Ok(Outcome::Done)
}

fn format_report(output: &Output, signed: &Value) -> String {
    let report = &signed["report"];
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        text += &format!(
            "{} {}\n",
            output.dim(&format!("{name:<16}")),
            one_line(value)
        );
    };
    let field = |name: &str| report[name].as_str().unwrap_or_default();
    row("container", field("containerTag"));
    row("organization", field("organization"));
    row("deletion", field("deletionId"));
    row("deleted", field("deletedAt"));
    row("completed", field("completedAt"));
    for (kind, count) in report["removed"].as_object().into_iter().flatten() {
        row(kind, &count.to_string());
    }
    let stores = report["stores"].as_array().into_iter().flatten();
    let stores: Vec<&str> = stores.filter_map(Value::as_str).collect();
    row("empty stores", &stores.join(", "));
    row(
        "key",
        signed["publicKey"]["kid"].as_str().unwrap_or_default(),
    );

    for (title, name) in [("Verified", "verification"), ("Not covered", "notCovered")] {
        text += "\n";
        let paragraph = format!("{title}: {}", field(name));
        for line in output.wrap(&paragraph, 0) {
            text += &format!("{line}\n");
        }
    }
    text
}
