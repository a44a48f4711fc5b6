//! Counts of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::activity::{RequestRecord, RequestType};
use crate::time::Timestamp;

/// The properties by which requests are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestDimension {
    /// The type of the request.
    pub kind: RequestType,
    /// The status code of the response.
    pub status: u16,
    /// The `type` of the error, or an empty string if there was none.
    pub error: String,
    /// The public part of the API key.
    pub key: String,
}

/// The number of requests, their total duration and the time of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCount {
    /// The number of requests.
    pub count: u64,
    /// Their total duration in microseconds.
    pub micros: u64,
    /// The time of the last request.
    pub last: Timestamp,
}

impl RequestCount {
    /// Adds the counts of another cell.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.micros += other.micros;
        self.last = self.last.max(other.last);
    }

    /// Returns the mean duration in milliseconds, or 0 without any requests.
    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.micros as f64 / self.count as f64 / 1000.0
        }
    }
}

/// The counts of the requests of a period.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTally {
    /// The counts by dimension.
    #[serde(with = "pairs")]
    pub cells: BTreeMap<RequestDimension, RequestCount>,
    /// The name that each key had when it was last used, by its public part.
    pub key_names: BTreeMap<String, String>,
}

impl RequestTally {
    /// Counts a request.
    pub fn count(&mut self, record: &RequestRecord) {
        let dimension = RequestDimension {
            kind: record.kind,
            status: record.status,
            error: record.error.clone().unwrap_or_default(),
            key: record.key.clone(),
        };

        self.add_cell(
            dimension,
            &RequestCount {
                count: 1,
                micros: record.micros,
                last: record.at,
            },
        );
        self.key_names
            .insert(record.key.clone(), record.key_name.clone());
    }

    /// Adds the counts of another tally, of a later period.
    pub fn add(&mut self, other: &Self) {
        for (dimension, cell) in &other.cells {
            self.add_cell(dimension.clone(), cell);
        }
        self.key_names.extend(other.key_names.clone());
    }

    fn add_cell(&mut self, dimension: RequestDimension, cell: &RequestCount) {
        self.cells
            .entry(dimension)
            .and_modify(|existing| existing.add(cell))
            .or_insert(*cell);
    }

    /// Returns the total of all dimensions for which `wanted` holds, or `None` when there are none.
    pub fn total_where(&self, wanted: impl Fn(&RequestDimension) -> bool) -> Option<RequestCount> {
        let mut cells = self
            .cells
            .iter()
            .filter(|(dimension, _)| wanted(dimension))
            .map(|(_, cell)| *cell);
        let first = cells.next()?;
        Some(cells.fold(first, |mut sum, cell| {
            sum.add(&cell);
            sum
        }))
    }
}

impl<'a> FromIterator<&'a RequestRecord> for RequestTally {
    fn from_iter<I: IntoIterator<Item = &'a RequestRecord>>(records: I) -> Self {
        let mut tally = Self::default();
        for record in records {
            tally.count(record);
        }
        tally
    }
}

/// The serialization of a map as a list of pairs, because keys in JSON are strings.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{RequestCount, RequestDimension};

    pub(super) fn serialize<S: Serializer>(
        cells: &BTreeMap<RequestDimension, RequestCount>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        cells.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<RequestDimension, RequestCount>, D::Error> {
        Ok(
            Vec::<(RequestDimension, RequestCount)>::deserialize(deserializer)?
                .into_iter()
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: RequestType, status: u16, key: &str, at: i64) -> RequestRecord {
        RequestRecord {
            id: format!("{at}"),
            at: Timestamp::from_millis(at),
            kind,
            route: "POST /v3/documents".into(),
            status,
            error: (status >= 400).then(|| "ValidationError".into()),
            micros: 1_500,
            key: key.into(),
            key_name: format!("key {key}"),
            containers: Vec::new(),
            input: None,
            output: None,
        }
    }

    #[test]
    fn parts_added_up_are_the_whole() {
        let records: Vec<_> = (0..30)
            .map(|i| {
                let kind = RequestType::ALL[i as usize % 5];
                record(
                    kind,
                    if i % 3 == 0 { 400 } else { 200 },
                    if i % 2 == 0 { "a" } else { "b" },
                    i,
                )
            })
            .collect();

        let total: RequestTally = records.iter().collect();
        let mut sum = RequestTally::default();
        for part in records.chunks(7) {
            sum.add(&part.iter().collect());
        }

        assert_eq!(sum, total);
        let errors = total
            .total_where(|dimension| dimension.status >= 400)
            .unwrap();
        assert_eq!((errors.count, errors.mean_ms()), (10, 1.5));
        assert!(
            total
                .total_where(|dimension| dimension.key == "c")
                .is_none()
        );
        let text = serde_json::to_string(&total).unwrap();
        assert_eq!(serde_json::from_str::<RequestTally>(&text).unwrap(), total);
    }
}
