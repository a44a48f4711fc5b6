//! The Lambda function `memories`.

use container_index::{CacheSettings, SegmentReading};

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| {
        let reading = SegmentReading::LITTLE_OVER_NETWORK;
        let cache = CacheSettings::new(memories::LAMBDA_CACHE_BYTES, reading);
        Ok(memories::router(app, cache))
    })
}
