//! The Lambda function `container-tags`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(|app, _| Ok(container_tags::router(app)))
}
