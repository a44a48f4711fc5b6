//! Validation of requests against the tables, as strict as the description of the real API allows.

use super::failure::Failure;
use super::mask::Mask;
use super::methods::{Kind, Method, Param};
use crate::wire::Call;

/// Checks the names, types and presence of the query parameters, and parses the mask.
pub(crate) fn check(method: &Method, call: &Call) -> Result<Mask, Failure> {
    for (name, value) in &call.query {
        let known = method.params().find(|param| param.name == name);
        check_value(
            known.ok_or_else(|| Failure::unknown_parameter(name))?,
            value,
        )?;
    }

    if let Some(missing) = method
        .params()
        .find(|param| param.required && call.param(param.name).is_none())
    {
        return Err(Failure::required(missing.name));
    }

    if method.name == "about.get" && call.param("fields").is_none() {
        return Err(Failure::required("fields"));
    }

    match call.param("fields") {
        Some(fields) if !method.answer.is_empty() => Mask::parse(fields, method.answer),
        _ => Mask::parse(default_mask(method.answer), method.answer).or(Ok(Mask::All)),
    }
}

fn check_value(param: Param, value: &str) -> Result<(), Failure> {
    let good = match param.kind {
        Kind::Text => true,
        Kind::Bool => matches!(value, "true" | "false"),
        Kind::Number(most) => value
            .parse::<u32>()
            .is_ok_and(|number| (1..=most).contains(&number)),
        Kind::OneOf(values) => values.split(',').any(|allowed| allowed == value),
    };

    if good {
        return Ok(());
    }

    let message = format!("Invalid value '{value}' for '{}'.", param.name);
    Err(Failure::invalid(param.name, message))
}

/// Returns the mask that applies when the request selects no fields.
fn default_mask(answer: &str) -> &'static str {
    match answer {
        "File" => "kind,id,name,mimeType,driveId,teamDriveId,resourceKey",
        "FileList" => {
            "kind,incompleteSearch,nextPageToken,files(kind,id,name,mimeType,driveId,teamDriveId,resourceKey)"
        }
        "ChangeList" => {
            "kind,newStartPageToken,nextPageToken,changes(kind,type,changeType,time,removed,fileId,driveId,\
             file(kind,id,name,mimeType),drive(kind,id,name))"
        }
        "Drive" => "kind,id,name",
        "DriveList" => "kind,nextPageToken,drives(kind,id,name)",
        _ => "*",
    }
}
