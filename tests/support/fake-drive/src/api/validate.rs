//! Validation of requests against the tables, as strict as the description of the real API allows.

use super::failure::DriveApiError;
use super::mask::FieldMask;
use super::methods::{Method, ParamKind, ParamSpec};
use crate::wire::HttpCall;

/// Checks the names, types and presence of the query parameters, and parses the mask.
pub(crate) fn validate_call(method: &Method, call: &HttpCall) -> Result<FieldMask, DriveApiError> {
    for (name, value) in &call.query {
        let spec = method.all_params().find(|param| param.name == name);
        check_value(
            spec.ok_or_else(|| DriveApiError::unknown_parameter(name))?,
            value,
        )?;
    }

    if let Some(missing) = method
        .all_params()
        .find(|param| param.required && call.query_param(param.name).is_none())
    {
        return Err(DriveApiError::missing_parameter(missing.name));
    }

    if method.name == "about.get" && call.query_param("fields").is_none() {
        return Err(DriveApiError::missing_parameter("fields"));
    }

    match call.query_param("fields") {
        Some(fields) if !method.response_schema.is_empty() => {
            FieldMask::parse(fields, method.response_schema)
        }
        _ => FieldMask::parse(
            default_field_mask(method.response_schema),
            method.response_schema,
        )
        .or(Ok(FieldMask::All)),
    }
}

fn check_value(param: ParamSpec, value: &str) -> Result<(), DriveApiError> {
    let is_valid = match param.kind {
        ParamKind::Text => true,
        ParamKind::Bool => matches!(value, "true" | "false"),
        ParamKind::Number(max) => value
            .parse::<u32>()
            .is_ok_and(|number| (1..=max).contains(&number)),
        ParamKind::OneOf(values) => values.split(',').any(|allowed| allowed == value),
    };

    if is_valid {
        return Ok(());
    }

    let message = format!("Invalid value '{value}' for '{}'.", param.name);
    Err(DriveApiError::invalid_parameter(param.name, message))
}

/// Returns the mask that applies when the request selects no fields.
fn default_field_mask(schema: &str) -> &'static str {
    match schema {
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
