//! Fields that several routes share, with their checks.

use domain::memory::{EventPeriod, MAX_MEMORY_CHARS};
use domain::{ContainerTag, Error, Result, Tenant, Timestamp};
use edge::{MAX_ENTRIES, check_length, resolve_tag};
use schemars::JsonSchema;
use serde::Deserialize;

/// The most characters of a reason.
pub(crate) const MAX_REASON_CHARS: usize = 1_000;
/// The first moment of the year 1. Years are written with four digits and no sign.
const FIRST_MOMENT: Timestamp = Timestamp::from_millis(-62_135_596_800_000);

/// The time of a memory, and the time of the event that it describes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "MemoryTimes")]
pub(crate) struct TemporalContext {
    /// The time of the statement, as a day or a timestamp. The default is now. A correction counts
    /// as later than what it corrects.
    #[schemars(extend("examples" = ["2025-04-15", "2025-04-15T11:30:00+02:00"]))]
    document_date: Option<String>,
    /// The times of the event. The first and the last count.
    #[schemars(length(max = MAX_ENTRIES))]
    event_date: Option<Vec<String>>,
}

impl TemporalContext {
    /// Returns the time of the statement, if the request sets it.
    pub(crate) fn parse_said_at(&self) -> Result<Option<Timestamp>> {
        self.document_date
            .as_deref()
            .map(|date| parse_moment("temporalContext.documentDate", date))
            .transpose()
    }

    /// Returns the period from the first to the last of the dates.
    pub(crate) fn parse_event(&self) -> Result<Option<EventPeriod>> {
        check_length(
            "temporalContext.eventDate",
            self.event_date.as_deref().unwrap_or_default(),
            MAX_ENTRIES,
        )?;
        let dates = self
            .event_date
            .iter()
            .flatten()
            .map(|date| parse_moment("temporalContext.eventDate", date));
        let dates = dates.collect::<Result<Vec<Timestamp>>>()?;
        let bounds = dates.iter().min().zip(dates.iter().max());

        Ok(bounds.map(|(from, to)| EventPeriod {
            from: *from,
            to: *to,
        }))
    }
}

fn parse_moment(field: &str, text: &str) -> Result<Timestamp> {
    let time = Timestamp::parse(field, text)?;
    if time < FIRST_MOMENT {
        return Err(Error::invalid_field(field, "a date from the year 1 on"));
    }
    Ok(time)
}

/// Parses the time at which a memory is to be forgotten.
pub(crate) fn parse_forget_after(text: &str, now: Timestamp) -> Result<Timestamp> {
    let time = parse_moment("forgetAfter", text)?;
    if time <= now {
        let message = "a time in the past; to forget a memory now, send DELETE /v4/memories";
        return Err(Error::invalid_field("forgetAfter", message));
    }
    Ok(time)
}

/// Checks the reason why a memory is or will be forgotten.
pub(crate) fn check_reason(field: &str, text: Option<String>) -> Result<Option<String>> {
    let text = text
        .map(|text| text.trim().to_owned())
        .filter(|text| !text.is_empty());
    if text
        .as_ref()
        .is_some_and(|text| text.chars().count() > MAX_REASON_CHARS)
    {
        return Err(Error::invalid_field(
            field,
            format!("at most {MAX_REASON_CHARS} characters"),
        ));
    }

    Ok(text)
}

/// Checks the text of a memory.
pub(crate) fn check_content(field: &str, text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > MAX_MEMORY_CHARS {
        let message = format!("1 to {MAX_MEMORY_CHARS} characters, not all of them blank");
        return Err(Error::invalid_field(field, message));
    }
    Ok(text.to_owned())
}

/// Returns the one container that a request is about.
pub(crate) fn resolve_container_tag(
    tenant: &Tenant,
    tag: Option<&str>,
    tags: Option<&[String]>,
) -> Result<ContainerTag> {
    resolve_tag(
        tenant,
        tag,
        tags,
        "name the container that the memories are in",
    )
}

/// The name of a memory in a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MemoryTarget<'a> {
    Id(&'a str),
    /// The whole text of the memory.
    Content(&'a str),
}

impl<'a> MemoryTarget<'a> {
    pub(crate) fn new(id: Option<&'a str>, content: Option<&'a str>) -> Result<Self> {
        match (id, content.map(str::trim)) {
            (Some(_), Some(_)) => Err(Error::invalid("send either id or content, not both")),
            (None, None) => Err(Error::invalid(
                "send the id of a memory, or its exact content",
            )),
            (Some(""), None) => Err(Error::invalid_field("id", "it is empty")),
            (None, Some("")) => Err(Error::invalid_field("content", "it is blank")),
            (Some(id), None) => Ok(Self::Id(id)),
            (None, Some(content)) => Ok(Self::Content(content)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_goes_from_the_first_to_the_last_date() {
        let context = |dates: &[&str]| TemporalContext {
            document_date: None,
            event_date: Some(dates.iter().map(|date| (*date).to_owned()).collect()),
        };

        let event = context(&["2025-05-03", "2025-05-01", "2025-05-02"])
            .parse_event()
            .unwrap()
            .unwrap();
        assert_eq!(event.from.to_string(), "2025-05-01T00:00:00.000Z");
        assert_eq!(event.to.to_string(), "2025-05-03T00:00:00.000Z");
        assert!(context(&[]).parse_event().unwrap().is_none());

        for bad in ["soon", "-000044-03-15T12:00:00Z", ""] {
            assert!(context(&[bad]).parse_event().is_err(), "{bad}");
        }
    }
}
