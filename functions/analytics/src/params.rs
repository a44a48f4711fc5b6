//! Parameters of the query string. All of them are texts there, so each is read by itself and named when it is wrong.

use domain::activity::RequestType;
use domain::usecase::{RequestFilter, Span};
use domain::{Error, Result, Timestamp};
use serde::Deserialize;

/// Items a page, when the request does not say. Contract.
const DEFAULT_LIMIT: usize = 20;
/// The most items a page. Contract.
const MAX_LIMIT: usize = 100;

/// The contract's names of periods, with their seconds.
const PERIODS: [(&str, i64); 4] = [
    ("1h", 3600),
    ("24h", 24 * 3600),
    ("7d", 7 * 24 * 3600),
    ("30d", 30 * 24 * 3600),
];
/// The period when the request does not say: `24h`.
const DEFAULT_PERIOD: i64 = PERIODS[1].1;
/// How far back a request is looked for by its id, when the request does not say: `7d`. Nothing tells the hour of an id,
/// so an unknown one costs every record of the time.
const ID_PERIOD: i64 = PERIODS[2].1;

/// What the routes of this function take, each some of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Params {
    from: Option<String>,
    to: Option<String>,
    period: Option<String>,
    page: Option<String>,
    limit: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    status_code: Option<String>,
    key_id: Option<String>,
    status: Option<String>,
    pub(crate) id: Option<String>,
}

impl Params {
    /// The time that is asked about. `from` goes before `period`, because it says more.
    pub(crate) fn span(&self, now: Timestamp) -> Result<Span> {
        let from = self
            .from
            .as_deref()
            .map(|text| time("from", text))
            .transpose()?;
        let to = self
            .to
            .as_deref()
            .map(|text| time("to", text))
            .transpose()?;
        let seconds = self.seconds()?.unwrap_or(DEFAULT_PERIOD);
        Span::asked(from, to, seconds, now)
    }

    /// As [`Params::span`], but the last seven days unless a time is given: for what is looked up by its id.
    pub(crate) fn span_of_id(&self, now: Timestamp) -> Result<Span> {
        let given = self.from.is_some() || self.to.is_some() || self.period.is_some();
        if given {
            self.span(now)
        } else {
            Ok(Span::last(ID_PERIOD, now))
        }
    }

    fn seconds(&self) -> Result<Option<i64>> {
        self.period
            .as_deref()
            .map(|text| seconds(text, "1h, 24h, 7d or 30d"))
            .transpose()
    }

    /// The seconds of a period that may be `all`, which has none.
    pub(crate) fn seconds_or_all(&self) -> Result<Option<i64>> {
        match self.period.as_deref() {
            None => Ok(Some(DEFAULT_PERIOD)),
            Some("all") => Ok(None),
            Some(text) => seconds(text, "1h, 24h, 7d, 30d or all").map(Some),
        }
    }

    /// The page and its size.
    pub(crate) fn place(&self) -> Result<(usize, usize)> {
        let number = |text: &Option<String>, default: usize| match text {
            Some(text) => text.trim().parse().ok(),
            None => Some(default),
        };
        let page = number(&self.page, 1).filter(|page| *page > 0);
        let page = page.ok_or_else(|| Error::invalid_field("page", "a whole number, 1 or more"))?;
        let limit =
            number(&self.limit, DEFAULT_LIMIT).filter(|limit| (1..=MAX_LIMIT).contains(limit));
        let limit = limit.ok_or_else(|| {
            Error::invalid_field("limit", format!("a whole number from 1 to {MAX_LIMIT}"))
        })?;
        Ok((page, limit))
    }

    /// The requests that `/logs` is asked for.
    pub(crate) fn log_filter(&self) -> Result<RequestFilter> {
        let status = self.status_code.as_deref().map(|text| {
            let status = text
                .trim()
                .parse()
                .ok()
                .filter(|status| (100..=599).contains(status));
            status.ok_or_else(|| Error::invalid_field("statusCode", "a number from 100 to 599"))
        });

        Ok(RequestFilter {
            kind: self.kind()?,
            status: status.transpose()?,
            failed: None,
            key: self.key_id.clone(),
        })
    }

    /// The requests that `/requests` is asked for.
    pub(crate) fn request_filter(&self) -> Result<RequestFilter> {
        let failed = match self.status.as_deref() {
            None => None,
            Some("success") => Some(false),
            Some("error") => Some(true),
            Some(_) => return Err(Error::invalid_field("status", "success or error")),
        };
        Ok(RequestFilter {
            kind: self.kind()?,
            failed,
            ..RequestFilter::default()
        })
    }

    fn kind(&self) -> Result<Option<RequestType>> {
        let kind = self.kind.as_deref().map(|text| {
            let names = RequestType::ALL.map(RequestType::as_str).join(", ");
            RequestType::parse(text)
                .ok_or_else(|| Error::invalid_field("type", format!("one of {names}")))
        });
        kind.transpose()
    }
}

fn seconds(text: &str, names: &str) -> Result<i64> {
    let known = PERIODS.iter().find(|(name, _)| *name == text);
    known
        .map(|(_, seconds)| *seconds)
        .ok_or_else(|| Error::invalid_field("period", names))
}

fn time(field: &str, text: &str) -> Result<Timestamp> {
    // The plus of an offset means a space in a query string, unless the client has escaped it.
    Timestamp::parse(field, text)
        .or_else(|error| Timestamp::parse(field, &text.replace(' ', "+")).map_err(|_| error))
}
