//! Counts of requests.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::activity::{RequestRecord, RequestType};
use crate::time::Timestamp;

/// What requests are counted by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Dimension {
    /// What it was for.
    pub kind: RequestType,
    /// The status of the answer.
    pub status: u16,
    /// The `type` of the error; empty where there was none.
    pub error: String,
    /// The key's public part.
    pub key: String,
}

/// How many requests, how long they took, and when the last one came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// Requests.
    pub count: u64,
    /// Microseconds, together.
    pub micros: u64,
    /// When the last one came.
    pub last: Timestamp,
}

impl Cell {
    /// Adds what another one counts.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.micros += other.micros;
        self.last = self.last.max(other.last);
    }

    /// The mean duration in milliseconds.
    pub fn mean_ms(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.micros as f64 / self.count as f64 / 1000.0
        }
    }
}

/// Requests of some time, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The counts, by what they are counted by.
    #[serde(with = "pairs")]
    pub cells: BTreeMap<Dimension, Cell>,
    /// What keys were called when they were last used, by their public part.
    pub key_names: BTreeMap<String, String>,
}

impl Tally {
    /// Counts a request.
    pub fn count(&mut self, record: &RequestRecord) {
        let dimension = Dimension {
            kind: record.kind,
            status: record.status,
            error: record.error.clone().unwrap_or_default(),
            key: record.key.clone(),
        };

        self.put(
            dimension,
            &Cell {
                count: 1,
                micros: record.micros,
                last: record.at,
            },
        );
        self.key_names
            .insert(record.key.clone(), record.key_name.clone());
    }

    /// Adds what another one counts, of a later time.
    pub fn add(&mut self, other: &Self) {
        for (dimension, cell) in &other.cells {
            self.put(dimension.clone(), cell);
        }
        self.key_names.extend(other.key_names.clone());
    }

    fn put(&mut self, dimension: Dimension, cell: &Cell) {
        self.cells
            .entry(dimension)
            .and_modify(|known| known.add(cell))
            .or_insert(*cell);
    }

    /// Everything that is counted by a dimension which `wanted` admits; `None` when that is nothing.
    pub fn total(&self, wanted: impl Fn(&Dimension) -> bool) -> Option<Cell> {
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

impl<'a> FromIterator<&'a RequestRecord> for Tally {
    fn from_iter<I: IntoIterator<Item = &'a RequestRecord>>(records: I) -> Self {
        let mut tally = Self::default();
        for record in records {
            tally.count(record);
        }
        tally
    }
}

/// A map as a list of pairs: JSON has no keys of several parts.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Cell, Dimension};

    pub(super) fn serialize<S: Serializer>(
        cells: &BTreeMap<Dimension, Cell>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        cells.iter().collect::<Vec<_>>().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Dimension, Cell>, D::Error> {
        Ok(Vec::<(Dimension, Cell)>::deserialize(deserializer)?
            .into_iter()
            .collect())
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
        let whole: Tally = records.iter().collect();
        let mut sum = Tally::default();
        for part in records.chunks(7) {
            sum.add(&part.iter().collect());
        }

        assert_eq!(sum, whole);
        let errors = whole.total(|dimension| dimension.status >= 400).unwrap();
        assert_eq!((errors.count, errors.mean_ms()), (10, 1.5));
        assert!(whole.total(|dimension| dimension.key == "c").is_none());
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<Tally>(&text).unwrap(), whole);
    }
}
