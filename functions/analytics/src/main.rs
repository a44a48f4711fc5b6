//! The Lambda function `analytics`.

use container_index::SegmentReading;

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| {
        let reading = SegmentReading::LITTLE_OVER_NETWORK;
        Ok(analytics::router(app, reading))
    })
}
