//! The parameters of the query string. All of them arrive as strings, so each is parsed on its own
//! and named if it is wrong.

use domain::activity::{RequestType, TimeSpan};
use domain::{Error, Result, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use service::RequestFilter;

/// The number of items on a page if the request does not set a limit. Part of the API.
const DEFAULT_LIMIT: usize = 20;
/// The most items on a page. Part of the API.
const MAX_LIMIT: usize = 100;

/// The names of periods in the API, with their seconds.
const PERIODS: [(&str, i64); 4] = [
    ("1h", 3600),
    ("24h", 24 * 3600),
    ("7d", 7 * 24 * 3600),
    ("30d", 30 * 24 * 3600),
];
/// The period in seconds if the request does not set one: `24h`.
const DEFAULT_PERIOD: i64 = PERIODS[1].1;
/// The period in seconds in which a request is looked up by its id, if the request does not set
/// one: `7d`. An id does not reveal its hour, so looking up an unknown one reads every record of
/// the period.
const ID_PERIOD: i64 = PERIODS[2].1;

/// The parameters of all routes of this function. Each route takes some of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AnalyticsParams {
    /// The start of the period, as `2025-04-15` or as a timestamp with an offset: at most 90 days
    /// before `to`, because older requests are not kept. It takes precedence over `period`.
    from: Option<String>,
    /// The end of the period, which is not part of it. The default is now.
    to: Option<String>,
    /// The length of the period before `to`.
    #[schemars(extend("enum" = ["1h", "24h", "7d", "30d"], "default" = "24h"))]
    period: Option<String>,
    /// The number of the page, from 1.
    #[schemars(with = "Option<usize>", range(min = 1), extend("default" = 1))]
    page: Option<String>,
    /// The number of items on a page.
    #[schemars(
        with = "Option<usize>",
        range(min = 1, max = MAX_LIMIT),
        extend("default" = DEFAULT_LIMIT)
    )]
    limit: Option<String>,
    /// Only requests of this type.
    #[serde(rename = "type")]
    #[schemars(with = "Option<RequestType>")]
    kind: Option<String>,
    /// Only requests that were answered with this status.
    #[schemars(with = "Option<u16>", range(min = 100, max = 599))]
    status_code: Option<String>,
    /// Only requests with this API key.
    key_id: Option<String>,
    /// Only requests with a status below 400, or only the others.
    #[schemars(extend("enum" = ["success", "error"]))]
    status: Option<String>,
    /// Only the request with this id, which its answer carried in `x-request-id`. Without a period,
    /// the last seven days are searched.
    pub(crate) id: Option<String>,
}

/// The parameter of the growth of content.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "describes what `AnalyticsParams` reads for one route"
)]
pub(crate) struct GrowthParams {
    /// The length of the period before now, or `all`.
    #[schemars(extend("enum" = ["1h", "24h", "7d", "30d", "all"], "default" = "24h"))]
    period: Option<String>,
}

impl AnalyticsParams {
    /// Returns the requested period. `from` takes precedence over `period`, because it is more
    /// precise.
    pub(crate) fn requested_span(&self, now: Timestamp) -> Result<TimeSpan> {
        let from = parse_time("from", self.from.as_deref())?;
        let to = parse_time("to", self.to.as_deref())?;
        let seconds = match self.period.as_deref() {
            None => DEFAULT_PERIOD,
            Some(text) => period_seconds(text, "1h, 24h, 7d or 30d")?,
        };
        TimeSpan::from_request(from, to, seconds, now)
    }

    /// Returns the period for a lookup by id: that of [`AnalyticsParams::requested_span`] if the
    /// request gives a time, or else the last seven days.
    pub(crate) fn span_of_id(&self, now: Timestamp) -> Result<TimeSpan> {
        let has_span = self.from.is_some() || self.to.is_some() || self.period.is_some();
        if has_span {
            self.requested_span(now)
        } else {
            Ok(TimeSpan::last_seconds(ID_PERIOD, now))
        }
    }

    /// Returns the seconds of a period, or `None` for `all`.
    pub(crate) fn seconds_or_all(&self) -> Result<Option<i64>> {
        match self.period.as_deref() {
            None => Ok(Some(DEFAULT_PERIOD)),
            Some("all") => Ok(None),
            Some(text) => Ok(Some(period_seconds(text, "1h, 24h, 7d, 30d or all")?)),
        }
    }

    /// Returns the number and the size of the page.
    pub(crate) fn page_and_limit(&self) -> Result<(usize, usize)> {
        let page = match parse_number(self.page.as_deref(), 1) {
            Some(page) if page > 0 => page,
            _ => return Err(Error::invalid_field("page", "a whole number, 1 or more")),
        };

        let limit = match parse_number(self.limit.as_deref(), DEFAULT_LIMIT) {
            Some(limit) if (1..=MAX_LIMIT).contains(&limit) => limit,
            _ => {
                let rule = format!("a whole number from 1 to {MAX_LIMIT}");
                return Err(Error::invalid_field("limit", rule));
            }
        };

        Ok((page, limit))
    }

    /// Returns the filter of a request to `/logs`.
    pub(crate) fn log_filter(&self) -> Result<RequestFilter> {
        Ok(RequestFilter {
            kind: self.requested_type()?,
            status: match &self.status_code {
                Some(text) => Some(parse_status(text)?),
                None => None,
            },
            failed: None,
            key: self.key_id.clone(),
        })
    }

    /// Returns the filter of a request to `/requests`.
    pub(crate) fn request_filter(&self) -> Result<RequestFilter> {
        let failed = match self.status.as_deref() {
            None => None,
            Some("success") => Some(false),
            Some("error") => Some(true),
            Some(_) => return Err(Error::invalid_field("status", "success or error")),
        };
        Ok(RequestFilter {
            kind: self.requested_type()?,
            failed,
            ..RequestFilter::default()
        })
    }

    fn requested_type(&self) -> Result<Option<RequestType>> {
        let Some(text) = &self.kind else {
            return Ok(None);
        };
        match RequestType::parse(text) {
            Some(kind) => Ok(Some(kind)),
            None => {
                let names = RequestType::ALL.map(RequestType::as_str).join(", ");
                Err(Error::invalid_field("type", format!("one of {names}")))
            }
        }
    }
}

fn period_seconds(text: &str, names: &str) -> Result<i64> {
    for (name, seconds) in PERIODS {
        if name == text {
            return Ok(seconds);
        }
    }

    Err(Error::invalid_field("period", names))
}

/// Returns the number in a parameter, or `default` without one; `None` if it is not a number.
fn parse_number(text: Option<&str>, default: usize) -> Option<usize> {
    match text {
        Some(text) => text.trim().parse().ok(),
        None => Some(default),
    }
}

fn parse_status(text: &str) -> Result<u16> {
    match text.trim().parse() {
        Ok(status) if (100..=599).contains(&status) => Ok(status),
        _ => Err(Error::invalid_field(
            "statusCode",
            "a number from 100 to 599",
        )),
    }
}

fn parse_time(field: &str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let Some(text) = text else {
        return Ok(None);
    };
    let error = match Timestamp::parse(field, text) {
        Ok(time) => return Ok(Some(time)),
        Err(error) => error,
    };

    // In a query string, the plus of an offset means a space unless the client has escaped it.
    match Timestamp::parse(field, &text.replace(' ', "+")) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Err(error),
    }
}
