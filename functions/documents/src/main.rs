//! The Lambda function `documents`.

use container_index::SegmentReading;

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app| {
        let reading = SegmentReading::OVER_NETWORK;
        documents::router(app, documents::LAMBDA_FILE_BYTES, reading)
    })
}
