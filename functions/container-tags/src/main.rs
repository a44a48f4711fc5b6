//! The Lambda function `container-tags`.

use container_index::SegmentReading;

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| {
        Ok(container_tags::router(
            app,
            SegmentReading::LITTLE_OVER_NETWORK,
        ))
    })
}
