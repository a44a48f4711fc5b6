//! The Lambda function `container-tags`.

fn main() -> anyhow::Result<()> {
    lambda::run_http(container_tags::router)
}
