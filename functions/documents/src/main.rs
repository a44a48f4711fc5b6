//! The Lambda function `documents`.

use container_index::SegmentReading;

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| {
        let reading = SegmentReading::OVER_NETWORK;
        Ok(documents::router(
            app,
            documents::LAMBDA_FILE_BYTES,
            reading,
        ))
    })
}
